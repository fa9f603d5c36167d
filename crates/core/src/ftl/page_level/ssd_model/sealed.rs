//! Blocks that end in a summary page, and one open block in each plane, or element, for fresh and
//! moved pages alike.
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

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::cleaning::Turns;
use super::elements::{Numbering, Rotation};
use crate::ftl::Shape;
use crate::ftl::alloc::{Chooser, Pools};
use crate::ftl::context::{Cx, PageOut, Place};
use crate::ftl::gc::Grain;
use crate::ftl::page_level::store::table::Table;
use crate::ftl::page_level::store::{DATA, Discipline, Limits, Parts, Store};
use crate::ftl::victim::VictimPolicy;
use crate::nand::media::{Content, Media, Oob, PageState};
use crate::nand::{Cause, Flash};
use crate::support::ids::{BlockId, PlaneId};
use crate::support::whole_share;

/// What crosses the bus for a summary, in bytes; one sector with its spare bytes.
const SUMMARY_BYTES: u64 = 512;

/// What such a store is composed of.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// Name of the mapping above in prose.
    pub title: &'static str,
    /// Where pages go.
    pub alloc: Chooser,
    /// How the planes are divided into elements.
    pub pools: Pools,
    /// Which block is cleaned next, where each plane has its own open block.
    pub victim: Box<dyn VictimPolicy>,
    /// Which blocks of an element are passed over that have come to their turn.
    pub turns: Turns,
    /// All planes of an element share one open block and are cleaned together, in this order of
    /// their blocks; or each has its own.
    pub shared: Option<Numbering>,
    /// What is cleaned together is so when no more than this share of its blocks is erased; at
    /// least one.
    pub min_free: f64,
}

/// A store of blocks with summaries.
///
/// # Errors
/// Too little spare flash, or a chip that cannot be used so.
pub(super) fn store(shape: &Shape<'_>, options: Options) -> Result<Store, String> {
    let Options { title, alloc, pools, victim, turns, shared, min_free } = options;
    let g = shape.geometry;
    if g.program_pages > 1 {
        return Err(format!(
            "ftl.mapping: {title} writes single pages, which a chip that programs {} mapped pages \
             at once cannot do; use page mapping",
            g.program_pages
        ));
    }
    if g.pages_per_block < 2 {
        return Err(format!(
            "nand.pages_per_block: found 1, but {title} keeps the last page of each block for its \
             summary; use at least 2"
        ));
    }
    if g.pages() > Table::MOST {
        return Err(format!("ftl.mapping: {title} takes arrays of up to {} pages", Table::MOST));
    }
    let together = if shared.is_some() { pools.units_each() } else { 1 };
    let blocks = g.blocks_per_unit * together;
    let low = whole_share(min_free, blocks).max(1);
    // Some page of the other blocks is not valid, even with a tombstone that cleaning adds: there
    // is always a victim.
    let room = (blocks.saturating_sub(low) * (g.pages_per_block - 1)).saturating_sub(2);
    // A page that is written again after a trim finds room beside the tombstone that tells of it.
    let most = (u64::from(room) * u64::from(pools.units_each() / together)).saturating_sub(1);
    if room == 0 || most < u64::from(pools.most_pages(shape.logical_pages)) {
        let each = if shared.is_some() { "elements" } else { "planes" };
        return Err(format!(
            "ftl: {title} keeps {low} blocks of each of the {} {each} erased and one page of each \
             block for its summary, which leaves room for {} pages, but {} are exported; export \
             less, or add blocks (nand.blocks_per_plane, now {})",
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
        data_pages: g.pages_per_block - 1,
        one_open: true,
        pools_as_one: shared.is_some(),
        share: if shared.is_some() { u32::MAX } else { room - 1 },
    };
    let discipline = Sealed {
        rotation: Rotation::new(shared, g.units, blocks),
        shared: shared.is_some(),
        low,
        cleaned: vec![g.units / g.dies - 1; g.dies as usize],
        listed: vec![Listed::default(); g.units as usize],
        turns,
    };
    let parts =
        Parts { alloc, pools, victim, leveller: None, discipline: Some(Box::new(discipline)) };
    Ok(Store::new(limits, g.clone(), parts))
}

/// What is still to be cleaned of an element.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Listed {
    /// The next one last.
    blocks: Vec<BlockId>,
    /// The average of the erases that its blocks had left when those were listed.
    average_left: f64,
}

/// The rules of such blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sealed {
    rotation: Rotation,
    /// All planes of an element share one open block and are cleaned together.
    shared: bool,
    /// What has so many erased blocks, or fewer, is cleaned.
    low: u32,
    /// The plane of each die that was cleaned last.
    cleaned: Vec<u32>,
    listed: Vec<Listed>,
    turns: Turns,
}

impl Sealed {
    /// A plane of the element of `unit` is short.
    #[inline(never)]
    fn clean_element(&mut self, store: &mut Store, unit: PlaneId) {
        let (element, elements) = (store.pools().of_unit(unit), store.pools().count());
        let (dies, units) = (store.geometry().dies, store.geometry().units);
        let mut next = element;
        while next < dies {
            let die = next;
            next += elements;
            let mut planes = PlaneId::every(die, dies, units);
            if planes.any(|unit| store.is_collecting(unit)) {
                continue;
            }
            let count = units / dies;
            let last = self.cleaned[die as usize];
            let in_turn = (1..=count).map(|turn| PlaneId(die + (last + turn) % count * dies));
            let short = |&unit: &PlaneId| store.free_blocks(unit) <= self.low && store.gains(unit);
            if let Some(unit) = { in_turn }.find(short) {
                self.cleaned[die as usize] = unit.0 / dies;
                store.ask_for_space(unit, DATA);
            }
        }
    }
}

impl Discipline for Sealed {
    fn opens(&mut self, store: &mut Store, unit: PlaneId) -> Option<BlockId> {
        self.rotation.take(store, unit)
    }

    /// The summary.
    fn ends_block(&self, cx: &mut Cx<'_>, end: Place) {
        let summary = PageOut { cause: Cause::Mapping, ..PageOut::filler() };
        cx.program_little(end, summary, SUMMARY_BYTES);
    }

    /// On each die the first plane that is short is cleaned, planes taking turns. One at a time,
    /// and planes that share an open block all together.
    fn asks_for_room(&mut self, store: &mut Store, unit: PlaneId) {
        if self.shared {
            return store.ask_for_space(unit, DATA);
        }
        // After most writes none is short.
        let pools = store.pools();
        let mut planes = pools.units(pools.of_unit(unit));
        if planes.any(|unit| store.free_blocks(unit) <= self.low) {
            self.clean_element(store, unit);
        }
    }

    /// Blocks of planes that share an open block are put in order when cleaning begins, by the
    /// valid pages of that moment, the lowest number first among equals.
    fn picks_victim(
        &mut self,
        store: &Store,
        cx: &Cx<'_>,
        unit: PlaneId,
        begins: bool,
    ) -> Option<BlockId> {
        let gains =
            |block: BlockId| store.closed(block).is_some_and(|valid| valid < store.data_pages());
        let erases = cx.flash.erases();
        let Listed { blocks: listed, average_left } = &mut self.listed[unit.index()];
        if begins {
            let blocks = || store.together(unit).flat_map(|unit| store.blocks_of(unit));
            listed.clear();
            listed.extend(blocks().filter(|&block| gains(block)));
            let rotation = &self.rotation;
            listed.sort_unstable_by_key(|&block| {
                Reverse((store.closed(block), rotation.number(store, block)))
            });
            let erases = &mut blocks().map(|block| erases[block.index()]);
            *average_left = self.turns.average_left(erases);
        }
        while let Some(block) = listed.pop() {
            let last = listed.is_empty();
            let accepts = |turns: &mut Turns| turns.accepts(erases[block.index()], *average_left);
            if gains(block) && (accepts(&mut self.turns) || last) {
                return Some(block);
            }
        }
        None
    }

    /// A plane's cleaning ends when it has erased a block; that of planes which share an open block
    /// does when there are two erased blocks more than began it, or its list is at its end.
    fn goes_on(&self, store: &Store, unit: PlaneId) -> bool {
        self.shared
            && store.erased(unit) <= self.low + 1
            && !self.listed[unit.index()].blocks.is_empty()
    }

    fn ended(&mut self, unit: PlaneId) {
        self.listed[unit.index()].blocks.clear();
    }

    /// To the open block that the plane has, or shares. A power cut may leave a plane without room,
    /// when its victim has been copied, and holds pages whose new versions were lost on other
    /// planes. Then they go to the plane of its element that has most room beside its reserve.
    fn moves_to(&self, store: &Store, unit: PlaneId) -> PlaneId {
        if self.shared || store.has_room(unit) {
            return self.active(store, unit);
        }
        let spare = |to: PlaneId| match store.free_blocks(to) {
            0 => 0,
            _ => store.free_pages(to, DATA) - store.data_pages(),
        };
        let element = store.pools().of_unit(unit);
        let others = store.pools().units(element).map(|to| (spare(to), Reverse(to)));
        others.max().filter(|&(pages, _)| pages > 0).map_or(unit, |(_, to)| to.0)
    }

    fn active(&self, store: &Store, unit: PlaneId) -> PlaneId {
        let is_open = |&unit: &PlaneId| store.is_open(unit);
        let next = || self.rotation.next(store, unit).map(|block| store.geometry().unit_of(block));
        store.together(unit).find(is_open).or_else(next).unwrap_or(unit)
    }

    /// Where a power cut has left planes without an erased block, forgets what was copied into the
    /// one that was opened last, if all of it is still where it came from. That block holds nothing
    /// then. A block that is worn out holds nothing either, but is of no use.
    fn before_recovery(&self, store: &Store, flash: &Flash, media: &mut Media) {
        let leads = store.geometry().all_units().filter(|&unit| store.lead(unit) == unit);
        for unit in leads {
            let all = || store.together(unit).flat_map(|unit| store.blocks_of(unit));
            let blocks = || all().filter(|&block| !flash.is_worn_out(block));
            let records = |media: &Media, block: BlockId| {
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
