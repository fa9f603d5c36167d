//! The bounds on erases against all that a buffer could do on tiny workloads, and against every
//! registered scheme on every registered mapping.

use std::collections::BTreeMap;

use eraseblock_core::device::{Device, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Metric;
use eraseblock_core::metrics::erase_bounds::history::Step;
use eraseblock_core::metrics::erase_bounds::{EraseBound, Limits, bounds, found};
use eraseblock_core::metrics::observer::Folding;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use crate::support;

/// Pages that are dirty, a bit each, and for each block how many pages its log has taken; none: it
/// has no log.
type State = (u32, Vec<Option<u32>>);

/// The least costs of states.
type Costs = BTreeMap<State, u64>;

#[derive(Debug, Clone, Copy)]
struct Tiny {
    blocks: u32,
    ppb: u32,
    slots: u32,
    folding: Folding,
    flushed_at_end: bool,
}

impl Tiny {
    fn limits(self) -> Limits {
        Limits {
            capacity: self.slots.into(),
            slots: self.slots.into(),
            pages_per_block: self.ppb,
            folding: self.folding,
            flushed_at_end: self.flushed_at_end,
        }
    }

    /// All that can come of a state at once, and what it costs: pages are stored, a log is begun
    /// or given up.
    fn moves(self, (dirty, logs): &State) -> Vec<(State, u64)> {
        let mut moves = Vec::new();
        for block in 0..self.blocks {
            let mine = dirty & (((1 << self.ppb) - 1) << (block * self.ppb));
            let log = logs[block as usize];
            let with = |dirty: u32, log: Option<u32>| {
                let mut logs = logs.clone();
                logs[block as usize] = log;
                (dirty, logs)
            };
            // Each part of the block's dirty pages.
            let mut part = mine;
            while part > 0 {
                match (self.folding, log) {
                    (Folding::Anew, _) => moves.push((with(dirty & !part, None), 1)),
                    (_, Some(taken)) if taken + part.count_ones() <= self.ppb => {
                        moves.push((with(dirty & !part, Some(taken + part.count_ones())), 0));
                    }
                    _ => {}
                }
                part = (part - 1) & mine;
            }
            if let Folding::Logs { count: most, .. } = self.folding {
                if log.is_some() {
                    moves.push((with(*dirty, None), 1));
                } else if logs.iter().flatten().count() < most as usize {
                    moves.push((with(*dirty, Some(0)), 0));
                }
            }
        }
        moves
    }

    /// The least costs of all states that these lead to.
    fn settle(self, costs: Costs) -> Costs {
        let mut found = Costs::new();
        let mut levels: BTreeMap<u64, Vec<State>> = BTreeMap::new();
        for (state, cost) in costs {
            levels.entry(cost).or_default().push(state);
        }
        while let Some((cost, mut states)) = levels.pop_first() {
            while let Some(state) = states.pop() {
                if found.contains_key(&state) {
                    continue;
                }
                for (next, more) in self.moves(&state) {
                    if more == 0 {
                        states.push(next);
                    } else {
                        levels.entry(cost + more).or_default().push(next);
                    }
                }
                found.insert(state, cost);
            }
        }
        found
    }

    /// The fewest erases.
    fn optimum(self, steps: &[Step]) -> u64 {
        let mut costs = Costs::from([((0, vec![None; self.blocks as usize]), 0)]);
        let end = self.flushed_at_end.then_some(Step::Flush);
        for step in steps.iter().copied().chain(end) {
            let (set, clear, empty) = match step {
                Step::Write { first, count, forced } => {
                    let pages = ((1 << count) - 1) << first;
                    (pages, 0, if forced { pages } else { 0 })
                }
                Step::Trim { first, count } => (0, ((1 << count) - 1) << first, 0),
                Step::Flush => (0, 0, u32::MAX),
            };
            let mut then = Costs::new();
            for ((dirty, logs), cost) in costs {
                let least = then.entry(((dirty & !clear) | set, logs)).or_insert(cost);
                *least = cost.min(*least);
            }
            costs = self.settle(then);
            costs.retain(|(dirty, _), _| dirty & empty == 0 && dirty.count_ones() <= self.slots);
        }
        *costs.values().min().unwrap()
    }
}

fn in_logs(count: u32) -> Folding {
    Folding::Logs { count, in_order: true }
}

fn steps(random: &mut Pcg64Mcg, tiny: Tiny) -> Vec<Step> {
    let count = random.random_range(4..=14);
    let mut steps = Vec::new();
    for _ in 0..count {
        let block = random.random_range(0..tiny.blocks);
        let at = random.random_range(0..tiny.ppb);
        let count = random.random_range(1..=tiny.ppb - at);
        let first = block * tiny.ppb + at;
        steps.push(match random.random_range(0..20) {
            0 => Step::Flush,
            1 => Step::Trim { first, count },
            kind => Step::Write { first, count, forced: kind == 2 },
        });
    }
    steps
}

/// No bound is wrong, many are met, and one for a buffer that is smaller than the real one is found
/// out.
#[test]
fn all_that_a_buffer_could_do_lies_between_the_bounds() {
    let (mut met, mut reached, mut found_out, mut by) = (0, 0, 0, BTreeMap::new());
    let mut scheduled = 0;
    let cases = 250;
    for seed in 0..cases {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let logs = random.random_range(1..=2);
        let tiny = Tiny {
            blocks: random.random_range(2..=3),
            ppb: 2,
            slots: random.random_range(0..=3),
            folding: if seed % 2 == 0 { Folding::Anew } else { in_logs(logs) },
            flushed_at_end: random.random(),
        };
        let steps = steps(&mut random, tiny);
        let what = format!("seed {seed}, {tiny:?}: {steps:?}");
        let best = tiny.optimum(&steps);
        let bound = bounds(&steps, tiny.limits());
        let fewest = bound.fewest.unwrap();
        assert!(fewest <= best, "{fewest} > {best}, {what}");
        assert!(bound.reachable.is_none_or(|most| best <= most), "{bound:?}, {best}, {what}");
        let trims = steps.iter().any(|step| matches!(step, Step::Trim { .. }));
        assert_eq!(bound.reachable.is_none(), trims, "{what}");
        met += u64::from(fewest == best);
        reached += u64::from(bound.reachable == Some(best));
        scheduled += u64::from(!trims);
        *by.entry(bound.by.unwrap()).or_insert(0) += u64::from(fewest > 0);
        if tiny.slots > 0 {
            let limits = Limits { slots: u64::from(tiny.slots) - 1, ..tiny.limits() };
            found_out += u64::from(bounds(&steps, limits).fewest.unwrap() > best);
        }
    }
    assert!(found_out > cases / 10, "{found_out}");
    assert!(met > cases / 3, "{met} of {cases}");
    assert!(scheduled > cases / 2, "{scheduled}");
    assert!(reached > cases / 5, "{reached} of {scheduled}");
    assert!(by.values().filter(|&&times| times > 0).count() == 2, "{by:?}");
}

/// On a drive that writes past its buffer what a schedule writes, there are so many erases.
#[test]
fn what_a_schedule_says_is_what_its_writes_cost() {
    const PAGES_PER_BLOCK: u32 = 8;
    let mut parts = 0;
    for (mapping, logs) in [("block", 0), ("bast", 1), ("bast", 2), ("bast", 5), ("sftl", 3)] {
        let mut ftl = support::mapping(mapping, logs);
        if mapping == "sftl" {
            // As if the buffer said of each write that it is random.
            ftl["threshold"] = PAGES_PER_BLOCK.into();
        }
        let config = support::config(&json!({
            "nand": {"blocks_per_plane": 40, "pages_per_block": PAGES_PER_BLOCK},
            "ftl": {"exported": "512 KiB", "mapping": ftl},
        }));
        for seed in 0..12 {
            let mut drive = Device::new(&config, Options::default()).unwrap();
            drive.precondition().unwrap();
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let steps: Vec<Step> = (0..200)
                .map(|_| {
                    let first = random.random_range(0..120) & random.random_range(0..128);
                    let most = PAGES_PER_BLOCK - first % PAGES_PER_BLOCK;
                    let count = random.random_range(1..=most.min(3));
                    match random.random_range(0..40) {
                        0 => Step::Flush,
                        kind => Step::Write { first, count, forced: kind == 1 },
                    }
                })
                .collect();
            let slots = [0, 1, 8, 24][seed as usize % 4];
            let limits = Limits {
                capacity: slots,
                slots,
                pages_per_block: PAGES_PER_BLOCK,
                folding: if mapping == "block" { Folding::Anew } else { in_logs(logs) },
                flushed_at_end: seed % 3 == 0,
            };
            let (bound, schedule) = found(&steps, limits).unwrap();
            let schedule = schedule.unwrap();
            for &(first, count) in &schedule.writes {
                parts += u64::from(count < PAGES_PER_BLOCK);
                drive.submit(&support::request(Op::Write, first.into(), count.into())).unwrap();
            }
            let erases = drive.finish().unwrap().flash.erases.total;
            assert_eq!(erases, schedule.erases, "{mapping} with {logs} logs, seed {seed}");
            assert_eq!(bound.reachable, Some(erases));
            assert!(bound.fewest.unwrap() <= erases);
        }
    }
    assert!(parts > 100, "{parts}");
}

/// Also where a block leaves in the very window in which it is written again.
#[test]
fn schedules_with_many_logs_come_to_an_end() {
    for seed in 0..300 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let steps: Vec<Step> = (0..120)
            .map(|_| Step::Write { first: random.random_range(0..48), count: 1, forced: false })
            .collect();
        let limits = Limits {
            capacity: 4,
            slots: 4,
            pages_per_block: 4,
            folding: in_logs(random.random_range(1..=8)),
            flushed_at_end: false,
        };
        let bound = bounds(&steps, limits);
        assert!(bound.fewest <= bound.reachable, "seed {seed}: {bound:?}");
    }
}

/// Small drives, each buffer on each mapping.
#[test]
fn no_scheme_does_with_fewer_erases() {
    let mut said = 0;
    for (at, name) in MappingConfig::NAMES.iter().enumerate() {
        for (number, entry) in eraseblock_core::buffer::registry().iter().enumerate() {
            let end = ["flush", "keep"][(at + number) % 2];
            let config = support::config(&json!({
                "nand": {"blocks_per_plane": 40},
                "ftl": {"exported": "256 KiB", "mapping": support::mapping(name, 2)},
                "buffer": {"size": "32 KiB", "scheme": entry.name},
                "host": {"end_of_run": end},
            }));
            // Some mappings need another array.
            let Ok(mut drive) = Device::new(&config, Options::default()) else { continue };
            drive.precondition().unwrap();
            let mut random = Pcg64Mcg::seed_from_u64(number as u64);
            let requests: Vec<Request> = (0..300)
                .map(|_| {
                    let page = random.random_range(0..61) & random.random_range(0..64);
                    let count = random.random_range(1..=3);
                    let op = if random.random_range(0..8) == 0 { Op::Read } else { Op::Write };
                    support::request(op, page, count)
                })
                .collect();
            support::foresee(&mut drive, &requests).unwrap();
            drive.keep(Metric::EraseBounds);
            for request in &requests {
                drive.submit(request).unwrap();
            }
            let report = drive.finish().unwrap();
            let erases = report.flash.erases.total;
            let bound: EraseBound = report.figures.read("erase_bound").unwrap();
            if let Some(fewest) = bound.fewest {
                said += u64::from(fewest > 20);
                assert!(fewest <= erases, "{name} under {}: {erases}, {bound:?}", entry.name);
            }
        }
    }
    // At least under `block`, `hybrid`, `bast` and `sftl`.
    assert!(said as usize > 3 * eraseblock_core::buffer::registry().len(), "{said}");
}
