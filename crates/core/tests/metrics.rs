//! Metrics in the record: null where nobody asks, and never a change to the run.

use crate::support;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::{Figures, Metric, Report};
use serde_json::json;

/// Some requests on a drive with a small buffer.
fn run(metrics: impl Iterator<Item = Metric>, replay: &str) -> Report {
    let config = support::config(&json!({
        "buffer": {"size": "16 KiB", "scheme": "lru"},
        "host": {"replay": replay, "end_of_run": "flush"},
    }));
    let mut device = Device::new(&config, Options { verify: false }).unwrap();
    device.precondition().unwrap();
    metrics.for_each(|metric| device.keep(metric));
    for number in 0..200u64 {
        let op = if number % 3 == 0 { Op::Read } else { Op::Write };
        // Each page twice, so that there are hits of all kinds.
        let request = support::request(op, number / 2 * 7 % 30, 1 + number % 2);
        device.submit(&Request { arrival_ns: number * 100_000, ..request }).unwrap();
    }
    device.finish().unwrap()
}

/// Keys of the metrics that are null or left out, and that are there.
fn keys(report: &Report) -> [Vec<(&'static str, &'static str)>; 2] {
    let all = Metric::all().flat_map(|metric| {
        metric.about().figures.iter().map(move |figure| (metric.name(), figure.key))
    });
    let may_miss = |key: &str| {
        let of = |metric: &Metric| metric.about().figures.iter().any(|figure| figure.key == key);
        Metric::all().find(of).is_some_and(|metric| metric.about().left_out)
    };
    let (null, kept) = all.partition(|(_, key)| match report.figures.at(key) {
        Some(value) => value.is_null() && !may_miss(key),
        None => may_miss(key),
    });
    [null, kept]
}

#[test]
fn what_nobody_asks_for_is_null_or_left_out() {
    for replay in ["open", "untimed"] {
        let [null, kept] = keys(&run(std::iter::empty(), replay));
        let is_kept = |name: &str| {
            let about = Metric::all().find(|metric| metric.name() == name).unwrap().about();
            about.always && !(about.needs_time && replay == "untimed")
        };
        assert!(null.iter().all(|(name, _)| !is_kept(name)), "{replay}: {null:?}");
        assert!(kept.iter().all(|(name, _)| is_kept(name)), "{replay}: {kept:?}");
        assert!(!null.is_empty() && !kept.is_empty());
    }
    let [null, _] = keys(&run(Metric::all(), "open"));
    assert_eq!(null, []);
}

/// Whoever looks changes nothing but what is reported of his own.
#[test]
fn metrics_change_no_run() {
    let [plain, watched] = [run(std::iter::empty(), "open"), run(Metric::all(), "open")];
    let rest = |mut report: Report| {
        report.figures = Figures::default();
        report
    };
    assert_eq!(rest(plain), rest(watched));
}

#[test]
fn no_metric_takes_a_key_of_the_report() {
    let mut report = run(std::iter::empty(), "open");
    report.figures = Figures::default();
    let own = serde_json::to_value(&report).unwrap();
    for figure in Metric::all().flat_map(|metric| metric.about().figures) {
        let head = figure.key.split('.').next().unwrap();
        assert!(own.get(head).is_none(), "{head}");
    }
}
