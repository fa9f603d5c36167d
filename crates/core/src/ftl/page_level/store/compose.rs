//! Puts a store together from the parts that the configuration names, or says why they do not go
//! together.

use super::{Limits, Parts, Store};
use crate::ftl::alloc::Pools;
use crate::ftl::gc::{Copies, GcConfig, Grain};
use crate::ftl::page_level::store::table::Table;
use crate::ftl::{Shape, alloc, wear};
use crate::nand::Geometry;

/// What the mapping on top brings along.
#[derive(Debug, Clone, Copy)]
pub struct Above<'a> {
    /// Its name in prose.
    pub title: &'a str,
    /// Classes of the host's pages that it tells apart itself; with 1, `ftl.gc.regions` says into
    /// how many they are divided.
    pub data_classes: u32,
    /// Valid pages of its map that it may have beside the host's, all over the array.
    pub pages: u32,
    /// Classes of such pages; each lies in blocks of its own.
    pub classes: u32,
}

impl<'a> Above<'a> {
    /// A mapping that keeps its map in RAM, and all the host's pages together.
    pub fn titled(title: &'a str) -> Self {
        Self { title, data_classes: 1, pages: 0, classes: 0 }
    }
}

/// Pages that a unit can hold so that collection always gains something. It keeps its reserve and
/// one block's worth of pages that are not valid. Collection writes whole program units, and gains
/// nothing from a block with fewer invalid pages than that. Where a page may go to several units,
/// the new version may be counted in one before the old one is forgotten in another.
pub(super) fn room(g: &Geometry, gc_free_blocks: u32, pools: &Pools) -> u64 {
    let useful = u64::from(g.pages_per_block - (g.program_pages - 1));
    let blocks = u64::from(g.blocks_per_unit).saturating_sub(u64::from(gc_free_blocks) + 1);
    (blocks * useful).saturating_sub(u64::from(pools.units_each() > 1))
}

impl Store {
    /// A store for the logical pages of a drive, and what the mapping above needs beside them.
    ///
    /// # Errors
    /// Too little spare flash, impossible options, or parts that do not go together.
    pub fn compose(shape: &Shape<'_>, above: Above<'_>) -> Result<Self, String> {
        let (g, gc) = (shape.geometry, &shape.parts.gc);
        if gc.step_pages == 0 {
            return Err("ftl.gc.step_pages: found 0, expected at least 1".into());
        }
        if !(1..=8).contains(&gc.regions) {
            return Err(format!("ftl.gc.regions: found {}, expected 1 to 8", gc.regions));
        }
        if above.data_classes > 1 && gc.regions > 1 {
            return Err(format!(
                "ftl.gc.regions: found {}, but {} tells pages apart in its own way; use 1",
                gc.regions, above.title
            ));
        }
        let (regions, region_pages) = match above.data_classes {
            1 => (gc.regions, gc.region_pages.unwrap_or(u64::from(shape.logical_pages))),
            // Pages stay in their class until the mapping says otherwise.
            classes => (classes, u64::MAX),
        };
        if g.pages() > Table::MOST {
            return Err(format!(
                "ftl.mapping: {} takes arrays of up to {} pages",
                above.title,
                Table::MOST
            ));
        }
        let alloc = shape.parts.allocator.clone().unwrap_or_default();
        let (alloc, pools) = alloc.build(alloc::Shape { geometry: g })?;
        if gc.copies == Copies::Spread && pools.units_each() == 1 {
            return Err("ftl.gc.copies: under static placement a page cannot leave its unit, so \
                copies cannot be spread; use \"unit\", or another ftl.allocator"
                .into());
        }
        let victim = shape.parts.victim.clone().unwrap_or_default().build(())?;
        // Each class of the mapping's own pages may leave a block part empty that nothing else goes
        // to.
        let pool_room = |free_blocks: u32| {
            room(g, free_blocks + above.classes, &pools) * u64::from(pools.units_each())
        };
        let pages = pools.most_pages(shape.logical_pages) + above.pages.div_ceil(pools.count());
        let fits = |free_blocks: u32| pool_room(free_blocks) >= u64::from(pages);
        let gc_free_blocks = match gc.free_blocks {
            Some(given) => GcConfig::blocks("free_blocks", given, g.blocks_per_unit)?,
            None if g.units > 1 && fits(2) => 2,
            None => 1,
        };
        if !fits(gc_free_blocks) {
            let room = pool_room(gc_free_blocks);
            let (place, exported) = match (pools.count(), pools.units_each()) {
                (1, _) => (String::new(), format!("{} are exported", shape.logical_pages)),
                (_, each) => (
                    if each == 1 {
                        " in each unit".to_owned()
                    } else {
                        format!(" in each {each} of them")
                    },
                    format!(
                        "{} of the {} exported ones have to go there",
                        pools.most_pages(shape.logical_pages),
                        shape.logical_pages
                    ),
                ),
            };
            let map = above.pages.div_ceil(pools.count());
            return Err(format!(
                "ftl: {} keeps {} blocks of each of the {} units out of use, which leaves room for \
                 {room} pages{place}, but {exported}{}; export less, or add blocks \
                 (nand.blocks_per_plane, now {})",
                above.title,
                gc_free_blocks + 1 + above.classes,
                g.units,
                if map == 0 { String::new() } else { format!(" and {map} hold the map") },
                g.blocks_per_unit
            ));
        }
        let idle_free_blocks = match gc.idle_free_blocks {
            Some(given) => GcConfig::blocks("idle_free_blocks", given, g.blocks_per_unit)?,
            None => 0,
        };
        // A unit may run ahead of the others by half of the spare pages.
        let even = pages.div_ceil(pools.units_each());
        let most = room(g, gc_free_blocks + above.classes, &pools) as u32;
        let physical = g.blocks_per_unit * g.pages_per_block;
        let limits = Limits {
            gc_free_blocks,
            idle_free_blocks,
            grain: gc.grain,
            gc_step_pages: if gc.grain == Grain::Steps { gc.step_pages } else { u32::MAX }
                .min(g.pages_per_block),
            regions,
            region_pages,
            classes: regions + above.classes,
            spread: gc.copies == Copies::Spread,
            data_pages: g.pages_per_block,
            one_open: false,
            pools_as_one: false,
            share: (even + (physical - even) / 2).min(most).max(even),
        };
        let wear = shape.parts.wear.clone().unwrap_or_default();
        let leveller = wear.build(wear::Shape { geometry: g, pools: &pools })?;
        let parts = Parts { alloc, pools, victim, leveller, discipline: None };
        Ok(Self::new(limits, g.clone(), parts))
    }
}
