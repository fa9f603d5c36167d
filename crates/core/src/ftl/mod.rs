//! From logical pages to flash operations: mappings, and what they are built from.
//!
//! A mapping changes its state at once and appends flash operations to the plan through its [`Cx`].
//! It never asks for the time. What it may ask is what is under way on the flash, which an untimed
//! run shows as nothing.

pub mod alloc;
pub mod bast;
pub mod blas;
pub mod block;
mod blocks;
pub mod config;
pub mod cx;
pub mod dftl;
pub mod fast;
pub mod gc;
pub mod hybrid;
pub mod mnk;
pub mod page;
pub mod pattern;
pub mod pool;
pub mod replacement;
pub mod sftl;
pub mod ssd_model;
pub mod store;
pub mod superblock;
pub mod victim;
pub mod wear;

pub use cx::{Cx, PageOut, Waiter};

use crate::metrics::Counters;
use crate::nand::{Flash, Geometry, Media, Ppn};
use crate::pattern::{Hint, Pattern as BlockPattern, Policy, Route};
use config::FtlConfig;
use store::Store;

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

/// A mapping: where each logical page lives, where the next write goes, and how space is won back.
pub trait Mapping: std::fmt::Debug + Send {
    /// Where a logical page is, or `None` if it was never written or has been trimmed. May plan
    /// what it takes to read the map; then `known` of the [`Cx`] says when it has been read. O(1).
    fn translate(&mut self, cx: &mut Cx<'_>, lpn: u32) -> Option<Ppn>;

    /// Whether it can say where a page is without reading flash. O(1).
    fn knows(&self, _lpn: u32) -> bool {
        true
    }

    /// The same as [`Self::translate`] without planning anything.
    fn lookup(&self, lpn: u32) -> Option<Ppn>;

    /// The only unit that a page can be written to, if its number says which: static placement.
    /// O(1).
    fn home(&self, _lpn: u32) -> Option<u32> {
        None
    }

    /// The only chip that a page can be written to, if its number says which. O(1).
    fn home_chip(&self, _lpn: u32) -> Option<u32> {
        None
    }

    /// Whether it asks how long dies have to work.
    fn needs_work_estimates(&self) -> bool {
        false
    }

    /// Page `lpn` will be looked up soon. A mapping may read its entry now, so that the memory's
    /// latency passes while the events before the request are served.
    fn touch(&self, _lpn: u32) {}

    /// What was done to a block while it was buffered. Its pages are written next, or none if it
    /// was `clean`.
    fn on_hint(&mut self, _hint: Hint, _clean: bool, _counters: &mut Counters) {}

    /// Whether `unit` can take a block now without winning one back first.
    fn is_ready(&self, unit: u32) -> bool {
        self.free_blocks(unit) > 0
    }

    /// Whether it is told what the host reads, and when the drive has nothing to do
    /// ([`Self::read`], [`Self::idle`]).
    fn watches(&self) -> bool {
        false
    }

    /// A request of the host reads so many pages of a logical block from flash.
    fn read(&mut self, _block: u32, _pages: u32) {}

    /// Nothing is under way, and no request waits: plans work that it wants to do meanwhile, and
    /// says whether there was any. When that has ended and there is still nothing to do, it is
    /// asked again.
    fn idle(&mut self, _cx: &mut Cx<'_>) -> bool {
        false
    }

    /// Where a logical block of this pattern would be written; `None` if the pattern makes no
    /// difference.
    fn route(&self, _block: u32, _pattern: BlockPattern) -> Option<Route> {
        None
    }

    /// The policy that a logical block is kept under, in mappings that keep blocks under several.
    fn policy(&self, _block: u32) -> Option<Policy> {
        None
    }

    /// Writes the pages in order, each after join `waits` of the plan. Returns how many it took:
    /// fewer than all when space has to be reclaimed first.
    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: u32) -> usize;

    /// The host no longer needs these pages.
    fn trim(&mut self, cx: &mut Cx<'_>, first: u32, count: u32);

    /// Plans what is missing for everything written and trimmed so far to survive a power cut.
    /// `false` when space has to be reclaimed first; then it is called again.
    fn flush(&mut self, cx: &mut Cx<'_>) -> bool;

    /// The page store of a mapping that is built on one: that says when units are collected.
    fn store(&mut self) -> Option<&mut Store> {
        None
    }

    /// A unit that needs space and is not being worked on, if there is one.
    fn needs_reclaim(&mut self) -> Option<u32> {
        self.store()?.needs_reclaim()
    }

    /// Whether `unit`, which is not being worked on, is worth collecting while no request is under
    /// way. Then it is under collection.
    fn reclaims_when_idle(&mut self, unit: u32) -> bool {
        self.store().is_some_and(|store| store.collects_when_idle(unit))
    }

    /// All blocks count as never erased from now on: the drive was filled, and its run begins.
    fn forget_wear(&mut self) {
        if let Some(store) = self.store() {
            store.forget_wear();
        }
    }

    /// A request has come: whether the work on `unit` that was begun while there was none ends
    /// before its next step.
    fn pause(&mut self, unit: u32) -> bool {
        self.store().is_some_and(|store| store.pause(unit))
    }

    /// Plans the next step of winning back space in `unit`: some copies, or an erase.
    fn reclaim(&mut self, _cx: &mut Cx<'_>, _unit: u32) -> Reclaim {
        Reclaim::Stuck
    }

    /// Folds all log blocks into their data blocks; `false` where there are too few blocks for
    /// that.
    fn merge_all(&mut self, _cx: &mut Cx<'_>) -> bool {
        true
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
    fn free_blocks(&self, unit: u32) -> u32;

    /// Bytes of mapping state held.
    fn bytes(&self) -> usize;
}

/// What a mapping is built for.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// The array.
    pub geometry: &'a Geometry,
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// The chip's order of programming.
    pub order: crate::nand::config::ProgramOrder,
    /// The parts that a page-level mapping is composed of.
    pub parts: &'a FtlConfig,
}

crate::registry! {
    /// How logical pages are found: a name, or a table with `kind` and the mapping's options.
    "mapping" MappingConfig builds Box<dyn Mapping>, from Shape<'_>;
    "page" => Page in page,
    "ssd-model" => SsdModel in ssd_model,
    "dftl" => Dftl in dftl,
    "bast" => Bast in bast,
    "fast" => Fast in fast,
    "mnk" => Mnk in mnk,
    "block" => Block in block,
    "hybrid" => Hybrid in hybrid,
    "replacement" => Replacement in replacement,
    "superblock" => Superblock in superblock,
    "pattern" => Pattern in pattern,
    "blas" => Blas in blas,
    "sftl" => Sftl in sftl,
}

impl MappingConfig {
    /// Most pages that an array exports unless the configuration says how many.
    pub fn exported_pages(&self, geometry: &Geometry) -> u64 {
        match self {
            Self::SsdModel(model) => model.exported_pages(geometry),
            _ => u64::MAX,
        }
    }
}

/// Whether a mapping is composed of an allocator, a victim policy and a wear leveller that the
/// configuration names; one that is not places pages and wins back space in its own way.
pub fn is_composed(mapping: &str) -> bool {
    registry().iter().any(|entry| entry.name == mapping && entry.about.composed)
}
