//! The recordings that come with the project, against the figures that their own pages give.

use std::path::{Path, PathBuf};

use eraseblock_traces::{DriveShape, FitMode, WorkloadConfig};

const ENDING: &str = ".nbdkit.zst";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads")
}

/// Names of the recordings, without their ending.
fn recordings() -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().to_str()?.strip_suffix(ENDING).map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

/// The figure of the kind of request `kind` in the table row that begins with `| name |`; 0 for a
/// kind without a column.
fn figure(page: &str, name: &str, kind: &str) -> u64 {
    let cells = |start: &str| -> Vec<String> {
        let row = page.lines().find_map(|line| line.strip_prefix(start)).expect(start);
        row.split('|').map(|cell| cell.trim().replace(',', "")).collect()
    };
    let Some(column) = cells("|  |").iter().position(|heading| heading == kind) else { return 0 };
    cells(&format!("| {name} |"))[column].parse().unwrap()
}

#[test]
fn the_reader_finds_what_the_pages_say() {
    for name in recordings() {
        let page = std::fs::read_to_string(folder().join(format!("{name}.md"))).unwrap();
        let workload = WorkloadConfig::trace(format!("{name}{ENDING}")).prepare(&folder()).unwrap();
        let summary = workload.summary();
        let found = &summary.figures;
        assert_eq!(summary.format, "nbdkit-log", "{name}: {}", summary.evidence);
        assert!(page.contains(&summary.sha256), "{name}: {}", summary.sha256);
        let kinds = ["read", "write", "trim", "flush"];
        let requests = [found.reads, found.writes, found.trims, found.flushes];
        assert_eq!(requests, kinds.map(|kind| figure(&page, "requests", kind)), "{name}");
        let bytes = [found.read_bytes, found.write_bytes, found.trim_bytes];
        assert_eq!(
            bytes,
            ["read", "write", "trim"].map(|kind| figure(&page, "bytes", kind)),
            "{name}"
        );
        assert_eq!(requests.iter().sum::<u64>(), found.requests, "{name}");
        assert_eq!(workload.identity().requests, found.requests, "{name}");
    }
}

#[test]
fn they_can_be_replayed_on_a_drive_that_holds_their_footprint() {
    for name in recordings() {
        let trace = WorkloadConfig::trace(format!("{name}{ENDING}"));
        let config = WorkloadConfig { fit: FitMode::Compact, ..trace };
        let drive =
            DriveShape { exported_bytes: 1 << 30, page_bytes: 4096, block_bytes: 256 << 10 };
        let fitted = config.prepare(&folder()).unwrap().fit(drive).unwrap();
        let footprint = fitted.report().footprint_bytes.unwrap();
        let mut count = 0;
        for request in fitted.requests() {
            let request = request.unwrap();
            assert!(request.offset + request.len <= footprint, "{name}");
            count += 1;
        }
        assert_eq!(count, fitted.report().submitted, "{name}");
    }
}
