//! Locality gathering: pages that change equally often lie together, and blocks of those that
//! change often hold fewer of them.
//!
//! **What it does.** Pages are kept apart by how often they are written, in the regions of
//! `ftl.gc.regions`: one that is written again soon moves up, one that is collected after long
//! moves down. Inside a region blocks are collected in the order in which they were filled. The
//! region is the one with the least frequency x cost: the erases of late for each of its blocks,
//! times u / (1 - u) of its next block, `u` being that block's valid share. So these products
//! become equal: a region that is collected often ends up with fewer valid pages in a block.
//!
//! **When it wins**: some pages are written much more often than others. **When it loses**: all are
//! written equally often; it then is FIFO at best, and copies more than greedy.
//!
//! Wu and Zwaenepoel: "eNVy: a non-volatile, main memory storage system", ASPLOS 1994; the
//! multi-bank thesis (Li 2009), section 5.1.
//!
//! **Where the paper is silent.** This is a reconstruction from descriptions of the scheme. There
//! each segment has its place in an order from hot to cold, and cleaning moves pages to its
//! neighbours; blocks have no such place here, so that regions of blocks stand for it, as in the
//! hybrid of that paper, which gathers locality between partitions of segments and cleans each in
//! the order of writing. Without regions (`ftl.gc.regions = 1`) one partition is left, which is
//! FIFO. "Of late": each erase in a unit takes from all earlier ones their share of one block among
//! the unit's; each region counts one more, so that one that was never collected has a product,
//! too. Its blocks are the closed ones.
//!
//! Cost of a page write: O(1); of a victim O(blocks of the unit), once for each erase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, Looks, VictimPolicy};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "locality gathering",
    summary: "The oldest block of the region whose erases x cost of copying are least.",
    paper: "Wu and Zwaenepoel, eNVy: a non-volatile, main memory storage system, ASPLOS",
    year: Some(1994),
    reconstruction: true,
    source: include_str!("locality_gathering.rs"),
    ..About::PLAIN
};

/// It has no options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        Ok(Box::new(LocalityGathering::default()))
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct LocalityGathering {
    /// Erases of late, for each unit by region.
    erases: Vec<Vec<f64>>,
}

/// The next block of a region, and how many closed ones it has.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Region {
    next: Option<u32>,
    closed: u32,
}

/// How often blocks of a region were erased of late x what collecting its next block costs.
fn product(erases: f64, closed: u32, valid: u32, pages: u32) -> f64 {
    // A region that has not been collected yet counts as collected once.
    (erases + 1.0) / f64::from(closed) * f64::from(valid) / f64::from(pages - valid)
}

impl VictimPolicy for LocalityGathering {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        let mut regions: Vec<Region> = Vec::new();
        for block in 0..blocks.count() {
            let Some(valid) = blocks.closed(block) else { continue };
            let number = blocks.region(block) as usize;
            if regions.len() <= number {
                regions.resize(number + 1, Region::default());
            }
            let region = &mut regions[number];
            region.closed += 1;
            let is_older =
                region.next.is_none_or(|next| blocks.closed_at(block) < blocks.closed_at(next));
            if blocks.gains(valid) && is_older {
                region.next = Some(block);
            }
        }
        let unit = blocks.unit().index();
        if self.erases.len() <= unit {
            self.erases.resize(unit + 1, Vec::new());
        }
        let erases = &mut self.erases[unit];
        if erases.len() < regions.len() {
            erases.resize(regions.len(), 0.0);
        }
        let pages = blocks.pages_per_block();
        let mut best: Option<(f64, usize, u32)> = None;
        for (number, region) in regions.iter().enumerate() {
            let Some(next) = region.next else { continue };
            let key = product(erases[number], region.closed, blocks.valid(next), pages);
            if best.is_none_or(|(least, ..)| key < least) {
                best = Some((key, number, next));
            }
        }
        let (_, number, chosen) = best?;
        let keeps = 1.0 - 1.0 / f64::from(blocks.count());
        for count in erases.iter_mut() {
            *count *= keeps;
        }
        erases[number] += 1.0;
        Some(chosen)
    }

    fn looks_at(&self) -> Looks {
        Looks { order: true, ..Looks::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{LocalityGathering, product};
    use crate::ftl::victim::{Candidates, VictimPolicy};

    /// Two blocks of each region, half and three quarters valid: costs 1 and 3. Each erase leaves
    /// three quarters of what was counted before, in a unit of four blocks. The counts of the first
    /// region are 0, 1, 1.75, 2.31, 1.73, 2.30, 2.73, 3.04 and 3.28: after the third the second
    /// one's (0 + 1) x 3 is less than its 3.31, after the eighth (0.32 + 1) x 3 less than its 4.28.
    /// Were nothing forgotten, that would be after the seventh: (1 + 1) x 3 against 7, and equal at
    /// 6.
    #[test]
    fn erases_of_late_count_more() {
        let mut policy = LocalityGathering::default();
        let blocks = [(4, 0), (4, 0), (6, 1), (6, 1)];
        let chosen = Candidates::alone(&blocks, 8, |blocks| {
            std::array::from_fn(|_| policy.choose(blocks).unwrap())
        });
        assert_eq!(chosen, [0, 0, 0, 2, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn a_region_collected_twice_as_often_is_taken_at_half_the_cost() {
        // Of 60 pages 20 are valid: cost 1/2; 30 are: cost 1.
        let (often, seldom) = (product(39.0, 10, 20, 60), product(19.0, 10, 30, 60));
        assert!((often - 2.0).abs() < 1e-12 && (seldom - 2.0).abs() < 1e-12);
        // A larger region is collected more often in all, but not each of its blocks.
        assert!((product(39.0, 20, 30, 60) - seldom).abs() < 1e-12);
        assert_eq!(product(5.0, 10, 0, 60).to_bits(), 0.0_f64.to_bits());
    }
}
