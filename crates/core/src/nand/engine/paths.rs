//! Where the time of operations goes, for whoever asks why an answer took so long: the path that
//! led to the end of each, back through what it waited for.
//!
//! A path is a list of stretches of time. An operation that waited for others to end begins with
//! the path of the one that ended last, from its own issue on; then come its time in its die's
//! queue, told by what the die did meanwhile, and its own work. Kept only where somebody asks.

use super::Engine;
use super::array::Phase;
use crate::nand::op::{Cause, JoinId, Kind};
use crate::support::NONE;
use crate::support::ids::DieId;

/// What time goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// Waiting for a die that works for the host.
    Die,
    /// On the bus, or waiting for it.
    Bus,
    /// The flash array reads, programs or erases.
    Flash,
    /// A merge of log blocks, and waiting for one.
    Merge,
    /// Collection or wear levelling, and waiting for them.
    Collection,
}

/// How many parts there are.
pub const PARTS: usize = Part::Collection as usize + 1;

/// Times by part, in ns.
pub type ByPart = [u64; PARTS];

/// A stretch of time, and what it went to. Inside it there is no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// They add up to its length.
    pub parts: ByPart,
}

impl Stretch {
    /// What lies after `from` of it; parts shrink in proportion, the largest takes what is left of
    /// rounding.
    fn after(&self, from: u64) -> Self {
        if from <= self.from {
            return *self;
        }
        let (whole, rest) = (self.to - self.from, self.to - from);
        let shrunk = |ns: u64| (u128::from(ns) * u128::from(rest) / u128::from(whole)) as u64;
        let mut parts = self.parts.map(shrunk);
        let missing = rest - parts.iter().sum::<u64>();
        let largest = (0..PARTS).max_by_key(|&part| (self.parts[part], PARTS - part)).unwrap_or(0);
        parts[largest] += missing;
        Self { from, to: self.to, parts }
    }
}

/// How the end of an operation came about: stretches in the order of time, none over another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path {
    stretches: Vec<Stretch>,
}

impl Path {
    /// The stretches.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// What lies after `from`.
    #[must_use]
    pub fn after(&self, from: u64) -> Self {
        let late = self.stretches.iter().filter(|one| one.to > from);
        Self { stretches: late.map(|one| one.after(from)).collect() }
    }

    fn add(&mut self, from: u64, to: u64, parts: ByPart) {
        if to > from {
            self.stretches.push(Stretch { from, to, parts });
        }
    }
}

/// On whose account a die works.
fn account(cause: Cause) -> Part {
    match cause {
        Cause::Merge => Part::Merge,
        Cause::Gc | Cause::Wear => Part::Collection,
        Cause::Host | Cause::Padding | Cause::Mapping | Cause::Filler | Cause::Placement => {
            Part::Die
        }
    }
}

/// An operation under way.
#[derive(Debug, Clone, Default)]
struct Watched {
    issued: u64,
    ready: u64,
    /// What it waited for until it was ready.
    before: Path,
    /// What its die had done by then, by account.
    done: ByPart,
    /// How long it had the die itself.
    own: u64,
}

/// What a die has done, by account, and up to when.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    parts: ByPart,
    until: u64,
}

/// The account of one engine.
#[derive(Debug, Clone, Default)]
pub(super) struct Paths {
    ops: Vec<Watched>,
    dies: Vec<Done>,
    /// By join: the path of the last operation that has signalled it.
    joins: Vec<Path>,
    /// The operation that is ending now.
    current: Option<Path>,
    /// Those in whose end it ends.
    outer: Vec<Option<Path>>,
    /// Of the tags that have been reported, in their order.
    finished: Vec<Path>,
    /// The operation that freed slots last.
    slots: Path,
}

impl Engine {
    /// Keeps the paths of operations from now on. Nothing may be under way.
    pub fn watch_paths(&mut self) {
        let dies = vec![Done::default(); self.array.dies.len()];
        self.paths = Some(Box::new(Paths { dies, ..Paths::default() }));
    }

    /// Whether paths are kept.
    #[inline]
    pub fn watches_paths(&self) -> bool {
        self.paths.is_some()
    }

    /// Paths of the tags that [`Self::take_finished`] gives, in their order; none where they are
    /// not kept.
    pub fn take_paths(&mut self) -> Vec<Path> {
        self.paths
            .as_deref_mut()
            .map(|paths| std::mem::take(&mut paths.finished))
            .unwrap_or_default()
    }

    /// The path of the operation that freed slots last.
    pub fn path_of_slots(&self) -> Option<&Path> {
        self.paths.as_deref().map(|paths| &paths.slots)
    }

    /// Operation `id` is issued.
    #[inline]
    pub(super) fn path_issued(&mut self, id: u32) {
        if let Some(paths) = self.paths.as_deref_mut() {
            paths.issued(id, self.now);
        }
    }

    /// Operation `id` has nothing to wait for but its die.
    #[inline]
    pub(super) fn path_ready(&mut self, id: u32) {
        if self.paths.is_some() {
            self.path_begins(id);
        }
    }

    #[cold]
    fn path_begins(&mut self, id: u32) {
        let die = self.die_of(self.ops[id as usize].op.block);
        let now = self.now;
        let mut done = self.done_by(die);
        if let Some((part, ns, _)) = self.running_on(die) {
            done[part as usize] += ns;
        }
        let Some(paths) = self.paths.as_deref_mut() else { return };
        let watched = &mut paths.ops[id as usize];
        watched.ready = now;
        watched.done = done;
        watched.before =
            paths.current.as_ref().map(|path| path.after(watched.issued)).unwrap_or_default();
    }

    fn done_by(&self, die: DieId) -> ByPart {
        self.paths.as_deref().map_or([0; PARTS], |paths| paths.dies[die.index()].parts)
    }

    /// On whose account a die is at work, for how long that has not been noted, and by what.
    fn running_on(&self, die: DieId) -> Option<(Part, u64, u32)> {
        let d = &self.array.dies[die.index()];
        let id = d.running;
        if id == NONE || matches!(d.phase, Phase::Gathering) {
            return None;
        }
        let until = self.paths.as_deref()?.dies[die.index()].until;
        let part = account(self.ops[id as usize].op.cause);
        Some((part, self.now - d.since.max(until), id))
    }

    /// What runs on a die ends, or gives it up for another: notes for how long it had it.
    #[inline]
    pub(super) fn path_leaves(&mut self, die: DieId) {
        if self.paths.is_some() {
            self.note_work(die);
        }
    }

    #[cold]
    fn note_work(&mut self, die: DieId) {
        let running = self.running_on(die);
        let now = self.now;
        let Some(paths) = self.paths.as_deref_mut() else { return };
        if let Some((part, ns, id)) = running {
            paths.dies[die.index()].parts[part as usize] += ns;
            paths.ops[id as usize].own += ns;
        }
        paths.dies[die.index()].until = now;
    }

    /// Operation `id` ends: its path is the one of whatever ends by it.
    #[cold]
    pub(super) fn path_ends(&mut self, id: u32) {
        let path = self.path_of(id);
        let slots = self.ops[id as usize].op.slots;
        let Some(paths) = self.paths.as_deref_mut() else { return };
        if slots > 0 {
            paths.slots.clone_from(&path);
        }
        let outer = paths.current.replace(path);
        paths.outer.push(outer);
    }

    /// The end of an operation has been told to everybody.
    #[cold]
    pub(super) fn path_over(&mut self) {
        if let Some(paths) = self.paths.as_deref_mut() {
            paths.current = paths.outer.pop().flatten();
        }
    }

    /// No operation is ending.
    pub(super) fn no_path(&mut self) {
        if let Some(paths) = self.paths.as_deref_mut() {
            paths.current = None;
        }
    }

    fn path_of(&mut self, id: u32) -> Path {
        let op = self.ops[id as usize].op;
        let (now, die) = (self.now, self.die_of(op.block));
        if op.instant {
            return self.paths.as_deref().and_then(|p| p.current.clone()).unwrap_or_default();
        }
        // One that goes along with another, or whose data another's follow, is not what runs.
        let along = self.array.dies[die.index()].running != id;
        if along {
            self.note_work(die);
        }
        let done = self.done_by(die);
        let array = self.array_ns(id);
        let Some(paths) = self.paths.as_deref_mut() else { return Path::default() };
        let watched = &mut paths.ops[id as usize];
        let total = now - watched.ready;
        let mine = account(op.cause);
        let own = if along { array.min(total) } else { watched.own };
        let mut parts = [0; PARTS];
        // What is left when the array has had its time was spent waiting, or on the bus.
        let work = array.min(total);
        let mut left = total - work;
        for part in [Part::Merge, Part::Collection, Part::Die] {
            let index = part as usize;
            let others = done[index] - watched.done[index];
            let others = if part == mine { others.saturating_sub(own) } else { others };
            parts[index] += others.min(left);
            left -= others.min(left);
        }
        let mut path = std::mem::take(&mut watched.before);
        let waited: u64 = parts.iter().sum();
        path.add(watched.ready, watched.ready + waited, parts);
        let mut parts = [0; PARTS];
        if mine == Part::Die {
            (parts[Part::Bus as usize], parts[Part::Flash as usize]) = (left, work);
        } else {
            parts[mine as usize] = left + work;
        }
        path.add(watched.ready + waited, now, parts);
        path
    }

    /// How long the array works for an operation, without the bus.
    fn array_ns(&self, id: u32) -> u64 {
        let state = &self.ops[id as usize];
        let of_step = |done| {
            let [_, first, _, second] = self.chip.step(&state.op, done);
            first + second
        };
        let steps = u64::from(state.steps);
        let even = self.rules.plain || state.op.kind == Kind::Erase;
        if even { of_step(0) * steps } else { (0..state.steps).map(of_step).sum() }
    }

    /// A join is new.
    #[inline]
    pub(super) fn path_joins(&mut self, join: JoinId) {
        if let Some(paths) = self.paths.as_deref_mut() {
            paths.begin_join(join.index());
        }
    }

    /// Whether an operation is ending now, and its path is kept.
    pub(super) fn has_path(&self) -> bool {
        self.paths.as_deref().is_some_and(|paths| paths.current.is_some())
    }

    /// A join has had one of its signals, of which it was the last one if it has ended.
    pub(super) fn path_signals(&mut self, join: JoinId, ended: bool, tagged: bool) {
        if let Some(paths) = self.paths.as_deref_mut() {
            paths.signal(join.index(), ended, tagged);
        }
    }

    /// A barrier has been passed, and its tag reported.
    #[inline]
    pub(super) fn path_passes(&mut self) {
        if let Some(paths) = self.paths.as_deref_mut() {
            paths.pass();
        }
    }
}

impl Paths {
    #[cold]
    fn pass(&mut self) {
        self.finished.push(self.current.clone().unwrap_or_default());
    }

    #[cold]
    fn issued(&mut self, id: u32, now: u64) {
        if self.ops.len() <= id as usize {
            self.ops.resize(id as usize + 1, Watched::default());
        }
        self.ops[id as usize] = Watched { issued: now, ready: now, ..Watched::default() };
    }

    #[cold]
    fn begin_join(&mut self, join: usize) {
        if self.joins.len() <= join {
            self.joins.resize(join + 1, Path::default());
        }
        self.joins[join] = Path::default();
    }

    /// Who waits for a join that has ended goes on where its last operation did: that one is the
    /// present one then.
    fn signal(&mut self, join: usize, ended: bool, tagged: bool) {
        if let (Some(current), Some(last)) = (&self.current, self.joins.get_mut(join)) {
            last.clone_from(current);
        }
        let last = self.joins.get(join).cloned().unwrap_or_default();
        if ended && tagged {
            self.finished.push(last.clone());
        }
        if ended && self.current.is_none() {
            self.current = Some(last);
        }
    }
}
