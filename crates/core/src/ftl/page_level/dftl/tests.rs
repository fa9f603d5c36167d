//! The worked examples, and DFTL beside a slow version of itself.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Config, Dftl};
use crate::config::DeviceConfig;
use crate::ftl::context::{Cx, PageOut};
use crate::ftl::page_level::PageLevel;
use crate::ftl::{Advice as _, Mapping as _, Reclaim, Shape};
use crate::metrics::Counters;
use crate::nand::chip::Chip;
use crate::nand::config::ProgramOrder;
use crate::nand::{Cause, Engine, Flash, Geometry, JoinId, Plan, Stored};
use crate::support::ids::{Lpn, PlaneId};

/// A DFTL on a small array of its own, without time, that checks every read of its map.
struct Bench {
    dftl: PageLevel<Dftl>,
    flash: Flash,
    engine: Engine,
    plan: Plan,
    counters: Counters,
}

macro_rules! cx {
    ($bench:expr) => {
        &mut Cx::alone(
            &mut $bench.flash,
            &mut $bench.engine,
            &mut $bench.plan,
            &mut $bench.counters,
        )
    };
}

impl Bench {
    /// `pages` logical pages of 512 bytes on one unit of `blocks` blocks of `ppb` pages, 4 entries
    /// in a translation page.
    fn new(options: &Value, gc: &Value, pages: u32, [blocks, ppb]: [u32; 2]) -> Self {
        let config: DeviceConfig = serde_json::from_value(json!({
            "nand": {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
                     "blocks_per_plane": blocks, "pages_per_block": ppb, "page_size": "512 B",
                     "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "100 us"}},
            "ftl": {"mapping": "dftl", "gc": gc},
            "buffer": {"size": "0 B", "scheme": "none"},
        }))
        .unwrap();
        let mut options = options.clone();
        options["entries_per_page"] = json!(4);
        let options: Config = serde_json::from_value(options).unwrap();
        let geometry = Geometry::new(&config.nand).unwrap();
        let order = ProgramOrder::Sequential;
        let shape = Shape { geometry: &geometry, logical_pages: pages, order, parts: &config.ftl };
        let mut engine = Engine::new(Chip::new(&config.nand, &geometry).unwrap(), &geometry);
        engine.keep(Stored::compared(&geometry, pages));
        let cached = options.cached(pages).unwrap();
        let dftl = options.assemble(shape, cached, 4).unwrap();
        let flash = Flash::new(geometry, order);
        Self { dftl, flash, engine, plan: Plan::default(), counters: Counters::default() }
    }

    fn write(&mut self, lpn: Lpn) {
        let shadow = self.engine.shadow_mut().unwrap();
        shadow.host_write(lpn);
        shadow.issue_write(lpn);
        assert_eq!(self.dftl.write(cx!(self), &[PageOut::host(lpn)], JoinId::NONE), 1);
    }

    fn read(&mut self, lpn: Lpn) {
        let cx = cx!(self);
        if let Some(ppn) = self.dftl.translate(cx, lpn) {
            let (block, page) = cx.flash.geometry.split(ppn);
            cx.read(block, page, lpn, Cause::Host, JoinId::NONE, JoinId::NONE);
        }
    }

    fn trim(&mut self, lpn: Lpn) {
        self.engine.shadow_mut().unwrap().host_trim(lpn);
        self.dftl.trim(cx!(self), lpn, 1);
    }

    /// `R0 W1 T2` and so on.
    fn play(&mut self, accesses: &str) {
        for access in accesses.split_whitespace() {
            let (op, lpn) = access.split_at(1);
            let lpn = Lpn(lpn.parse().unwrap());
            match op {
                "R" => self.read(lpn),
                "W" => self.write(lpn),
                _ => self.trim(lpn),
            }
        }
    }

    /// Collects until a victim has been erased.
    fn collect_one(&mut self) {
        let erases = self.counters.erases;
        while self.counters.erases == erases {
            assert_eq!(self.dftl.reclaim(cx!(self), PlaneId(0)), Reclaim::More);
        }
    }

    /// Page reads of a cause and programs of it.
    fn cost(&self, cause: Cause) -> (u64, u64) {
        (self.counters.reads[cause as usize], self.counters.programs[cause as usize])
    }

    /// The cached pages, on probation and protected, each with whether its entry is dirty.
    fn cached(&self) -> [Vec<(u32, bool)>; 2] {
        let cache = &self.dftl.scheme().cache;
        cache
            .dump()
            .map(|pages| pages.into_iter().map(|lpn| (lpn.0, cache.is_dirty(lpn))).collect())
    }

    fn check(&self) {
        self.dftl.check(&self.flash).unwrap();
        assert_eq!(self.engine.stored().unwrap().fault(), None);
        assert_eq!(self.flash.violation(), None);
    }
}

/// Sixteen pages that have been written, the last ones read since.
fn full(options: &Value) -> Bench {
    let mut bench = Bench::new(options, &json!({}), 16, [32, 4]);
    Lpn(0).run(16).for_each(|lpn| bench.write(lpn));
    bench.play("R12 R13 R14 R15");
    bench.counters = Counters::default();
    bench
}

#[test]
fn a_miss_reads_the_map_and_a_dirty_victim_writes_it() {
    let mut bench = full(&json!({"cache": 2, "replacement": "lru"}));
    assert_eq!(bench.cached(), [vec![(15, false), (14, false)], vec![]]);
    bench.play("R0 W1 W8 R4");
    assert_eq!(bench.cost(Cause::Mapping), (5, 1));
    assert_eq!(bench.cost(Cause::Host), (2, 2));
    assert_eq!(bench.cached(), [vec![(4, false), (8, true)], vec![]]);
    assert_eq!((bench.counters.map_lookups, bench.counters.map_hits), (4, 0));
    bench.check();
}

#[test]
fn an_eviction_may_clean_the_whole_translation_page() {
    for (batch, cost) in [(false, (6, 2)), (true, (5, 1))] {
        let mut bench = full(&json!({"cache": 2, "replacement": "lru", "batch_evict": batch}));
        bench.play("W0 W1 R4 R5");
        assert_eq!(bench.cost(Cause::Mapping), cost);
        bench.check();
    }
}

#[test]
fn collection_updates_each_translation_page_once() {
    // Block 0 holds pages 0, 1 and 4, and outdated versions of page 8.
    let collect = |cache: u32, evict: &str, step_pages: u32| {
        let gc = json!({"idle_free_blocks": 31, "step_pages": step_pages});
        let mut bench =
            Bench::new(&json!({"cache": cache, "replacement": "lru"}), &gc, 16, [32, 8]);
        bench.play("W0 W1 W4 W8 W8 W8 W8 W8 W8");
        bench.play(evict);
        bench.counters = Counters::default();
        assert!(bench.dftl.reclaims_when_idle(PlaneId(0)));
        bench.collect_one();
        bench.check();
        (
            bench.cost(Cause::Gc),
            bench.cost(Cause::Mapping),
            bench.counters.erases[Cause::Gc as usize],
        )
    };
    // However few pages a step copies.
    for step_pages in [1, 2, 8] {
        assert_eq!(collect(2, "R12 R13", step_pages), ((3, 3), (2, 2), 1), "{step_pages}");
        assert_eq!(collect(8, "", step_pages), ((3, 3), (0, 0), 1), "{step_pages}");
    }
}

#[test]
fn an_entry_used_twice_outlives_those_used_once() {
    let mut bench = full(&json!({"cache": 4, "protected": 0.5}));
    bench.play("R0 R0 R1 R2 R3 R4 R5");
    let [probation, protected] = bench.cached();
    assert!(protected.contains(&(0, false)), "{protected:?}");
    assert!(probation.iter().all(|&(lpn, _)| lpn != 0 && lpn != 1), "{probation:?}");
}

/// A write that finds no room, and is tried again, is one lookup: also if its entry has left the
/// cache meanwhile, and not before it has been looked up.
#[test]
fn a_write_that_waits_for_room_is_looked_up_once() {
    // Page 0 is not cached: its entry is read, and counts unless it did before.
    for (looked_up, lookups) in [(Lpn::NONE, 1), (Lpn(0), 0)] {
        let mut bench = full(&json!({"cache": 2, "replacement": "lru"}));
        let cx = cx!(bench);
        cx.looked_up = looked_up;
        assert_eq!(bench.dftl.write(cx, &[PageOut::host(Lpn(0))], JoinId::NONE), 1);
        assert_eq!((bench.counters.map_lookups, bench.cost(Cause::Mapping).0), (lookups, 1));
    }
    // Without collection there is no room in the end, for host or map; the last page is cached, dirty.
    let mut bench = Bench::new(&json!({"cache": 1, "replacement": "lru"}), &json!({}), 16, [32, 4]);
    let write = |bench: &mut Bench, lpn, looked_up| {
        let before = bench.counters.map_lookups;
        let cx = cx!(bench);
        cx.looked_up = looked_up;
        let taken = bench.dftl.write(cx, &[PageOut::host(lpn)], JoinId::NONE);
        (taken, bench.counters.map_lookups - before)
    };
    let mut last = Lpn::NONE;
    for lpn in Lpn(0).run(16).cycle() {
        if write(&mut bench, lpn, Lpn::NONE).0 == 0 {
            break;
        }
        last = lpn;
    }
    let other = Lpn((last.0 + 1) % 16);
    assert_eq!(write(&mut bench, other, Lpn::NONE), (0, 0), "its entry has no room");
    assert!(!bench.dftl.has_looked_up(other));
    let refused = loop {
        let found = write(&mut bench, last, Lpn::NONE);
        if found.0 == 0 {
            break found;
        }
    };
    assert_eq!(refused, (0, 1), "its entry is there, it has no room");
    assert!(bench.dftl.has_looked_up(last));
    assert_eq!(write(&mut bench, last, last), (0, 0));
}

#[test]
fn impossible_options_are_refused() {
    let refused = |options: Value| {
        let config: DeviceConfig = serde_json::from_value(json!({
            "nand": {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
                     "blocks_per_plane": 32, "pages_per_block": 4, "page_size": "2 KiB",
                     "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "100 us"}},
            "ftl": {"mapping": "dftl"}, "buffer": {"size": "0 B", "scheme": "none"},
        }))
        .unwrap();
        let geometry = Geometry::new(&config.nand).unwrap();
        let order = ProgramOrder::Sequential;
        let shape = Shape { geometry: &geometry, logical_pages: 64, order, parts: &config.ftl };
        serde_json::from_value::<Config>(options).unwrap().build(shape).unwrap_err()
    };
    assert!(refused(json!({"cache": 0.0})).starts_with("ftl.mapping.cache: found 0, expected"));
    assert!(refused(json!({"cache": 3.5})).starts_with("ftl.mapping.cache: found 3.5, expected"));
    assert!(
        refused(json!({"protected": 1.0})).starts_with("ftl.mapping.protected: found 1, expected")
    );
    assert_eq!(
        refused(json!({"entries_per_page": 513})),
        "ftl.mapping.entries_per_page: found 513, expected 1 to 512: 4 bytes each in a page of \
         2048 bytes"
    );
}

/// DFTL as the paper tells it: lists that are searched from end to end.
struct Slow {
    capacity: usize,
    protected_most: usize,
    batch_evict: bool,
    /// On probation and protected, used last first: page, and whether its entry is dirty.
    cached: [Vec<(u32, bool)>; 2],
    /// Translation pages on flash.
    stored: Vec<bool>,
    reads: u64,
    programs: u64,
    lookups: u64,
    hits: u64,
}

impl Slow {
    fn entry(&mut self, lpn: u32) -> Option<&mut (u32, bool)> {
        self.cached.iter_mut().flatten().find(|entry| entry.0 == lpn)
    }

    fn read_page(&mut self, number: u32) {
        self.reads += u64::from(self.stored[number as usize]);
    }

    fn write_page(&mut self, number: u32) {
        self.read_page(number);
        self.programs += 1;
        self.stored[number as usize] = true;
    }

    fn look_up(&mut self, lpn: u32) {
        self.lookups += 1;
        let at = |list: &[(u32, bool)]| list.iter().position(|entry| entry.0 == lpn);
        let (on_probation, protected) = (at(&self.cached[0]), at(&self.cached[1]));
        if let Some(at) = on_probation {
            let entry = self.cached[0].remove(at);
            self.cached[usize::from(self.protected_most > 0)].insert(0, entry);
            if self.cached[1].len() > self.protected_most {
                let last = self.cached[1].pop().unwrap();
                self.cached[0].insert(0, last);
            }
        } else if let Some(at) = protected {
            let entry = self.cached[1].remove(at);
            self.cached[1].insert(0, entry);
        } else {
            if self.cached[0].len() + self.cached[1].len() == self.capacity {
                let (victim, dirty) =
                    self.cached[0].pop().or_else(|| self.cached[1].pop()).unwrap();
                if dirty {
                    self.write_page(victim / 4);
                    let batch = self.batch_evict;
                    for entry in
                        self.cached.iter_mut().flatten().filter(|e| batch && e.0 / 4 == victim / 4)
                    {
                        entry.1 = false;
                    }
                }
            }
            self.read_page(lpn / 4);
            self.cached[0].insert(0, (lpn, false));
            return;
        }
        self.hits += 1;
    }

    /// Entries that change without being used: by collection, or by a trim.
    fn change(&mut self, pages: &[u32]) {
        let mut numbers = Vec::new();
        for &lpn in pages {
            match self.entry(lpn) {
                Some(entry) => entry.1 = true,
                None => numbers.push(lpn / 4),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            self.write_page(number);
        }
    }
}

/// Plays accesses on both and compares them after each.
fn agree(capacity: u32, options: &Value, accesses: &[(u8, u32)]) {
    const PAGES: u32 = 64;
    let mut options = options.clone();
    options["cache"] = json!(capacity);
    // Enough erased blocks that translation pages always find room at once.
    let mut bench = Bench::new(&options, &json!({"free_blocks": 5}), PAGES, [36, 4]);
    let plain = options["replacement"] == "lru";
    let share = options.get("protected").and_then(Value::as_f64).unwrap_or(0.8);
    let mut slow = Slow {
        capacity: capacity as usize,
        protected_most: if plain { 0 } else { (f64::from(capacity) * share) as usize },
        batch_evict: options["batch_evict"] == true,
        cached: [Vec::new(), Vec::new()],
        stored: vec![false; PAGES.div_ceil(4) as usize],
        reads: 0,
        programs: 0,
        lookups: 0,
        hits: 0,
    };
    for &(op, lpn) in accesses {
        match op {
            0..2 => {
                bench.read(Lpn(lpn));
                slow.look_up(lpn);
            }
            2 if bench.dftl.lookup(Lpn(lpn)).is_some() => {
                bench.trim(Lpn(lpn));
                slow.change(&[lpn]);
            }
            2 => {}
            _ => {
                bench.write(Lpn(lpn));
                slow.look_up(lpn);
                slow.entry(lpn).unwrap().1 = true;
            }
        }
        let mut moved = Vec::new();
        while let Some(unit) = bench.dftl.needs_reclaim() {
            loop {
                let before: Vec<_> = (0..PAGES).map(|lpn| bench.dftl.lookup(Lpn(lpn))).collect();
                let erases = bench.counters.erases;
                let step = bench.dftl.reclaim(cx!(bench), unit);
                moved.extend(
                    (0..PAGES).filter(|&lpn| bench.dftl.lookup(Lpn(lpn)) != before[lpn as usize]),
                );
                if bench.counters.erases != erases {
                    slow.change(&std::mem::take(&mut moved));
                }
                if step != Reclaim::More {
                    break;
                }
            }
        }
        let tombstones = bench.engine.media().unwrap().trim_lists();
        let (reads, programs) = bench.cost(Cause::Mapping);
        let found = (bench.cached(), reads, programs - tombstones);
        assert_eq!(
            found,
            (slow.cached.clone(), slow.reads, slow.programs),
            "after {op} of page {lpn}"
        );
        assert_eq!(
            (bench.counters.map_lookups, bench.counters.map_hits),
            (slow.lookups, slow.hits)
        );
        bench.check();
    }
}

proptest! {
    #[test]
    fn decides_as_the_slow_version(
        capacity in 1u32..24,
        protected in prop::sample::select(vec![0.0, 0.3, 0.8]),
        lru in any::<bool>(),
        batch_evict in any::<bool>(),
        accesses in prop::collection::vec((0u8..8, (0u32..64, 0u32..12, any::<bool>())), 1..400),
    ) {
        let replacement = if lru { "lru" } else { "segmented-lru" };
        let options = json!({"protected": protected, "replacement": replacement, "batch_evict": batch_evict});
        let accesses: Vec<_> = accesses.into_iter().map(|(op, (far, near, hot))| (op, if hot { near } else { far })).collect();
        agree(capacity, &options, &accesses);
    }
}
