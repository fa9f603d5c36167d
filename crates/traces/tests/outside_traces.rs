//! Real traces, read from the folder that `ERASEBLOCK_TRACES` names, against figures established by
//! other means.

#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use eraseblock_traces::{
    DriveShape, FitMode, Moved, TraceSummary, WorkloadConfig, WriteOptions, write_trace,
};

/// The folder of traces, a relative one counted from the repository; without it the tests say what
/// they skip.
fn folder(test: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("ERASEBLOCK_TRACES").filter(|name| !name.is_empty()) else {
        eprintln!("skipped {test}: ERASEBLOCK_TRACES does not name a folder of traces");
        return None;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    assert!(folder.is_dir(), "ERASEBLOCK_TRACES: {} is not a folder", folder.display());
    Some(folder)
}

struct Expected {
    file: &'static str,
    format: &'static str,
    requests: u64,
    /// Share of reads in percent, to two digits.
    read_percent: f64,
    /// Mean lengths in bytes, rounded: all, reads, writes; 0 where the source does not give it.
    means: [u64; 3],
    /// Duration in s and its tolerance.
    duration: (f64, f64),
    span: (u64, u64),
    volumes: usize,
    sha256: &'static str,
    /// Requests that step back in time, and the largest step in ns.
    steps_back: (u64, u64),
}

/// Traces whose lines leave the format open: it is named.
const ASKED: &[&str] = &["msr-cut-rw40_60-part.trace.zst", "msr-cut-rand_iops-part.trace.zst"];

const TRACES: &[Expected] = &[
    Expected {
        file: "financial1-part.ascii.zst",
        format: "ssdsim",
        requests: 10_000,
        read_percent: 40.77,
        means: [5_528, 6_239, 5_038],
        duration: (259.6, 0.05),
        span: (67_584, 513_235_456),
        volumes: 22,
        sha256: "e834010fa51a97c6cb411aba8df468aa4241ee1ed6445252f2fb6da675b2c745",
        steps_back: (0, 0),
    },
    Expected {
        file: "websearch-part.trace.zst",
        format: "ssdsim",
        requests: 24_783,
        read_percent: 99.98,
        means: [15_419, 15_420, 8_192],
        duration: (60.06, 0.005),
        span: (0, 17_902_723_072),
        volumes: 6,
        sha256: "84ebefd565aeb5db3bb807ef3c609e952aeaa59c4e78e132181059d0c5ea74d1",
        steps_back: (0, 0),
    },
    Expected {
        file: "tpcc-part.trace.zst",
        format: "ssdsim",
        requests: 6_999,
        read_percent: 62.59,
        means: [8_532, 8_289, 8_939],
        duration: (0.136, 0.001),
        span: (361_823_744, 232_713_410_560),
        volumes: 16,
        sha256: "404dd97c3fd4bf605c23abb1f57823226d31da9ed5caeb37b01236496a81fa56",
        steps_back: (0, 0),
    },
    Expected {
        file: "msps-msnfs-part.ascii.zst",
        format: "disksim",
        requests: 149_999,
        read_percent: 86.99,
        means: [17_484, 18_686, 9_448],
        duration: (143.07, 0.005),
        span: (3_325_952, 182_089_064_448),
        volumes: 1,
        sha256: "7120325e0dd83a82bec022e477ab545f36202afc2b746056bf6a52f807b702e8",
        steps_back: (0, 0),
    },
    Expected {
        file: "postmark.ascii.zst",
        format: "disksim",
        requests: 62_257,
        read_percent: 83.17,
        means: [227_657, 101_126, 853_006],
        duration: (490.4, 0.05),
        span: (0, 22_892_470_272),
        volumes: 1,
        sha256: "186a147bd5a11e641a63252d188580d3af379ce7172b0a4e34c3fbf4eb1ea8f7",
        steps_back: (0, 0),
    },
    Expected {
        file: "iozone-part.ascii.zst",
        format: "disksim",
        requests: 100_000,
        read_percent: 0.0,
        means: [368_557, 0, 368_557],
        duration: (936.4, 0.05),
        span: (97_828_864, 17_255_907_328),
        volumes: 1,
        sha256: "6f05e8869a842c7c3667b2f8f3bcb65b3efe64f0f045a434015c6e56ebbdb716",
        steps_back: (0, 0),
    },
    Expected {
        file: "pcmark.ascii.zst",
        format: "disksim",
        requests: 56_088,
        read_percent: 74.61,
        means: [113_912, 78_791, 217_123],
        duration: (1_466.3, 0.05),
        span: (1_048_576, 113_133_789_184),
        volumes: 1,
        sha256: "9a1a0c90467665053643514832c2a3ab446d36160ef503ad16c51278cf95fa5d",
        steps_back: (0, 0),
    },
    Expected {
        file: "1und1-linux-webserver-2.load.zst",
        format: "blkreplay",
        requests: 269_007,
        read_percent: 55.40,
        means: [17_445, 0, 0],
        duration: (3_600.95, 0.005),
        span: (0, 773_733_978_112),
        volumes: 1,
        sha256: "b48e71217dff4b6801d8d40078a6eea1a2bb523e7fdc55b34c6d3db06019e440",
        steps_back: (0, 0),
    },
    Expected {
        file: "1und1-linux-mysql.load.zst",
        format: "blkreplay",
        requests: 80_794,
        read_percent: 8.90,
        means: [14_659, 0, 0],
        duration: (3_599.9, 0.05),
        span: (0, 32_556_998_656),
        volumes: 1,
        sha256: "6eb0c2471f0d349e640222e6cf343a17c1c47aedd5de0c877b56ceeb10587508",
        steps_back: (0, 0),
    },
    Expected {
        file: "1und1-windows-shared-server.load.zst",
        format: "blkreplay",
        requests: 1_371,
        read_percent: 0.0,
        means: [3_937, 0, 3_937],
        duration: (3_597.0, 0.5),
        span: (3_055_276_032, 3_222_487_040),
        volumes: 1,
        sha256: "00b1654e0323cc6071ceeccd5a9257f383839e851acd6c3308ef76587c8df6ec",
        steps_back: (0, 0),
    },
    Expected {
        file: "cloudphysics-sample.vscsi.zst",
        format: "vscsi",
        requests: 113_872,
        read_percent: 41.25,
        means: [36_936, 38_264, 36_004],
        duration: (7_200.09, 0.005),
        span: (8_162_816, 33_584_938_496),
        volumes: 1,
        steps_back: (0, 0),
        sha256: "3e67d66a07e9292bb47f6c765eb24ab3ea3f1f7de7d64a1b9e8c28b38b7439b9",
    },
    Expected {
        file: "hp-ajw-1week.srt.zst",
        format: "srt",
        requests: 44_519,
        read_percent: 29.29,
        means: [5_914, 4_718, 6_410],
        duration: (603_064.0, 1.0),
        // Sectors of 256 bytes, as the header says; each record's cylinder agrees.
        span: (360 * 256, 1_308_112 * 256),
        volumes: 2,
        steps_back: (0, 0),
        sha256: "949eecedac5682be9a349f8028fd25a2a458ae99944f7a8838038044ed6b96f8",
    },
    Expected {
        file: "msr-prxy_0-part.csv.zst",
        format: "msr",
        requests: 20_000,
        read_percent: 1.68,
        means: [2_631, 18_117, 2_366],
        duration: (938.8, 0.05),
        span: (42_184_704, 21_985_604_608),
        volumes: 1,
        sha256: "8405e1e507068a29efeeaf62fb6a719c667e96010f238dd30309d314355be366",
        steps_back: (0, 0),
    },
    Expected {
        file: "msr-hm_0-part.txt.zst",
        format: "msr",
        requests: 899,
        read_percent: 45.27,
        means: [9_111, 11_327, 7_278],
        duration: (126.9, 0.05),
        span: (17_625_088, 13_575_029_248),
        volumes: 1,
        sha256: "4be58c9a7021f5202b6f8ad2e053c7e7c78a3849cfeff188ff48188720a1f20e",
        steps_back: (0, 0),
    },
    Expected {
        file: "msr-cut-rw40_60-part.trace.zst",
        format: "heimdall",
        requests: 10_000,
        read_percent: 40.54,
        means: [4_884, 4_819, 4_927],
        duration: (85.9, 0.05),
        span: (32_768, 14_857_613_312),
        volumes: 1,
        sha256: "54e1563bb7718a13fe4ca985c456f9c3e5d113df2db196dacea5c00174fd178a",
        steps_back: (0, 0),
    },
    Expected {
        file: "msr-cut-rand_iops-part.trace.zst",
        format: "heimdall",
        requests: 10_000,
        read_percent: 83.16,
        means: [13_019, 4_276, 56_191],
        duration: (1.017, 0.0005),
        span: (26_116_096, 12_665_090_048),
        volumes: 1,
        sha256: "641d91becb6cba535cfbb8d2fb935c60278c7697f2ef05f573c7f8128742e924",
        steps_back: (0, 0),
    },
    Expected {
        file: "cloudphysics-sample.csv.zst",
        format: "cloudphysics",
        requests: 113_872,
        read_percent: 41.25,
        means: [36_936, 38_264, 36_004],
        duration: (7_200.0, 0.5),
        span: (8_162_816, 33_584_938_496),
        volumes: 1,
        sha256: "987ff2213050e47d24e8ba6e010d4b3127e51aafef6a76a8a6d43d13b9156fa1",
        steps_back: (0, 0),
    },
    Expected {
        file: "fiu-cheetah-part.blkparse.zst",
        format: "fiu",
        requests: 9_997,
        read_percent: 88.99,
        means: [4_096, 4_096, 4_096],
        duration: (23.57, 0.005),
        span: (28_672, 297_505_296_384),
        volumes: 1,
        sha256: "1ed969ce5300ddafe36d5989965791c7fcb0801edc7ecfcd2c490c42647bed6b",
        steps_back: (0, 0),
    },
    Expected {
        file: "ycsb-f2fs.blkparse.zst",
        format: "blkparse",
        requests: 5_727,
        read_percent: 82.45,
        means: [170_597, 113_757, 437_661],
        duration: (1_651.0, 0.5),
        span: (2_097_152, 2_745_171_968),
        volumes: 1,
        sha256: "d114f47cfab64d8a5800a942f63d5788de4ea56fea5cf7d97132ccab6a7fa248",
        steps_back: (1_154, 48_678_104),
    },
];

fn summary(folder: &Path, expected: &Expected) -> TraceSummary {
    let mut config = WorkloadConfig::trace(expected.file);
    if ASKED.contains(&expected.file) {
        config.format = expected.format.parse().unwrap();
    }
    match config.prepare(folder) {
        Ok(workload) => workload.summary().clone(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn figures_agree_with_those_established_elsewhere() {
    let Some(folder) = folder("figures_agree_with_those_established_elsewhere") else { return };
    for expected in TRACES {
        let summary = summary(&folder, expected);
        let figures = &summary.figures;
        let file = expected.file;
        assert_eq!(summary.sha256, expected.sha256, "{file}");
        assert_eq!(summary.format, expected.format, "{file}: {}", summary.evidence);
        assert!(!summary.evidence.is_empty(), "{file}");
        assert_eq!(figures.requests, expected.requests, "{file}");
        assert_eq!(figures.reads + figures.writes, figures.requests, "{file}");
        let percent = 100.0 * figures.reads as f64 / figures.requests as f64;
        assert!((percent - expected.read_percent).abs() <= 0.005, "{file}: {percent} % reads");
        let means = [figures.mean_bytes, figures.mean_read_bytes, figures.mean_write_bytes];
        for (mean, expected) in means.iter().zip(expected.means) {
            let mean = mean.map_or(0, |mean| mean.round() as u64);
            assert!(expected == 0 || mean == expected, "{file}: mean {mean}, expected {expected}");
        }
        let seconds = figures.duration_ns as f64 / 1e9;
        let (duration, tolerance) = expected.duration;
        assert!((seconds - duration).abs() <= tolerance, "{file}: {seconds} s");
        assert_eq!(
            (figures.lowest_byte, figures.highest_end),
            (Some(expected.span.0), Some(expected.span.1)),
            "{file}"
        );
        assert_eq!(figures.volumes.len(), expected.volumes, "{file}");
        let (sorted, sorted_max_ns) = expected.steps_back;
        assert_eq!(summary.moved, Moved { sorted, sorted_max_ns, ..Moved::default() }, "{file}");
    }
}

#[test]
fn the_compact_format_holds_every_trace() {
    let Some(folder) = folder("the_compact_format_holds_every_trace") else { return };
    let out = tempfile::tempdir().unwrap();
    for expected in TRACES {
        let mut config = WorkloadConfig::trace(expected.file);
        config.format = expected.format.parse().unwrap();
        let workload = config.prepare(&folder).unwrap();
        let path = out.path().join(format!("{}.ebt", expected.file));
        let written = write_trace(workload.requests(), &path, &WriteOptions::default()).unwrap();
        assert_eq!(written.requests, workload.identity().requests);
        let copy = WorkloadConfig::trace(path.to_str().unwrap()).prepare(Path::new(".")).unwrap();
        assert_eq!(&copy.summary().figures, workload.selected(), "{}", expected.file);
        let (mut before, mut after) = (workload.requests(), copy.requests());
        loop {
            let pair = (before.next().transpose().unwrap(), after.next().transpose().unwrap());
            assert_eq!(pair.0, pair.1, "{}", expected.file);
            if pair == (None, None) {
                break;
            }
        }
        let per_request = written.file_bytes as f64 / written.requests as f64;
        assert!(per_request < 13.0, "{}: {per_request} bytes a request", expected.file);
    }
}

#[test]
fn bytes_are_not_taken_for_sectors() {
    let Some(folder) = folder("bytes_are_not_taken_for_sectors") else { return };
    for file in ASKED {
        let error = WorkloadConfig::trace(*file).prepare(&folder).unwrap_err().to_string();
        assert!(
            error.contains("bytes or sectors") && error.contains("disksim, heimdall"),
            "{error}"
        );
    }
}

#[test]
fn each_event_of_a_request_can_be_taken() {
    let Some(folder) = folder("each_event_of_a_request_can_be_taken") else { return };
    let trace = |action| {
        let format = serde_json::json!({"kind": "blkparse", "action": action});
        let format = serde_json::from_value(format).unwrap();
        WorkloadConfig { format, ..WorkloadConfig::trace("ycsb-f2fs.blkparse.zst") }
    };
    // The recording holds no queue events; its summary counts as many completions as issues.
    let completed = trace("complete").prepare(&folder).unwrap();
    let issued = trace("issue").prepare(&folder).unwrap();
    let figures = [&completed, &issued].map(|workload| {
        let figures = &workload.summary().figures;
        (figures.requests, figures.reads, figures.read_bytes, figures.write_bytes)
    });
    assert_eq!(figures, [(5727, 4722, 524_572 << 10, 429_540 << 10); 2]);
    let others = &issued.summary().other_lines;
    assert_eq!((others["I events"], others["C events"], others["summary lines"]), (5727, 5727, 42));
    let error = trace("queue").prepare(&folder).unwrap_err().to_string();
    assert!(error.contains("lines of action Q"), "{error}");
}

#[test]
fn every_fit_keeps_the_books_of_real_traces() {
    let Some(folder) = folder("every_fit_keeps_the_books_of_real_traces") else { return };
    let drive = DriveShape { exported_bytes: 2 << 30, page_bytes: 2048, block_bytes: 128 << 10 };
    for file in ["financial1-part.ascii.zst", "1und1-linux-mysql.load.zst"] {
        for mode in FitMode::ALL {
            let workload = WorkloadConfig { fit: mode, ..WorkloadConfig::trace(file) }
                .prepare(&folder)
                .unwrap();
            let fitted = match workload.fit(drive) {
                Ok(fitted) => fitted,
                Err(error) if mode == FitMode::Refuse => {
                    assert!(error.to_string().contains("2.00 GiB (2147483648 B)"), "{error}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let report = fitted.report();
            let mut last_ns = 0;
            let mut count = 0;
            for request in fitted.requests() {
                let request = request.unwrap();
                assert!(request.offset + request.len <= drive.exported_bytes);
                assert!(request.arrival_ns >= last_ns);
                last_ns = request.arrival_ns;
                count += 1;
            }
            assert_eq!(count, report.submitted, "{file} {mode:?}");
            let kept = report.requests - report.beyond_drive - report.untouched_trims
                + report.extra_pieces;
            assert_eq!(report.submitted, kept, "{file} {mode:?}");
        }
    }
}
