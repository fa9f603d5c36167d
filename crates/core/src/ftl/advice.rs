//! What only some mappings can tell, or want to be told, beside what every [`Mapping`] does.
//!
//! A mapping that has any of it hands it out by `Mapping::advice` and `Mapping::advice_mut`.
//!
//! [`Mapping`]: super::Mapping

use super::context::Cx;
use crate::metrics::Counters;
use crate::pattern::{Hint, Pattern, Policy, Route};
use crate::support::ids::{LogicalBlock, Lpn, PlaneId};
use crate::upkeep::Upkeep;

/// What a mapping may offer beyond the verbs of each; by default, nothing.
pub trait Advice {
    /// The only unit that a page can be written to, if its number says which: static placement.
    /// O(1).
    fn home(&self, _lpn: Lpn) -> Option<PlaneId> {
        None
    }

    /// The only chip that a page can be written to, if its number says which. O(1).
    fn home_chip(&self, _lpn: Lpn) -> Option<u32> {
        None
    }

    /// The pool of units that a page can be written to, where its number says to which of several.
    /// O(1).
    fn pool(&self, _lpn: Lpn) -> Option<u32> {
        None
    }

    /// Whether it places pages one by one, so that one without room says that there is none for the
    /// others either which may go to the same units; else it places whole logical blocks.
    fn places_pages(&self) -> bool {
        false
    }

    /// Whether a logical block of which so many pages are to be written had better be written whole,
    /// the others read first: that costs less than what writing a part leads to later.
    fn padding_pays(&self, _pages: u32) -> bool {
        false
    }

    /// How it keeps up with what is written.
    fn upkeep(&self) -> Upkeep {
        Upkeep::Unknown
    }

    /// Whether it asks how long dies have to work.
    fn needs_work_estimates(&self) -> bool {
        false
    }

    /// Whether `unit`, which has so many erased blocks, can take a block now without winning one
    /// back first.
    fn is_ready(&self, _unit: PlaneId, erased: u32) -> bool {
        erased > 0
    }

    /// The unit on which a logical block lies, or would be written to, in mappings that keep one
    /// together (what goes to logs that blocks share is merged there); `None` where each page goes
    /// its own way.
    fn unit_of_block(&self, _logical_block: LogicalBlock) -> Option<PlaneId> {
        None
    }

    /// Where a logical block of this pattern would be written; `None` if the pattern makes no
    /// difference.
    fn route(&self, _logical_block: LogicalBlock, _pattern: Pattern) -> Option<Route> {
        None
    }

    /// The policy that a logical block is kept under, in mappings that keep blocks under several.
    fn policy(&self, _logical_block: LogicalBlock) -> Option<Policy> {
        None
    }

    /// Whether this page has been looked up for the write that found no room last.
    fn has_looked_up(&self, _lpn: Lpn) -> bool {
        false
    }

    /// What was done to a logical block while it was buffered. Its pages are written next, or
    /// none if it was `clean`.
    fn on_hint(&mut self, _hint: Hint, _clean: bool, _counters: &mut Counters) {}

    /// Whether it is told what the host reads, and when the drive has nothing to do
    /// ([`Self::on_read`], [`Self::idle`]).
    fn watches_reads(&self) -> bool {
        false
    }

    /// A request of the host reads so many pages of a logical block from flash.
    fn on_read(&mut self, _logical_block: LogicalBlock, _pages: u32) {}

    /// Nothing is under way, and no request waits: plans work that it wants to do meanwhile, and
    /// says whether there was any. When that has ended and there is still nothing to do, it is
    /// asked again.
    fn idle(&mut self, _cx: &mut Cx<'_>) -> bool {
        false
    }

    /// Whether `unit`, which is not being worked on, is worth collecting while no request is under
    /// way. Then it is under collection.
    fn reclaims_when_idle(&mut self, _unit: PlaneId) -> bool {
        false
    }

    /// A request has come: whether the work on `unit` that was begun while there was none ends
    /// before its next step.
    fn pause(&mut self, _unit: PlaneId) -> bool {
        false
    }

    /// All blocks count as never erased from now on: the drive was filled, and its run begins.
    fn forget_wear(&mut self) {}

    /// Folds all log blocks into their data blocks; `false` where there are too few blocks for
    /// that.
    fn merge_all(&mut self, _cx: &mut Cx<'_>) -> bool {
        true
    }
}
