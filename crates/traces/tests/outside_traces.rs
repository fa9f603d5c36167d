//! Real traces, read from the folder that `ERASEBLOCK_TRACES` names, against figures established by other means.

#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use eraseblock_traces::{DriveShape, FitMode, Moved, TraceSummary, WorkloadConfig};

/// The folder of traces, a relative one counted from the repository; without it the tests say what they skip.
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
}

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
    },
];

fn summary(folder: &Path, file: &str) -> TraceSummary {
    match WorkloadConfig::trace(file).prepare(folder) {
        Ok(workload) => workload.summary().clone(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn figures_agree_with_those_established_elsewhere() {
    let Some(folder) = folder("figures_agree_with_those_established_elsewhere") else { return };
    for expected in TRACES {
        let summary = summary(&folder, expected.file);
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
        assert_eq!(summary.moved, Moved::default(), "{file}");
    }
}

#[test]
fn bytes_are_not_taken_for_sectors() {
    let Some(folder) = folder("bytes_are_not_taken_for_sectors") else { return };
    for (file, duration_s) in
        [("msr-cut-rw40_60-part.trace.zst", 85.9), ("msr-cut-rand_iops-part.trace.zst", 1.017)]
    {
        let mut config = WorkloadConfig::trace(file);
        let error = config.prepare(&folder).unwrap_err().to_string();
        assert!(error.contains("bytes or sectors") && error.contains("ascii-ms-bytes"), "{error}");
        config.format = "ascii-ms-bytes".parse().unwrap();
        let figures = config.prepare(&folder).unwrap().summary().figures.clone();
        assert_eq!(figures.requests, 10_000);
        assert!((figures.duration_ns as f64 / 1e9 - duration_s).abs() < 0.05, "{}", figures.duration_ns);
    }
}

#[test]
fn other_formats_are_refused() {
    let Some(folder) = folder("other_formats_are_refused") else { return };
    for file in [
        "cloudphysics-sample.csv.zst",
        "cloudphysics-sample.vscsi.zst",
        "hp-ajw-1week.srt.zst",
        "msr-hm_0-part.txt.zst",
        "msr-prxy_0-part.csv.zst",
    ] {
        let error = WorkloadConfig::trace(file).prepare(&folder).unwrap_err();
        assert!(error.is_input(), "{error}");
        let text = error.to_string();
        assert!(text.contains("no known format fits") || text.contains("is this a binary file?"), "{text}");
    }
}

#[test]
fn every_fit_keeps_the_books_of_real_traces() {
    let Some(folder) = folder("every_fit_keeps_the_books_of_real_traces") else { return };
    let drive = DriveShape { exported_bytes: 2 << 30, page_bytes: 2048, block_bytes: 128 << 10 };
    for file in ["financial1-part.ascii.zst", "1und1-linux-mysql.load.zst"] {
        for mode in FitMode::ALL {
            let workload =
                WorkloadConfig { fit: mode, ..WorkloadConfig::trace(file) }.prepare(&folder).unwrap();
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
            let kept = report.requests - report.beyond_drive - report.untouched_trims + report.extra_pieces;
            assert_eq!(report.submitted, kept, "{file} {mode:?}");
        }
    }
}
