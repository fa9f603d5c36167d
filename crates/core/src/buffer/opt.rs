//! OPT: the most hits that any buffer of this size can have, by knowing what the host will do.
//!
//! **What it does.** Belady's MIN with bypass. Of the pages held and the one that comes, the page
//! that is used again last has to go; if that is the one that comes, it goes past the buffer.
//! Reads and writes are uses; a trim ends a page's use. Dirty pages that leave are written.
//! Flush commands and forced unit access write pages and keep them, clean. Among pages that are
//! never used again clean ones go first, and a page that comes goes past if it would be no better
//! to hold. Which of several equal ones goes makes no difference to hits: the one in the lowest
//! slot, which while the buffer fills for the first time is the one taken in first.
//!
//! **What it is for.** A bound: no scheme has more hits in all, reads and writes counted together,
//! on the same workload and size. It is none for reads or writes alone, nor for erases or time;
//! [bounds](../bounds.md) has those that can be proved. It cannot be built into a drive, as it
//! needs the workload beforehand: it replays, and does not serve.
//!
//! L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.
//!
//! **Where the paper differs.** There a page that is used has to be in memory; `bypass = false`
//! does so, as simulators of caches do that call it Belady. Forced insertion can lose to a
//! write-only buffer: with room for one page, write 1, read 2, write 1 has a hit only if the read
//! goes past.
//!
//! **Memory**: 4 bytes for each page access of the workload, and while it is told 4 for each
//! logical page more; 10 million accesses take 40 MB. Up to 4,294,967,293 of them can be told.
//!
//! Cost of a page access: O(log n) in the pages held.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::require_room;
use super::kit::pages::PageTable;
use super::{Answer, Buffer, FLUSH_COMMAND, FORCED, Foreseen, Outcome, Reason, Shape, Span, View};
use crate::support::NONE;
use crate::support::heap::Heap;
use crate::support::ids::Lpn;
use crate::support::members::Members;
use crate::support::registry::{About, Cost, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "OPT",
    summary: "Knows the future and keeps the pages that are used again soonest: no scheme has more \
        hits in all.",
    paper: "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems \
        Journal 5(2)",
    year: Some(1966),
    also: &["belady", "min", "optimal"],
    cost: Cost::Logarithmic,
    bound: true,
    examples: &[Example {
        source: "",
        shows: "The read goes past, so that page 1 is found; taken in, it would push page 1 out.",
        capacity: 1,
        pages_per_block: 4,
        options: "",
        requests: "W 1, R 2, W 1, W 3, R 3",
    }],
    source: include_str!("opt.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A page that is used again after all others goes past the buffer; without it, every page is
    /// taken in, and this is no bound.
    pub bypass: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { bypass: true }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        let pages = PageTable::new(shape);
        Ok(Box::new(Opt {
            bypass: self.bypass,
            order: Heap::new(pages.slots()),
            dirty: Members::new(pages.slots()),
            pages,
            next: Vec::new(),
            last: vec![!NONE; shape.logical_pages as usize],
            told: false,
            now: 0,
            strayed: None,
        }))
    }
}

/// The next use of a clean page that is never used again.
const NEVER: u32 = u32::MAX;
/// The same of a dirty one.
const NEVER_DIRTY: u32 = NEVER - 1;
/// Page accesses that can be told apart.
const MOST: usize = NEVER_DIRTY as usize - 1;

const USED_LAST: Reason = "page used again last";
const UNUSED: Reason = "page never used again";

#[derive(Debug)]
struct Opt {
    bypass: bool,
    pages: PageTable,
    /// Slots by their pages' next use, the last one first.
    order: Heap<(Reverse<u32>, u32)>,
    /// Slots of dirty pages.
    dirty: Members,
    /// For each page access of the workload, the number of the next access to the same page.
    next: Vec<u32>,
    /// While the future is told: the last access to each page.
    last: Vec<u32>,
    told: bool,
    /// Accesses so far.
    now: usize,
    /// What the host did other than foreseen.
    strayed: Option<String>,
}

impl Opt {
    /// When the page of the present access is used next.
    fn next_use(&mut self, lpn: Lpn, dirty: bool) -> u32 {
        let next = self.next.get(self.now).copied();
        if next.is_none() {
            self.stray(lpn);
        }
        match next {
            Some(next) if next != NEVER => next,
            _ if dirty => NEVER_DIRTY,
            _ => NEVER,
        }
    }

    #[cold]
    fn stray(&mut self, lpn: Lpn) {
        self.strayed
            .get_or_insert_with(|| format!("access {} to page {lpn} was not foreseen", self.now));
    }

    fn serve(&mut self, lpn: Lpn, write: bool, out: &mut Outcome) -> Answer {
        if let Some(slot) = self.pages.find(lpn) {
            if self.order.key(slot).is_none_or(|(Reverse(due), _)| due as usize != self.now) {
                self.stray(lpn);
            }
            if write {
                self.pages.set_dirty(slot, true);
                self.dirty.insert(slot);
            }
            let next = self.next_use(lpn, self.pages.get(slot).dirty);
            self.order.set(slot, (Reverse(next), slot));
            return Answer::Hit;
        }
        let next = self.next_use(lpn, write);
        if self.pages.is_full()
            && let Some(((Reverse(latest), _), slot)) = self.order.first()
        {
            if self.bypass && next >= latest {
                return Answer::Bypass;
            }
            self.order.remove(slot);
            self.dirty.remove(slot);
            let page = self.pages.remove(slot);
            out.evict_page(page, if latest < NEVER_DIRTY { USED_LAST } else { UNUSED });
        }
        let slot = self.pages.insert(lpn, write);
        if write {
            self.dirty.insert(slot);
        }
        self.order.set(slot, (Reverse(next), slot));
        if write { Answer::Insert } else { Answer::Fill }
    }

    fn write_back(&mut self, slot: u32, reason: Reason, out: &mut Outcome) {
        self.pages.write_back(slot, reason, out);
        self.dirty.remove(slot);
        if self.order.key(slot) == Some((Reverse(NEVER_DIRTY), slot)) {
            self.order.set(slot, (Reverse(NEVER), slot));
        }
    }
}

impl Buffer for Opt {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        for lpn in span.pages() {
            let answer = self.serve(lpn, span.write, out);
            out.answers.push(answer);
            self.now += 1;
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.order.remove(slot);
                self.dirty.remove(slot);
                self.pages.remove(slot);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        let mut slots: Vec<u32> = self.dirty.iter().collect();
        slots.sort_unstable_by_key(|&slot| self.order.key(slot));
        for slot in slots {
            self.write_back(slot, FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.write_back(slot, FORCED, out);
            }
        }
    }

    fn len(&self) -> u32 {
        self.pages.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.pages.find(lpn).is_some()
    }

    fn check(&self) -> Result<(), String> {
        if let Some(what) = &self.strayed {
            return Err(format!("opt: the host does other things than it was going to: {what}"));
        }
        if self.dirty.len() != self.pages.dirty() as usize {
            return Err(format!(
                "opt: {} dirty slots, {} counted",
                self.dirty.len(),
                self.pages.dirty()
            ));
        }
        for slot in self.order.members() {
            let dirty = self.pages.get(slot).dirty;
            match self.order.key(slot) {
                Some((Reverse(NEVER), _)) if !dirty => {}
                Some((Reverse(NEVER_DIRTY), _)) if dirty => {}
                Some((Reverse(next), _)) if next < NEVER_DIRTY && next as usize >= self.now => {}
                key => {
                    return Err(format!(
                        "opt: at access {}, slot {slot} (dirty: {dirty}) is due {key:?}",
                        self.now
                    ));
                }
            }
        }
        self.pages.check(self.order.members()).map_err(|problem| format!("opt: {problem}"))
    }

    fn metadata_bytes(&self) -> usize {
        self.pages.bytes()
            + self.order.bytes()
            + self.dirty.bytes()
            + (self.next.capacity() + self.last.capacity()) * 4
    }

    fn needs_future(&self) -> bool {
        !self.told
    }

    fn foresee(&mut self, step: Foreseen) -> Result<(), String> {
        match step {
            Foreseen::Access(span) => {
                if self.next.len() + span.count as usize > MOST {
                    return Err(format!(
                        "buffer.scheme: `opt` plans up to {MOST} page accesses, and the workload \
                         has more; replay a part of it (workload.first)"
                    ));
                }
                for lpn in span.pages() {
                    let now = self.next.len() as u32;
                    let last = !std::mem::replace(&mut self.last[lpn.index()], !now);
                    if last != NONE {
                        self.next[last as usize] = now;
                    }
                    self.next.push(NEVER);
                }
            }
            Foreseen::Trim(first, count) => {
                self.last[first.index()..(first + count).index()].fill(!NONE);
            }
            Foreseen::Flush => {}
            Foreseen::End => {
                self.last = Vec::new();
                self.next.shrink_to_fit();
                self.told = true;
            }
        }
        Ok(())
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        self.order.sorted().into_iter().rev().map(|slot| vec![self.pages.get(slot).lpn]).collect()
    }
}
