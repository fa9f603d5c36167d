//! The backend: flash, the engine that times it, the FTL, and what is planned for them.
//!
//! Nobody else plans an operation. What the FTL is asked to do is appended to one plan, which
//! [`Backend::issue`] hands to the engine; collection, which goes on beside that, has a plan of its
//! own.

mod collection;
mod tag;

pub(super) use tag::Tag;

use collection::Collection;

use crate::ftl::gc::GcConfig;
use crate::ftl::{Advice, Cx, Mapping, PageOut, Single, SinglePages, Waiter};
use crate::metrics::{Counters, Observers};
use crate::nand::{Cause, Engine, Flash, JoinId, Media, PageState, Path, Plan, Shadow, Stored};
use crate::pattern::Hint;
use crate::support::NONE;
use crate::support::ids::{Lpn, Ppn, RequestId};

/// Nobody waits.
pub(super) const NOBODY: Waiter = Waiter::Nobody;

/// How often collection has made room, and how many erases have ended: what has changed when a
/// write that found no room is worth another try.
pub(super) type Reclaimed = (u64, u64);

/// What a backend is built of.
pub(super) struct Parts<'a> {
    pub flash: Flash,
    pub engine: Engine,
    pub mapping: Box<dyn Mapping>,
    pub gc: &'a GcConfig,
    /// Copies inside a plane stay off the bus.
    pub copy_back: bool,
}

/// Flash, engine and FTL.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with one another")]
pub(super) struct Backend {
    flash: Flash,
    engine: Engine,
    mapping: Box<dyn Mapping>,
    /// What the run has done so far, also above the FTL: one account for all.
    counters: Counters,
    plan: Plan,
    job_plan: Plan,
    /// What the pages handed to the mapping belong to together.
    group: u64,
    collection: Collection,
    /// Times are wanted.
    timed: bool,
    /// Copies inside a plane stay off the bus.
    copy_back: bool,
    /// The mapping is told what the host reads, and when there is nothing to do.
    watches_reads: bool,
    /// The FTL places pages, not whole logical blocks.
    places_pages: bool,
    /// Which single pages are one operation of it.
    single_pages: SinglePages,
}

crate::persist!(Backend {
    flash, engine, counters, plan, job_plan, group, collection, timed, copy_back, watches_reads,
    places_pages, single_pages,
} objects { mapping });

/// Lends the parts of a backend to its mapping.
macro_rules! cx {
    ($backend:expr, $plan:ident, $own:expr) => {
        Cx {
            flash: &mut $backend.flash,
            engine: &mut $backend.engine,
            plan: &mut $backend.$plan,
            counters: &mut $backend.counters,
            timed: $backend.timed,
            instant: false,
            at_once: false,
            told: 0,
            copy_back: $backend.copy_back,
            own: $own,
            group: $backend.group,
            known: JoinId::NONE,
            looked_up: crate::support::ids::Lpn::NONE,
        }
    };
}
use cx;

impl Backend {
    /// An empty drive's.
    pub fn new(parts: Parts<'_>) -> Self {
        let Parts { flash, mut engine, mapping, gc, copy_back } = parts;
        let collection = Collection::new(gc);
        let advice = mapping.advice();
        if advice.is_some_and(Advice::needs_work_estimates) {
            engine.watch_work();
        }
        if collection.is_instant() {
            engine.store_at_issue();
        }
        let watches_reads = advice.is_some_and(Advice::watches_reads);
        let places_pages = advice.is_some_and(Advice::places_pages);
        let single_pages = mapping.single_pages();
        Self {
            flash,
            engine,
            mapping,
            counters: Counters::default(),
            plan: Plan::default(),
            job_plan: Plan::default(),
            group: 0,
            collection,
            timed: true,
            copy_back,
            watches_reads,
            places_pages,
            single_pages,
        }
    }

    /// The array as far as it has been issued.
    #[inline]
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// The engine, to look at.
    #[inline]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The FTL, to look at.
    #[inline]
    pub fn mapping(&self) -> &dyn Mapping {
        &*self.mapping
    }

    /// What only some FTLs know or do.
    #[inline]
    pub fn advice(&self) -> Option<&dyn Advice> {
        self.mapping.advice()
    }

    /// The same, to be told something.
    #[inline]
    pub fn advice_mut(&mut self) -> Option<&mut dyn Advice> {
        self.mapping.advice_mut()
    }

    /// What has been counted.
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The account, to count something.
    #[inline]
    pub fn count(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Everything counts from zero again, and blocks endure so many erases (0: all).
    pub fn start_counting(&mut self, endurance: u32) {
        self.counters = Counters::default();
        self.flash.reset_erases(endurance);
    }

    /// Whether operations take time.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// Operations take time from now on, or none; says how it was.
    pub fn set_timed(&mut self, timed: bool) -> bool {
        std::mem::replace(&mut self.timed, timed)
    }

    /// Whether the FTL is told what the host reads, and when there is nothing to do.
    #[inline]
    pub fn watches_reads(&self) -> bool {
        self.watches_reads
    }

    /// Whether the FTL places pages, not whole logical blocks.
    #[inline]
    pub fn places_pages(&self) -> bool {
        self.places_pages
    }

    /// Whether the FTL writes a page by one program and nothing else.
    #[inline]
    pub fn takes_one_program(&self) -> bool {
        self.single_pages == SinglePages::AllWrites
    }

    /// Whether single pages that are read are one operation of the FTL.
    #[inline]
    pub fn reads_alone(&self) -> bool {
        self.single_pages >= SinglePages::Reads
    }

    /// Whether the FTL writes some pages by one program and nothing else, and tells which.
    #[inline]
    pub fn writes_alone(&self) -> bool {
        self.single_pages >= SinglePages::SomeWrites
    }

    /// Whether nothing follows from the end of an operation but for those who wait for it: no idle
    /// time is used, no medium kept, dies begin as soon as they can, and nobody asks for paths.
    pub fn ends_plainly(&self) -> bool {
        !(self.watches_reads
            || self.collection.uses_idle_time()
            || self.collection.is_instant()
            || self.engine.chip().gathers()
            || self.engine.stored().is_some()
            || self.engine.watches_paths())
    }

    /// Bytes of state: mapping, array and engine.
    pub fn bytes(&self) -> usize {
        self.mapping.bytes() + self.flash.bytes() + self.engine.bytes()
    }

    /// The same with what the flash holds and the host wrote, where that is kept.
    pub fn bytes_with_medium(&self) -> usize {
        self.bytes() + self.engine.stored().map_or(0, Stored::bytes)
    }

    /// Compares the FTL's redundant state.
    pub fn check(&self) -> Result<(), String> {
        self.mapping.check(&self.flash)
    }

    /// Whether a page waits in a program unit that is not full.
    pub fn in_open_unit(&self, ppn: Ppn) -> bool {
        let geometry = self.flash.geometry();
        let (block, page) = geometry.split(ppn);
        geometry.program_pages > 1 && page >= self.flash.write_ptr(block)
    }
}

/// What the FTL is asked to do. It is planned, and begins when it is issued.
impl Backend {
    /// What is handed to the FTL from now on belongs together.
    #[inline]
    pub fn begin_group(&mut self, group: u64) {
        self.group = group;
    }

    /// What is handed to the FTL now belongs to this.
    #[inline]
    pub fn group(&self) -> u64 {
        self.group
    }

    /// Writes pages after join `waits`, for which `own` waits. Returns how many the FTL has taken;
    /// for the next one there is no room.
    #[inline]
    pub fn write(&mut self, own: Waiter, pages: &[PageOut], waits: JoinId) -> usize {
        self.collection.may_become_due();
        let taken = self.mapping.write(&mut cx!(self, plan, own), pages, waits);
        if taken > 0 {
            self.collection.note_progress();
        }
        taken
    }

    /// The same for one page, whose program begins at once ([`Self::issues_at_once`]), or has been
    /// where there is no time.
    #[inline]
    pub fn write_at_once(&mut self, own: Waiter, page: PageOut) -> Single {
        let mut cx = cx!(self, plan, own);
        cx.at_once = cx.timed;
        let taken = self.mapping.write_one(&mut cx, page);
        if taken != Single::Taken {
            self.collection.may_become_due();
        }
        if taken.is_taken() {
            self.collection.note_progress();
        }
        taken
    }

    /// Whether the FTL has looked up this page, for a write for which it then had no room.
    pub fn has_looked_up(&self, lpn: Lpn) -> bool {
        self.advice().is_some_and(|advice| advice.has_looked_up(lpn))
    }

    /// The same for pages of a group that were parked, the first of them looked up or not.
    pub fn write_parked(
        &mut self,
        own: Waiter,
        pages: &[PageOut],
        waits: JoinId,
        (group, looked_up): (u64, bool),
    ) -> usize {
        self.collection.may_become_due();
        let mut cx = cx!(self, plan, own);
        cx.group = group;
        if looked_up {
            cx.looked_up = pages[0].lpn;
        }
        let taken = self.mapping.write(&mut cx, pages, waits);
        if taken > 0 {
            self.collection.note_progress();
        }
        taken
    }

    /// Pages hold nothing any more.
    pub fn trim(&mut self, first: Lpn, count: u32) {
        self.collection.may_become_due();
        self.mapping.trim(&mut cx!(self, plan, NOBODY), first, count);
    }

    /// Everything that the FTL has been given outlasts a power cut once it has ended; `false` if
    /// there is no room for that.
    pub fn make_durable(&mut self, own: Waiter) -> bool {
        self.collection.may_become_due();
        self.mapping.make_durable(&mut cx!(self, plan, own))
    }

    /// Tells the FTL of a block that leaves the buffer.
    pub fn on_hint(&mut self, hint: Hint, clean: bool) {
        if let Some(advice) = self.mapping.advice_mut() {
            advice.on_hint(hint, clean, &mut self.counters);
        }
    }

    /// Folds all log blocks, and says whether that could be done.
    pub fn merge_all(&mut self) -> bool {
        self.collection.may_become_due();
        let advice = self.mapping.advice_mut();
        advice.is_none_or(|advice| advice.merge_all(&mut cx!(self, plan, NOBODY)))
    }

    /// The FTL does what it has put off until nothing is under way; whether there was something.
    pub fn work_ahead(&mut self) -> bool {
        self.collection.may_become_due();
        let advice = self.mapping.advice_mut();
        advice.is_some_and(|advice| advice.idle(&mut cx!(self, plan, NOBODY)))
    }

    /// Whether nothing is planned when a page is looked up now.
    #[inline]
    pub fn finds_alone(&self, lpn: Lpn) -> bool {
        self.mapping.finds_alone(lpn)
    }

    /// Where a page lies, and the join of the plan after which that is known. `reads_map`: a part
    /// of the map may have to be read for that, and another one to be written.
    #[inline]
    pub fn translate(&mut self, own: Waiter, lpn: Lpn, reads_map: bool) -> (Option<Ppn>, JoinId) {
        if reads_map {
            self.collection.may_become_due();
        }
        let mut cx = cx!(self, plan, own);
        let found = self.mapping.translate(&mut cx, lpn);
        (found, cx.known)
    }

    /// Whether a page is on its way to flash, and so in RAM.
    #[inline(always)]
    pub fn is_in_ram(&mut self, ppn: Ppn) -> bool {
        let (block, page) = self.flash.geometry().split(ppn);
        cx!(self, plan, NOBODY).is_in_ram(block, page)
    }

    /// Reads logical page `lpn`, which lies at `ppn` once `known` has ended: it signals `join` of
    /// the plan, and `waiter` waits.
    #[inline(always)]
    pub fn read(
        &mut self,
        (lpn, ppn): (Lpn, Ppn),
        known: JoinId,
        cause: Cause,
        (join, waiter): (JoinId, JoinId),
    ) {
        let (block, page) = self.flash.geometry().split(ppn);
        let mut cx = cx!(self, plan, NOBODY);
        cx.known = known;
        cx.read(block, page, lpn, cause, join, waiter);
    }

    /// The same of a page that is known to lie there: its read begins at once
    /// ([`Self::issues_at_once`]).
    #[inline]
    pub fn read_at_once(&mut self, ppn: Ppn, waiter: JoinId) {
        let (block, page) = self.flash.geometry().split(ppn);
        cx!(self, plan, NOBODY).read_at_once(block, page, waiter);
    }

    /// Whether a page that is written now is one operation, which need not wait in the plan.
    #[inline]
    pub fn begins_at_once(&self, observers: &Observers) -> bool {
        self.takes_one_program() && self.issues_at_once(observers)
    }

    /// Whether an operation that is all that is planned for a page need not wait in the plan:
    /// nothing is planned before it, it takes time, and nobody keeps or hears what it does.
    #[inline]
    pub fn issues_at_once(&self, observers: &Observers) -> bool {
        self.timed && self.reads_alone() && self.nothing_comes_between(observers)
    }

    /// Whether a page that is written now is one operation, which begins at once or, without time,
    /// is done.
    #[inline]
    pub fn needs_no_plan(&self, observers: &Observers) -> bool {
        self.takes_one_program() && self.nothing_comes_between(observers)
    }

    #[inline]
    fn nothing_comes_between(&self, observers: &Observers) -> bool {
        // Without time nothing is planned of which anybody could hear.
        let is_told = self.timed && observers.hear_of_plans();
        self.plan.is_empty() && !is_told && self.engine.stored().is_none()
    }

    /// What comes next in the plan does not go on with the last read.
    #[inline]
    pub fn end_run_of_reads(&mut self) {
        self.plan.last_read = None;
    }

    /// A join of the plan.
    pub fn plan_join(&mut self) -> JoinId {
        self.plan.join()
    }

    /// A join of the engine, held, that ends with join `waits` of the plan or the engine.
    pub fn keep_join(&mut self, waits: JoinId) -> Option<JoinId> {
        if waits.is_none() {
            return None;
        }
        let mut join = None;
        cx!(self, plan, NOBODY).feed_unit(waits, &mut join);
        join
    }

    /// Whether something is planned and not issued.
    #[inline]
    pub fn has_planned(&self) -> bool {
        !self.plan.is_empty()
    }

    /// Hands the plan to the engine.
    #[inline]
    pub fn issue(&mut self, observers: &mut Observers) {
        observers.on_issue(&self.plan, &self.engine);
        self.engine.issue(&self.plan);
        self.plan.clear();
    }

    /// Forgets what is planned: without time it has been done.
    pub fn forget_plan(&mut self) {
        self.plan.clear();
    }
}

/// What the engine is told.
impl Backend {
    /// A join that tells of its end with `tag`.
    #[inline]
    pub fn join(&mut self, tag: Tag) -> JoinId {
        self.engine.join(tag.bits())
    }

    /// A join that nobody is told of.
    pub fn silent_join(&mut self) -> JoinId {
        self.engine.join(NONE)
    }

    /// A join does not end before it is released as often as it is held.
    #[inline]
    pub fn hold(&mut self, join: JoinId) {
        self.engine.hold(join);
    }

    /// A join is held once less; whether that has ended it.
    #[inline]
    pub fn release(&mut self, join: JoinId) -> bool {
        self.engine.release(join)
    }

    /// Join `all` waits for `join`.
    #[inline]
    pub fn link(&mut self, join: JoinId, all: JoinId) {
        self.engine.link(join, all);
    }

    /// A join that nobody is told of, held, which comes after `join`.
    pub fn join_after(&mut self, join: JoinId) -> JoinId {
        let after = self.silent_join();
        self.hold(after);
        self.link(join, after);
        after
    }

    /// Request `id` waits for every program issued so far.
    pub fn barrier(&mut self, id: RequestId) {
        self.engine.barrier(Tag::Request(id).bits());
    }

    /// Lets the next event happen.
    #[inline]
    pub fn step(&mut self) {
        self.engine.step();
    }

    /// Lets everything happen up to `time`, until somebody is told of an end or so many slots have
    /// been freed in all. Who is told of the end, if it is the only one.
    #[inline(always)]
    pub fn run(&mut self, time: u64, freed: u64) -> Option<Tag> {
        self.engine.run(time, freed);
        self.engine.take_only_finished().map(Tag::of)
    }

    /// Time passes up to `time`.
    #[inline]
    pub fn advance_to(&mut self, time: u64) {
        self.engine.advance_to(time);
    }

    /// Tags of the joins that have ended since.
    #[inline]
    pub fn take_finished(&mut self, into: &mut Vec<u32>) {
        self.engine.take_finished(into);
    }

    /// The tag of such a join, if it is the only one.
    #[inline]
    pub fn take_only_finished(&mut self) -> Option<u32> {
        self.engine.take_only_finished()
    }

    /// How those ends came about, in the same order; empty where nobody wants to know.
    #[inline]
    pub fn take_paths(&mut self) -> Vec<Path> {
        self.engine.take_paths()
    }

    /// Keeps how ends come about, from now on.
    pub fn watch_paths(&mut self) {
        self.engine.watch_paths();
    }

    /// What the flash holds, where that is kept.
    #[inline]
    pub fn stored_mut(&mut self) -> Option<&mut Stored> {
        self.engine.stored_mut()
    }

    /// What the host has written, where that is kept.
    #[inline]
    pub fn shadow_mut(&mut self) -> Option<&mut Shadow> {
        self.engine.shadow_mut()
    }

    /// Brings the array back as a power cut left it, and the FTL from what it holds, at once.
    pub fn recover(&mut self, found: Media, trims: &[u32]) {
        for block in self.flash.geometry().all_blocks() {
            if found.is_untouched(block) {
                continue;
            }
            let pages = found.block(block).iter().enumerate();
            let written = pages.filter(|(_, page)| **page != PageState::Erased);
            self.flash.restore(block, written.map(|(page, _)| page as u32));
        }
        self.flash.restore_erases(found.erases());
        if let Some(stored) = self.engine.stored_mut() {
            stored.restart(found.clone(), trims);
        }
        self.mapping.recover(&mut cx!(self, plan, NOBODY), found);
    }

    /// The FTL is back: what it has not found again of the host's writes is gone.
    pub fn has_recovered(&mut self) {
        let Self { engine, mapping, .. } = self;
        if let Some(shadow) = engine.shadow_mut() {
            shadow.recovered(|lpn| mapping.lookup(lpn).is_some());
        }
    }

    /// The drive was filled: nothing has worn out.
    pub fn forget_wear(&mut self) {
        if let Some(advice) = self.mapping.advice_mut() {
            advice.forget_wear();
        }
        if let Some(media) = self.engine.media_mut() {
            media.reset_erases();
        }
    }
}
