//! What every mapping does.

use dyn_clone::DynClone;
use serde::{Deserialize, Serialize};

use super::advice::Advice;
use super::context::{Cx, PageOut};
use crate::metrics::observer::Folding;
use crate::nand::{Flash, JoinId, Media};
use crate::support::ids::{Lpn, PlaneId, Ppn};
use crate::support::persist::Persist;

/// How a call for more room went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reclaim {
    /// A step has been planned; there is more to do.
    More,
    /// The same, and the next step is planned at once: it goes on from this one without anything in
    /// between.
    Together,
    /// The unit has room again.
    Done,
    /// Nothing in the unit can be reclaimed now.
    Stuck,
}

/// What has become of a page that was given to a mapping by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Single {
    /// It has been taken.
    Taken,
    /// The same, and a unit may ask to be collected now.
    TakenAndAsks,
    /// The same, and a read of the map has begun before its program, of the end of which who waits
    /// is told, too.
    TakenWithRead,
    /// Space has to be reclaimed first.
    NoRoom,
    /// The same, and such a read has begun.
    NoRoomWithRead,
    /// Its program was to begin at once, and more has to be planned for it, or may have to.
    /// Nothing has been written or planned; whose turn it is may have been asked, and is the same
    /// when it is asked again.
    NotAlone,
}

impl Single {
    /// Whether the page has been taken.
    #[inline]
    pub fn is_taken(self) -> bool {
        matches!(self, Self::Taken | Self::TakenAndAsks | Self::TakenWithRead)
    }
}

/// Which single pages are one flash operation, which can begin at once without a plan. Each says more
/// than the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SinglePages {
    /// None is known to be.
    Planned,
    /// Those that are read. Of a page that is written more may be planned.
    Reads,
    /// Some that are written, too: [`Mapping::write_one`] says of each whether it is
    /// ([`Single::NotAlone`]). Nothing else is programmed for one that is.
    SomeWrites,
    /// All: nothing else is planned that whoever waits for a page that is written has to wait for.
    AllWrites,
}

/// A mapping: where each logical page lives, where the next write goes, and how space is won back.
pub trait Mapping: DynClone + Persist + std::fmt::Debug + Send + Sync {
    /// Where a logical page is, or `None` if it was never written or has been trimmed. May plan
    /// what it takes to read the map; then `known` of the [`Cx`] says when it has been read. O(1).
    fn translate(&mut self, cx: &mut Cx<'_>, lpn: Lpn) -> Option<Ppn>;

    /// Whether it can say where a page is without reading flash. O(1).
    fn knows(&self, _lpn: Lpn) -> bool {
        true
    }

    /// Whether looking it up now plans nothing. O(1).
    fn finds_alone(&self, lpn: Lpn) -> bool {
        self.knows(lpn)
    }

    /// The same as [`Self::translate`] without planning anything. O(1).
    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

    /// Which single pages are one operation of it. The same for the life of the mapping.
    fn single_pages(&self) -> SinglePages {
        SinglePages::Planned
    }

    /// The host is going to use these pages: what is known of them is read from memory, all at
    /// once, so that requests do not wait for one after the other. Changes nothing.
    fn fetch(&self, _pages: &[Lpn]) {}

    /// Writes the pages in order, each after join `waits` of the plan. Returns how many it took:
    /// fewer than all when space has to be reclaimed first.
    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: JoinId) -> usize;

    /// The same of one page that waits for nothing.
    fn write_one(&mut self, cx: &mut Cx<'_>, page: PageOut) -> Single {
        if cx.at_once {
            Single::NotAlone
        } else if self.write(cx, &[page], JoinId::NONE) > 0 {
            Single::TakenAndAsks
        } else {
            Single::NoRoom
        }
    }

    /// The host no longer needs these pages.
    fn trim(&mut self, cx: &mut Cx<'_>, first: Lpn, count: u32);

    /// Plans what is missing for everything written and trimmed so far to survive a power cut.
    /// `false` when space has to be reclaimed first; then it is called again.
    fn make_durable(&mut self, cx: &mut Cx<'_>) -> bool;

    /// Whether units need space and are not being worked on.
    fn asks_for_reclaim(&self) -> bool {
        false
    }

    /// The next of these units, if there is one.
    fn needs_reclaim(&mut self) -> Option<PlaneId> {
        None
    }

    /// Plans the next step of winning back space in `unit`: some copies, or an erase.
    fn reclaim(&mut self, _cx: &mut Cx<'_>, _unit: PlaneId) -> Reclaim {
        Reclaim::Stuck
    }

    /// Rebuilds the state of a fresh mapping from the medium as it was `found` when power came
    /// back, and from nothing else. What is planned meanwhile changes the drive's own medium, not
    /// this one.
    fn recover(&mut self, cx: &mut Cx<'_>, found: Media);

    /// Compares redundant state.
    ///
    /// # Errors
    /// What does not agree.
    fn check(&self, flash: &Flash) -> Result<(), String>;

    /// One sentence with the numbers that tell why there is no room.
    fn space(&self) -> String;

    /// Erased blocks in `unit`.
    fn free_blocks(&self, unit: PlaneId) -> u32;

    /// How it writes a logical block over, as far as bounds may rely on it.
    fn folding(&self) -> Folding {
        Folding::Unknown
    }

    /// Bytes of mapping state held.
    fn bytes(&self) -> usize;

    /// What it can tell beyond this, if anything.
    fn advice(&self) -> Option<&dyn Advice> {
        None
    }

    /// The same, to be told something.
    fn advice_mut(&mut self) -> Option<&mut dyn Advice> {
        None
    }
}

dyn_clone::clone_trait_object!(Mapping);
crate::persist_objects!(Mapping);
