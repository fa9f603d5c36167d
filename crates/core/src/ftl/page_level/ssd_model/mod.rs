//! The page map of the Microsoft SSD model, the add-on for `DiskSim` that many papers simulate
//! with.
//!
//! **What it does.** An *element* is a chip of the geometry; consecutive stripes of `stride` pages
//! lie on consecutive elements, and a page never leaves its element. The last page of a block is
//! its *summary*: when its last data page is written, the summary is programmed as well, with 512
//! bytes to transfer, and the block is *sealed*. Blocks are taken in rotation: the next erased one
//! after the one taken last.
//!
//! With `active = "plane"`, which the model calls copy-back, every plane has an active block.
//! `pool` says to which plane of its element a page goes: to the one with most free pages among
//! those whose active block is newer than the old copy, beginning after the plane written last; or
//! to the old copy's own. When a page has been written to an element and no more than `min_free` of
//! a plane's blocks are erased, one block of that plane is *cleaned*: the sealed one with the
//! fewest valid pages, with the highest number among equals, is copied to the plane's active block
//! and erased. On each die that is one plane at a time; they take turns, and dies are cleaned in
//! the order in which they came to be short.
//!
//! With `active = "element"` an element has one active block. When no more than `min_free` of its
//! blocks are erased, its sealed blocks are put in order, fewest valid pages and then lowest number
//! first, and cleaned one after the other in this order until there are two erased blocks more than
//! that.
//!
//! What a request writes of one logical block is written first, and cleaned for afterwards, as far
//! as there is room. Where planes have active blocks, one that holds so many valid pages that
//! cleaning would run dry takes none that lie on other planes. Trims that no page on flash tells of
//! yet are written as a page of the element before anything there is erased.
//!
//! Wear-aware cleaning looks at the erases that each block has left of `lifetime`. A block that has
//! less than `migrate_below` of the plane's average is cleaned and gets the valid pages, but no
//! summary, of the block that was erased longest ago among those that hold any. That one is erased
//! instead, and what it held stays as old as it was where pages ask for a newer active block. A
//! block that has less than `ration_below` of the average is passed over the more often, the less
//! it has left. After the block with the fewest valid pages those have their turns, by number
//! downwards, that hold no more than any below them; the last of them is cleaned as it is. An
//! element with one active block takes its blocks in the order above, passes over by the average of
//! the element as it was when they were put in order, and moves no cold data.
//!
//! **When it wins**: every element works on its own, so that many elements answer many requests at
//! once. **When it loses**: a request waits while its element is cleaned, and pages that often
//! change on one element wear that one alone.
//!
//! Agrawal, Prabhakaran, Wobber, Davis, Manasse, Panigrahy: "Design Tradeoffs for SSD Performance",
//! USENIX ATC 2008; built after the public sources of the add-on. Defaults are those of its example
//! of a configuration.
//!
//! **Where the paper is silent.** The sources decide. Their parameters elsewhere in the
//! configuration: *parallel units* of an element are `nand.dies_per_chip`, its planes
//! `nand.planes_per_die`; `nand.copy_back` says whether copies inside a plane stay off the bus. Not
//! as there:
//! - Gangs of elements that are cleaned together are refused. Elements that share a bus are
//!   `nand.chips_per_channel`. Where a gang is one element, the pools `"gang"` and `"element"` are
//!   the same.
//! - A die takes its next operation when it has ended the one before. There, the next round of an
//!   element's parallel units begins when all have ended.
//! - There, an element is cleaned before the next of its requests begins; here, the cleaning is
//!   queued before whatever the element is given afterwards, and what is queued by then goes first;
//!   but a part of it that waits for a page that is being programmed is queued when it has been,
//!   behind what came meanwhile, and so is a program that waits for its copies.
//!   Once it has begun, the die is busy for the whole cost, as there: copies, summaries and erases
//!   of all blocks that are cleaned come one right after the other. In an element of several dies
//!   requests may come in between on those that wait for another one; and so do host reads
//!   everywhere under `nand.scheduling = "read-first"`.
//! - There, an element that is short of erased blocks is cleaned before any request that finds it
//!   idle, also a read; here, after pages written to it alone. What one cleaning leaves short waits
//!   for the next page that is written.
//! - The model cleans at a watermark of 0 when nothing is left. Here one erased block is kept at
//!   least: without it a power cut during cleaning could leave no room to go on.
//! - Blocks are not retired at the end of `lifetime`, which only steers; `nand.endurance` retires
//!   them. The example's lifetime of 50 erases makes little sense beside it, but is what the
//!   released file says.
//! - There, a block may be cleaned all of whose pages are valid, if those before it are passed
//!   over. Here, it is the one with the fewest that is cleaned then.
//! - There, an element with one active block may pass over all of its blocks and clean none. Here,
//!   the last in order is cleaned.
//! - There, cold data may be found in the open block or in the worn one itself. Here, they come
//!   from another sealed one.
//! - Cold data do not move where only one erased block is left, and not between planes that share
//!   an active block.
//!
//! Cost of a page write: O(planes of an element), and O(log blocks of a plane) to keep the blocks
//! in order; of a block that is opened O(erased blocks), of one that is cleaned with a shared
//! active block or aware of wear O(n log n) in an element's blocks.

mod cleaning;
mod elements;
mod sealed;
mod whole;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PageLevel;
use super::page::Plain;
use crate::ftl::alloc::{Chooser, Pools};
use crate::ftl::{Mapping, Shape};
use crate::nand::Geometry;
use crate::support::registry::{About, Choice, Cost, Needs};
use crate::support::whole_share;
use elements::Numbering;

/// What `list` says.
pub const ABOUT: About = About {
    title: "Microsoft SSD model",
    summary: "Pages striped over elements, a summary page in each block, every plane cleaned on \
        its own.",
    paper: "Agrawal et al., Design tradeoffs for SSD performance, USENIX ATC",
    year: Some(2008),
    described_in: "the sources of the SSD extension for DiskSim",
    also: &["DiskSim SSD extension", "Microsoft Research SSD add-on"],
    cost: Cost::Logarithmic,
    choices: &[
        Choice {
            option: "active",
            others: &[r#""element""#],
            open: "whether planes or elements have active blocks; the paper has both, the example \
                planes",
        },
        Choice {
            option: "pool",
            others: &[r#""plane""#],
            open: "which planes a page may be written to; the paper names the pools, the sources \
                call them allocation pool logic",
        },
        Choice {
            option: "cleaning",
            others: &[r#""wear-aware""#],
            open: "whether cleaning looks at wear; the paper has both, the example is greedy",
        },
    ],
    needs: &[
        Needs { option: "pool", beside: "active", values: &[r#""plane""#] },
        Needs { option: "block_mapping", beside: "active", values: &[r#""element""#] },
        Needs { option: "lifetime", beside: "cleaning", values: &[r#""wear-aware""#] },
        Needs { option: "migrate_below", beside: "cleaning", values: &[r#""wear-aware""#] },
        Needs { option: "ration_below", beside: "cleaning", values: &[r#""wear-aware""#] },
        Needs { option: "seed", beside: "cleaning", values: &[r#""wear-aware""#] },
    ],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Consecutive logical pages that lie on one element (1 and more).
    pub stride: u32,
    /// Share of each plane's blocks that is hidden from the host (above `min_free`, to 0.5, rounded
    /// down to whole blocks), and so are the summaries: without `ftl.exported` a drive exports the
    /// rest, or what `ftl.over_provisioning` leaves if that is less.
    pub reserve: f64,
    /// The low watermark: what has this share of its blocks erased, or less, is cleaned (0 to 0.5,
    /// rounded down to whole blocks, at least 1).
    pub min_free: f64,
    /// What has an active block, and is cleaned by itself.
    pub active: Active,
    /// To which plane of its element a page goes, where planes have active blocks.
    pub pool: Pool,
    /// In which order the blocks of an element's planes are numbered, where an element has one
    /// active block.
    pub block_mapping: BlockMapping,
    /// Elements that are cleaned together; more than 1 is refused.
    pub elements_per_gang: u32,
    /// Which block is cleaned.
    pub cleaning: Cleaning,
    /// Erases that wear-aware cleaning takes as a block's life (1 and more).
    pub lifetime: u32,
    /// A block with a smaller share of the average of erases left gets cold data (0 to 1).
    pub migrate_below: f64,
    /// A block with a smaller share of the average of erases left is passed over now and then (0 to
    /// 1).
    pub ration_below: f64,
    /// Seed of the draws of wear-aware cleaning.
    pub seed: u64,
}

/// What has an active block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Active {
    /// Every plane.
    #[default]
    Plane,
    /// Every element.
    Element,
}

/// To which plane of its element a page goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// As `"element"`: a gang is one element.
    Gang,
    /// The one with most free pages whose active block is newer than the old copy.
    #[default]
    Element,
    /// The old copy's.
    Plane,
}

/// In which order the blocks of an element's planes are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockMapping {
    /// All blocks of a plane, then those of the next.
    Concatenated,
    /// The blocks of two planes in turn, then those of the next two.
    PairStripe,
    /// The blocks of all planes in turn.
    #[default]
    FullStripe,
}

/// Which block is cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cleaning {
    /// The one with the fewest valid pages.
    #[default]
    Greedy,
    /// The same, with an eye on erases.
    WearAware,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            stride: 1,
            reserve: 0.15,
            min_free: 0.05,
            active: Active::Plane,
            pool: Pool::Element,
            block_mapping: BlockMapping::FullStripe,
            elements_per_gang: 1,
            cleaning: Cleaning::Greedy,
            lifetime: 50,
            migrate_below: 0.85,
            ration_below: 0.80,
            seed: 1,
        }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        self.check()?;
        let g = shape.geometry;
        let pools = Pools::new(g.units, (0..g.chips()).collect(), self.stride);
        let (alloc, shared) = match self.active {
            Active::Plane => (Chooser::planes(pools.clone(), self.pool == Pool::Plane), None),
            Active::Element => {
                (Chooser::other(whole::Whole::new(pools.clone())), Some(self.numbering()))
            }
        };
        let options = sealed::Options {
            title: ABOUT.title,
            alloc,
            pools,
            victim: cleaning::build(self),
            turns: cleaning::turns(self),
            shared,
            min_free: self.min_free,
        };
        Ok(PageLevel::boxed(sealed::store(&shape, options)?, shape.logical_pages, Plain))
    }

    fn numbering(&self) -> Numbering {
        match self.block_mapping {
            BlockMapping::Concatenated => Numbering::Concatenated,
            BlockMapping::PairStripe => Numbering::PairStripe,
            BlockMapping::FullStripe => Numbering::FullStripe,
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.stride == 0 {
            return Err("ftl.mapping.stride: found 0, expected at least 1 page".into());
        }
        if self.elements_per_gang != 1 {
            return Err(format!(
                "ftl.mapping.elements_per_gang: found {}, but gangs that are cleaned together are \
                 not modelled; use 1 (elements that share a bus are nand.chips_per_channel)",
                self.elements_per_gang
            ));
        }
        if self.lifetime == 0 {
            return Err("ftl.mapping.lifetime: found 0, expected at least 1 erase".into());
        }
        let shares = [
            ("reserve", self.reserve, 0.5, "of the blocks"),
            ("min_free", self.min_free, 0.5, "of the blocks"),
            ("migrate_below", self.migrate_below, 1.0, "of the average"),
            ("ration_below", self.ration_below, 1.0, "of the average"),
        ];
        for (option, found, most, of) in shares {
            if !(0.0..=most).contains(&found) {
                return Err(format!(
                    "ftl.mapping.{option}: found {found}, expected a share {of} from 0 to {most}"
                ));
            }
        }
        if self.min_free >= self.reserve {
            return Err(format!(
                "ftl.mapping.min_free: found {}, expected less than ftl.mapping.reserve ({})",
                self.min_free, self.reserve
            ));
        }
        Ok(())
    }

    /// Pages that the array exports: those of the blocks that are not hidden, less their summaries.
    pub fn exported_pages(&self, g: &Geometry) -> u64 {
        let hidden = whole_share(self.reserve, g.blocks_per_unit);
        let blocks = u64::from(g.units) * u64::from(g.blocks_per_unit.saturating_sub(hidden));
        blocks * u64::from(g.pages_per_block - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceConfig;
    use crate::ftl::Reclaim;
    use crate::ftl::context::{Cx, PageOut};
    use crate::metrics::Counters;
    use crate::nand::JoinId;
    use crate::nand::config::ProgramOrder;
    use crate::nand::{Chip, Engine, Flash, Oob, Plan, Stored};
    use crate::support::ids::{BlockId, Lpn, PlaneId, Ppn};

    /// Does something with a drive of one die, without time, that exports so many pages; planes of
    /// 6 blocks with 4 pages.
    fn with(
        config: &Config,
        planes: u32,
        pages: u32,
        f: impl FnOnce(&mut dyn Mapping, &mut Cx<'_>),
    ) {
        let drive: DeviceConfig = serde_json::from_value(serde_json::json!({
            "nand": {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": planes,
                     "blocks_per_plane": 6, "pages_per_block": 4, "page_size": "4 KiB",
                     "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "100 us"}},
            "ftl": {"mapping": "ssd-model"},
            "buffer": {"size": "0 B", "scheme": "none"},
        }))
        .unwrap();
        let geometry = Geometry::new(&drive.nand).unwrap();
        let order = ProgramOrder::Sequential;
        let shape = Shape { geometry: &geometry, logical_pages: pages, order, parts: &drive.ftl };
        let mut mapping = config.build(shape).unwrap();
        let mut engine = Engine::new(Chip::new(&drive.nand, &geometry).unwrap(), &geometry);
        engine.keep(Stored::new(&geometry));
        let mut flash = Flash::new(geometry, order);
        let (mut plan, mut counters) = (Plan::default(), Counters::default());
        let mut cx = Cx::alone(&mut flash, &mut engine, &mut plan, &mut counters);
        f(&mut *mapping, &mut cx);
    }

    fn clean(mapping: &mut dyn Mapping, cx: &mut Cx<'_>, unit: PlaneId) {
        while matches!(mapping.reclaim(cx, unit), Reclaim::More | Reclaim::Together) {}
    }

    /// Pages are written until no plane of two has room for one, and nothing has been cleaned: both
    /// are short then.
    #[test]
    fn a_page_without_room_has_one_plane_of_its_die_cleaned() {
        with(&Config::default(), 2, 8, |mapping, cx| {
            let mut pages = (0..8).cycle();
            let mut cleaned = [0, 0];
            for _ in 0..20 {
                while let Some(page) = pages.next()
                    && mapping.write(cx, &[PageOut::host(Lpn(page))], JoinId::NONE) == 1
                {
                }
                let asked: Vec<PlaneId> = std::iter::from_fn(|| mapping.needs_reclaim()).collect();
                assert_eq!(asked.len(), 1, "{asked:?}");
                cleaned[asked[0].index()] += 1;
                clean(mapping, cx, asked[0]);
            }
            assert!(cleaned[0] > 5 && cleaned[1] > 5, "{cleaned:?}");
        });
    }

    /// Both planes are short of erased blocks, and stay so, as one is cleaned only when no page
    /// finds room.
    #[test]
    fn planes_of_a_die_take_turns() {
        let config = Config { min_free: 0.34, reserve: 0.5, ..Config::default() };
        with(&config, 2, 8, |mapping, cx| {
            let (mut pages, mut last) = ((0..8).cycle(), None);
            for turn in 0..20 {
                while let Some(page) = pages.next()
                    && mapping.write(cx, &[PageOut::host(Lpn(page))], JoinId::NONE) == 1
                {
                }
                let asked = mapping.needs_reclaim().unwrap();
                assert_ne!(last.replace(asked), Some(asked), "turn {turn}");
                clean(mapping, cx, asked);
                assert!(
                    (0..2).all(|plane| mapping.free_blocks(PlaneId(plane)) <= 2),
                    "turn {turn}"
                );
            }
        });
    }

    /// Both planes come back with two erased blocks, which is too few, and with blocks that have
    /// one page of three left.
    #[test]
    fn planes_take_turns_after_a_power_cut() {
        let config = Config { min_free: 0.34, reserve: 0.5, ..Config::default() };
        with(&config, 2, 16, |mapping, cx| {
            let media = cx.engine.media_mut().unwrap();
            let pages = (0..16).chain([0, 1, 3, 4, 6, 7, 9, 10]);
            for (n, lpn) in (0..24).zip(pages) {
                let (block, page) = (n / 3 % 2 * 6 + n / 6, n % 3);
                let oob = Oob {
                    lpn: Lpn(lpn),
                    version: 1 + n / 16,
                    seq: u64::from(n),
                    opened: u64::from(n / 3),
                    ..Oob::default()
                };
                media.program(Ppn(block * 4 + page), oob).unwrap();
            }
            let found = media.clone();
            for block in (0..4).chain(6..10) {
                cx.flash.restore(BlockId(block), 0..3);
            }
            mapping.recover(cx, found);
            assert_eq!([0, 1].map(|plane| mapping.free_blocks(PlaneId(plane))), [2, 2]);
            let asked: Vec<PlaneId> = std::iter::from_fn(|| mapping.needs_reclaim()).collect();
            assert_eq!(asked.len(), 1, "{asked:?}");
        });
    }

    /// Power fails when one of two pages of block 1 has been copied into the last block. Block 0
    /// endures three erases, or four.
    #[test]
    fn copies_are_undone_beside_a_block_that_is_worn_out() {
        for (endurance, place) in [(3, 4 + 1), (4, 5 * 4)] {
            with(&Config::default(), 1, 9, |mapping, cx| {
                let media = cx.engine.media_mut().unwrap();
                let mut seq = 0;
                for (block, pages) in (1..).zip([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6]]) {
                    for (page, lpn) in (0..).zip(pages) {
                        seq += 1;
                        let oob = Oob {
                            lpn: Lpn(lpn),
                            version: 1,
                            seq,
                            opened: u64::from(block),
                            ..Oob::default()
                        };
                        media.program(Ppn(block * 4 + page), oob).unwrap();
                    }
                }
                let copy = Oob { opened: 5, ..*media.oob(Ppn(4 + 1)).unwrap() };
                media.program(Ppn(5 * 4), copy).unwrap();
                let found = media.clone();
                cx.flash.reset_erases(endurance);
                cx.flash.restore_erases(&[3, 0, 0, 0, 0, 0]);
                for block in 1..6 {
                    cx.flash.restore(BlockId(block), 0..if block == 5 { 1 } else { 3 });
                }
                mapping.recover(cx, found);
                assert_eq!(
                    (mapping.lookup(Lpn(1)), mapping.free_blocks(PlaneId(0))),
                    (Some(Ppn(place)), 1)
                );
            });
        }
    }

    #[test]
    fn an_element_of_the_example_exports_877464_pages() {
        let nand = serde_json::from_value(serde_json::json!({
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 8, "blocks_per_plane": 2048,
            "pages_per_block": 64, "page_size": "4 KiB",
            "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "105600 ns"},
        }));
        let geometry = Geometry::new(&nand.unwrap()).unwrap();
        assert_eq!(Config::default().exported_pages(&geometry), 877_464);
    }
}
