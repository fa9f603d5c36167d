//! Whole files of each text format, sound and damaged.

use std::path::Path;

use eraseblock_traces::{Workload, WorkloadConfig};
use proptest::prelude::*;
use proptest::sample::Index;

struct Case {
    format: &'static str,
    /// Lines before the first request.
    head: &'static str,
    /// Two requests, one line each, 1 s or more apart.
    first: &'static str,
    second: &'static str,
    /// The second line cut off, and what is said of it.
    cut: &'static str,
    answer: &'static str,
    /// True where the recorder writes lines out of order, so that they are sorted.
    sorted: bool,
}

const CASES: &[Case] = &[
    Case {
        format: "spc",
        head: "",
        first: "3,83712,4096,W,1.5",
        second: "0,83720,8192,r,2.5",
        cut: "0,83720,81",
        answer: "found 3 of the 5 fields in `0,83720,81`, expected ASU,LBA,size,opcode,timestamp",
        sorted: false,
    },
    Case {
        format: "msr",
        head: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n",
        first: "128166372000000017,web,2,Read,7014609920,24576,41286",
        second: "128166372010000017,web,2,Write,1024,512,9",
        cut: "128166372010000017,web,2,Wri",
        answer: "found 4 of the 6 fields in `128166372010000017,web,2,Wri`, \
                 expected Timestamp,Hostname,DiskNumber,Type,Offset,Size[,ResponseTime]",
        sorted: false,
    },
    Case {
        format: "systor",
        head: "Timestamp,Response,IOType,LUN,Offset,Size\n",
        first: "1456135201.250317000,0.000812,R,3,8192,4096",
        second: "1456135202.250317000,0.000812,W,3,8192,4096",
        cut: "1456135202.250317000,0.000812,W,3",
        answer: "found 4 of the 6 fields in `1456135202.250317000,0.000812,W,3`, \
                 expected Timestamp,Response,IOType,LUN,Offset,Size",
        sorted: true,
    },
    Case {
        format: "alibaba",
        head: "",
        first: "81,W,64424509440,16384,1577808000000317",
        second: "0,R,0,512,1577808001000317",
        cut: "0,R,0,512",
        answer: "found 4 of the 5 fields in `0,R,0,512`, expected \
            device_id,opcode,offset,length,timestamp",
        sorted: false,
    },
    Case {
        format: "tencent",
        head: "",
        first: "1538323207,2048,16,0,1283",
        second: "1538323208,8,1,1,1283",
        cut: "1538323208,8,1,1,",
        answer: "found ``, expected the volume, a whole number",
        sorted: false,
    },
    Case {
        format: "cloudphysics",
        head: "version,time,op,size,lbn\n",
        first: "1,731,28,65536,2048",
        second: "1,732,2a,512,8",
        cut: "1,732,2",
        answer: "found 3 of the 5 fields in `1,732,2`, expected version,time,op,size,lbn",
        sorted: false,
    },
    Case {
        format: "blkreplay",
        head: "Notice\n\nstart ; sector; length ; op ; replay_delay=0\n",
        first: " 1.5 ; 8 ; 8 ; R",
        second: " 2.5 ; 8 ; 8 ; W",
        cut: " 2.5 ; 8 ; 8",
        answer: "found 3 of the 4 fields in ` 2.5 ; 8 ; 8`, expected a row `start ; sector ; \
            length ; op`",
        sorted: false,
    },
    Case {
        format: "blkparse",
        head: "",
        first: "8,16 0 4 1.000017985 5314 D R 2048 + 256 [java]",
        second: "8,16 1 9 2.000017985 5314 D WS 2048 + 256 [java]",
        cut: "8,16 1 9 2.000017985 5314 D WS 2048 +",
        answer: "found only `8,16 1 9 2.000017985 5314 D WS 2048 +`, \
                 expected major,minor cpu sequence time pid action RWBS sector + count [process]",
        sorted: true,
    },
    Case {
        format: "fiu",
        head: "",
        first: "71000000000019 313 cron 2048 8 R 6 3 0123456789abcdef0123456789abcdef",
        second: "71001000000019 313 cron 2048 8 W 6 3 0123456789abcdef0123456789abcdef",
        cut: "71001000000019 313 cron 2048 8 W",
        answer: "found 6 columns in `71001000000019 313 cron 2048 8 W`, \
                 expected time pid process lba size op major minor [md5]",
        sorted: false,
    },
    Case {
        format: "diskmon",
        head: "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength\n",
        first: "0\t1.011413\t0.00036621\t0\tWrite\t3478976\t16",
        second: "1\t2.026214\t0.00012207\t0\tRead\t8\t8",
        cut: "1\t2.026214\t0.00012207\t0\tRe",
        answer: "found 5 fields in `1\\t2.026214\\t0.00012207\\t0\\tRe`, \
                 expected # Time Duration Disk Request Sector Length, separated by tabs",
        sorted: false,
    },
    Case {
        format: "etw",
        head: "BeginHeader\nDiskRead, TimeStamp, ByteOffset, IOSize, DiskNum\nEndHeader\n",
        first: "DiskRead, 1000000, 0x1000, 0x200, 0",
        second: "DiskRead, 2000000, 0x2000, 0x200, 0",
        cut: "DiskRead, 2000000, 0x2000",
        answer: "found 3 fields in `DiskRead, 2000000, 0x2000`, expected at least 5, as the header \
            names them",
        sorted: false,
    },
    Case {
        format: "fio",
        head: "fio version 3 iolog\n0 /dev/sdb add\n1 /dev/sdb open\n",
        first: "1000000 /dev/sdb read 0 4096",
        second: "2000000 /dev/sdb write 0 4096",
        cut: "2000000 /dev/sdb write 0",
        answer: "found only `2000000 /dev/sdb write 0`, expected timestamp file action [offset \
            length]",
        sorted: false,
    },
    Case {
        format: "disksim",
        head: "",
        first: "1000.5 0 8 16 1",
        second: "2000.5 0 24 16 0",
        cut: "2000.5 0 24 16",
        answer: "found 4 columns in `2000.5 0 24 16`, expected 5: time device address size type",
        sorted: false,
    },
    Case {
        format: "heimdall",
        head: "",
        first: "1000.5 0 4096 512 1",
        second: "2000.5 0 8192 512 0",
        cut: "2000.5 0",
        answer: "found 2 columns in `2000.5 0`, expected 5: time device address size type",
        sorted: false,
    },
];

fn prepare(format: &str, content: &[u8]) -> Result<Workload, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t"), content).unwrap();
    let config = WorkloadConfig { format: format.parse().unwrap(), ..WorkloadConfig::trace("t") };
    config.prepare(folder.path()).map_err(|error| {
        assert!(error.is_input(), "{error}");
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    })
}

/// A case's file with these lines after its head, and the number of the last line.
fn file(case: &Case, lines: &[&[u8]]) -> (Vec<u8>, usize) {
    let content = [case.head.as_bytes(), &lines.join(&b'\n')].concat();
    let number = content.split(|&byte| byte == b'\n').count();
    (content, number)
}

#[test]
fn sound_files_are_read_with_any_line_ends() {
    for case in CASES {
        let (content, _) = file(case, &[case.first.as_bytes(), case.second.as_bytes()]);
        let text = String::from_utf8(content).unwrap();
        for text in
            [text.clone(), format!("{text}\n"), format!("\n{text}\n\n").replace('\n', "\r\n")]
        {
            let workload =
                prepare(case.format, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            let figures = &workload.summary().figures;
            assert_eq!(figures.requests, 2, "{}", case.format);
            assert!((900_000_000..2_000_000_000).contains(&figures.duration_ns), "{}", case.format);
        }
    }
}

/// What can be done about a bad line.
const ADVICE: &str =
    "(--skip-bad-lines, or workload.skip_bad_lines = true, passes over such lines)";

#[test]
fn a_last_line_that_is_cut_off_is_named() {
    for case in CASES {
        let (content, number) = file(case, &[case.first.as_bytes(), case.cut.as_bytes()]);
        let error = prepare(case.format, &content).unwrap_err();
        assert_eq!(error, format!("t:{number}: {} {ADVICE}", case.answer), "{}", case.format);
    }
}

#[test]
fn bytes_that_are_not_text_are_named() {
    for case in CASES {
        let second = case.second.as_bytes();
        for (damage, found) in [
            (&b"\0"[..], "a zero byte".to_owned()),
            (b"\xff\xfe", format!("bytes that are not UTF-8 text (at byte {})", second.len())),
        ] {
            let (content, number) =
                file(case, &[case.first.as_bytes(), &[second, damage].concat()]);
            let error = prepare(case.format, &content).unwrap_err();
            assert!(
                error.starts_with(&format!("t:{number}: found {found}, expected a text")),
                "{error}"
            );
        }
    }
}

#[test]
fn files_without_a_request_say_what_they_lack() {
    for case in CASES {
        let error = prepare(case.format, case.head.as_bytes()).unwrap_err();
        let start = "t: holds no request; expected ";
        assert!(
            error.starts_with(start) && error.ends_with(&format!("({})", case.format)),
            "{error}"
        );
    }
    let error = WorkloadConfig::trace("none.msr").prepare(Path::new("/nonexistent")).unwrap_err();
    assert!(error.to_string().contains("there is no folder /nonexistent"), "{error}");
}

#[test]
fn times_that_run_backwards_are_an_error_where_recorders_keep_order() {
    for case in CASES {
        let (content, number) = file(case, &[case.second.as_bytes(), case.first.as_bytes()]);
        match prepare(case.format, &content) {
            Ok(workload) => {
                assert!(case.sorted, "{}", case.format);
                assert_eq!(workload.summary().moved.sorted, 1, "{}", case.format);
            }
            Err(error) => {
                assert!(!case.sorted, "{error}");
                assert!(error.starts_with(&format!("t:{number}: found a time ")), "{error}");
                assert!(error.contains(" ns before that of an earlier request"), "{error}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A file with some of its bytes changed is read, or refused with a message; what is read lies
    /// in range.
    #[test]
    fn any_near_miss_of_a_file_is_answered(
        case in any::<Index>(),
        edits in prop::collection::vec((any::<Index>(), "[-0-9a-fx.,;: \t\nRWFDNA+()\\[\\]#/é]"), 1..6),
    ) {
        let case = case.get(CASES);
        let mut text: Vec<_> = format!("{}{}\n{}\n", case.head, case.first, case.second).chars().collect();
        for (at, put) in edits {
            let at = at.index(text.len());
            text.splice(at..=at, put.chars());
        }
        let text: String = text.into_iter().collect();
        match prepare(case.format, text.as_bytes()) {
            Ok(workload) => {
                let end = workload.summary().figures.highest_end;
                prop_assert!(end.is_none_or(|end| end <= 1 << 60));
            }
            Err(error) => prop_assert!(error.starts_with("t:"), "{error}"),
        }
    }
}
