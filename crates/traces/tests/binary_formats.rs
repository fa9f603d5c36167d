//! Whole files of each binary format, sound and damaged.

use eraseblock_traces::{OutOfOrder, Workload, WorkloadConfig};

struct Case {
    format: &'static str,
    /// Bytes of a record.
    record: usize,
    /// True where the recorder writes records out of order, so that they are sorted.
    sorted: bool,
}

/// The compact format of this program has blocks in place of records, and tests of its own.
const CASES: &[Case] = &[
    Case { format: "blktrace", record: 48, sorted: true },
    Case { format: "srt", record: 56, sorted: false },
    Case { format: "vscsi", record: 32, sorted: false },
    Case { format: "vscsi-v2", record: 40, sorted: false },
    Case { format: "oracle-general", record: 24, sorted: false },
    Case { format: "oracle-general-opns", record: 27, sorted: false },
];

/// Requests of a sample: they take more than a second, the unit of some formats.
const COUNT: usize = 20_001;

fn sample(case: &Case) -> Vec<u8> {
    let format: &eraseblock_traces::Format = case.format.parse().unwrap();
    format.sample(COUNT as u64)
}

/// Bytes before the first record.
fn header(case: &Case, sample: &[u8]) -> usize {
    sample.len() - COUNT * case.record
}

fn prepare_with(content: &[u8], config: WorkloadConfig) -> Result<Workload, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t"), content).unwrap();
    let config = WorkloadConfig { path: Some("t".to_owned()), ..config };
    config.prepare(folder.path()).map_err(|error| {
        assert!(error.is_input(), "{error}");
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    })
}

fn prepare(case: &Case, content: &[u8]) -> Result<Workload, String> {
    prepare_with(
        content,
        WorkloadConfig { format: case.format.parse().unwrap(), ..WorkloadConfig::default() },
    )
}

#[test]
fn every_binary_format_has_a_case() {
    for format in eraseblock_traces::formats().filter(|format| format.name != "ebt") {
        let binary = format.sample(3).contains(&0);
        assert_eq!(CASES.iter().any(|case| case.format == format.name), binary, "{}", format.name);
    }
}

#[test]
fn the_content_tells_the_format() {
    for case in CASES {
        let workload = prepare_with(&sample(case), WorkloadConfig::default()).unwrap();
        assert_eq!(workload.identity().format, case.format);
        assert_eq!(workload.identity().requests, COUNT as u64);
    }
}

#[test]
fn a_file_that_ends_inside_a_record_says_where() {
    for case in CASES {
        let content = sample(case);
        let start = content.len() - case.record;
        for left in [1, case.record / 2, case.record - 1] {
            let error = prepare(case, &content[..start + left]).unwrap_err();
            let place = format!("t: record {COUNT} at byte {start}: found ");
            assert!(error.starts_with(&place) && error.contains("the file is cut off"), "{error}");
        }
        let whole = prepare(case, &content[..start]).unwrap();
        assert_eq!(whole.identity().requests, COUNT as u64 - 1);
    }
}

#[test]
fn nothing_and_garbage_are_no_traces() {
    let garbage: Vec<u8> =
        (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for case in CASES {
        let error = prepare(case, b"").unwrap_err();
        assert!(
            error.contains("holds no request") || error.contains("header at byte 0"),
            "{error}"
        );
        let error = prepare(case, &garbage).unwrap_err();
        assert!(error.contains(" at byte 0: found "), "{error}");
    }
    for content in [vec![0; 5000], vec![0xff; 5000], garbage] {
        let error = prepare_with(&content, WorkloadConfig::default()).unwrap_err();
        assert!(error.contains("no known format fits its bytes (the first are "), "{error}");
    }
    let error = prepare_with(b"", WorkloadConfig::default()).unwrap_err();
    assert!(error.contains("is empty"), "{error}");
}

#[test]
fn a_header_that_is_cut_off_is_an_error() {
    let case = &CASES[1];
    let content = sample(case);
    for length in [1, 12, header(case, &content) - 1] {
        let error = prepare(case, &content[..length]).unwrap_err();
        assert!(error.starts_with("t: header at byte 0: found "), "{error}");
    }
    let error = prepare(case, &content[..header(case, &content)]).unwrap_err();
    assert!(
        error.starts_with("t: holds no request; expected at least one request (srt)"),
        "{error}"
    );
}

#[test]
fn a_record_of_highest_numbers_is_an_error() {
    for case in CASES {
        let mut content = sample(case);
        let start = header(case, &content) + 5 * case.record;
        content[start..start + case.record].fill(0xff);
        let error = prepare(case, &content).unwrap_err();
        assert!(error.starts_with(&format!("t: record 6 at byte {start}: found ")), "{error}");
    }
}

#[test]
fn times_that_run_backwards_are_an_error_where_recorders_keep_order() {
    for case in CASES {
        let mut content = sample(case);
        let (first, last) = (header(case, &content), content.len() - case.record);
        let (head, tail) = content.split_at_mut(last);
        head[first..first + case.record].swap_with_slice(tail);
        let answer = prepare(case, &content);
        if case.sorted {
            let workload = answer.unwrap();
            assert_eq!(workload.identity().moved.sorted, COUNT as u64 - 1, "{}", case.format);
            continue;
        }
        let error = answer.unwrap_err();
        assert!(error.starts_with("t: record "), "{error}");
        assert!(error.contains(" ns before that of an earlier request"), "{error}");
        let config = WorkloadConfig {
            format: case.format.parse().unwrap(),
            out_of_order: OutOfOrder::Clamp,
            ..WorkloadConfig::default()
        };
        assert!(prepare_with(&content, config).unwrap().identity().moved.clamped > 0);
    }
}
