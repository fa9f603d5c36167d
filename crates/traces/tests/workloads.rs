//! Whole workloads: from files and generators to requests on a drive.

use std::fmt::Write as _;
use std::path::Path;

use eraseblock_core::config::{Bytes, Nanos};
use eraseblock_core::host::{Op, Request};
use eraseblock_traces::{
    DriveShape, FitMode, FitReport, GenerateConfig, Ops, OutOfOrder, Volumes, Workload,
    WorkloadConfig,
};
use proptest::prelude::*;

const DRIVE: DriveShape =
    DriveShape { exported_bytes: 64 << 10, page_bytes: 512, block_bytes: 4096 };

fn prepare(content: &str, config: WorkloadConfig) -> Result<Workload, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.spc"), content).unwrap();
    let config = WorkloadConfig { path: Some("t.spc".to_owned()), ..config };
    config.prepare(folder.path()).map_err(|error| {
        assert!(error.is_input());
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    })
}

/// The requests and the report of `content` on the drive.
fn fitted(content: &str, config: WorkloadConfig) -> Result<(Vec<Request>, FitReport), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.spc"), content).unwrap();
    let config = WorkloadConfig { path: Some("t.spc".to_owned()), ..config };
    let workload = config.prepare(folder.path()).map_err(|error| error.to_string())?;
    let fitted = workload.fit(DRIVE).map_err(|error| error.to_string())?;
    let requests: Vec<_> =
        fitted.requests().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok((requests, fitted.report().clone()))
}

fn mode(fit: FitMode) -> WorkloadConfig {
    WorkloadConfig { fit, ..WorkloadConfig::default() }
}

#[test]
fn a_trace_becomes_requests_from_time_zero() {
    let (requests, report) =
        fitted("0,8,512,w,5.5\n0,9,1024,r,5.75\n", WorkloadConfig::default()).unwrap();
    let request = |arrival_ns, offset, len, op| Request {
        arrival_ns,
        offset,
        len,
        volume: 0,
        op,
        fua: false,
    };
    assert_eq!(
        requests,
        [request(0, 4096, 512, Op::Write), request(250_000_000, 4608, 1024, Op::Read)]
    );
    assert_eq!((report.requests, report.submitted, report.workload_bytes), (2, 2, 5632));
}

#[test]
fn bad_lines_stop_with_their_place() {
    for (content, message) in [
        (
            "0,8,512,w,0\n0,8,512,x,1\n",
            "t.spc:2: found opcode `x`, expected r or w (--skip-bad-lines, or \
             workload.skip_bad_lines = true, passes over such lines)",
        ),
        (
            "0,8,512,w,0\n\n0,8,5",
            "t.spc:3: found 3 of the 5 fields in `0,8,5`, expected ASU,LBA,size,opcode,timestamp \
             (--skip-bad-lines, or workload.skip_bad_lines = true, passes over such lines)",
        ),
        ("", "t.spc: is empty; a trace holds at least one request"),
        (
            "0,8,512,w,2\n0,8,512,w,1.999999999\n",
            "t.spc:2: found a time 1 ns before that of an earlier request, expected times in \
             order; --set workload.out_of_order=sort moves such requests to their place, --set \
             workload.out_of_order=clamp makes them arrive late",
        ),
        (
            "0,8,512,w,0\n0,8\0,512,w,1\n",
            "t.spc:2: found a zero byte, expected a text trace; is this a binary file? \
             (--skip-bad-lines, or workload.skip_bad_lines = true, passes over such lines)",
        ),
    ] {
        assert_eq!(prepare(content, WorkloadConfig::default()).unwrap_err(), message);
    }
    let huge = prepare("0,18446744073709551615,512,w,0\n", WorkloadConfig::default()).unwrap_err();
    assert!(huge.contains("t.spc:1: found sector 18446744073709551615 with length 512"), "{huge}");
}

#[test]
fn a_file_without_requests_says_what_it_lacks() {
    let config =
        WorkloadConfig { format: "blkreplay".parse().unwrap(), ..WorkloadConfig::default() };
    let error = prepare("only text\n", config).unwrap_err();
    assert_eq!(
        error,
        "t.spc: holds no request; expected the line `start ; sector ; length ; op` and rows \
         (blkreplay)"
    );
    let error = WorkloadConfig::trace("none.spc").prepare(Path::new("/nonexistent")).unwrap_err();
    assert!(error.to_string().contains("there is no folder /nonexistent"), "{error}");
}

#[test]
fn disorder_is_clamped_where_asked_and_counted() {
    let config = WorkloadConfig { out_of_order: OutOfOrder::Clamp, ..WorkloadConfig::default() };
    let content = "0,8,512,w,2\n0,8,512,w,1\n0,8,512,w,1.5\n0,8,512,w,3\n";
    let workload = prepare(content, config.clone()).unwrap();
    assert_eq!(
        (workload.identity().moved.clamped, workload.identity().moved.clamped_max_ns),
        (2, 1_000_000_000)
    );
    let (requests, _) = fitted(content, config).unwrap();
    let times: Vec<_> = requests.iter().map(|request| request.arrival_ns).collect();
    assert_eq!(times, [0, 0, 0, 1_000_000_000]);
    let config = WorkloadConfig { out_of_order: OutOfOrder::Sort, ..WorkloadConfig::default() };
    let workload = prepare(content, config.clone()).unwrap();
    assert_eq!(
        (workload.identity().moved.sorted, workload.identity().moved.sorted_max_ns),
        (2, 1_000_000_000)
    );
    let (requests, _) = fitted(content, config).unwrap();
    let times: Vec<_> = requests.iter().map(|request| request.arrival_ns).collect();
    assert_eq!(times, [0, 500_000_000, 1_000_000_000, 2_000_000_000]);
}

#[test]
fn the_recorder_of_a_format_may_step_back_a_little() {
    let log = |second| {
        format!(
            "2020-08-06 02:07:23.5 connection=1 Read id=1 offset=0x0 count=0x200 ...\n\
             2020-08-06 02:07:{second} connection=1 Read id=2 offset=0x0 count=0x200 ...\n"
        )
    };
    let workload = prepare(&log("23.4"), WorkloadConfig::default()).unwrap();
    let identity = workload.identity();
    assert_eq!(
        (identity.format, identity.moved.clamped, identity.moved.clamped_max_ns),
        ("nbdkit-log", 1, 100_000_000)
    );
    let error = prepare(&log("20.0"), WorkloadConfig::default()).unwrap_err();
    assert!(error.contains("t.spc:2: found a time 3500000000 ns before"), "{error}");
}

#[test]
fn every_request_is_replayed_or_counted() {
    let content = "0,8,512,w,0\n1,8,512,r,1\n1,8,0,w,2\n1,8,512,w,3\n1,9,512,w,4\n1,9,512,w,5\n";
    let config = WorkloadConfig {
        volumes: Volumes::Only(vec![1]),
        ops: Ops::W,
        first: Some(2),
        ..WorkloadConfig::default()
    };
    let workload = prepare(content, config.clone()).unwrap();
    let identity = workload.identity();
    assert_eq!(
        (identity.requests, identity.requests_in_trace, identity.left_out.total()),
        (2, 6, 4)
    );
    assert_eq!(workload.summary().figures.requests, 6);
    assert_eq!(workload.selected().requests, 2);
    let (requests, report) = fitted(content, config).unwrap();
    assert_eq!(requests.iter().map(|request| request.offset).collect::<Vec<_>>(), [4096, 4608]);
    assert_eq!((report.requests, report.submitted), (2, 2));
}

#[test]
fn a_selection_that_leaves_nothing_is_an_error() {
    let volume = |number| WorkloadConfig {
        volumes: Volumes::Only(vec![number]),
        ..WorkloadConfig::default()
    };
    let error = prepare("3,8,512,w,0\n5,8,512,w,0\n", volume(4)).unwrap_err();
    assert_eq!(error, "workload.volumes: t.spc has no volume 4, only 3, 5");
    let reads = WorkloadConfig { ops: Ops::R, ..WorkloadConfig::default() };
    let error = prepare("3,8,512,w,0\n", reads).unwrap_err();
    assert!(error.contains("none of its 1 requests is left to replay"), "{error}");
}

#[test]
fn a_part_of_a_trace_begins_at_time_zero() {
    let content = "1,8,512,w,0\n3,8,512,r,1\n1,9,512,w,2\n2,9,512,w,3\n1,10,512,w,4.5\n";
    let config = WorkloadConfig {
        volumes: "1,3".parse().unwrap(),
        from: Some(Nanos(1)),
        until: Some(Nanos(4_600_000_000)),
        skip: Some(1),
        time_scale: 0.5,
        ..WorkloadConfig::default()
    };
    let workload = prepare(content, config.clone()).unwrap();
    let identity = workload.identity();
    assert_eq!(
        (identity.start_ns, identity.requests, identity.left_out.total()),
        (2_000_000_000, 2, 3)
    );
    assert_eq!(workload.selected().duration_ns, 1_250_000_000);
    assert_eq!(workload.summary().figures.duration_ns, 4_500_000_000);
    let (requests, report) = fitted(content, config.clone()).unwrap();
    let shown: Vec<_> = requests.iter().map(|r| (r.arrival_ns, r.volume, r.offset)).collect();
    assert_eq!(shown, [(0, 1, 4608), (1_250_000_000, 1, 5120)]);
    assert_eq!(report.requests, 2);
    let slow = WorkloadConfig { time_scale: 1e11, ..config };
    assert!(
        prepare(content, slow)
            .unwrap_err()
            .starts_with("workload.time_scale: found 100000000000, with which")
    );
}

#[test]
fn volumes_are_laid_one_after_another() {
    let content = "7,1,512,w,0\n2,8,512,w,1\n7,0,512,w,2\n";
    let (requests, report) = fitted(content, WorkloadConfig::default()).unwrap();
    assert_eq!(
        requests.iter().map(|request| request.offset).collect::<Vec<_>>(),
        [8704, 4096, 8192]
    );
    assert_eq!(report.volumes.iter().map(|place| place.base).collect::<Vec<_>>(), [0, 8192]);
}

#[test]
fn a_flush_has_no_address_on_any_volume() {
    let log = "2020-08-06 02:07:23.1 connection=1 Connect export=\"a\" tls=0\n\
               2020-08-06 02:07:23.2 connection=2 Connect export=\"b\" tls=0\n\
               2020-08-06 02:07:23.3 connection=1 Write id=1 offset=0x0 count=0x200 fua=0 ...\n\
               2020-08-06 02:07:23.4 connection=2 Write id=1 offset=0x0 count=0x200 fua=0 ...\n\
               2020-08-06 02:07:23.5 connection=2 Flush id=2 ...\n";
    let (requests, _) = fitted(log, WorkloadConfig::default()).unwrap();
    let shown: Vec<_> = requests.iter().map(|r| (r.op, r.volume, r.offset)).collect();
    assert_eq!(shown, [(Op::Write, 0, 0), (Op::Write, 1, 4096), (Op::Flush, 1, 0)]);
}

#[test]
fn a_line_may_hold_a_flush_and_a_write() {
    let log = "8,16 0 1 0.5 7 Q FWS 8 + 8 [x]\n8,16 0 2 0.75 7 Q R 0 + 8 [x]\n8,16 0 3 0.8 7 D R 0 \
        + 8 [x]\n";
    let taking = |action| {
        let format = serde_json::json!({"kind": "blkparse", "action": action});
        WorkloadConfig {
            format: serde_json::from_value(format).unwrap(),
            ..WorkloadConfig::default()
        }
    };
    let (requests, report) = fitted(log, taking("queue")).unwrap();
    let shown: Vec<_> = requests.iter().map(|r| (r.arrival_ns, r.op, r.offset, r.len)).collect();
    assert_eq!(
        shown,
        [(0, Op::Flush, 0, 0), (0, Op::Write, 4096, 4096), (250_000_000, Op::Read, 0, 4096)]
    );
    assert_eq!((report.requests, report.submitted), (3, 3));
    let error = prepare(log, taking("complete")).unwrap_err();
    assert_eq!(
        error,
        "t.spc: holds no request; expected lines of action C, which action = \"complete\" asks for \
         (blkparse)"
    );
}

#[test]
fn what_does_not_fit_is_refused_with_both_sizes() {
    let error = fitted("0,200,512,w,0\n", WorkloadConfig::default()).unwrap_err();
    assert!(error.contains("t.spc reaches up to 100.50 KiB (102912 B)"), "{error}");
    assert!(error.contains("the drive exports 64.00 KiB (65536 B)"), "{error}");
    assert!(error.contains("--fit"), "{error}");
}

#[test]
fn fits_do_what_they_say() {
    // The last block of the drive is number 15; blocks 0 and 25 are used, 25 beyond the drive.
    let content = "0,1,512,w,0\n0,203,512,w,1\n0,127,1024,r,2\n";
    let offsets = |fit| {
        let (requests, report) = fitted(content, mode(fit)).unwrap();
        (requests.iter().map(|request| (request.offset, request.len)).collect::<Vec<_>>(), report)
    };
    let (wrapped, report) = offsets(FitMode::Wrap);
    assert_eq!(wrapped, [(512, 512), (203 * 512 - 65536, 512), (127 * 512, 512), (0, 512)]);
    assert_eq!((report.split, report.extra_pieces, report.moved, report.submitted), (1, 1, 1, 4));
    let (clipped, report) = offsets(FitMode::Clip);
    assert_eq!(clipped, [(512, 512)]);
    assert_eq!((report.beyond_drive, report.beyond_drive_bytes, report.submitted), (2, 1536, 1));
    let (scaled, report) = offsets(FitMode::Scale);
    assert_eq!(scaled, [(0, 512), (127 * 512, 512), (79 * 512, 1024)]);
    assert_eq!((report.moved, report.submitted), (3, 3));
    let (compact, report) = offsets(FitMode::Compact);
    assert_eq!(compact, [(512, 512), (3 * 4096 + 3 * 512, 512), (4096 + 7 * 512, 1024)]);
    assert_eq!((report.footprint_bytes, report.submitted, report.split), (Some(4 * 4096), 3, 0));
    let (remapped, report) = offsets(FitMode::Remap);
    assert_eq!(remapped, [(512, 512), (2 * 4096 + 3 * 512, 512), (127 * 512, 512), (4096, 512)]);
    assert_eq!((report.footprint_bytes, report.split, report.submitted), (Some(4 * 4096), 1, 4));
}

#[test]
fn compact_needs_room_for_what_is_touched() {
    let content = (0..17).fold(String::new(), |mut text, block| {
        writeln!(text, "0,{},512,w,{block}", block * 16).unwrap();
        text
    });
    for fit in [FitMode::Compact, FitMode::Remap] {
        let error = fitted(&content, mode(fit)).unwrap_err();
        assert!(
            error.contains("17 logical blocks of 4.00 KiB (4096 B), 68.00 KiB (69632 B) in all"),
            "{error}"
        );
        assert!(error.contains("but the drive has 16 of them (64.00 KiB (65536 B))"), "{error}");
    }
}

#[test]
fn a_request_longer_than_the_drive_has_no_place() {
    for fit in [FitMode::Wrap, FitMode::Scale] {
        let error = fitted("0,0,512,w,0\n0,0,70000,w,0\n", mode(fit)).unwrap_err();
        assert!(error.contains("request 2 of t.spc has 68.36 KiB (70000 B)"), "{error}");
    }
    let error = fitted("0,0,70000,w,0\n", mode(FitMode::Clip)).unwrap_err();
    assert!(error.contains("none of the 1 requests of t.spc lies within"), "{error}");
}

#[test]
fn trims_give_no_block_a_place() {
    let log = "2020-08-06 02:07:23.1 connection=1 Trim id=1 offset=0x0 count=0x1000000 fua=0 \
        ...\n2020-08-06 02:07:23.2 connection=1 Write id=2 offset=0x800200 count=0x200 fua=1 \
        ...\n2020-08-06 02:07:23.3 connection=1 Flush id=3 ...\n2020-08-06 02:07:23.4 connection=1 \
        Trim id=4 offset=0x4000 count=0x1000 fua=0 ...\n";
    let (requests, report) = fitted(log, mode(FitMode::Compact)).unwrap();
    let shown: Vec<_> = requests.iter().map(|r| (r.op, r.offset, r.len, r.fua)).collect();
    assert_eq!(
        shown,
        [(Op::Trim, 0, 4096, false), (Op::Write, 512, 512, true), (Op::Flush, 0, 0, false)]
    );
    assert_eq!((report.shortened_trims, report.untouched_trims, report.submitted), (1, 1, 3));
    assert_eq!(report.trim_bytes_dropped, (16 << 20) - 4096 + 4096);
}

#[test]
fn a_trace_that_changes_between_passes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.spc");
    let two = "0,8,512,w,0\n0,9,512,w,1\n";
    std::fs::write(&path, two).unwrap();
    let workload = WorkloadConfig::trace("t.spc").prepare(folder.path()).unwrap();
    let kept = workload.fit(DRIVE).unwrap();
    let fitted = workload.without_memory().fit(DRIVE).unwrap();
    assert!(kept.requests().map(Result::unwrap).eq(fitted.requests().map(Result::unwrap)));
    for changed in
        ["0,8,512,w,0\n", "0,8,512,w,0\n0,9,512,w,1\n0,9,512,w,1\n", "0,8,512,w,0\n0,12,512,w,1\n"]
    {
        std::fs::write(&path, changed).unwrap();
        let items: Vec<_> = fitted.requests().collect();
        let error = items.last().unwrap().as_ref().unwrap_err().to_string();
        assert!(error.contains("changed between two passes"), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
    let items: Vec<_> = fitted.requests().collect();
    assert_eq!(items.len(), 1);
    assert!(items[0].as_ref().unwrap_err().to_string().contains("no such file"));
    assert_eq!(kept.requests().count(), 2, "what was read before");
}

#[test]
fn a_generator_is_known_by_its_parameters() {
    let generate = GenerateConfig::uniform(1000, Bytes(1 << 16));
    let prepare = |generate: &GenerateConfig| {
        WorkloadConfig::generated(generate.clone()).prepare(Path::new(".")).unwrap()
    };
    let workload = prepare(&generate);
    assert_eq!(
        (workload.identity().name.as_str(), workload.identity().format),
        ("uniform", "generated")
    );
    assert_eq!(workload.identity().sha256, prepare(&generate).identity().sha256);
    let other = GenerateConfig::uniform(1001, Bytes(1 << 16));
    assert_ne!(workload.identity().sha256, prepare(&other).identity().sha256);
    assert_eq!(workload.fit(DRIVE).unwrap().requests().count(), 1000);
}

#[test]
fn reports_are_plain_json() {
    let workload = prepare("0,8,512,w,0\n", WorkloadConfig::default()).unwrap();
    let identity = serde_json::to_value(workload.identity()).unwrap();
    assert_eq!(identity["format"], "spc");
    assert_eq!(identity["left_out"]["zero_length"], 0);
    let summary = serde_json::to_value(workload.summary()).unwrap();
    assert_eq!(
        (&summary["requests"], &summary["volumes"][0]["highest_end"]),
        (&1.into(), &4608.into())
    );
    assert!(summary["mean_read_bytes"].is_null());
    let report = serde_json::to_value(workload.fit(DRIVE).unwrap().report()).unwrap();
    assert_eq!((&report["mode"], &report["submitted"]), (&"refuse".into(), &1.into()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any bytes at all are answered: read, or refused with a message.
    #[test]
    fn any_file_is_answered(content in prop::collection::vec(any::<u8>(), 0..400), magic in 0_usize..4) {
        let head: &[u8] = [&b""[..], b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"0 0 8 16 1\n"][magic];
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t"), [head, &content].concat()).unwrap();
        if let Err(error) = WorkloadConfig::trace("t").prepare(folder.path()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// In every mode requests stay on the drive, in order, and the report accounts for each of
    /// them; the bytes of a mapping that moves blocks never overlap another's.
    #[test]
    fn every_fit_keeps_its_books(
        lines in prop::collection::vec((0_u32..3, 0_u64..400, 1_u64..20_000, any::<bool>()), 1..40),
        fit in prop::sample::select(&FitMode::ALL[..]),
    ) {
        let mut content = String::new();
        for (second, (volume, lba, size, write)) in lines.iter().enumerate() {
            writeln!(content, "{volume},{lba},{size},{},{second}", if *write { 'w' } else { 'r' }).unwrap();
        }
        let Ok((requests, report)) = fitted(&content, mode(fit)) else { return Ok(()) };
        prop_assert!(requests.iter().all(|r| r.len > 0 && r.offset + r.len <= DRIVE.exported_bytes));
        prop_assert!(requests.is_sorted_by_key(|request| request.arrival_ns));
        prop_assert_eq!(requests.len() as u64, report.submitted);
        prop_assert_eq!(report.requests, lines.len() as u64);
        prop_assert_eq!(report.submitted, report.requests - report.beyond_drive + report.extra_pieces);
        let bytes: u64 = lines.iter().map(|line| line.2).sum();
        let placed: u64 = requests.iter().map(|request| request.len).sum();
        prop_assert_eq!(placed + report.beyond_drive_bytes, bytes);
        if matches!(fit, FitMode::Compact | FitMode::Clip) {
            prop_assert_eq!(report.split, 0);
        }
        if matches!(fit, FitMode::Compact | FitMode::Remap) && requests.len() == lines.len() {
            // Same order of bytes inside a block, and different blocks stay different.
            let mut blocks = std::collections::BTreeMap::new();
            for (request, line) in requests.iter().zip(&lines) {
                let base = report.volumes.iter().find(|place| place.volume == line.0).unwrap().base;
                let from = base + line.1 * 512;
                prop_assert_eq!(from % DRIVE.block_bytes, request.offset % DRIVE.block_bytes);
                let to = request.offset / DRIVE.block_bytes;
                prop_assert_eq!(*blocks.entry(from / DRIVE.block_bytes).or_insert(to), to);
            }
            let places: std::collections::BTreeSet<_> = blocks.values().collect();
            prop_assert_eq!(places.len(), blocks.len());
        }
    }
}

/// Volumes 1, 4 and 9 by turns, in an order of their own.
fn three_volumes(count: u32) -> String {
    let mut text = String::new();
    for number in 0..count {
        let volume = [1, 4, 4, 9, 1, 4][number as usize % 6];
        let op = if number % 4 == 0 { 'r' } else { 'w' };
        let place = number * 7 % 50;
        let _ = writeln!(text, "{volume},{place},512,{op},{}", f64::from(number + 10) * 0.25);
    }
    text
}

#[test]
fn a_volume_kept_apart_is_the_volume_of_the_whole_trace() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.spc"), three_volumes(60)).unwrap();
    let whole = WorkloadConfig { path: Some("t.spc".to_owned()), ..WorkloadConfig::default() };
    let split = whole.split(folder.path(), &mut |_| true).unwrap();
    for config in [
        whole.clone(),
        WorkloadConfig { ops: Ops::W, skip: Some(1), first: Some(5), ..whole.clone() },
        WorkloadConfig { from: Some(Nanos(3_000_000_000)), time_scale: 0.5, ..whole.clone() },
        WorkloadConfig {
            until_byte: Some(Bytes(10_000)),
            until: Some(Nanos(9_000_000_000)),
            ..whole
        },
    ] {
        for volume in [1, 4, 9] {
            let config = WorkloadConfig { volumes: Volumes::Only(vec![volume]), ..config.clone() };
            let apart = split.workload(&config, &mut |_| true).unwrap();
            let read = config.prepare(folder.path()).unwrap();
            assert_eq!(apart.identity(), read.identity());
            assert_eq!(apart.summary(), read.summary());
            assert_eq!(apart.selected(), read.selected());
            let requests = |workload: &Workload| workload.requests().map(Result::unwrap).collect();
            let (apart, read): (Vec<_>, Vec<_>) =
                (requests(&apart.without_memory()), requests(&read));
            assert!(!apart.is_empty());
            assert_eq!(apart, read);
        }
    }
}

#[test]
fn volumes_are_chosen_by_number_or_by_their_requests() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.spc"), three_volumes(60)).unwrap();
    let config = |volumes: &str| WorkloadConfig {
        path: Some("t.spc".to_owned()),
        volumes: volumes.parse().unwrap(),
        ..WorkloadConfig::default()
    };
    let split = config("each").split(folder.path(), &mut |_| true).unwrap();
    for (volumes, numbers) in [
        ("each", vec![1, 4, 9]),
        ("each:9,1", vec![1, 9]),
        ("busiest:2", vec![4, 1]),
        ("busiest:20", vec![4, 1, 9]),
        ("1", vec![]),
    ] {
        assert_eq!(split.volumes(&config(volumes)).unwrap(), numbers);
    }
    let error = split.volumes(&config("each:2")).unwrap_err().to_string();
    assert_eq!(error, "workload.volumes: t.spc has no volume 2, only 1, 4, 9");
    let error = config("each").prepare(folder.path()).unwrap_err().to_string();
    assert!(error.contains("`each` stands for a run of each volume"), "{error}");
    let lines = (0..100).map(|volume| format!("{},8,512,w,{volume}\n", 3 * volume));
    let many = lines.collect::<Vec<_>>().concat();
    let error = prepare(&many, config("50")).unwrap_err();
    let near = "t.spc has no volume 50, among its 100; the nearest numbers are 45, 48, 51, 54";
    assert_eq!(error, format!("workload.volumes: {near}"));
}
