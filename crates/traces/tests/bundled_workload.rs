//! The workload that comes with the project, against the figures that its own page gives.

use std::path::{Path, PathBuf};

use eraseblock_traces::{DriveShape, FitMode, WorkloadConfig};

const TRACE: &str = "pgbench-ext4.nbdkit.zst";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads")
}

/// The numbers of the table row that begins with `| name |`.
fn row(page: &str, name: &str) -> Vec<u64> {
    let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {name} |"))).expect(name);
    row.split('|').filter_map(|cell| cell.trim().replace(',', "").parse().ok()).collect()
}

#[test]
fn the_reader_finds_what_the_page_says() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let workload = WorkloadConfig::trace(TRACE).prepare(&folder()).unwrap();
    let summary = workload.summary();
    let figures = &summary.figures;
    assert_eq!(summary.format, "nbdkit-log", "{}", summary.evidence);
    assert!(page.contains(&summary.sha256), "{}", summary.sha256);
    assert_eq!([figures.reads, figures.writes, figures.trims, figures.flushes], row(&page, "requests")[..]);
    assert_eq!([figures.read_bytes, figures.write_bytes, figures.trim_bytes], row(&page, "bytes")[..]);
    assert_eq!(figures.reads + figures.writes + figures.trims + figures.flushes, figures.requests);
    assert_eq!(workload.identity().requests, figures.requests);
}

#[test]
fn it_can_be_replayed_on_a_drive_that_holds_its_footprint() {
    let config = WorkloadConfig { fit: FitMode::Compact, ..WorkloadConfig::trace(TRACE) };
    let drive = DriveShape { exported_bytes: 1 << 30, page_bytes: 4096, block_bytes: 256 << 10 };
    let fitted = config.prepare(&folder()).unwrap().fit(drive).unwrap();
    let footprint = fitted.report().footprint_bytes.unwrap();
    let mut count = 0;
    for request in fitted.requests() {
        let request = request.unwrap();
        assert!(request.offset + request.len <= footprint);
        count += 1;
    }
    assert_eq!(count, fitted.report().submitted);
}
