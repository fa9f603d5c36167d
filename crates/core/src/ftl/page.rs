//! Page mapping: every logical page may lie in any flash page.
//!
//! **What it does.** A map of one entry a logical page, kept in RAM whole and for nothing, over a page store: a reverse
//! map and a valid bit a flash page. Host pages go to the
//! units in turn, a program unit each; a unit whose share of valid pages has run ahead, or which has only its reserve
//! of erased blocks left, is passed over, so that no unit fills up while others have room.
//! A unit that has filled its open block and has no more than `gc_free_blocks` erased ones is collected: the closed
//! block with the fewest valid pages (lowest number among equals) is emptied into the unit's own collection block, a
//! few pages a step, and erased.
//!
//! **Reserve.** One erased block of each unit is never given to the host. A victim has at least one invalid page, so
//! what is valid always fits into what is left of the collection block and the reserve: collection cannot run dry.
//! If all closed blocks are fully valid, the host goes on in the collection block.
//!
//! **Trims** are kept across power cuts by tombstones: pages that list what was trimmed, written with the next flush.
//! A tombstone is valid as long as one of its pages has not been written again. Each stands for at least one
//! unmapped logical page, so that they never need more room than the data did.
//!
//! Ban 1995; survey in Kim & Ahn 2008, section 2.2. Greedy collection as in the multi-bank thesis, section 4.2.
//! Papers are silent on the order of units: round robin here.
//!
//! Cost of a page write: O(1), and O(log blocks of a unit) at worst to keep the order of victims.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cx::{Cx, PageOut};
use super::store::table::Table;
use super::store::{DATA, Limits, Store, room};
use super::{Mapping, Reclaim, Shape};
use crate::nand::{Flash, Ppn};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "page mapping",
    summary: "Any logical page in any flash page; units in turn, greedy garbage collection inside each unit.",
    paper: "Ban, US Patent 5,404,485 (1995)",
    year: Some(1995),
    choices: &[
        Choice {
            option: "gc_free_blocks",
            others: &["1", "4"],
            open: "how many erased blocks a unit has left when its collection begins",
        },
        Choice {
            option: "gc_step_pages",
            others: &["1", "64"],
            open: "how many pages collection copies before host requests come in between",
        },
    ],
    source: include_str!("page.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A unit that has filled a block is collected while it has this many erased blocks or fewer (at least 1). Default:
    /// 1 for a single unit, which loses the least spare flash; 2 for several, where there is room, so that the units do
    /// not run dry together.
    pub gc_free_blocks: Option<u32>,
    /// Pages that one step of garbage collection copies at most; host requests come in between.
    pub gc_step_pages: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { gc_free_blocks: None, gc_step_pages: 8 }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let g = shape.geometry;
        if self.gc_free_blocks == Some(0) || self.gc_step_pages == 0 {
            return Err("ftl.mapping: gc_free_blocks and gc_step_pages must be at least 1".into());
        }
        if g.pages() > Table::MOST {
            return Err("ftl.mapping: page mapping takes arrays of up to 2147483647 pages".into());
        }
        let fits =
            |free_blocks: u32| room(g, free_blocks) * u64::from(g.units) >= u64::from(shape.logical_pages);
        let gc_free_blocks = self.gc_free_blocks.unwrap_or(if g.units > 1 && fits(2) { 2 } else { 1 });
        if !fits(gc_free_blocks) {
            return Err(format!(
                "ftl: page mapping keeps {} blocks of each of the {} units out of use, which leaves room for {} pages, \
                 but {} are exported; export less, or add blocks (nand.blocks_per_plane, now {})",
                gc_free_blocks + 1,
                g.units,
                room(g, gc_free_blocks) * u64::from(g.units),
                shape.logical_pages,
                g.blocks_per_unit
            ));
        }
        let limits = Limits { gc_free_blocks, gc_step_pages: self.gc_step_pages, classes: 1 };
        let store = Store::new(limits, g.clone(), shape.logical_pages);
        Ok(Box::new(PageMap { store, table: Table::new(shape.logical_pages) }))
    }
}

#[derive(Debug)]
struct PageMap {
    store: Store,
    table: Table,
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

    #[inline]
    fn touch(&self, lpn: u32) {
        self.table.touch(lpn);
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: u32) -> usize {
        let Self { store, table } = self;
        for (i, out) in pages.iter().enumerate() {
            let Some(unit) = store.pick_unit(cx.engine, DATA) else { return i };
            let guard = table.forget(store, out.lpn);
            let Some(ppn) = store.append(cx, (unit, DATA), *out, out.lpn, guard, waits) else { return i };
            table.set(out.lpn, ppn);
        }
        pages.len()
    }

    fn trim(&mut self, _cx: &mut Cx<'_>, first: u32, count: u32) {
        self.table.trim(&mut self.store, first, count);
    }

    fn flush(&mut self, cx: &mut Cx<'_>) -> bool {
        let buried = self.table.bury(&mut self.store, cx);
        self.store.fill_up(cx);
        buried
    }

    fn needs_reclaim(&mut self) -> Option<u32> {
        self.store.needs_reclaim()
    }

    fn reclaim(&mut self, cx: &mut Cx<'_>, unit: u32) -> Reclaim {
        self.store.collect(cx, unit, &mut self.table)
    }

    fn recover(&mut self, cx: &mut Cx<'_>) {
        let Some(image) = cx.engine.shadow().map(|s| s.image.clone()) else { return };
        self.table.rebuild(&mut self.store, &image);
        self.store.reopen(cx, &image);
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
}
