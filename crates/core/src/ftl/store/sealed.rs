//! Blocks that end in a summary page, and one open block in each unit for fresh and moved pages
//! alike.
//!
//! Only *sealed* blocks, which nothing more is written to, are collected. What collection moves
//! goes where fresh pages go, so that the reserve has to be there as long as fresh pages are taken:
//! a victim goes to what is left of the open block and the reserve. A cleaning holds its die until
//! it ends: copies, erase, and what else is cleaned. A block that gets cold data is sealed without
//! a summary: the model counts the reads and programs of its valid pages, and no more.
//!
//! A power cut may come while a victim is being copied into the reserve. What was copied is still
//! in the victim, which is only erased afterwards: recovery forgets the copies and has its reserve
//! again, however often power fails.

use std::collections::BTreeSet;

use super::{Limits, Numbering, Parts, Store};
use crate::ftl::Shape;
use crate::ftl::alloc::{Allocator, Pools};
use crate::ftl::cx::{Cx, PageOut, Place};
use crate::ftl::gc::Grain;
use crate::ftl::store::table::Table;
use crate::ftl::victim::VictimPolicy;
use crate::nand::media::{Content, Media, Oob, PageState};
use crate::nand::{Cause, Flash};
use crate::support::whole_share;

/// What crosses the bus for a summary, in bytes; one sector with its spare bytes.
const SUMMARY_BYTES: u64 = 512;

/// What such a store is composed of.
#[derive(Debug)]
pub struct Sealed<'a> {
    /// Name of the mapping above in prose.
    pub title: &'a str,
    /// Where pages go.
    pub alloc: Box<dyn Allocator>,
    /// How the units are divided.
    pub pools: Pools,
    /// Which block is collected next.
    pub victim: Box<dyn VictimPolicy>,
    /// All units of a pool share one open block and are collected together, in this order of their
    /// blocks; or each has its own.
    pub shared: Option<Numbering>,
    /// What is collected together is so when no more than this share of its blocks is erased; at
    /// least one.
    pub min_free: f64,
}

impl Store {
    /// A store of blocks with summaries.
    ///
    /// # Errors
    /// Too little spare flash, or a chip that cannot be used so.
    pub fn sealed(shape: &Shape<'_>, parts: Sealed<'_>) -> Result<Self, String> {
        let (g, Sealed { title, alloc, pools, victim, shared, min_free }) = (shape.geometry, parts);
        if g.program_pages > 1 {
            return Err(format!(
                "ftl.mapping: {title} writes single pages, which a chip that programs {} mapped pages at once cannot do; \
                 use page mapping",
                g.program_pages
            ));
        }
        if g.pages_per_block < 2 {
            return Err(format!(
                "nand.pages_per_block: found 1, but {title} keeps the last page of each block for its summary; \
                 use at least 2"
            ));
        }
        if g.pages() > Table::MOST {
            return Err(format!(
                "ftl.mapping: {title} takes arrays of up to {} pages",
                Table::MOST
            ));
        }
        let together = if shared.is_some() { pools.units_each() } else { 1 };
        let blocks = g.blocks_per_unit * together;
        let low = whole_share(min_free, blocks).max(1);
        // Some page of the other blocks is not valid, even with a tombstone that collection adds:
        // there is always a victim.
        let room = (blocks.saturating_sub(low) * (g.pages_per_block - 1)).saturating_sub(2);
        // A page that is written again after a trim finds room beside the tombstone that tells of
        // it.
        let most = (u64::from(room) * u64::from(pools.units_each() / together)).saturating_sub(1);
        if room == 0 || most < u64::from(pools.most_pages(shape.logical_pages)) {
            let each = if shared.is_some() { "elements" } else { "planes" };
            return Err(format!(
                "ftl: {title} keeps {low} blocks of each of the {} {each} erased and one page of each block for its summary, which \
                 leaves room for {} pages, but {} are exported; export less, or add blocks (nand.blocks_per_plane, now {})",
                g.units / together,
                most * u64::from(pools.count()),
                shape.logical_pages,
                g.blocks_per_unit
            ));
        }
        let limits = Limits {
            gc_free_blocks: low,
            idle_free_blocks: 0,
            grain: Grain::All,
            gc_step_pages: g.pages_per_block,
            regions: 1,
            region_pages: u64::from(shape.logical_pages),
            classes: 1,
            spread: false,
            sealed: true,
            shared,
        };
        let parts = Parts { alloc, pools, victim, leveller: None };
        let mut store = Self::new(limits, g.clone(), (0, 0), parts);
        store.units.iter_mut().for_each(|unit| unit.taken = blocks - 1);
        store.share = if shared.is_some() { u32::MAX } else { room - 1 };
        Ok(store)
    }

    /// Writes the summary of an open block whose data pages are full.
    pub(super) fn summarise(&mut self, cx: &mut Cx<'_>, write_point: usize) {
        let open = &self.open[write_point];
        let at = Place { block: open.block, page: open.page, label: open.label };
        let summary = PageOut { cause: Cause::Mapping, ..PageOut::filler() };
        cx.program_little(at, summary, SUMMARY_BYTES);
    }

    /// Where a power cut has left units without an erased block, forgets what was copied into the
    /// one that was opened last, if all of it is still where it came from. That block holds nothing
    /// then. A block that is worn out holds nothing either, but is of no use.
    pub fn undo_copies(&self, flash: &Flash, media: &mut Media) {
        let leads =
            (0..self.geometry.units).filter(|&unit| self.limits.sealed && self.lead(unit) == unit);
        for unit in leads {
            let all = || self.together(unit).flat_map(|unit| self.blocks_of(unit));
            let blocks = || all().filter(|&block| !flash.is_worn_out(block));
            let records = |media: &Media, block: u32| {
                let kept = media.block(block).iter().filter_map(|page| match page {
                    PageState::Done(oob) if oob.content != Content::Filler => Some(*oob),
                    _ => None,
                });
                kept.collect::<Vec<_>>()
            };
            if blocks().any(|block| records(media, block).is_empty()) {
                continue;
            }
            let Some(newest) = blocks().max_by_key(|&block| records(media, block)[0].opened) else {
                continue;
            };
            let page = |oob: &Oob| (oob.seq, oob.lpn);
            let mut copies: BTreeSet<_> = records(media, newest).iter().map(page).collect();
            for block in blocks().filter(|&block| block != newest) {
                for oob in records(media, block) {
                    copies.remove(&page(&oob));
                }
            }
            if copies.is_empty() {
                media.spoil(newest);
            }
        }
    }
}
