use eraseblock_core::host::Op;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::WorkloadConfig;

fn request(arrival_ns: u64, op: Op, volume: u32, offset: u64, len: u64) -> Request {
    Request { arrival_ns, offset, len, volume, op, fua: false }
}

fn write_to(
    folder: &TempDir,
    name: &str,
    requests: &[Request],
    options: &WriteOptions,
) -> Result<WriteReport, String> {
    let path = folder.path().join(name);
    let all = requests.iter().map(|request| Ok(*request));
    let report = write_trace(all, &path, options).map_err(|error| {
        assert!(error.is_input(), "{error}");
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    });
    let left: Vec<_> =
        folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".part")), "{left:?}");
    report
}

/// The requests of a file, which the reader of the same name reads.
fn read_back(folder: &TempDir, report: &WriteReport) -> Vec<Request> {
    let mut config = WorkloadConfig::trace(&report.path);
    config.format = report.format.parse().unwrap();
    let workload = config.prepare(folder.path()).unwrap();
    assert_eq!(workload.identity().sha256, report.sha256);
    workload.requests().map(|request| request.unwrap()).collect()
}

fn everything() -> Vec<Request> {
    vec![
        request(0, Op::Write, 0, 4096, 8192),
        Request { fua: true, ..request(1_500, Op::Write, 0, 0, 512) },
        request(2_000_000_001, Op::Read, 0, 12_288, 700),
        request(2_000_000_001, Op::Trim, 0, 1 << 30, 1 << 20),
        request(3_000_000_000, Op::Flush, 0, 0, 0),
    ]
}

#[test]
fn lines_are_what_other_programs_expect() {
    let folder = tempfile::tempdir().unwrap();
    let requests =
        [request(0, Op::Write, 0, 4096, 8192), request(1_250_000_042, Op::Read, 0, 512, 512)];
    for (name, lines) in [
        ("a.spc", "0,8,8192,w,0.000000000\n0,1,512,r,1.250000042\n"),
        ("a.disksim", "0.000000 0 8 16 0\n1250.000042 0 1 1 1\n"),
        ("a.ssdsim", "0 0 8 16 0\n1250000042 0 1 1 1\n"),
        ("a.mqsim", "0 0 8 16 0\n1250000042 0 1 1 1\n"),
        (
            "a.load",
            "eraseblock source: x y\nstart ; sector; length ; op ;  replay_delay=0 ; \
             replay_duration=0\n   0.000000000 ;          8 ;  16 ; W ; 0.0 ; 0.0\n   1.250000042 \
             ;          1 ;   1 ; R ; 0.0 ; 0.0\n",
        ),
        (
            "a.iolog",
            "fio version 3 iolog\n0 volume0 add\n0 volume0 open\n0 volume0 write 4096 \
             8192\n1250000 volume0 read 512 512\n",
        ),
    ] {
        let provenance = vec![("source".to_owned(), "x\ny".to_owned())];
        let options = WriteOptions { provenance, ..WriteOptions::default() };
        let report = write_to(&folder, name, &requests, &options).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), lines);
        assert_eq!(
            report.losses,
            Losses { times_cut: u64::from(name == "a.iolog"), ..Losses::default() }
        );
        assert_eq!((report.requests, report.file_bytes), (2, lines.len() as u64));
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, requests: &[Request]| {
        write_to(&folder, name, requests, &WriteOptions::default()).unwrap_err()
    };
    assert_eq!(
        refused("a.spc", &everything()),
        "a.spc: request 2 is forced to the medium (FUA), which spc cannot hold; write ebt, which \
         holds everything, or allow it to be lost and counted (--lossy)"
    );
    assert!(
        refused("a.load", &everything())
            .contains("request 3 does not begin and end with whole sectors")
    );
    assert!(refused("a.spc", &everything()[3..]).contains("request 1 is a trim"));
    assert!(refused("a.load", &everything()[3..]).contains("request 2 is a flush"));
    let two = [request(0, Op::Read, 7, 0, 512), request(0, Op::Read, 4, 0, 512)];
    assert!(refused("a.load", &two).contains("request 2 is on volume 4, earlier ones on volume 7"));
    assert!(!folder.path().join("a.load").exists());

    let lossy = WriteOptions { lossy: true, ..WriteOptions::default() };
    let report = write_to(&folder, "a.ssdsim", &everything(), &lossy).unwrap();
    assert_eq!(
        report.losses,
        Losses { trims: 1, flushes: 1, fua: 1, widened: 1, ..Losses::default() }
    );
    assert_eq!((report.requests, report.losses.dropped()), (3, 2));
    assert_eq!(read_back(&folder, &report)[2], request(2_000_000_001, Op::Read, 0, 12_288, 1024));
    let report = write_to(&folder, "a.iolog", &two, &lossy).unwrap();
    assert_eq!(report.losses.renumbered, 2);
    assert_eq!(read_back(&folder, &report).iter().map(|r| r.volume).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn names_say_format_and_packing() {
    let folder = tempfile::tempdir().unwrap();
    let write =
        |name: &str, options: &WriteOptions| write_to(&folder, name, &everything(), options);
    let whole = WriteOptions::default();
    let plain = write("a.ebt", &whole).unwrap();
    for (name, packing) in [("a.ebt.gz", "gzip"), ("a.EBT.zst", "zstd")] {
        let packed = write(name, &whole).unwrap();
        assert_eq!(
            (packed.format, packed.packing, &packed.sha256),
            ("ebt", packing, &plain.sha256)
        );
    }
    let error = write("a.txt", &whole).unwrap_err();
    assert!(
        error.contains("does not say which format") && error.contains(".load (blkreplay)"),
        "{error}"
    );
    assert!(write("a.ebt.xz", &whole).unwrap_err().contains(".xz is not written"));
    let named = WriteOptions { format: Some("ebt".parse().unwrap()), ..WriteOptions::default() };
    assert_eq!(write("b.txt", &named).unwrap().format, "ebt");
    assert!("ebd".parse::<&WriteFormat>().unwrap_err().contains("did you mean `ebt`?"));
}

#[test]
fn a_file_that_exists_is_replaced_only_where_asked() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ebt"), "mine").unwrap();
    let error = write_to(&folder, "a.ebt", &everything(), &WriteOptions::default()).unwrap_err();
    assert!(error.contains("a.ebt: exists already"), "{error}");
    assert_eq!(std::fs::read(folder.path().join("a.ebt")).unwrap(), b"mine");
    let overwrite = WriteOptions { overwrite: true, ..WriteOptions::default() };
    let report = write_to(&folder, "a.ebt", &everything(), &overwrite).unwrap();
    assert_eq!(read_back(&folder, &report), everything());
    assert!(
        write_to(&folder, "none/a.ebt", &[], &overwrite)
            .unwrap_err()
            .contains("there is no such folder")
    );
}

/// A device, pipe or link in the place of the file stays what it is, whatever the options say.
#[test]
#[cfg(unix)]
fn nothing_but_regular_files_is_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::os::unix::net::UnixListener;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let kind = |name: &str| at(name).symlink_metadata().unwrap().file_type();
    std::fs::write(at("mine"), "mine").unwrap();
    symlink("mine", at("link.ebt")).unwrap();
    symlink("nowhere", at("broken.ebt")).unwrap();
    std::fs::create_dir(at("folder.ebt")).unwrap();
    let _listener = UnixListener::bind(at("socket.ebt")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe.ebt")).status().unwrap().success());
    let mut expected = vec![
        (
            "link.ebt",
            "is a symbolic link to mine, which is neither followed nor replaced; name the file \
             itself",
        ),
        ("broken.ebt", "is a symbolic link to nowhere, which is neither"),
        ("folder.ebt", "is a folder, not a file to write"),
        ("socket.ebt", "is a socket, and only regular files are replaced; name another file"),
        (
            "pipe.ebt",
            "is a device or a pipe, which --force does not replace; without --force it is written \
             to",
        ),
    ];
    // Only root may make one.
    let device = std::process::Command::new("mknod")
        .arg(at("full.ebt"))
        .args(["c", "1", "7"])
        .output()
        .unwrap();
    if device.status.success() {
        expected.push(("full.ebt", "is a device or a pipe, which --force does not replace"));
    }
    let block = std::process::Command::new("mknod")
        .arg(at("disk.ebt"))
        .args(["b", "240", "250"])
        .output()
        .unwrap();
    if block.status.success() {
        expected.push(("disk.ebt", "is a block device, and only regular files are replaced"));
    }
    for (name, problem) in &expected {
        let before = kind(name);
        for overwrite in [true, false] {
            if !overwrite && (before.is_fifo() || before.is_char_device()) {
                continue;
            }
            let options = WriteOptions { overwrite, ..WriteOptions::default() };
            let error = write_to(&folder, name, &everything(), &options).unwrap_err();
            assert!(error.starts_with(&format!("{name}: {problem}")), "{error}");
            assert_eq!(
                options.check(&at(name)).unwrap_err().to_string(),
                format!("{}: {}", at(name).display(), &error[name.len() + 2..])
            );
        }
        assert_eq!(kind(name), before);
    }
    assert_eq!(std::fs::read(at("mine")).unwrap(), b"mine");
    assert!(!at("nowhere").exists());
}

/// Without `overwrite` a device or pipe is written to, and stays.
#[test]
#[cfg(unix)]
fn devices_and_pipes_are_written_to_as_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.spc");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    let requests = [request(0, Op::Write, 0, 4096, 8192)];
    let report = write_to(&folder, "pipe.spc", &requests, &WriteOptions::default()).unwrap();
    assert_eq!(reader.join().unwrap(), b"0,8,8192,w,0.000000000\n");
    assert_eq!((report.file_bytes, report.content_bytes), (23, 23));
    assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    let options = WriteOptions { format: Some("spc".parse().unwrap()), ..WriteOptions::default() };
    write_trace(std::iter::empty(), std::path::Path::new("/dev/null"), &options).unwrap();
    if std::path::Path::new("/dev/full").exists() {
        let full = std::path::Path::new("/dev/full");
        let error =
            write_trace(requests.into_iter().map(Ok), full, &options).unwrap_err().to_string();
        assert!(error.starts_with("/dev/full: cannot be written: No space left"), "{error}");
        assert!(full.symlink_metadata().unwrap().file_type().is_char_device());
    }
}

#[test]
fn an_error_on_the_way_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ebt");
    let requests = [Ok(everything()[0]), Err(TraceError::file("in.spc", "is damaged"))];
    let error = write_trace(requests.into_iter(), &path, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "in.spc: is damaged");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

/// Requests that `format` holds, the first at time 0 on volume 0, as readers count times from the
/// first request.
fn held(format: &'static WriteFormat) -> impl Strategy<Value = Vec<Request>> {
    let Holds { trims, flushes, fua, volumes, offset_unit, length_unit, time_unit_ns } =
        format.holds;
    let one = (
        0..3_000_000_000_u64,
        0..(1_u64 << 40),
        1..(1_u64 << 22),
        0..4_usize,
        any::<bool>(),
        0..3_u32,
    );
    prop::collection::vec(one, 1..40).prop_map(move |rows| {
        let (mut arrival_ns, mut known) = (0, 0);
        let mut requests = Vec::new();
        for (number, (gap, offset, len, op, force, volume)) in rows.into_iter().enumerate() {
            arrival_ns += if number == 0 { 0 } else { gap / time_unit_ns * time_unit_ns };
            let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][op];
            let op = if (op == Op::Trim && !trims) || (op == Op::Flush && !flushes) {
                Op::Write
            } else {
                op
            };
            // A format that numbers volumes anew meets them in the order of their numbers.
            let volume = match volumes {
                HeldVolumes::Numbered => volume,
                HeldVolumes::Renumbered => volume.min(known),
                HeldVolumes::One => 0,
            };
            known = known.max(volume + 1);
            let (offset, len) =
                (offset / offset_unit * offset_unit, len.next_multiple_of(length_unit));
            let (offset, len) = if op == Op::Flush { (0, 0) } else { (offset, len) };
            requests.push(Request {
                arrival_ns,
                offset,
                len,
                volume,
                op,
                fua: fua && force && op == Op::Write,
            });
        }
        requests
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_is_written_is_read(cases in write_formats().map(held).collect::<Vec<_>>()) {
        let folder = tempfile::tempdir().unwrap();
        for (format, requests) in write_formats().zip(cases) {
            let name = format!("a.{}", format.extension);
            let report = write_to(&folder, &name, &requests, &WriteOptions::default()).unwrap();
            prop_assert_eq!(report.losses, Losses::default());
            prop_assert_eq!(read_back(&folder, &report), requests, "{}", format.name);
        }
    }
}
