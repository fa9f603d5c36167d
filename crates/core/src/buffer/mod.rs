//! The RAM between host and flash: which pages it keeps, and which leave together.
//!
//! A scheme sees *spans*: consecutive pages of one request inside one logical block. It decides at
//! once and writes its decisions into an [`Outcome`]; the device carries them out in time. A scheme
//! never asks for the time; what it may ask of the drive below it goes through [`View`].

pub mod arc;
pub mod blas;
pub mod block_lru;
pub mod bpac;
pub mod bplru;
pub mod brought;
pub mod cave;
pub mod cbm;
pub mod cflru;
pub mod clc;
pub mod clock;
pub mod cold_groups;
pub mod config;
pub mod ensemble;
pub mod epo;
pub mod fab;
pub mod fap_lru;
pub mod fifo;
pub mod gb;
pub mod hbm;
pub mod kit;
pub mod lb_clock;
pub mod lirs_wsr;
pub mod lru;
pub mod mca;
pub mod none;
pub mod opt;
pub mod ref_policy;
pub mod request_lru;
pub mod s3_fifo;
pub mod sftl;
pub mod split_lru;
pub mod supa;
pub mod w_tinylfu;

use crate::pattern::{Hint, Pattern, Policy, Route};
use crate::support::ids::{LogicalBlock, Lpn, PlaneId};
use crate::upkeep::{Times, Upkeep};

/// Bytes `from..to` of a page of `of` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// First byte.
    pub from: u32,
    /// After the last byte.
    pub to: u32,
    /// Bytes of a page.
    pub of: u32,
}

/// What a buffer is built for.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Pages that it may hold.
    pub capacity: u32,
    /// Pages of a logical block.
    pub pages_per_block: u32,
    /// Pages that the host sees.
    pub logical_pages: u32,
}

/// Consecutive pages of one request inside one logical block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First logical page.
    pub first: Lpn,
    /// Pages, at least 1.
    pub count: u32,
    /// The host writes them; else it reads them.
    pub write: bool,
    /// Number of the request that it belongs to.
    pub request: u64,
}

impl Span {
    /// Its pages, in order.
    #[inline]
    pub fn pages(&self) -> impl DoubleEndedIterator<Item = Lpn> + ExactSizeIterator + Clone {
        self.first.run(self.count)
    }
}

/// What becomes of one page of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It was in the buffer.
    Hit,
    /// The host's page goes into the buffer.
    Insert,
    /// It is read from flash, and into the buffer.
    Fill,
    /// It bypasses the buffer: a read from flash, or a write to flash.
    Bypass,
}

/// A page that leaves the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// Logical page.
    pub lpn: Lpn,
    /// It is newer than what flash holds.
    pub dirty: bool,
}

/// What happens to pages that leave the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// They are written to flash, in this order.
    Evict,
    /// They are written after the missing pages of their logical block have been read, as one whole
    /// block.
    EvictPadded,
    /// The same, but for pages that were never written: those are left out.
    EvictCompleted,
    /// They are written to flash, in this order, and stay in the buffer, clean.
    WriteBack,
    /// They are forgotten; all are clean.
    Drop,
}

impl Action {
    /// Whether the missing pages of the logical block are read and written along.
    pub fn pads(self) -> bool {
        matches!(self, Self::EvictPadded | Self::EvictCompleted)
    }
}

/// Pages that leave together: `pages[start..end]` of the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// First of its pages.
    pub start: u32,
    /// After the last of its pages.
    pub end: u32,
    /// It makes room for this page of the span, counted from 0: earlier ones have been served
    /// before.
    pub before: u32,
    /// What happens to them.
    pub action: Action,
    /// What was done to their block, and where it should go, if the scheme knows.
    pub hint: Option<Hint>,
    /// Why these, in the scheme's words.
    pub reason: Reason,
}

/// Why pages leave: a few words of the scheme's own.
pub type Reason = &'static str;

/// The host asked for everything to be stored.
pub const FLUSH_COMMAND: Reason = "flush command";
/// The host asked for these very pages to be stored.
pub const FORCED: Reason = "forced unit access";

/// A decision that is neither an answer nor an eviction: pages that moved inside the buffer, a
/// parameter that the scheme changed. Schemes note them while somebody watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// What happened, in the scheme's words.
    pub what: &'static str,
    /// A number that goes with it, such as a new threshold.
    pub value: Option<i64>,
    /// It happened before this page of the span was served, counted from 0.
    pub before: u32,
    /// First of its pages in [`Outcome::note_pages`].
    pub start: u32,
    /// After the last of them.
    pub end: u32,
}

/// A scheme's decisions on one call. The caller owns and reuses it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// One for each page of the span, in order.
    pub answers: Vec<Answer>,
    /// What leaves, in order.
    pub evictions: Vec<Eviction>,
    /// The pages that leave.
    pub pages: Vec<Evicted>,
    /// Whether somebody reads notes.
    pub watched: bool,
    /// Other decisions, in order.
    pub notes: Vec<Note>,
    /// Logical pages that notes are about.
    pub note_pages: Vec<Lpn>,
}

impl Outcome {
    /// Forgets everything but who watches, keeping the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.answers.clear();
        self.evictions.clear();
        self.pages.clear();
        if self.watched {
            self.notes.clear();
            self.note_pages.clear();
        }
    }

    /// What becomes of the next page of the span.
    #[inline]
    pub fn answer(&mut self, answer: Answer) {
        // A call at the very end, so that who answers need not save registers for it.
        if self.answers.len() == self.answers.capacity() {
            return self.grow_and_answer(answer);
        }
        self.answers.push(answer);
    }

    #[cold]
    #[inline(never)]
    fn grow_and_answer(&mut self, answer: Answer) {
        self.answers.push(answer);
    }

    /// Exchanges answers and what leaves with another outcome, but neither notes nor who watches.
    #[inline]
    pub fn swap_decisions(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.answers, &mut other.answers);
        if !self.evictions.is_empty() || !other.evictions.is_empty() {
            std::mem::swap(&mut self.evictions, &mut other.evictions);
            std::mem::swap(&mut self.pages, &mut other.pages);
        }
    }

    /// Notes a decision about `pages`, if somebody watches.
    #[inline]
    pub fn note(
        &mut self,
        what: &'static str,
        value: Option<i64>,
        pages: impl IntoIterator<Item = Lpn>,
    ) {
        if self.watched {
            let start = self.note_pages.len() as u32;
            self.note_pages.extend(pages);
            let (before, end) = (self.answers.len() as u32, self.note_pages.len() as u32);
            self.notes.push(Note { what, value, before, start, end });
        }
    }

    /// The pages pushed since `start` leave together.
    #[inline]
    pub fn evict(&mut self, start: usize, action: Action, reason: Reason) {
        if start < self.pages.len() {
            let (start, end) = (start as u32, self.pages.len() as u32);
            let before = self.answers.len() as u32;
            self.evictions.push(Eviction { start, end, before, action, hint: None, reason });
        }
    }

    /// The eviction pushed last goes to the FTL with this hint.
    pub fn with_hint(&mut self, hint: Hint) {
        if let Some(last) = self.evictions.last_mut() {
            last.hint = Some(hint);
        }
    }

    /// One page leaves: to flash if it is dirty.
    #[inline]
    pub fn evict_page(&mut self, page: Evicted, reason: Reason) {
        let (start, before) = (self.pages.len() as u32, self.answers.len() as u32);
        self.pages.push(page);
        let action = if page.dirty { Action::Evict } else { Action::Drop };
        let end = start + 1;
        self.evictions.push(Eviction { start, end, before, action, hint: None, reason });
    }

    /// The pages of an eviction.
    #[inline]
    pub fn pages_of(&self, eviction: &Eviction) -> &[Evicted] {
        &self.pages[eviction.start as usize..eviction.end as usize]
    }
}

/// Pages of spans for which nothing had to be done but to find them in the buffer, or to take in what
/// the host wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// Pages read that were found.
    pub read_hits: u64,
    /// Pages written that were found.
    pub write_hits: u64,
    /// Pages written that were taken in.
    pub inserts: u64,
}

impl Absorbed {
    /// Counts the pages of a span; not where something leaves, or a page is read or bypasses the
    /// buffer, which it says.
    #[inline]
    pub fn add(&mut self, span: &Span, out: &Outcome) -> bool {
        if !out.evictions.is_empty() {
            return false;
        }
        let (mut hits, mut inserts) = (0, 0);
        for answer in &out.answers {
            match answer {
                Answer::Hit => hits += 1,
                Answer::Insert => inserts += 1,
                Answer::Fill | Answer::Bypass => return false,
            }
        }
        let counted = if span.write { &mut self.write_hits } else { &mut self.read_hits };
        *counted += hits;
        self.inserts += inserts;
        true
    }
}

/// The read-only window on the drive below: how it stands at this moment, with everything issued so
/// far. An untimed run shows every unit idle.
pub trait View {
    /// Units of the array.
    fn units(&self) -> u32;
    /// The unit that a page lives on, if it was ever written.
    fn unit_of(&self, lpn: Lpn) -> Option<PlaneId>;
    /// The only unit that a page can go to, if static placement says which.
    fn home(&self, _lpn: Lpn) -> Option<PlaneId> {
        None
    }
    /// Chips of the array, which work independently: what papers call elements, packages or banks.
    fn chips(&self) -> u32;
    /// The only chip that a page can go to, if static placement says which.
    fn home_chip(&self, lpn: Lpn) -> Option<u32>;
    /// Operations queued or running on the die of a unit.
    fn queued(&self, unit: PlaneId) -> u32;
    /// Whether the FTL maps pages one by one; else whole logical blocks, so that what it costs to
    /// write a page depends on which others of its block are written with it.
    fn maps_pages(&self) -> bool {
        false
    }
    /// Whether the FTL says that a logical block of which so many pages leave had better be written
    /// whole.
    fn padding_pays(&self, _pages: u32) -> bool {
        false
    }
    /// How the FTL keeps up with what is written, for buffers that reckon what writing costs.
    fn upkeep(&self) -> Upkeep {
        Upkeep::Unknown
    }
    /// Erase blocks of the array; 0 where nobody says.
    fn erase_blocks(&self) -> u32 {
        0
    }
    /// How long the work of the flash takes.
    fn times(&self) -> Times {
        Times::default()
    }
    /// Erased blocks of a unit.
    fn free_blocks(&self, unit: PlaneId) -> u32;
    /// Channels of the array, which transfer independently.
    fn channels(&self) -> u32;
    /// Whether a block can be written to a channel now without waiting for garbage collection.
    fn channel_ready(&self, channel: u32) -> bool;
    /// Where a logical block of this pattern would be written now.
    fn route(&self, block: LogicalBlock, pattern: Pattern) -> Route;
    /// The unit on which a logical block lies, or would be written to, where the FTL keeps it
    /// together whatever its pattern. O(1).
    fn unit_of_block(&self, _block: LogicalBlock) -> Option<PlaneId> {
        None
    }
}

/// A drive that has nothing to do and holds nothing, its pages striped over a few chips of one unit
/// each: what a scheme sees that runs by itself.
#[derive(Debug, Clone, Copy)]
pub struct Idle;

impl Idle {
    /// Its chips.
    pub const CHIPS: u32 = 4;
}

impl View for Idle {
    fn units(&self) -> u32 {
        Self::CHIPS
    }
    fn home(&self, lpn: Lpn) -> Option<PlaneId> {
        Some(PlaneId(lpn.0 % Self::CHIPS))
    }
    fn chips(&self) -> u32 {
        Self::CHIPS
    }
    fn home_chip(&self, lpn: Lpn) -> Option<u32> {
        Some(lpn.0 % Self::CHIPS)
    }
    fn unit_of(&self, _lpn: Lpn) -> Option<PlaneId> {
        None
    }
    fn queued(&self, _unit: PlaneId) -> u32 {
        0
    }
    fn free_blocks(&self, _unit: PlaneId) -> u32 {
        1
    }
    fn channels(&self) -> u32 {
        Self::CHIPS
    }
    fn channel_ready(&self, _channel: u32) -> bool {
        true
    }
    fn route(&self, block: LogicalBlock, pattern: Pattern) -> Route {
        match pattern.suits() {
            Some(Policy::Multi) => Route::Striped,
            // Some blocks lie on a channel, others were never written.
            _ if block.0.is_multiple_of(3) => Route::Anywhere,
            _ if block.0.is_multiple_of(5) => Route::Channel(block.0 % Self::CHIPS),
            _ => Route::Home(block.0 % Self::CHIPS),
        }
    }
}

/// What the host will do, for schemes that need the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreseen {
    /// It reads or writes these pages of one block.
    Access(Span),
    /// It no longer needs them: first and count.
    Trim(Lpn, u32),
    /// It wants everything stored.
    Flush,
    /// That was all.
    End,
}

/// A replacement scheme.
///
/// The caller clears `out` before each call, and makes spans that stay inside one logical block and
/// inside the drive.
pub trait Buffer: std::fmt::Debug + Send {
    /// Serves a span, page by page. Pushes what has to leave to make room for a page, then the
    /// page's answer. Between calls the scheme holds at most its capacity. O(pages) and O(1) or
    /// O(log n) for each.
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome);

    /// Serves one span after the other, each a whole request, as long as they are
    /// [absorbed](Absorbed), and says how many were. What has to be done for the next one, where
    /// there is one, is in `out` then. Nothing else happens between them. For speed alone.
    fn absorb(
        &mut self,
        spans: &[Span],
        view: &dyn View,
        out: &mut Outcome,
        absorbed: &mut Absorbed,
    ) -> usize {
        for (at, span) in spans.iter().enumerate() {
            out.clear();
            if span.write {
                self.writes(span.request, span.count);
            }
            self.access(span, view, out);
            if !absorbed.add(span, out) {
                return at;
            }
        }
        spans.len()
    }

    /// Whether it is none at all: every page bypasses it, and it wants to know nothing.
    fn takes_nothing(&self) -> bool {
        false
    }

    /// The next spans are those of a request that writes so many pages in all.
    fn writes(&mut self, _request: u64, _pages: u32) {}

    /// The next call serves a write that covers only this part of page `lpn`.
    fn writes_part(&mut self, _lpn: Lpn, _part: Part) {}

    /// The host no longer needs these pages, which may lie in several blocks: forget them, whether
    /// dirty or not.
    fn trim(&mut self, first: Lpn, count: u32);

    /// Everything dirty is written, in the order in which it would have to make room; where that
    /// depends on what would come meanwhile, list by list, as the scheme's page says. A buffer that
    /// serves reads may keep the pages. About O(dirty pages + pages used since the last flush),
    /// where a scheme does not say otherwise.
    fn flush(&mut self, out: &mut Outcome);

    /// These pages of one block are written at once, if they are held: forced unit access. A scheme
    /// whose blocks leave as a whole may write the rest of that block with them; a buffer that
    /// serves reads keeps the pages, and writes no others.
    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome);

    /// Pages held.
    fn len(&self) -> u32;

    /// Whether it holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it holds a page.
    fn holds(&self, lpn: Lpn) -> bool;

    /// The host is going to use these pages: what is known of them is read from memory, all at
    /// once, so that the accesses do not wait for one after the other. Changes nothing.
    fn fetch(&self, _pages: &[Lpn]) {}

    /// Compares redundant state.
    ///
    /// # Errors
    /// What does not agree.
    fn check(&self) -> Result<(), String>;

    /// Bytes of state held, without the pages' data.
    fn metadata_bytes(&self) -> usize;

    /// Bytes of state at this moment by the scheme's paper, where it says how to count them.
    fn paper_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether it reads what a block lacks before it writes it, so that each block that leaves is
    /// written whole.
    fn pads_blocks(&self) -> bool {
        false
    }

    /// Whether it has to know the unit of every page beforehand ([`View::home`]).
    fn needs_home(&self) -> bool {
        false
    }

    /// Whether blocks that leave have hints, which say how they were written and read.
    fn reports_patterns(&self) -> bool {
        false
    }

    /// Whether hints say how blocks were written; else they only say where blocks should go.
    fn classifies_writes(&self) -> bool {
        self.reports_patterns()
    }

    /// Whether the pages of an eviction are requests of their own to the flash, which come at the
    /// same time; else they are one request. It makes a difference to the response times of what is
    /// flushed, and to nothing else.
    fn splits_evictions(&self) -> bool {
        false
    }

    /// Whether the scheme must still be told the future; it is, up to its end, before the first
    /// access.
    fn needs_future(&self) -> bool {
        false
    }

    /// All that the host will do with pages, in order, span by span.
    ///
    /// # Errors
    /// It is more than the scheme can plan.
    fn foresee(&mut self, _step: Foreseen) -> Result<(), String> {
        Ok(())
    }

    /// Its order for tests, most recent first: pages or blocks of pages.
    fn dump(&self) -> Vec<Vec<Lpn>>;
}

crate::registry! {
    /// Replacement scheme: a name, or a table with `kind` and the scheme's options.
    "buffer scheme" BufferConfig builds Box<dyn Buffer>, from Shape, or Brought in brought;
    "none" => None in none,
    "fifo" => Fifo in fifo,
    "clock" => Clock in clock,
    "lru" => Lru in lru,
    "block-lru" => BlockLru in block_lru,
    "arc" => Arc in arc,
    "s3-fifo" => S3Fifo in s3_fifo,
    "w-tinylfu" => WTinyLfu in w_tinylfu,
    "split-lru" => SplitLru in split_lru,
    "cflru" => Cflru in cflru,
    "ref" => Ref in ref_policy,
    "lirs-wsr" => LirsWsr in lirs_wsr,
    "fab" => Fab in fab,
    "bplru" => Bplru in bplru,
    "request-lru" => RequestLru in request_lru,
    "epo" => Epo in epo,
    "lb-clock" => LbClock in lb_clock,
    "clc" => Clc in clc,
    "bpac" => Bpac in bpac,
    "hbm" => Hbm in hbm,
    "cbm" => Cbm in cbm,
    "supa" => Supa in supa,
    "cave" => Cave in cave,
    "fap-lru" => FapLru in fap_lru,
    "mca" => Mca in mca,
    "gb" => Gb in gb,
    "blas" => Blas in blas,
    "sftl" => Sftl in sftl,
    "cold-groups" => ColdGroups in cold_groups,
    "ensemble" => Ensemble in ensemble,
    "opt" => Opt in opt,
}
