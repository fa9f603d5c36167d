//! Page mapping: every logical page may lie in any flash page.
//!
//! **What it does.** A map of one entry a logical page, kept in RAM whole and for nothing. Where a
//! page goes is the allocator's to say (`ftl.allocator`), which block is collected the victim
//! policy's (`ftl.victim`), how wear is evened out the leveller's (`ftl.wear`); `ftl.gc` says when
//! collection begins and what it costs. By default pages go to the units in turn, and the block
//! with the fewest valid pages is collected inside each unit.
//!
//! **When it wins**: random writes, which cost no merges. **When it loses**: RAM, a few bytes for
//! every page.
//!
//! **Trims** are kept across power cuts by tombstones: pages that list what was trimmed, one for
//! each pool of the allocator, written with the next flush. Collection writes what there is of
//! them, among the pages that it moves, before it erases a block: that may hold the last version of
//! what was trimmed. A tombstone is valid as long as one of its pages has not been written again,
//! and is copied like data.
//!
//! Ban, US Patent 5,404,485 (1995); survey in Kim and Ahn 2008, section 2.2.
//!
//! Cost of a page write: O(1), and what allocator and victim policy cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cx::{Cx, PageOut};
use super::store::table::Table;
use super::store::{Above, Store};
use super::{Advice, Mapping, Reclaim, Shape};
use crate::nand::{Flash, Media, Ppn};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "page mapping",
    summary: "Any logical page in any flash page; units in turn, greedy garbage collection inside each unit.",
    paper: "Ban, US Patent 5,404,485 (1995)",
    year: Some(1995),
    composed: true,
    source: include_str!("page.rs"),
    ..About::PLAIN
};

/// It has no options of its own: allocator, victim policy, wear leveller and collection are
/// `ftl.allocator`, `ftl.victim`, `ftl.wear` and `ftl.gc`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let store = Store::compose(&shape, Above { title: "page mapping", pages: 0, classes: 0 })?;
        Ok(Box::new(PageMap::new(store, shape.logical_pages)))
    }
}

/// A map that is kept in RAM whole, over whatever store.
#[derive(Debug)]
pub(super) struct PageMap {
    store: Store,
    table: Table,
}

impl PageMap {
    /// A map of pages that were never written.
    pub(super) fn new(store: Store, logical_pages: u32) -> Self {
        let table = Table::new(logical_pages, store.pools().count());
        Self { store, table }
    }
}

impl Mapping for PageMap {
    #[inline]
    fn translate(&mut self, _cx: &mut Cx<'_>, lpn: u32) -> Option<Ppn> {
        self.table.lookup(lpn)
    }

    #[inline]
    fn lookup(&self, lpn: u32) -> Option<Ppn> {
        self.table.lookup(lpn)
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: u32) -> usize {
        let Self { store, table } = self;
        for (i, out) in pages.iter().enumerate() {
            let old = table.lookup(out.lpn);
            let class = store.class_of_write(old);
            let pool = store.pools().of_page(out.lpn);
            let Some(unit) = store.pick_over(cx, pool, class, old) else { return i };
            let guard = table.forget(store, out.lpn);
            let Some(ppn) = store.append(cx, (unit, class), *out, out.lpn, guard, waits) else {
                return i;
            };
            table.set(out.lpn, ppn);
        }
        pages.len()
    }

    fn trim(&mut self, _cx: &mut Cx<'_>, first: u32, count: u32) {
        self.table.trim(&mut self.store, first, count);
    }

    fn make_durable(&mut self, cx: &mut Cx<'_>) -> bool {
        let buried = self.table.write_tombstones(&mut self.store, cx);
        self.store.fill_up(cx);
        buried
    }

    fn needs_reclaim(&mut self) -> Option<u32> {
        self.store.needs_reclaim()
    }

    fn reclaim(&mut self, cx: &mut Cx<'_>, unit: u32) -> Reclaim {
        self.store.collect(cx, unit, &mut self.table)
    }

    fn recover(&mut self, cx: &mut Cx<'_>, mut found: Media) {
        self.store.before_recovery(cx.flash, &mut found);
        self.table.rebuild(&mut self.store, &found);
        self.store.reopen(cx, &found);
    }

    fn check(&self, flash: &Flash) -> Result<(), String> {
        let valid = self.store.check(flash, |owner, ppn| self.table.lies(owner, ppn))?;
        self.table.check(valid)
    }

    fn space(&self) -> String {
        self.store.space()
    }

    fn free_blocks(&self, unit: u32) -> u32 {
        self.store.free_blocks(unit)
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + self.store.bytes()
    }
    fn advice(&self) -> Option<&dyn Advice> {
        Some(self)
    }

    fn advice_mut(&mut self) -> Option<&mut dyn Advice> {
        Some(self)
    }
}

impl Advice for PageMap {
    fn home(&self, lpn: u32) -> Option<u32> {
        self.store.pools().home(lpn)
    }

    fn home_chip(&self, lpn: u32) -> Option<u32> {
        self.store.home_chip(lpn)
    }

    fn needs_work_estimates(&self) -> bool {
        self.store.needs_work_estimates()
    }

    fn reclaims_when_idle(&mut self, unit: u32) -> bool {
        self.store.collects_when_idle(unit)
    }

    fn pause(&mut self, unit: u32) -> bool {
        self.store.pause(unit)
    }

    fn forget_wear(&mut self) {
        self.store.forget_wear();
    }
}
