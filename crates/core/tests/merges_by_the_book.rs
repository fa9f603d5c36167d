//! The mappings with log blocks against slow ones written straight from their rules, a page at a time: every random
//! workload on a full drive costs the same reads, programs, erases and merges.

use crate::support;
use std::collections::VecDeque;

use eraseblock_core::host::{Op, Request};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

const PAGES: u64 = 4;
const BLOCKS: u64 = 8;

/// Reads, programs, erases; switch, partial and full merges.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Cost {
    flash: (u64, u64, u64),
    merges: (u64, u64, u64),
}

impl Cost {
    fn copies(&mut self, pages: u64) {
        self.flash.0 += pages;
        self.flash.1 += pages;
    }

    fn merge(&mut self, copies: u64, erases: u64) {
        self.copies(copies);
        self.flash.2 += erases;
    }
}

trait Book {
    fn write(&mut self, block: u64, offset: u64) -> Cost;
}

/// Logs of one logical block each: `(block, offsets in the order of writing)`, the next victim first.
struct Bast {
    logs: Vec<(u64, Vec<u64>)>,
    most: usize,
    lru: bool,
    partial: bool,
    eager: bool,
    cost: Cost,
}

impl Bast {
    fn merge(&mut self, index: usize) {
        let (_, log) = self.logs.remove(index);
        let in_place = (0..).zip(&log).all(|(at, &offset)| at == offset);
        let rest = PAGES - log.len() as u64;
        if in_place && rest == 0 {
            self.cost.merges.0 += 1;
            self.cost.merge(0, 1);
        } else if in_place && self.partial {
            self.cost.merges.1 += 1;
            self.cost.merge(rest, 1);
        } else {
            self.cost.merges.2 += 1;
            self.cost.merge(PAGES, 2);
        }
    }
}

impl Book for Bast {
    fn write(&mut self, block: u64, offset: u64) -> Cost {
        let find = |logs: &[(u64, Vec<u64>)]| logs.iter().position(|log| log.0 == block);
        if let Some(index) = find(&self.logs)
            && self.logs[index].1.len() as u64 == PAGES
        {
            self.merge(index);
        }
        if find(&self.logs).is_none() {
            if self.logs.len() == self.most {
                self.merge(0);
            }
            self.logs.push((block, Vec::new()));
        }
        let index = find(&self.logs).unwrap();
        self.logs[index].1.push(offset);
        self.cost.flash.1 += 1;
        if self.lru {
            let log = self.logs.remove(index);
            self.logs.push(log);
        }
        let index = find(&self.logs).unwrap();
        if self.eager && self.logs[index].1.len() as u64 == PAGES {
            self.merge(index);
        }
        self.cost
    }
}

/// A run in the sequential log block: `(block, pages)`; pages in the random ones, those that are still the newest.
struct Fast {
    run: Option<(u64, u64)>,
    random: VecDeque<Vec<Option<(u64, u64)>>>,
    most: usize,
    fold: bool,
    partial: bool,
    eager: bool,
    /// A page that is written again is out of date before room is made for it.
    outdated_first: bool,
    cost: Cost,
}

impl Fast {
    fn forget(&mut self, stale: impl Fn((u64, u64)) -> bool) {
        self.random
            .iter_mut()
            .flatten()
            .filter(|page| page.is_some_and(&stale))
            .for_each(|page| *page = None);
    }

    /// All pages of `block` go into one block; `extra` of them come from the host.
    fn full(&mut self, block: u64, extra: u64) {
        let erases = 1 + u64::from(self.run.is_some_and(|run| run.0 == block));
        self.cost.merge(PAGES - extra, erases);
        self.cost.flash.1 += extra;
        self.cost.merges.2 += 1;
        self.settled(block);
    }

    fn settled(&mut self, block: u64) {
        self.forget(|page| page.0 == block);
        self.run = self.run.filter(|run| run.0 != block);
    }

    fn finish(&mut self) {
        let Some((block, pages)) = self.run else { return };
        if pages == PAGES {
            self.cost.merges.0 += 1;
            self.cost.merge(0, 1);
            self.settled(block);
        } else if self.partial {
            self.cost.merges.1 += 1;
            self.cost.merge(PAGES - pages, 1);
            self.settled(block);
        } else {
            self.full(block, 0);
        }
    }

    fn reclaim(&mut self) {
        while let Some((block, _)) = self.random[0].iter().flatten().next().copied() {
            if self.run.is_some_and(|run| run.0 == block) {
                self.finish();
            } else {
                self.full(block, 0);
            }
        }
        self.random.pop_front();
        self.cost.flash.2 += 1;
    }

    fn append(&mut self, page: (u64, u64)) {
        if self.outdated_first {
            self.forget(|other| other == page);
        }
        if self.random.back().is_none_or(|log| log.len() as u64 == PAGES) {
            if self.random.len() == self.most {
                self.reclaim();
            }
            self.random.push_back(Vec::new());
        }
        self.forget(|other| other == page);
        self.random.back_mut().unwrap().push(Some(page));
        self.cost.flash.1 += 1;
    }
}

impl Book for Fast {
    fn write(&mut self, block: u64, offset: u64) -> Cost {
        if offset == 0 {
            self.finish();
            self.run = Some((block, 0));
        }
        match self.run {
            Some((owner, next)) if owner == block && next == offset => {
                self.forget(|page| page == (block, offset));
                self.run = Some((block, next + 1));
                self.cost.flash.1 += 1;
            }
            Some((owner, next)) if owner == block && self.fold => {
                if offset > next && self.partial {
                    self.cost.merges.1 += 1;
                    self.cost.merge(PAGES - next - 1, 1);
                    self.cost.flash.1 += 1;
                    self.settled(block);
                } else {
                    self.full(block, 1);
                }
            }
            Some((owner, _)) if owner == block => {
                self.finish();
                self.append((block, offset));
            }
            _ => self.append((block, offset)),
        }
        if self.eager && self.run.is_some_and(|run| run.1 == PAGES) {
            self.finish();
        }
        let is_full = |log: &Vec<_>| log.len() as u64 == PAGES;
        if self.eager && self.random.len() == self.most && self.random.back().is_some_and(is_full) {
            self.reclaim();
        }
        self.cost
    }
}

/// Chains of physical blocks, each with the offsets written in it; the data block is full.
struct Replacement {
    chains: Vec<Vec<Vec<u64>>>,
    limit: usize,
    free: usize,
    cost: Cost,
}

impl Replacement {
    fn fold(&mut self, block: usize) {
        let chain = std::mem::take(&mut self.chains[block]);
        let last = chain.last().unwrap();
        let end = last.iter().max().unwrap() + 1;
        let lacking: Vec<u64> = (0..PAGES).filter(|offset| !last.contains(offset)).collect();
        let erases = if lacking.iter().all(|&offset| offset >= end) {
            self.cost.copies(lacking.len() as u64);
            let merges = &mut self.cost.merges;
            *(if lacking.is_empty() { &mut merges.0 } else { &mut merges.1 }) += 1;
            chain.len() - 1
        } else {
            self.cost.copies(PAGES);
            self.cost.merges.2 += 1;
            self.free -= 1;
            chain.len()
        };
        self.cost.flash.2 += erases as u64;
        self.free += erases;
        self.chains[block] = vec![(0..PAGES).collect()];
    }
}

impl Book for Replacement {
    fn write(&mut self, block: u64, offset: u64) -> Cost {
        loop {
            // The chips program upwards.
            let chain = &mut self.chains[block as usize];
            let fits = |written: &&mut Vec<u64>| written.iter().all(|&other| other < offset);
            if let Some(written) = chain.iter_mut().find(fits) {
                written.push(offset);
                self.cost.flash.1 += 1;
                return self.cost;
            }
            if chain.len() == self.limit {
                self.fold(block as usize);
            } else if self.free > 2 {
                chain.push(Vec::new());
                self.free -= 1;
            } else {
                let longest =
                    (0..self.chains.len()).max_by_key(|&b| (self.chains[b].len(), std::cmp::Reverse(b)));
                self.fold(longest.unwrap());
            }
        }
    }
}

fn bast(random: &mut Pcg64Mcg) -> (Value, Box<dyn Book>) {
    let (most, lru, partial, eager) =
        (random.random_range(1..4), random.random(), random.random(), random.random());
    let mapping = json!({
        "kind": "bast", "log_blocks": most, "victim": if lru { "lru" } else { "fifo" }, "partial_merge": partial,
        "merge_timing": if eager { "eager" } else { "lazy" },
    });
    (mapping, Box::new(Bast { logs: Vec::new(), most, lru, partial, eager, cost: Cost::default() }))
}

fn fast(random: &mut Pcg64Mcg) -> (Value, Box<dyn Book>) {
    let (most, fold, partial, eager) =
        (random.random_range(1..4), random.random(), random.random(), random.random());
    let mapping = json!({
        "kind": "fast", "log_blocks": most, "broken_run": if fold { "fold" } else { "log" }, "partial_merge": partial,
        "merge_timing": if eager { "eager" } else { "lazy" },
    });
    let book = Fast {
        run: None,
        random: VecDeque::new(),
        most,
        fold,
        partial,
        eager,
        outdated_first: true,
        cost: Cost::default(),
    };
    (mapping, Box::new(book))
}

/// MNK with M = N = K = 1 is BAST with a merge when the next write needs room.
fn mnk_as_bast(random: &mut Pcg64Mcg) -> (Value, Box<dyn Book>) {
    let (most, lru, partial) = (random.random_range(1..4), random.random(), random.random());
    let mapping = json!({
        "kind": "mnk", "striping": 1, "group_blocks": 1, "group_logs": 1, "log_blocks": most, "partial_merge": partial,
        "victim": if lru { "lru" } else { "fifo" }, "recycling": random.random::<bool>(),
    });
    let book = Bast { logs: Vec::new(), most, lru, partial, eager: false, cost: Cost::default() };
    (mapping, Box::new(book))
}

fn replacement(random: &mut Pcg64Mcg) -> (Value, Box<dyn Book>) {
    let limit: Option<usize> = random.random::<bool>().then(|| random.random_range(2..5));
    let book = Replacement {
        chains: vec![vec![(0..PAGES).collect()]; BLOCKS as usize],
        limit: limit.unwrap_or(usize::MAX),
        free: 16 - BLOCKS as usize,
        cost: Cost::default(),
    };
    (json!({"kind": "replacement", "chain_limit": limit}), Box::new(book))
}

/// One group of all blocks, with as many log blocks as there are, is the random area of FAST, for offsets above 0; but that MNK
/// makes room before it looks at the page that needs it.
#[test]
fn mnk_with_one_group_is_the_random_area_of_fast() {
    for seed in 0..1000 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let most: usize = random.random_range(1..4);
        let mapping = json!({
            "kind": "mnk", "striping": 1, "group_blocks": BLOCKS, "group_logs": most, "log_blocks": most, "recycling": false,
        });
        let mut book = Fast {
            run: None,
            random: VecDeque::new(),
            most,
            fold: true,
            partial: true,
            eager: false,
            outdated_first: false,
            cost: Cost::default(),
        };
        let mut drive = support::device(&json!({"ftl": {"mapping": mapping}}));
        for request in 0..random.random_range(1..60) {
            let (block, offset) = (random.random_range(0..BLOCKS), random.random_range(1..PAGES));
            let expected = book.write(block, offset);
            drive.submit(&support::request(Op::Write, block * PAGES + offset, 1)).unwrap();
            let c = drive.counters();
            let merges = (c.switch_merges, c.partial_merges, c.full_merges);
            let found = Cost { flash: support::cost(&drive), merges };
            assert_eq!(found, expected, "seed {seed}, request {request}: {mapping}");
        }
        drive.finish().unwrap();
    }
}

/// "Append to the RW area (invalidate an older RW copy first). If no RW page is free: ... for each distinct lbn with a still-valid page in
/// it": the page that is written again does not count any more when room is made for it. One random log block of four pages.
#[test]
fn fast_folds_nothing_for_the_page_that_is_written_again() {
    for (pages, expected) in [
        // Nothing else in the victim is the newest: it is only erased.
        (&[1u64, 1, 1, 1, 1][..], Cost { flash: (0, 5, 1), merges: (0, 0, 0) }),
        // Page 1 is; page 5 is not. One logical block is folded: four copies, its data block and the victim erased.
        (&[1, 5, 5, 5, 5], Cost { flash: (4, 9, 2), merges: (0, 0, 1) }),
        // Page 9 needs room: both are.
        (&[1, 5, 5, 5, 9], Cost { flash: (8, 13, 3), merges: (0, 0, 2) }),
        // Page 6 of its logical block is: it is folded as a whole.
        (&[5, 6, 6, 6, 5], Cost { flash: (4, 9, 2), merges: (0, 0, 1) }),
    ] {
        let mut drive = support::device(&json!({"ftl": {"mapping": {"kind": "fast", "log_blocks": 1}}}));
        support::write(&mut drive, pages);
        let c = drive.counters();
        let merges = (c.switch_merges, c.partial_merges, c.full_merges);
        assert_eq!(Cost { flash: support::cost(&drive), merges }, expected, "{pages:?}");
        drive.finish().unwrap();
    }
}

/// 25 us to read, 200 to program, 100 on the bus, 1,500 to erase: the last write takes 300 us, after copies of 425 us each; and, where it
/// waits for the erases, 1,500 us for each.
#[test]
fn a_request_waits_for_the_erases_of_its_merges_where_it_is_to() {
    let copies = |count: u64| 300_000 + count * 425_000;
    let fast = json!({"kind": "fast", "log_blocks": 1});
    let bast = json!({"kind": "bast", "log_blocks": 1});
    let mnk = json!({"kind": "mnk", "striping": 1, "group_blocks": 1, "group_logs": 1, "log_blocks": 1});
    for (mapping, pages, after, all, erases) in [
        // The log becomes the data block; it is completed; all is copied, and both blocks are erased.
        (&bast, &[0u64, 1, 2, 3, 4][..], copies(0), copies(0), 1),
        (&bast, &[0, 1, 4], copies(2), copies(2), 1),
        (&bast, &[1, 4], copies(4), copies(4), 2),
        (&mnk, &[1, 4], copies(4), copies(4), 2),
        (&fast, &[0, 1, 2, 3, 4], copies(0), copies(0), 1),
        // A broken run: page 2 is copied, page 3 written behind it.
        (&fast, &[0, 1, 3], copies(1), copies(1), 1),
        // The whole run goes to another block: page 0 before the host's page 1, and pages 2 and 3 and the erases after it.
        (&fast, &[0, 1, 1], copies(1), copies(3), 2),
        // A victim of which nothing is needed but the page that is written.
        (&fast, &[1, 1, 1, 1, 1], copies(0), copies(0), 1),
        // One with a page that is: its logical block is folded first.
        (&fast, &[1, 5, 5, 5, 5], copies(4), copies(4), 2),
    ] {
        for (option, expected) in [("after", after), ("before", all + erases * 1_500_000)] {
            let mut mapping = mapping.clone();
            mapping["merge_erase"] = json!(option);
            let mut drive = support::device(&json!({
                "ftl": {"mapping": mapping}, "host": {"replay": "open", "max_outstanding": 8},
            }));
            for (number, &page) in (0..).zip(pages) {
                let request =
                    Request { arrival_ns: number * 1_000_000_000, ..support::request(Op::Write, page, 1) };
                drive.submit(&request).unwrap();
            }
            let report = drive.finish().unwrap();
            let found = report.response_ns.write.unwrap().max;
            assert_eq!((found, report.flash.erases.total), (expected, erases), "{mapping}: {pages:?}");
        }
    }
}

/// Merges for tombstones, which no page of the host follows, are planned one at a time: their erases belong to no later plan.
#[test]
fn erases_that_are_waited_for_end_with_their_plan() {
    for kind in ["bast", "fast", "mnk"] {
        let mut drive = support::device(&json!({
            "ftl": {"mapping": {"kind": kind, "log_blocks": 2, "merge_erase": "before"}},
            "host": {"replay": "open", "max_outstanding": 8},
        }));
        for number in 0..60 {
            let page = number * 5 % 32;
            for op in [Op::Write, Op::Trim] {
                drive.submit(&support::request(op, page, 1)).unwrap();
            }
            drive.submit(&Request { len: 0, ..support::request(Op::Flush, 0, 0) }).unwrap();
        }
        assert_eq!(drive.finish().unwrap().requests.completed, 180, "{kind}");
    }
}

#[test]
fn merges_cost_what_the_rules_say() {
    for seed in 0..3000 {
        for scheme in [bast, mnk_as_bast, fast, replacement] {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let (mapping, mut book) = scheme(&mut random);
            let mut drive = support::device(&json!({"ftl": {"mapping": mapping}}));
            for request in 0..random.random_range(1..60) {
                let first = random.random_range(0..PAGES * BLOCKS);
                let count = random.random_range(1..=(PAGES * BLOCKS - first).min(6));
                let mut expected = Cost::default();
                for page in first..first + count {
                    expected = book.write(page / PAGES, page % PAGES);
                }
                drive.submit(&support::request(Op::Write, first, count)).unwrap();
                let c = drive.counters();
                let merges = (c.switch_merges, c.partial_merges, c.full_merges);
                let found = Cost { flash: support::cost(&drive), merges };
                assert_eq!(found, expected, "seed {seed}, request {request}, {first}+{count}: {mapping}");
            }
            drive.finish().unwrap();
        }
    }
}
