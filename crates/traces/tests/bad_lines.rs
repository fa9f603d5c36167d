//! Lines and records that are not what the format promises: an error, or skipped and counted.

use std::path::Path;

use eraseblock_traces::{BadLines, Workload, WorkloadConfig, formats};

fn prepare(format: &str, content: &[u8], skip_bad_lines: bool) -> Result<Workload, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t"), content).unwrap();
    let format = format.parse().unwrap();
    let config = WorkloadConfig { format, skip_bad_lines, ..WorkloadConfig::trace("t") };
    let workload = config.prepare(folder.path()).map_err(|error| {
        assert!(error.is_input(), "{error}");
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    })?;
    // What is replayed is what was counted.
    let replayed: Vec<_> = workload.requests().map(Result::unwrap).collect();
    assert_eq!(replayed.len() as u64, workload.identity().requests);
    Ok(workload)
}

fn bad(workload: &Workload) -> &BadLines {
    assert_eq!(workload.identity().bad_lines, workload.summary().bad_lines);
    &workload.identity().bad_lines
}

#[test]
fn bad_lines_of_text_are_counted_by_kind_and_the_first_kept() {
    let mut content = "0,8,512,w,0\nnoise\n0,8,512,x,1\n0,8,512,r,2\n0,8\n".to_owned().into_bytes();
    content.extend(b"0,8,\xff,r,3\n0,8,5\x0012,r,3\n");
    content.extend([vec![b'7'; 70_000], b"\n0,8,512,w,4".to_vec()].concat());
    let error = prepare("spc", &content, false).unwrap_err();
    assert!(error.starts_with("t:2: found 1 of the 5 fields in `noise`"), "{error}");
    let workload = prepare("spc", &content, true).unwrap();
    assert_eq!(workload.identity().requests, 3);
    let bad = bad(&workload);
    assert_eq!((bad.count, bad.unread_bytes), (6, 0));
    let kinds: Vec<_> =
        bad.by_expected.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(
        kinds,
        [
            ("ASU,LBA,size,opcode,timestamp", 2),
            ("a text trace; is this a binary file?", 3),
            ("r or w", 1)
        ]
    );
    assert_eq!(bad.first.len(), 5);
    assert_eq!(bad.first[1], "line 3: found opcode `x`, expected r or w");
    assert!(bad.first[3].starts_with("line 6: found bytes that are not UTF-8"), "{:?}", bad.first);
}

#[test]
fn sound_files_have_none() {
    for skip in [false, true] {
        let workload = prepare("spc", b"0,8,512,w,0\n\n", skip).unwrap();
        assert_eq!(bad(&workload), &BadLines::default());
        assert_eq!(bad(&workload).sentence(), None);
    }
}

/// Two lines that ran together make a size of petabytes; counting its pages would take for ever.
#[test]
fn a_size_that_no_request_has_is_a_bad_line_in_every_format() {
    let line = |size: u64| {
        format!(
            "128166372003061629,host,0,Write,0,{size},7\n128166372013061629,host,0,Read,0,512,7\n"
        )
    };
    let error = prepare("msr", line(48_166_385_851_448_163).as_bytes(), false).unwrap_err();
    assert_eq!(
        error,
        "t:1: found a write of 42.78 PiB (48166385851448163 B), expected at most 4 GiB, or more if \
         workload.max_request says so (--set workload.max_request=...) (--skip-bad-lines, or \
         workload.skip_bad_lines = true, passes over such lines)"
    );
    let workload = prepare("msr", line(48_166_385_851_448_163).as_bytes(), true).unwrap();
    assert_eq!((workload.identity().requests, bad(&workload).count), (1, 1));
    assert_eq!(prepare("msr", line(4 << 30).as_bytes(), false).unwrap().identity().requests, 2);
    assert!(prepare("msr", line((4 << 30) + 512).as_bytes(), false).is_err());
    // Whatever the format, where it is read.
    for format in formats() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t"), format.sample(40)).unwrap();
        let mut config = WorkloadConfig {
            format: format.name.parse().unwrap(),
            skip_bad_lines: true,
            ..WorkloadConfig::trace("t")
        };
        config.max_request = "16 KiB".parse().unwrap();
        // Sizes go from 4 to 20 KiB in turn.
        let workload = config.prepare(folder.path()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (workload.identity().requests, bad(&workload).count),
            (32, 8),
            "{}",
            format.name
        );
    }
}

#[test]
fn trims_may_be_longer_and_both_limits_can_be_set() {
    let content =
        b"start ; sector; length ; op\n0.0 ; 0 ; 8 ; W\n1.0 ; 0 ; 34359738368 ; D\n2.0 ; \
        0 ; 34359738376 ; D\n";
    let error = prepare("blkreplay", content, false).unwrap_err();
    assert!(
        error.starts_with(
            "t:4: found a trim of 16.00 TiB (17592186048512 B), expected at most 16 TiB"
        ),
        "{error}"
    );
    assert!(
        error.contains("--set workload.max_trim=...") && error.contains("--skip-bad-lines"),
        "{error}"
    );
    assert_eq!(prepare("blkreplay", content, true).unwrap().identity().requests, 2);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.load"), content).unwrap();
    let mut config = WorkloadConfig::trace("t.load");
    config.max_trim = "17 TiB".parse().unwrap();
    assert_eq!(config.prepare(folder.path()).unwrap().identity().requests, 3);
    config.max_request = "2 KiB".parse().unwrap();
    let error = config.prepare(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("found a write of 4.00 KiB (4096 B), expected at most 2 KiB"),
        "{error}"
    );
}

/// What is advised can be typed as it stands.
#[test]
fn a_clock_that_steps_back_is_told_with_what_to_type() {
    let error = prepare("tencent", b"5,0,8,1,1\n4,0,8,1,1\n", false).unwrap_err();
    assert!(
        error.starts_with("t:2: found a time 1000000000 ns before that of an earlier request"),
        "{error}"
    );
    for way in ["sort", "clamp"] {
        assert!(error.contains(&format!("--set workload.out_of_order={way} ")), "{error}");
    }
}

#[test]
fn nothing_but_bad_lines_is_an_error() {
    let error = prepare("spc", b"noise\nnoise\n", true).unwrap_err();
    assert!(
        error.starts_with("t: holds no request; expected at least one request (spc); 2 lines"),
        "{error}"
    );
    assert!(error.contains("the first: line 1: found 1 of the 5 fields in `noise`"), "{error}");
    let error = prepare("srt", &[7; 5000], true).unwrap_err();
    assert!(error.contains("holds no request") && error.contains("5000 bytes"), "{error}");
}

/// A line of zero bytes in the middle, and at the end half of a record or line.
#[test]
fn the_rest_of_a_text_file_is_read_in_every_format() {
    for format in formats() {
        let sample = format.sample(40);
        if sample.contains(&0) {
            continue;
        }
        let lines: Vec<_> = sample.split_inclusive(|&byte| byte == b'\n').collect();
        let (head, tail) = lines.split_at(lines.len() / 2);
        let damaged = [head.concat(), b"\0\0\0\n".to_vec(), tail.concat(), b"\0".to_vec()].concat();
        let workload =
            prepare(format.name, &damaged, true).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(workload.identity().requests, 40, "{}", format.name);
        assert_eq!(bad(&workload).count, 2, "{}", format.name);
    }
}

#[test]
fn records_of_fixed_length_are_passed_over_one_by_one() {
    let mut content = format("vscsi").sample(40);
    let sound = prepare("vscsi", &content, true).unwrap();
    // The version of the 8th record, the command of the 9th, half of a 41st.
    content[7 * 32 + 15] = 9;
    content[8 * 32 + 13] = 9;
    content.extend_from_slice(&[0; 16]);
    let error = prepare("vscsi", &content, false).unwrap_err();
    assert!(error.starts_with("t: record 8 at byte 224: found version 0x0900"), "{error}");
    let workload = prepare("vscsi", &content, true).unwrap();
    assert_eq!((sound.identity().requests, workload.identity().requests), (40, 38));
    let bad = bad(&workload);
    assert_eq!((bad.count, bad.unread_bytes), (3, 16));
    assert!(
        bad.first[2].starts_with("record 41 at byte 1280: found 16 bytes from byte 1280"),
        "{:?}",
        bad.first
    );
    assert!(
        bad.sentence().unwrap().contains("16 bytes after the last one"),
        "{:?}",
        bad.sentence()
    );
}

#[test]
fn a_record_without_an_end_stops_the_reading() {
    let mut content = format("blktrace").sample(40);
    let whole = prepare("blktrace", &content, true).unwrap();
    content[10 * 48] = 0xaa;
    content[10 * 48 + 1] = 0xaa;
    let error = prepare("blktrace", &content, false).unwrap_err();
    assert!(error.starts_with("t: record 11 at byte 480: found 0x"), "{error}");
    let workload = prepare("blktrace", &content, true).unwrap();
    assert_eq!(workload.identity().requests, 10);
    assert_eq!((bad(&workload).count, bad(&workload).unread_bytes), (1, 29 * 48));
    // The hash is that of the whole content all the same.
    assert_ne!(workload.identity().sha256, whole.identity().sha256);
    content[39 * 48] ^= 1;
    assert_ne!(
        prepare("blktrace", &content, true).unwrap().identity().sha256,
        workload.identity().sha256
    );
}

#[test]
fn damage_to_the_packing_is_an_error_all_the_same() {
    let error = prepare("spc", b"\x1f\x8b\x08garbage", true).unwrap_err();
    assert!(error.contains("damaged or cut off"), "{error}");
    let missing = WorkloadConfig { skip_bad_lines: true, ..WorkloadConfig::trace("none.spc") };
    assert!(missing.prepare(Path::new("/nonexistent")).is_err());
}

fn format(name: &str) -> &'static eraseblock_traces::Format {
    name.parse().unwrap()
}
