//! The warm-up: its requests are served as all others, and no figure has them.

use std::sync::{Arc, Mutex};

use crate::support::{self, Dice, keeps_to_its_bounds};
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::observer::{Answered, Hears};
use eraseblock_core::metrics::series::SeriesReport;
use eraseblock_core::metrics::{Counters, Metric, Observer, Report};
use serde_json::json;

const REQUESTS: usize = 900;
const WARM_UP: usize = 400;

/// Reads, writes, a few trims and flush commands, faster than the drive at times.
fn workload() -> Vec<Request> {
    let (mut dice, mut now) = (Dice(11), 0);
    let one = |_| {
        now += dice.roll(3) * 400_000;
        let op = match dice.roll(40) {
            0 => Op::Trim,
            1 => Op::Flush,
            kind if kind % 4 == 0 => Op::Read,
            _ => Op::Write,
        };
        let (page, pages) = (dice.roll(29), 1 + dice.roll(3));
        let asked = support::request(op, page, if op == Op::Flush { 0 } else { pages });
        Request { arrival_ns: now, ..asked }
    };
    (0..REQUESTS).map(one).collect()
}

fn config(scheme: &str, mapping: &str, replay: &str, warm_up: usize) -> DeviceConfig {
    support::config(&json!({
        "nand": {"energy": {"read_mj": 1.0, "program_mj": 10.0, "erase_mj": 100.0}},
        "buffer": {"size": "32 KiB", "scheme": scheme},
        "ftl": {"mapping": support::mapping(mapping, 3)},
        "host": {"replay": replay, "max_outstanding": 4, "end_of_run": "flush", "warm_up": warm_up},
    }))
}

/// Answers by number of the request: read or not, and how long it took.
#[derive(Debug, Clone, Default)]
struct Answers(Arc<Mutex<Vec<(u64, u8, u64)>>>);

impl Observer for Answers {
    fn on_answer(&mut self, answered: &Answered) -> Hears {
        let took = answered.now - answered.arrival;
        self.0.lock().unwrap().push((answered.number, answered.kind, took));
        Hears::Yes
    }
}

/// What a run came to: its report, its counts and the erases of each block when the warm-up had
/// been served and at the end, when it ended, and its answers.
struct Run {
    report: Report,
    counted: [Counters; 2],
    erases: [Vec<u32>; 2],
    ended: u64,
    answers: Vec<(u64, u8, u64)>,
}

fn run(config: &DeviceConfig) -> Run {
    let mut device = Device::new(config, Options { verify: true }).unwrap();
    device.precondition().unwrap();
    let workload = workload();
    support::foresee(&mut device, &workload).unwrap();
    Metric::all().for_each(|metric| device.keep(metric));
    let answers = Answers::default();
    device.observe(Box::new(answers.clone()));
    workload[..WARM_UP].iter().for_each(|request| device.submit(request).unwrap());
    let (counted, erases) = (device.counters().clone(), device.erases().to_vec());
    workload[WARM_UP..].iter().for_each(|request| device.submit(request).unwrap());
    let report = device.finish().unwrap();
    let answers = answers.0.lock().unwrap().clone();
    Run {
        report,
        counted: [counted, device.counters().clone()],
        erases: [erases, device.erases().to_vec()],
        ended: device.engine().now(),
        answers,
    }
}

/// The measured part is what is left of the whole run when its beginning is taken off; the run
/// itself is the same, and so are its answers.
#[test]
fn what_is_measured_is_the_rest_of_the_same_run() {
    for replay in ["open", "closed", "untimed"] {
        for (scheme, mapping) in
            [("none", "page"), ("lru", "page"), ("bplru", "bast"), ("fab", "fast"), ("opt", "page")]
        {
            let what = format!("{scheme} over {mapping}, {replay}");
            let whole = run(&config(scheme, mapping, replay, 0));
            let warm = run(&config(scheme, mapping, replay, WARM_UP));
            assert_eq!((whole.ended, &whole.answers), (warm.ended, &warm.answers), "{what}");
            assert_eq!((&whole.counted, &whole.erases), (&warm.counted, &warm.erases), "{what}");

            let [before, after] = &warm.counted;
            let (rest, report) = (after.since(before), &warm.report);
            assert_eq!(report.warm_up.unwrap().requests, WARM_UP as u64, "{what}");
            let submitted = (REQUESTS - WARM_UP) as u64;
            assert_eq!(report.requests.submitted, submitted, "{what}");
            assert_eq!(report.requests.completed, submitted, "{what}");
            assert_eq!(report.requests.writes, rest.by_op[1], "{what}");
            assert_eq!(report.flash.programs.total, Counters::total(&rest.programs), "{what}");
            assert_eq!(report.flash.erases.total, Counters::total(&rest.erases), "{what}");
            assert_eq!(report.flash_ops, rest.flash_ops(), "{what}");
            let pages = rest.pages_read + rest.pages_written;
            let hits = (rest.read_hits + rest.write_hits) as f64 / pages as f64;
            assert_eq!(report.hit_ratio.all, Some(hits), "{what}");
            let (programs, erases) = (rest.program_ops, Counters::total(&rest.erases));
            let energy = (rest.array_reads + 10 * programs + 100 * erases) as f64;
            assert_eq!(report.energy_mj, Some(energy), "{what}");
            let [before, after] = &warm.erases;
            let most = after.iter().zip(before).map(|(after, before)| after - before).max();
            assert_eq!(Some(report.wear.erases_max), most, "{what}");

            let series = report.figures.read::<SeriesReport>("series").unwrap();
            assert_eq!(series.requests.iter().sum::<u64>(), submitted, "{what}");
            assert_eq!(series.answers.iter().sum::<u64>(), submitted, "{what}");
            let written = series.host_pages_written.iter().sum::<u64>();
            assert_eq!(written, rest.pages_written, "{what}");
            if replay == "untimed" {
                continue;
            }
            let measured = || warm.answers.iter().filter(|answer| answer.0 >= WARM_UP as u64);
            let sum: u64 = measured().map(|answer| answer.2).sum();
            let all = report.response_ns.all.as_ref().unwrap();
            assert_eq!(all.count, submitted, "{what}");
            assert!((all.mean * submitted as f64 - sum as f64).abs() < 1.0, "{what}");
            let reads = measured().filter(|answer| answer.1 == 0).count() as u64;
            assert_eq!(report.response_ns.read.as_ref().unwrap().count, reads, "{what}");
            assert!(report.simulated_s < whole.report.simulated_s, "{what}");
        }
    }
}

/// A buffer comes out of the warm-up with pages that it may hit.
#[test]
fn no_buffer_is_better_than_the_bounds_of_what_is_measured() {
    for scheme in ["none", "lru", "arc", "fab", "bplru", "hbm", "lirs-wsr"] {
        for replay in ["open", "untimed"] {
            let config = config(scheme, "page", replay, WARM_UP);
            keeps_to_its_bounds(&config, &run(&config).report);
        }
    }
}

/// A workload that the buffer holds whole: cold it misses each page once, warm none.
#[test]
fn a_warm_buffer_misses_nothing_that_it_holds() {
    let hits = |warm_up: u64| {
        let mut device = support::device(&json!({
            "buffer": {"size": "32 KiB", "scheme": "lru"},
            "host": {"warm_up": warm_up},
        }));
        device.keep(Metric::Bounds);
        for page in (0..4).cycle().take(16) {
            device.submit(&support::request(Op::Write, page, 1)).unwrap();
        }
        let report = device.finish().unwrap();
        let bound = report.figures.at("bound.hit_ratio").unwrap().as_f64().unwrap();
        (report.hit_ratio.all.unwrap(), bound)
    };
    assert_eq!(hits(0), (0.75, 0.75));
    assert_eq!(hits(4), (1.0, 1.0));
}

#[test]
fn a_run_that_measures_nothing_is_refused() {
    for warm_up in [3, 4] {
        let mut device = support::device(&json!({"host": {"warm_up": warm_up}}));
        support::write(&mut device, &[0, 1, 2]);
        let error = device.finish().unwrap_err();
        assert!(error.is_input());
        let said = error.to_string();
        assert!(said.starts_with(&format!("host.warm_up: found {warm_up}, ")), "{said}");
        assert!(said.contains("3 requests"), "{said}");
    }
    let mut device = support::device(&json!({"host": {"warm_up": 2}}));
    support::write(&mut device, &[0, 1, 2]);
    assert_eq!(device.finish().unwrap().requests.submitted, 1);
}

/// The wear of the warm-up counts for the drive's life; a life that ends in it has no figures.
#[test]
fn a_drive_that_wears_out_in_the_warm_up_is_refused() {
    let mut device = support::device(&json!({
        "nand": {"endurance": 2}, "host": {"warm_up": 100_000},
    }));
    let worn = (0..10_000u64)
        .any(|number| device.submit(&support::request(Op::Write, number * 7 % 32, 1)).is_err());
    assert!(worn);
    let said = device.finish().unwrap_err().to_string();
    assert!(said.starts_with("host.warm_up: the drive reached the end of its life"), "{said}");
}

/// Answers to requests of the warm-up, which come later, were the end of the run.
#[test]
fn a_late_answer_of_the_warm_up_is_no_end_of_the_run() {
    let writes = (0..8).map(|n| Request { arrival_ns: n, ..support::request(Op::Write, n, 1) });
    let flush = Request { arrival_ns: 8, ..support::request(Op::Flush, 0, 0) };
    let reads = (0..8).map(|n| Request { arrival_ns: 9 + n, ..support::request(Op::Read, n, 1) });
    let requests: Vec<Request> = writes.chain([flush]).chain(reads).collect();
    let config = support::config(&json!({
        "buffer": {"size": "64 KiB", "scheme": "lru"},
        "host": {"replay": "open", "max_outstanding": 32, "warm_up": 9},
    }));
    let mut device = Device::new(&config, Options::default()).unwrap();
    for request in &requests {
        device.submit(request).unwrap();
    }
    let report = device.finish().unwrap();
    assert!(report.trusted, "{:?}", report.reasons);
    // All are hits, each answered when it comes.
    assert_eq!(report.response_ns.all.as_ref().map(|all| (all.count, all.max)), Some((8, 0)));
    assert!(report.simulated_s.is_some_and(|s| (s - 7e-9).abs() < 1e-12), "{report:?}");
}
