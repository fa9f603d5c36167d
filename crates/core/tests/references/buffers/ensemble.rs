//! The ensemble over whole drives (no sample), on an FTL that says nothing of its work. The experts
//! are the product's own schemes, each of which has its reference here; what is written a second
//! time is how their work is reckoned, who leads, and how the buffer follows.

use eraseblock_core::buffer::{
    self, Action, Answer, BufferConfig, Eviction, Outcome, Part, Shape, Span, View,
};
use eraseblock_core::support::ids::Lpn;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "ensemble",
        from: "docs/own.md, section The ensemble, by its author",
        least_capacity: 1,
        pair,
    }
}

/// Those that can hold a single page.
const SCHEMES: [&str; 8] = ["lru", "fifo", "clock", "fab", "bpac", "cold-groups", "gb", "cave"];

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let count = random.random_range(1..4);
    let names: Vec<&str> = (0..count).map(|_| SCHEMES[random.random_range(0..8)]).collect();
    let patience = [0.0, 0.05, 0.3][random.random_range(0..3)];
    let caution = [0.0, 0.1][random.random_range(0..2)];
    let window = [1.0, 3.0, 64.0][random.random_range(0..3)];
    let seed: u64 = random.random_range(0..100);
    let config = json!({
        "kind": "ensemble", "experts": names, "patience": patience, "caution": caution,
        "window": window, "seed": seed,
    });
    let tried = names.iter().map(|name| Tried {
        scheme: BufferConfig::by_name(name).unwrap().build(shape).unwrap(),
        out: Outcome::default(),
        drive: Drive::default(),
        known: 0,
        beyond: 0.0,
    });
    let mut draws = Pcg64Mcg::seed_from_u64(seed);
    let drawn: Vec<f64> = (0..count).map(|_| -libm::log(1.0 - draws.random::<f64>())).collect();
    let slow = Ensemble {
        capacity: shape.capacity,
        pages_per_block: shape.pages_per_block,
        tried: tried.collect(),
        handicaps: (0..count).map(|n| if n == 0 { -drawn[n] } else { 3.0 - drawn[n] }).collect(),
        patience,
        caution,
        window,
        best: 0.0,
        halve_at: 0.0,
        price: 0.0,
        leader: None,
        request: None,
        kept: Vec::new(),
        strays: Vec::new(),
        trimmed: Vec::new(),
    };
    (config, Box::new(slow))
}

/// Units of the drives that the comparison shows, and how long a read and a program take.
const UNITS: u64 = 4;
const READ: u64 = 125_000;
const PROGRAM: u64 = 300_000;

/// A drive in miniature.
#[derive(Default)]
struct Drive {
    free: [u64; UNITS as usize],
    now: u64,
    /// Of the requests under way, the oldest first: when it has what it reads, how many pages have
    /// to be stored for it, and when they were.
    under_way: Vec<(u64, u64, Option<u64>)>,
    end: u64,
    /// When each page that has left is stored, if it is not yet.
    flying: Vec<u64>,
    left: u64,
    stored: u64,
    worked: bool,
}

impl Drive {
    fn run(&mut self, unit: u64, time: u64) -> u64 {
        self.worked = true;
        let free = &mut self.free[(unit % UNITS) as usize];
        *free = self.now.max(*free) + time;
        *free
    }

    fn read(&mut self, unit: u64) {
        self.end = self.run(unit, READ).max(self.end);
    }

    fn write(&mut self, unit: u64, pages: u64, padded_to: Option<u64>) {
        let mut programs = pages;
        if let Some(all) = padded_to {
            (pages..all).for_each(|_| _ = self.run(unit, READ));
            programs = all;
        }
        let ends: Vec<u64> = (0..programs).map(|_| self.run(unit, PROGRAM)).collect();
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        // The pages that left are stored evenly between the first program and the last.
        let even = |n: u64| {
            if n + 1 == pages { last } else { first + (last - first) * n / (pages - 1) }
        };
        self.flying.extend((0..pages).map(even));
        self.left += pages;
    }

    /// The request has been told of.
    fn next(&mut self, held: u64, capacity: u64) {
        if !std::mem::replace(&mut self.worked, false) {
            return;
        }
        let needed = (self.left + held).saturating_sub(capacity);
        let since = (self.stored >= needed).then_some(self.now);
        self.under_way.push((self.end, needed, since));
        if self.under_way.len() == 4 {
            let answered = self.answer();
            self.now = self.now.max(answered);
        }
        self.end = self.now;
    }

    fn answer(&mut self) -> u64 {
        loop {
            self.flying.sort_unstable();
            let answers = self.under_way.iter().enumerate();
            let answered = answers.filter_map(|(n, one)| Some((one.2?.max(one.0), n))).min();
            match (answered, self.flying.first().copied()) {
                (Some((time, n)), next) if next.is_none_or(|next| time <= next) => {
                    self.under_way.remove(n);
                    return time;
                }
                (None, None) => return self.under_way.remove(0).0,
                (_, Some(next)) => {
                    self.flying.remove(0);
                    self.stored += 1;
                    for one in &mut self.under_way {
                        if one.2.is_none() && self.stored >= one.1 {
                            one.2 = Some(next);
                        }
                    }
                }
                (Some(_), None) => unreachable!("it is answered"),
            }
        }
    }

    fn cost(&self) -> u64 {
        self.now
    }
}

/// A scheme that is tried.
struct Tried {
    scheme: Box<dyn buffer::Buffer>,
    out: Outcome,
    drive: Drive,
    /// What it had cost when it was looked at last.
    known: u64,
    beyond: f64,
}

impl Tried {
    /// Its drive does what it decided; blocks lie where `unit` says.
    fn work(&mut self, pages_per_block: u32, unit: impl Fn(u32) -> u64) {
        for one in self.out.evictions.iter().filter(|one| one.action != Action::Drop) {
            let pages = self.out.pages_of(one);
            let padded_to = one.action.pads().then_some(u64::from(pages_per_block));
            let block = pages[0].lpn.0 / pages_per_block;
            self.drive.write(unit(block), pages.len() as u64, padded_to);
        }
    }
}

/// A page that is held, and whether it is dirty.
type Page = (u32, bool);

struct Ensemble {
    capacity: u32,
    pages_per_block: u32,
    tried: Vec<Tried>,
    handicaps: Vec<f64>,
    patience: f64,
    caution: f64,
    window: f64,
    /// What the best has cost, and at what cost the past is halved.
    best: f64,
    halve_at: f64,
    /// Of a change of leader.
    price: f64,
    /// None before the first access.
    leader: Option<usize>,
    request: Option<u64>,
    /// The leader holds these too; the most recently used first.
    kept: Vec<Page>,
    /// It does not hold these; the first one leaves first.
    strays: Vec<Page>,
    /// Pages of the trim that is under way.
    trimmed: Vec<u32>,
}

fn unit(view: &dyn View, page: u32, pages_per_block: u32) -> u64 {
    let lies = view.unit_of(Lpn(page)).map(|unit| unit.0);
    u64::from(lies.unwrap_or(page / pages_per_block))
}

impl Ensemble {
    fn least(&self) -> usize {
        let margin = self.patience * self.price;
        let score = |n: usize| self.tried[n].beyond + margin * self.handicaps[n];
        let mut least = 0;
        for n in 1..self.tried.len() {
            if score(n) < score(least) {
                least = n;
            }
        }
        least
    }

    fn reckon(&mut self) {
        for (n, one) in self.tried.iter_mut().enumerate() {
            one.drive.next(u64::from(one.scheme.len()), u64::from(self.capacity));
            let cost = one.drive.cost();
            let more = (cost - one.known) as f64;
            one.known = cost;
            one.beyond += if n > 0 { more * (1.0 + self.caution) } else { more };
        }
        let least = self.tried.iter().map(|one| one.beyond).fold(f64::INFINITY, f64::min);
        if least <= 0.0 {
            return;
        }
        self.best += least;
        for one in &mut self.tried {
            one.beyond -= least;
        }
        if self.best >= self.halve_at {
            self.halve_at = self.best + self.window * self.price;
            for one in &mut self.tried {
                one.beyond /= 2.0;
            }
        }
    }

    fn turn(&mut self, request: u64) {
        if self.request == Some(request) {
            return;
        }
        self.request = Some(request);
        self.reckon();
        let (before, leader) = (self.leader.unwrap(), self.least());
        self.leader = Some(leader);
        if before == leader {
            return;
        }
        let holds = |page: &Page| self.tried[leader].scheme.holds(Lpn(page.0));
        // Strays that the new leader holds come behind all that is kept.
        let (back, strays): (Vec<Page>, Vec<Page>) = self.strays.iter().copied().partition(holds);
        self.kept.extend(back);
        self.strays = strays;
        let (kept, lost): (Vec<Page>, Vec<Page>) = self.kept.iter().copied().partition(holds);
        self.kept = kept;
        self.strays.extend(lost.into_iter().rev());
    }

    fn find(&mut self, page: u32) -> Option<&mut Page> {
        self.kept.iter_mut().chain(&mut self.strays).find(|held| held.0 == page)
    }

    fn take(&mut self, page: u32) -> Option<Page> {
        let found = self.find(page).copied();
        self.kept.retain(|held| held.0 != page);
        self.strays.retain(|held| held.0 != page);
        found
    }

    /// What the leader lets go of leaves.
    fn leave(&mut self, one: &Eviction, theirs: &[(u32, bool)], out: &mut Decisions) {
        if one.action == Action::WriteBack {
            self.write_back(theirs.iter().map(|page| page.0).collect(), out);
            return;
        }
        let (mut written, mut dropped) = (Vec::new(), Vec::new());
        let dirty: Vec<u32> =
            self.kept.iter().chain(&self.strays).filter(|p| p.1).map(|p| p.0).collect();
        let any = theirs.iter().any(|page| dirty.contains(&page.0));
        for &(page, dirty_there) in theirs {
            let Some(held) = self.take(page) else { continue };
            let along = match one.action {
                Action::Drop => false,
                Action::EvictPadded | Action::EvictCompleted => any,
                _ => any && !dirty_there,
            };
            if held.1 || along { written.push(held) } else { dropped.push(held) }
        }
        let action = if one.action == Action::Drop { Action::Evict } else { one.action };
        out.leave_with(action, written, one.hint);
        out.leave_with(Action::Drop, dropped, one.hint);
    }

    fn make_room(&mut self, out: &mut Decisions) {
        if self.strays.is_empty() {
            let page = self.kept.pop().unwrap();
            out.leave(if page.1 { Action::Evict } else { Action::Drop }, vec![page]);
            return;
        }
        let block = self.strays[0].0 / self.pages_per_block;
        let mut leaving: Vec<Page> =
            self.strays.extract_if(.., |page| page.0 / self.pages_per_block == block).collect();
        leaving.sort_unstable();
        let (dirty, clean) = leaving.into_iter().partition(|page| page.1);
        out.leave(Action::Evict, dirty);
        out.leave(Action::Drop, clean);
    }

    /// The dirty ones of these pages are written and stay.
    fn write_back(&mut self, pages: Vec<u32>, out: &mut Decisions) {
        let mut written = Vec::new();
        for page in pages {
            if let Some(held) = self.find(page).filter(|held| held.1) {
                written.push(*held);
                held.1 = false;
            }
        }
        out.leave(Action::WriteBack, written);
    }

    /// What the leader has let go of and is still there is a stray.
    fn part_company(&mut self) {
        let Some(leader) = self.leader else { return };
        let Tried { scheme, out, .. } = &self.tried[leader];
        for page in out.pages.iter().filter(|page| !scheme.holds(page.lpn)) {
            if let Some(at) = self.kept.iter().position(|held| held.0 == page.lpn.0) {
                let held = self.kept.remove(at);
                self.strays.push(held);
            }
        }
    }
}

impl Buffer for Ensemble {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        if self.leader.is_none() {
            self.price = f64::from(self.capacity) * PROGRAM as f64 / UNITS as f64;
            self.halve_at = self.window * self.price;
            self.leader = Some(self.least());
        }
        self.turn(span.request);
        let ppb = self.pages_per_block;
        for one in &mut self.tried {
            one.out.clear();
            one.scheme.access(span, view, &mut one.out);
            one.work(ppb, |block| unit(view, block * ppb, ppb));
            for (Lpn(page), answer) in span.pages().zip(&one.out.answers) {
                if span.write && *answer == Answer::Bypass {
                    one.drive.write(unit(view, page / ppb * ppb, ppb), 1, None);
                } else if !span.write && *answer != Answer::Hit {
                    one.drive.read(unit(view, page, ppb));
                }
            }
        }
        let leader = self.leader.unwrap();
        let theirs = self.tried[leader].out.clone();
        let pages_of = |one: &Eviction| -> Vec<(u32, bool)> {
            theirs.pages_of(one).iter().map(|page| (page.lpn.0, page.dirty)).collect()
        };
        let mut out = Decisions::default();
        for (at, Lpn(page)) in span.pages().enumerate() {
            let now = |one: &&Eviction| one.before as usize == at;
            for one in theirs.evictions.iter().filter(now) {
                self.leave(one, &pages_of(one), &mut out);
            }
            let bypasses = theirs.answers[at] == Answer::Bypass;
            let held = self.find(page).map(|held| {
                held.1 |= span.write;
                *held
            });
            out.hits.push(held.is_some());
            if bypasses {
                continue;
            }
            self.take(page);
            let (all, strays) = (self.kept.len() + self.strays.len(), self.strays.len());
            let above = strays > 0 && all >= self.tried[leader].scheme.len() as usize;
            if held.is_none() && (above || all == self.capacity as usize) {
                self.make_room(&mut out);
            }
            self.kept.insert(0, held.unwrap_or((page, span.write)));
        }
        for one in theirs.evictions.iter().filter(|one| one.before >= span.count) {
            self.leave(one, &pages_of(one), &mut out);
        }
        out
    }

    fn writes(&mut self, request: u64, pages: u32) {
        self.tried.iter_mut().for_each(|one| one.scheme.writes(request, pages));
    }

    fn part(&mut self, page: u32, bytes: std::ops::Range<u32>, of: u32) {
        let part = Part { from: bytes.start, to: bytes.end, of };
        self.tried.iter_mut().for_each(|one| one.scheme.writes_part(Lpn(page), part));
    }

    fn trim(&mut self, page: u32) {
        self.take(page);
        self.trimmed.push(page);
    }

    fn trimmed(&mut self) {
        let pages = std::mem::take(&mut self.trimmed);
        if let (Some(&first), true) = (pages.first(), self.leader.is_some()) {
            let count = pages.len() as u32;
            self.tried.iter_mut().for_each(|one| one.scheme.trim(Lpn(first), count));
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        let Some(leader) = self.leader else { return out };
        let ppb = self.pages_per_block;
        for one in &mut self.tried {
            one.out.clear();
            one.scheme.flush(&mut one.out);
            one.work(ppb, u64::from);
        }
        let theirs = self.tried[leader].out.clone();
        for one in &theirs.evictions {
            let pages = theirs.pages_of(one).iter().map(|page| page.lpn.0).collect();
            self.write_back(pages, &mut out);
        }
        let rest: Vec<Page> = self.strays.iter().chain(self.kept.iter().rev()).copied().collect();
        for page in rest.iter().filter(|page| page.1) {
            let first = page.0 / ppb * ppb;
            self.write_back((first..first + ppb).collect(), &mut out);
        }
        self.part_company();
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        if self.leader.is_none() {
            return out;
        }
        let ppb = self.pages_per_block;
        for one in &mut self.tried {
            one.out.clear();
            one.scheme.flush_pages(Lpn(first), count, &mut one.out);
            one.work(ppb, u64::from);
        }
        self.write_back((first..first + count).collect(), &mut out);
        self.part_company();
        out
    }
}
