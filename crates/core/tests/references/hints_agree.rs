//! SUPA's FTL under a buffer that tells of patterns: after each request it has done what a slow one
//! does with the same hints.
//!
//! The buffer draws what it tells, so that patterns come in every order: also those that no real
//! one would give.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use eraseblock_core::buffer::{Action, Answer, Buffer, Evicted, Outcome, Span, View};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Counters;
use eraseblock_core::pattern::{Access, Hint, Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn};
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use crate::references::drives::pattern::{self, Lies, Supa, Way};
use crate::references::{Counts, Drive as _, is_chosen, seeds};
use crate::support;

/// What the FTL is asked to do.
#[derive(Debug)]
enum Event {
    /// These pages are read from flash.
    Read(Vec<u32>),
    /// These are written, with what the buffer knows of their block; none if the block was clean.
    Write(Vec<u32>, Option<Hint>),
    /// Nothing: it has been asked where a block would be written, and which channels can take one.
    Asked(u32, Pattern, Route, Vec<bool>),
}

/// A buffer whose pages leave by chance.
#[derive(Debug)]
struct Scripted {
    random: Pcg64Mcg,
    capacity: usize,
    pages_per_block: u32,
    blocks: u32,
    /// Pages held, and whether they are dirty.
    held: BTreeMap<u32, bool>,
    /// Blocks that the FTL has been told of, and that have been held ever since.
    told: BTreeSet<u32>,
    /// Share of hints that have the pattern in fashion, so that blocks settle.
    fashion: Pattern,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Scripted {
    fn tell(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn pages_of(&self, block: u32, dirty: bool) -> Vec<u32> {
        let all = self.held.range(block * self.pages_per_block..(block + 1) * self.pages_per_block);
        all.filter(|page| *page.1 == dirty).map(|page| *page.0).collect()
    }

    /// What is told of a block whose pages are written, or of a clean one.
    fn hint(&mut self, block: u32, is_clean: bool, channels: u32) -> Option<Hint> {
        let silent = self.random.random_range(0..8) == 0;
        let again = self.told.contains(&block) && self.random.random_range(0..6) > 0;
        if self.random.random_range(0..6) == 0 {
            self.fashion = *Pattern::ALL.get(self.random.random_range(0..8)).unwrap();
        }
        let fits = |pattern: &Pattern| (pattern.write == Access::Never) == (is_clean && !again);
        let fitting: Vec<Pattern> = Pattern::ALL.into_iter().filter(fits).collect();
        let drawn = fitting[self.random.random_range(0..fitting.len())];
        let pattern =
            if fits(&self.fashion) && self.random.random() { self.fashion } else { drawn };
        let channel = self.random.random::<bool>().then(|| self.random.random_range(0..channels));
        if silent {
            self.told.remove(&block);
            return None;
        }
        self.told.insert(block);
        Some(Hint { block: LogicalBlock(block), pattern, channel, again })
    }

    /// These pages of one block leave, all dirty or all clean.
    fn leave(&mut self, pages: &[u32], action: Action, hint: Option<Hint>, out: &mut Outcome) {
        let start = out.pages.len();
        for page in pages {
            let dirty = self.held[page];
            out.pages.push(Evicted { lpn: Lpn(*page), dirty });
            if action == Action::WriteBack {
                self.held.insert(*page, false);
            } else {
                self.held.remove(page);
            }
        }
        out.evict(start, action, "by chance");
        if let Some(hint) = hint {
            out.with_hint(hint);
        }
        if action != Action::Drop || hint.is_some() {
            let written = if action == Action::Drop { Vec::new() } else { pages.to_vec() };
            self.tell(Event::Write(written, hint));
        }
        self.forget_told();
    }

    /// A block of which no page is held any longer has ended its stay.
    fn forget_told(&mut self) {
        let held: BTreeSet<u32> =
            self.held.keys().map(|page| page / self.pages_per_block).collect();
        self.told.retain(|block| held.contains(block));
    }

    /// Something leaves: a whole block, or some of its pages, in any order.
    fn evict_some(&mut self, channels: u32, out: &mut Outcome) {
        let blocks: Vec<u32> = self.held.keys().map(|page| page / self.pages_per_block).collect();
        let block = blocks[self.random.random_range(0..blocks.len())];
        let (mut dirty, clean) = (self.pages_of(block, true), self.pages_of(block, false));
        if dirty.is_empty() {
            let hint = self.hint(block, true, channels);
            return self.leave(&clean, Action::Drop, hint, out);
        }
        let whole = self.random.random_range(0..3) > 0;
        if self.random.random_range(0..3) == 0 {
            dirty.shuffle(&mut self.random);
        }
        if !whole {
            dirty.truncate(self.random.random_range(1..=dirty.len()));
        }
        let hint = self.hint(block, false, channels);
        let stays = !whole && self.random.random();
        self.leave(&dirty, if stays { Action::WriteBack } else { Action::Evict }, hint, out);
        if whole && !clean.is_empty() {
            self.leave(&clean, Action::Drop, None, out);
        }
    }

    /// Dirty pages of a block are written, and stay.
    fn store(&mut self, pages: &[u32], out: &mut Outcome) {
        if let Some(page) = pages.first() {
            let hint = self.hint(page / self.pages_per_block, false, 1);
            self.leave(pages, Action::WriteBack, hint, out);
        }
    }
}

impl Buffer for Scripted {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        let (block, pattern) = (
            self.random.random_range(0..self.blocks),
            Pattern::ALL[self.random.random_range(0..8)],
        );
        if pattern.write != Access::Never {
            let ready = (0..view.channels()).map(|channel| view.channel_ready(channel)).collect();
            self.tell(Event::Asked(
                block,
                pattern,
                view.route(LogicalBlock(block), pattern),
                ready,
            ));
        }
        let pages: Vec<u32> = span.pages().map(|lpn| lpn.0).collect();
        let is_held = |held: &BTreeMap<u32, bool>| pages.iter().any(|page| held.contains_key(page));
        if !is_held(&self.held) && self.random.random_range(0..6) == 0 {
            self.tell(if span.write {
                Event::Write(pages.clone(), None)
            } else {
                Event::Read(pages.clone())
            });
            return out.answers.extend(pages.iter().map(|_| Answer::Bypass));
        }
        let mut more = self.random.random_range(0..3u32);
        loop {
            let new = pages.iter().filter(|page| !self.held.contains_key(page)).count();
            if self.held.is_empty() || (self.held.len() + new <= self.capacity && more == 0) {
                break;
            }
            more = more.saturating_sub(1);
            self.evict_some(view.channels(), out);
        }
        for page in pages {
            let was = self.held.get(&page).copied();
            if was.is_none() && !span.write {
                self.tell(Event::Read(vec![page]));
            }
            self.held.insert(page, span.write || was == Some(true));
            let new = if span.write { Answer::Insert } else { Answer::Fill };
            out.answers.push(if was.is_some() { Answer::Hit } else { new });
        }
    }

    fn trim(&mut self, Lpn(first): Lpn, count: u32) {
        self.held.retain(|page, _| !(first..first + count).contains(page));
        self.forget_told();
    }

    fn flush(&mut self, out: &mut Outcome) {
        let blocks: BTreeSet<u32> =
            self.held.keys().map(|page| page / self.pages_per_block).collect();
        for block in blocks {
            let pages = self.pages_of(block, true);
            self.store(&pages, out);
        }
    }

    fn flush_pages(&mut self, Lpn(first): Lpn, count: u32, out: &mut Outcome) {
        let dirty = self.pages_of(first / self.pages_per_block, true);
        let pages: Vec<u32> =
            dirty.into_iter().filter(|page| (first..first + count).contains(page)).collect();
        self.store(&pages, out);
    }

    fn len(&self) -> u32 {
        self.held.len() as u32
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.held.contains_key(&lpn.0)
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn metadata_bytes(&self) -> usize {
        0
    }

    fn reports_patterns(&self) -> bool {
        true
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        vec![self.held.keys().copied().map(Lpn).collect()]
    }
}

/// Longer than anything that one request causes.
const LONG_NS: u64 = 10_000_000_000;

fn counts(quick: &Device) -> Counts {
    let c = quick.counters();
    Counts {
        reads: Counters::total(&c.reads),
        programs: Counters::total(&c.programs),
        erases: Counters::total(&c.erases),
        switch_merges: c.switch_merges,
        partial_merges: c.partial_merges,
        full_merges: c.full_merges,
        ..Counts::default()
    }
}

/// What was done, and how many sparse areas were emptied. In runs with time requests come so rarely
/// that no two are under way at once; but what one causes takes its time.
fn compare(seed: u64, is_timed: bool) -> (Counts, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut over, mut slow) = pattern::draw(&mut random);
    let capacity = random.random_range(8..=24);
    over["buffer"] = json!({"size": format!("{} KiB", 4 * capacity)});
    if is_timed {
        over["host"] = json!({"replay": "open"});
    }
    let events = Arc::new(Mutex::new(Vec::new()));
    let buffer = Scripted {
        random: Pcg64Mcg::seed_from_u64(random.random()),
        capacity,
        pages_per_block: slow.block,
        blocks: slow.size(),
        held: BTreeMap::new(),
        told: BTreeSet::new(),
        fashion: Pattern::ALL[0],
        events: Arc::clone(&events),
    };
    let config = support::config(&over);
    let mut quick = Device::with_parts(
        &config,
        Options { verify: true },
        |mapping| mapping,
        Some(Box::new(buffer)),
    )
    .unwrap();
    quick.precondition().unwrap();
    let pages = (quick.exported_bytes() / quick.page_bytes()) as u32;
    let hot = if random.random() { random.random_range(1..=pages) } else { pages };
    let longest = random.random_range(1..=8);
    let mut told = Vec::new();
    let mut channels = BTreeMap::new();
    for step in 0..random.random_range(1..120u64) {
        let range = if random.random_range(0..6) > 0 { hot } else { pages };
        let first = random.random_range(0..range);
        let count = random.random_range(1..=longest.min(pages - first));
        let op = match random.random_range(0..40) {
            0 => Op::Flush,
            1 | 2 => Op::Trim,
            3..14 => Op::Read,
            _ => Op::Write,
        };
        let fua = op == Op::Write && random.random_range(0..10) == 0;
        let arrival_ns = if is_timed { step * LONG_NS } else { 0 };
        let request =
            Request { fua, arrival_ns, ..support::request(op, u64::from(first), u64::from(count)) };
        quick
            .submit(&request)
            .unwrap_or_else(|error| panic!("seed {seed}, step {step}: {error}: {over}"));
        let done = std::mem::take(&mut *events.lock().unwrap());
        let doing = format!("seed {seed}, step {step}, {done:?}: {over}");
        for event in &done {
            match event {
                Event::Asked(block, pattern, route, ready) => {
                    // Where erased blocks are many each channel has some.
                    let are_many = over["nand"]["blocks_per_plane"] == 64;
                    if are_many {
                        let way = slow.way(*block, *pattern);
                        let found = match (*route, way) {
                            (Route::Striped, _) => Way::Striped,
                            (Route::Anywhere, _) => Way::Anywhere,
                            (Route::Channel(channel), Way::Log(lies))
                                if is_on(&mut channels, lies, channel) =>
                            {
                                way
                            }
                            (Route::Home(channel), Way::Home(lies))
                                if is_on(&mut channels, lies, channel) =>
                            {
                                way
                            }
                            _ => panic!("{route:?}, not {way:?}: {doing}"),
                        };
                        assert_eq!(
                            found,
                            way,
                            "where block {block} of {} goes: {doing}",
                            pattern.name()
                        );
                    }
                    if !is_timed && (are_many || slow.erased <= 3 * slow.width) {
                        assert!(ready.iter().all(|ready| *ready == are_many), "{ready:?}: {doing}");
                    }
                }
                Event::Read(pages) => pages.iter().for_each(|page| slow.read(*page, 1)),
                Event::Write(pages, hint) => slow.evict(pages, hint.as_ref()),
            }
        }
        match op {
            Op::Trim => slow.trim(first, count),
            Op::Flush => slow.flush(),
            Op::Read | Op::Write => {}
        }
        told.push(format!("{step}: {op:?} {first}+{count} {done:?}"));
        let at = || format!("seed {seed}, step {step}: {over}\n{}", told.join("\n"));
        if is_timed {
            continue;
        }
        assert_eq!(counts(&quick), slow.counts(), "{}", at());
        compare_places(&quick, &slow, &mut channels, &at);
        if over["ftl"]["mapping"]["policy"] == "by-pattern" {
            for block in 0..pages / slow.block {
                let policy =
                    quick.mapping().advice().and_then(|advice| advice.policy(LogicalBlock(block)));
                let name = policy.map(|policy| format!("{policy:?}").to_lowercase());
                assert_eq!(name.as_deref(), slow.policy(block), "block {block}: {}", at());
            }
        }
    }
    quick.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}: {over}"));
    if is_timed {
        // Pages are read from the RAM while they are being written.
        let (found, expected) =
            (counts(&quick), Counts { reads: counts(&quick).reads, ..slow.counts() });
        assert_eq!(found, expected, "seed {seed}: {over}\n{}", told.join("\n"));
    }
    (slow.counts(), slow.emptied)
}

/// Whether this can be the channel. The one of an area that may lie on any is known from where it
/// was seen first.
fn is_on(channels: &mut BTreeMap<u32, u32>, lies: Lies, channel: u32) -> bool {
    match lies {
        Lies::On(expected) => expected == channel,
        Lies::As(area) => *channels.entry(area).or_insert(channel) == channel,
    }
}

/// Pages that lie together in one flash block of the reference lie so in the product, at the same
/// place in it.
fn compare_places(
    quick: &Device,
    slow: &Supa,
    channels: &mut BTreeMap<u32, u32>,
    at: &dyn Fn() -> String,
) {
    let g = quick.geometry();
    let pages = slow.size() * slow.block;
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    for page in 0..pages {
        let found = quick.mapping().lookup(Lpn(page)).map(|ppn| g.split(ppn));
        let expected = slow.place(page);
        let rows = (found.map(|found| found.1), expected.map(|expected| expected.2));
        assert_eq!(rows.0, rows.1, "page {page} of its flash block: {}", at());
        if let (Some((block, _)), Some((area, column, _))) = (found, expected) {
            let first = *there.entry((area, column)).or_insert(block);
            assert_eq!(first, block, "page {page} lies with others: {}", at());
            let first = *back.entry(block).or_insert((area, column));
            assert_eq!(first, (area, column), "page {page} lies with others: {}", at());
            let channel = g.channel_of(g.die_of(g.unit_of(block)));
            if let Some(lies) = slow.channel(page).filter(|_| g.blocks_per_unit == 64) {
                assert!(
                    is_on(channels, lies, channel),
                    "page {page} on {channel}, not {lies:?}: {}",
                    at()
                );
            }
        }
    }
}

#[test]
fn random_hints_have_the_same_effect() {
    if is_chosen("pattern") {
        let all: Vec<_> = seeds(1_000, 10_000).map(|seed| compare(seed, false)).collect();
        let merged = all.iter().filter(|(c, _)| c.switch_merges > 2 && c.full_merges > 10).count();
        assert!(merged > 100, "{merged} runs merged by switching and by copying");
        let emptied: u64 = all.iter().map(|run| run.1).sum();
        assert!(emptied > 100, "{emptied} sparse areas emptied");
    }
}

/// Where blocks go does not depend on how long erases take.
#[test]
fn random_hints_have_the_same_effect_in_time() {
    if is_chosen("pattern") {
        // A merge settles a block whose tombstone waits for that merge's erase.
        compare(9_775, true);
        seeds(300, 3_000).for_each(|seed| _ = compare(seed, true));
    }
}
