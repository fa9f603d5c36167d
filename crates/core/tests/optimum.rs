//! The bounds are true and as tight as can be: no sequence of decisions has more hits than `opt`,
//! or fewer page writes than the bound says, and some has just as many; no registered scheme is
//! better, at random or on the recorded workload.

use std::iter::successors;
use std::sync::{Arc, OnceLock};

use crate::support;
use crate::support::stream::{self, Ram, Step};

use eraseblock_core::buffer::{Answer, Buffer, BufferConfig, Outcome, Shape, Span};
use eraseblock_core::config::{DeviceConfig, EndOfRun};
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Metric;
use eraseblock_core::metrics::bounds::{Bound, Bounds, Limits, Tally};
use eraseblock_core::support::ids::Lpn;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

/// Sets of pages that are held, as bits, and the best that leads there.
type States = Vec<Option<u64>>;

fn keep_best(states: &mut States, set: usize, value: u64, better: fn(u64, u64) -> bool) {
    let known = &mut states[set];
    if known.is_none_or(|known| better(value, known)) {
        *known = Some(value);
    }
}

/// All sets within one, itself and the empty one among them.
fn subsets(of: usize) -> impl Iterator<Item = usize> {
    successors(Some(of), move |&set| (set > 0).then(|| (set - 1) & of))
}

/// Most hits that any sequence of decisions has; with `forced`, every page that is used is taken
/// in.
fn most_hits(steps: &[Step], pages: u32, capacity: u32, forced: bool) -> u64 {
    let mut states: States = vec![None; 1 << pages];
    states[0] = Some(0);
    for step in steps {
        match *step {
            Step::Access(span) => {
                for Lpn(page) in span.pages() {
                    let mut next = vec![None; states.len()];
                    for (set, hits) in
                        states.iter().enumerate().filter_map(|(set, h)| h.map(|h| (set, h)))
                    {
                        let hits = hits + (set >> page & 1) as u64;
                        let all = set | 1 << page;
                        for kept in subsets(all) {
                            if kept.count_ones() <= capacity && (!forced || kept >> page & 1 == 1) {
                                keep_best(&mut next, kept, hits, |a, b| a > b);
                            }
                        }
                    }
                    states = next;
                }
            }
            Step::Trim(first, count) => {
                let mut next = vec![None; states.len()];
                let gone = ((1 << count) - 1) << first.0;
                for (set, hits) in
                    states.iter().enumerate().filter_map(|(set, h)| h.map(|h| (set, h)))
                {
                    keep_best(&mut next, set & !gone, hits, |a, b| a > b);
                }
                states = next;
            }
            Step::Flush | Step::Force(..) => {}
        }
    }
    states.into_iter().flatten().max().unwrap()
}

/// Fewest pages written to flash by any sequence of decisions; the sets are the dirty pages in RAM.
fn fewest_writes(steps: &[Step], pages: u32, capacity: u32, flushed_at_end: bool) -> u64 {
    let mut states: States = vec![None; 1 << pages];
    states[0] = Some(0);
    // After each page of a span any dirty pages may be written.
    let write_some = |states: &States| {
        let mut next = vec![None; states.len()];
        for (set, writes) in states.iter().enumerate().filter_map(|(set, w)| w.map(|w| (set, w))) {
            for kept in subsets(set).filter(|kept| kept.count_ones() <= capacity) {
                keep_best(
                    &mut next,
                    kept,
                    writes + u64::from((set & !kept).count_ones()),
                    |a, b| a < b,
                );
            }
        }
        next
    };
    let map = |states: &States, to: &dyn Fn(usize) -> (usize, u64)| {
        let mut next = vec![None; states.len()];
        for (set, writes) in states.iter().enumerate().filter_map(|(set, w)| w.map(|w| (set, w))) {
            let (set, more) = to(set);
            keep_best(&mut next, set, writes + more, |a, b| a < b);
        }
        next
    };
    for step in steps {
        match *step {
            Step::Access(span) if span.write => {
                for Lpn(page) in span.pages() {
                    states = write_some(&map(&states, &|set| (set | 1 << page, 0)));
                }
            }
            Step::Access(_) => {}
            Step::Trim(first, count) => {
                states = map(&states, &|set| (set & !(((1 << count) - 1) << first.0), 0));
            }
            Step::Flush => states = map(&states, &|set| (0, set.count_ones().into())),
            Step::Force(first, count) => {
                let these = ((1 << count) - 1) << first.0;
                states = map(&states, &|set| (set & !these, (set & these).count_ones().into()));
            }
        }
    }
    let end = |(set, writes): (usize, u64)| {
        writes + if flushed_at_end { u64::from(set.count_ones()) } else { 0 }
    };
    states.iter().enumerate().filter_map(|(set, w)| w.map(|w| end((set, w)))).min().unwrap()
}

fn bound(steps: &[Step], limits: Limits) -> Bound {
    let mut bounds = Bounds::within(limits);
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Access(span) => {
                let forced = matches!(steps.get(number + 1), Some(Step::Force(..)));
                bounds.access(span.first, span.count, span.write, forced);
            }
            Step::Trim(first, count) => bounds.trim(first, count),
            Step::Flush => bounds.flush(),
            Step::Force(..) => {}
        }
    }
    bounds.bound()
}

fn hits(buffer: &mut dyn Buffer, shape: Shape, steps: &[Step]) -> u64 {
    stream::tell(buffer, steps);
    let (mut ram, mut out) = (Ram::default(), Outcome::default());
    for step in steps {
        stream::call(buffer, *step, &mut out);
        ram.follow(shape, *step, &out).unwrap();
        buffer.check().unwrap();
    }
    ram.hits
}

fn asked(steps: &[Step]) -> u64 {
    steps.iter().map(|step| if let Step::Access(span) = step { span.count.into() } else { 0 }).sum()
}

fn scheme(value: serde_json::Value) -> BufferConfig {
    serde_json::from_value(value).unwrap()
}

/// Up to 12 steps over up to 5 pages; the page of the limits' drive is the smallest there is.
#[test]
fn no_sequence_of_decisions_is_better() {
    let (mut bypass_matters, mut saved) = (0, 0);
    for seed in support::seeds(support::cases(6_000, 60_000)) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let pages = random.random_range(2..=5);
        let capacity = random.random_range(1..=3);
        let shape = Shape { capacity, pages_per_block: pages, logical_pages: pages };
        let count = random.random_range(1..=12);
        let mut steps = stream::random(&mut random, shape, count);
        if random.random() {
            // Trims and flushes more often than at random.
            let at = random.random_range(0..=steps.len());
            let more = if random.random() {
                Step::Flush
            } else {
                Step::Trim(Lpn(random.random_range(0..pages)), 1)
            };
            // A forced write stays with its write.
            let at = if matches!(steps.get(at), Some(Step::Force(..))) { at + 1 } else { at };
            steps.insert(at, more);
        }
        let best = most_hits(&steps, pages, capacity, false);
        let forced = most_hits(&steps, pages, capacity, true);
        let what = format!("seed {seed}, {shape:?}: {steps:?}");
        assert_eq!(
            hits(&mut *scheme(json!("opt")).build(shape).unwrap(), shape, &steps),
            best,
            "{what}"
        );
        let belady = scheme(json!({"kind": "opt", "bypass": false}));
        assert_eq!(hits(&mut *belady.build(shape).unwrap(), shape, &steps), forced, "{what}");
        bypass_matters += u64::from(best > forced);
        for flushed_at_end in [false, true] {
            let limits = Limits {
                capacity,
                logical_pages: pages,
                pages_per_block: 1,
                free_pages: 0,
                flushed_at_end,
                unprogrammed: 0,
            };
            let bound = bound(&steps, limits);
            let fewest = fewest_writes(&steps, pages, capacity, flushed_at_end);
            assert_eq!((bound.flash_programs, bound.erases), (fewest, fewest), "{what}");
            let ratio = (asked(&steps) > 0).then(|| best as f64 / asked(&steps) as f64);
            assert_eq!(bound.hit_ratio, ratio, "{what}");
            saved += u64::from(bound.waf.is_some_and(|waf| waf < 1.0));
        }
    }
    assert!(bypass_matters > 200 && saved > 2_000, "{bypass_matters}, {saved}");
}

/// Every registered scheme, with each other value of its switches and choices.
#[test]
fn no_scheme_has_more_hits_than_the_optimum() {
    for shape in [
        Shape { capacity: 8, pages_per_block: 4, logical_pages: 48 },
        Shape { capacity: 37, pages_per_block: 8, logical_pages: 256 },
        Shape { capacity: 120, pages_per_block: 16, logical_pages: 512 },
    ] {
        let variants = support::variants(shape);
        for seed in support::seeds(support::cases(2, 100)) {
            let steps = stream::random(&mut Pcg64Mcg::seed_from_u64(seed), shape, 1500);
            let best = hits(&mut *scheme(json!("opt")).build(shape).unwrap(), shape, &steps);
            let limits = Limits {
                capacity: shape.capacity,
                logical_pages: shape.logical_pages,
                pages_per_block: shape.pages_per_block,
                free_pages: 0,
                flushed_at_end: false,
                unprogrammed: 0,
            };
            assert_eq!(bound(&steps, limits).hit_ratio, Some(best as f64 / asked(&steps) as f64));
            for (name, config) in &variants {
                let found = hits(&mut *config.build(shape).unwrap(), shape, &steps);
                assert!(
                    found <= best,
                    "{name} has {found} hits, {best} are possible ({shape:?}, seed {seed})"
                );
            }
        }
    }
}

fn recorded(drive: &Device, requests: usize) -> Vec<Request> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let workload = eraseblock_traces::WorkloadConfig::trace("pgbench-ext4.nbdkit.zst")
        .prepare(&folder)
        .unwrap();
    let shape = eraseblock_traces::DriveShape {
        exported_bytes: drive.exported_bytes(),
        page_bytes: drive.page_bytes(),
        block_bytes: drive.logical_block_bytes(),
    };
    workload.fit(shape).unwrap().requests().take(requests).collect::<Result<_, _>>().unwrap()
}

/// A drive for the recorded workload: 1 GiB, 64 pages a block, a buffer of 4 MiB.
fn large(buffer: &BufferConfig, mapping: &str, battery: bool) -> DeviceConfig {
    support::config(&json!({
        "nand": {"blocks_per_plane": 4300, "pages_per_block": 64},
        "ftl": {"exported": "1 GiB", "mapping": mapping},
        "buffer": {"size": "4 MiB", "scheme": buffer, "battery": battery},
    }))
}

#[test]
fn no_scheme_beats_the_bounds_on_the_recorded_workload() {
    let shape = Shape { capacity: 1024, pages_per_block: 64, logical_pages: 1 << 18 };
    let (mut requests, mut fills) = (Vec::new(), support::Fills::default());
    for (number, (name, buffer)) in support::variants(shape).into_iter().enumerate() {
        // Each variant on one mapping, each second one with flush commands that count.
        let config = large(&buffer, ["page", "bast"][number % 2], number % 4 < 2);
        let mut drive = fills.drive(&config, Options::default()).unwrap();
        if requests.is_empty() {
            requests = recorded(&drive, support::cases(10_000, 20_000));
        }
        support::foresee(&mut drive, &requests).unwrap();
        drive.keep(Metric::Bounds);
        for request in &requests {
            drive.submit(request).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        support::keeps_to_its_bounds(&config, &drive.finish().unwrap());
    }
}

/// Whole blocks are overwritten in turn, without a buffer: the log blocks become data blocks and
/// nothing is copied. Each block written takes one erase, but for the erased blocks that the drive
/// has and keeps.
#[test]
fn the_bound_on_erases_is_met() {
    for (mapping, kept) in [(json!({"kind": "bast", "log_blocks": 2}), 6), (json!("page"), 2)] {
        let config = support::config(&json!({
            "ftl": {"mapping": mapping}, "buffer": {"size": "0 B", "scheme": "none"},
            "host": {"end_of_run": "flush"},
        }));
        for rounds in [5, 50] {
            let mut drive = Device::new(&config, Options::default()).unwrap();
            drive.precondition().unwrap();
            drive.keep(Metric::Bounds);
            for page in (0..32).cycle().take(32 * rounds) {
                drive.submit(&support::request(Op::Write, page, 1)).unwrap();
            }
            let report = drive.finish().unwrap();
            let bound: Bound = report.figures.read("bound").unwrap();
            assert_eq!(report.flash.programs.total, bound.flash_programs);
            assert_eq!(bound.flash_programs, 32 * rounds as u64);
            assert_eq!(report.flash.erases.total, bound.erases + kept, "{mapping}");
        }
    }
}

#[test]
fn the_optimum_refuses_to_serve_and_says_when_the_host_strays() {
    let config = support::config(&json!({"buffer": {"scheme": "opt"}}));
    let mut drive = Device::new(&config, Options::default()).unwrap();
    let write = support::request(Op::Write, 3, 2);
    assert!(drive.needs_future());
    let error = drive.submit(&write).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("not serve a host"), "{error}");
    // What it is told must fit the drive.
    let beyond = support::request(Op::Write, 31, 2);
    let error = drive.foresee([Ok::<_, DeviceError>(write), Ok(beyond)].into_iter()).unwrap_err();
    assert!(error.to_string().contains("request 1") && error.is_input(), "{error}");

    for other in [support::request(Op::Write, 3, 3), support::request(Op::Read, 4, 2)] {
        let mut drive = Device::new(&config, Options { verify: true }).unwrap();
        drive.precondition().unwrap();
        support::foresee(&mut drive, &[write, write]).unwrap();
        assert!(!drive.needs_future());
        drive.submit(&write).unwrap();
        let error = drive.submit(&other).and_then(|()| drive.finish().map(|_| ())).unwrap_err();
        assert!(
            error.to_string().contains("opt: the host does other things than it was going to"),
            "{error}"
        );
    }
}

/// Reads that go past a full buffer, and a write that does, in the middle of a request.
#[test]
fn bypass_may_come_in_the_middle_of_a_request() {
    let shape = Shape { capacity: 1, pages_per_block: 4, logical_pages: 4 };
    let access =
        |first, count, write| Step::Access(Span { first: Lpn(first), count, write, request: 0 });
    let steps = [access(1, 1, true), access(0, 4, false), access(0, 3, true), access(1, 1, false)];
    let mut opt = scheme(json!("opt")).build(shape).unwrap();
    assert_eq!(hits(&mut *opt, shape, &steps), 3);
    assert_eq!(opt.dump(), [[Lpn(1)]]);
}

/// `R 3` and `W 3`, `F` (flush) and `U 3` (forced unit access) in turn: how each page was answered,
/// and the pages that left or were written.
fn served(steps: &str, capacity: u32) -> (Vec<Answer>, Vec<u32>) {
    let shape = Shape { capacity, pages_per_block: 4, logical_pages: 16 };
    let page = |step: &str| Lpn(step[2..].parse().unwrap());
    let steps: Vec<Step> = (steps.split(", "))
        .map(|step| match &step[..1] {
            "F" => Step::Flush,
            "U" => Step::Force(page(step), 1),
            kind => {
                Step::Access(Span { first: page(step), count: 1, write: kind == "W", request: 0 })
            }
        })
        .collect();
    let mut opt = scheme(json!("opt")).build(shape).unwrap();
    stream::tell(&mut *opt, &steps);
    let (mut out, mut answers, mut pages) = (Outcome::default(), Vec::new(), Vec::new());
    for step in &steps {
        stream::call(&mut *opt, *step, &mut out);
        opt.check().unwrap();
        answers.extend(&out.answers);
        pages.extend(
            out.evictions.iter().flat_map(|eviction| out.pages_of(eviction)).map(|page| page.lpn.0),
        );
    }
    (answers, pages)
}

#[test]
fn ties_of_the_optimum() {
    use Answer::{Bypass, Fill, Hit, Insert};
    // Of pages that are never used again clean ones leave first, also those that have been written
    // to flash.
    assert_eq!(served("W 0, R 1, W 2", 2), (vec![Insert, Fill, Insert], vec![1]));
    assert_eq!(served("R 1, W 0, W 2", 2), (vec![Fill, Insert, Insert], vec![1]));
    assert_eq!(served("W 0, F, W 1", 1), (vec![Insert, Insert], vec![0, 0]));
    assert_eq!(served("W 0, W 1, U 1, W 2", 2), (vec![Insert, Insert, Insert], vec![1, 1]));
    // What comes goes past if it would be no better to hold.
    assert_eq!(served("W 0, W 1", 1), (vec![Insert, Bypass], vec![]));
    assert_eq!(served("R 0, R 1", 1), (vec![Fill, Bypass], vec![]));
    assert_eq!(served("W 0, R 1", 1), (vec![Insert, Bypass], vec![]));
    // Of equal ones the one in the lowest slot leaves, here the one that came first, and goes first
    // when all are flushed.
    assert_eq!(
        served("W 5, W 6, W 7, W 2, R 2", 3),
        (vec![Insert, Insert, Insert, Insert, Hit], vec![5])
    );
    assert_eq!(
        served("R 7, R 6, R 5, W 2, R 2", 3),
        (vec![Fill, Fill, Fill, Insert, Hit], vec![7])
    );
    assert_eq!(served("W 5, W 6, W 7, U 5, W 5, F", 3).1, [5, 5, 6, 7]);
    // A flush goes by the next use, the last one first.
    assert_eq!(served("W 5, W 6, W 7, F, R 5, R 6", 3).1, [7, 6, 5]);
}

#[test]
fn flush_commands_cost_programs_unless_a_battery_holds_the_buffer_up() {
    let write = |pages| support::request(Op::Write, 0, pages);
    let mut requests = [write(4), support::request(Op::Flush, 0, 0)].repeat(3);
    requests.push(Request { fua: true, ..write(1) });
    let run = |battery: bool, end_of_run: EndOfRun| {
        let mut config = support::config(
            &json!({"buffer": {"scheme": "lru", "battery": battery}, "host": {"end_of_run": "keep"}}),
        );
        config.host.end_of_run = end_of_run;
        let figures = [false, true].map(|alone| {
            let mut drive = Device::new(&config, Options::default()).unwrap();
            drive.precondition().unwrap();
            if alone {
                // The requests are followed without the drive.
                let mut tally = Tally::new(drive.question_of_bounds());
                for request in &requests {
                    tally.add(request);
                }
                drive.keep_bounds(Arc::new(OnceLock::from(tally.totals())));
            } else {
                drive.keep(Metric::Bounds);
            }
            for request in &requests {
                drive.submit(request).unwrap();
            }
            let report = drive.finish().unwrap();
            let bound = report.figures.read::<u64>("bound.flash_programs").unwrap();
            (bound, report.flash.programs.total)
        });
        assert_eq!(figures[0], figures[1]);
        figures[0]
    };
    assert_eq!(run(false, EndOfRun::Keep), (13, 13));
    assert_eq!(run(true, EndOfRun::Keep), (0, 0));
    assert_eq!(run(true, EndOfRun::Flush), (4, 4));
}
