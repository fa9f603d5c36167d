//! Static striping: a page's logical number says on which channel, chip, die and plane it lies.
//!
//! **What it does.** Stripe number s = logical page / striping unit goes to unit s mod units, in an
//! order of the four levels: C channel, W chip (way), D die, P plane. The leftmost letter varies
//! fastest, named as in `MQSim`: under `CWDP` consecutive stripes lie on different channels, under
//! `PDWC` on the planes of one die. A page never changes its unit; each unit collects its own
//! pages.
//!
//! **When it wins**: long sequential requests spread over all units, and reads find them spread;
//! nothing has to be kept in mind. **When it loses**: pages that happen to lie on one unit queue
//! there while others are idle, and units that the host overwrites more often wear faster.
//!
//! Shin et al.: "FTL design exploration in reconfigurable high-performance SSD for server
//! applications", ICS 2009. Multi-bank thesis (Li 2009), section 3.1: bank = address mod banks.
//!
//! **Where the paper is silent.** Planes that are driven together are one unit, and P then counts
//! one.
//!
//! Cost of a page write: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Allocator, Built, Chooser, Fresh, Pools, Shape, Units, stripe_pages};
use crate::nand::Geometry;
use crate::support::ids::PlaneId;
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "static striping",
    summary: "A page's number says where it lies: stripes over channels, chips, dies and planes \
        in any of 24 orders.",
    paper: "Shin et al., FTL design exploration in reconfigurable high-performance SSD for server \
        applications, ICS",
    year: Some(2009),
    source: include_str!("static_order.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The letters C (channel), W (chip), D (die) and P (plane), the one that varies fastest first:
    /// `CWDP`, `PDWC`, any of 24.
    pub order: String,
    /// Consecutive logical pages that lie on one unit. Default: what one program writes.
    pub striping_unit: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self { order: "CWDP".into(), striping_unit: None }
    }
}

impl Config {
    /// Builds the allocator.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, shape: Shape<'_>) -> Result<Built, String> {
        let stripe = stripe_pages(self.striping_unit, shape.geometry)?;
        let turns = turns(&self.order, shape.geometry)?;
        Ok((Chooser::Home(Static), Pools::new(shape.geometry.units, turns, stripe)))
    }
}

/// The unit of each stripe in turn.
fn turns(order: &str, g: &Geometry) -> Result<Vec<u32>, String> {
    // Units are numbered CWDP: how many there are of each level, and how far apart in that
    // numbering.
    let (ways, dies) = (g.chips_per_channel, g.dies_per_chip);
    let planes = g.units / g.dies;
    let levels = [
        ('C', g.channels, 1),
        ('W', ways, g.channels),
        ('D', dies, g.channels * ways),
        ('P', planes, g.dies),
    ];
    let mut left = levels.to_vec();
    let mut ordered = Vec::new();
    for letter in order.chars() {
        let at = left.iter().position(|(name, ..)| name.eq_ignore_ascii_case(&letter)).ok_or_else(
            || {
                format!(
                    "ftl.allocator.order: found `{order}`, expected each of the letters C, W, D \
                and P once, such as `CWDP`"
                )
            },
        )?;
        ordered.push(left.remove(at));
    }
    if !left.is_empty() {
        return Err(format!(
            "ftl.allocator.order: found `{order}`, which lacks {}; expected each of the letters \
             C, W, D and P once, such as `CWDP`",
            left.iter().map(|(name, ..)| name.to_string()).collect::<Vec<_>>().join(" and ")
        ));
    }
    let unit = |turn: u32| {
        let mut rest = turn;
        ordered.iter().fold(0, |unit, &(_, count, apart)| {
            let digit = rest % count;
            rest /= count;
            unit + digit * apart
        })
    };
    Ok((0..g.units).map(unit).collect())
}

/// Each pool is one unit: there is nothing to choose.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Static;

impl Static {
    /// [`Allocator::pick`] among any units.
    #[inline]
    pub(super) fn pick_of(page: Fresh, units: &mut (impl Units + ?Sized)) -> Option<PlaneId> {
        let unit = PlaneId(page.pool);
        units.takes(unit).then_some(unit)
    }
}

impl Allocator for Static {
    fn pick(&mut self, page: Fresh, units: &mut dyn Units) -> Option<PlaneId> {
        Self::pick_of(page, units)
    }

    #[inline]
    fn placed(&mut self, _unit: PlaneId, _units: &mut dyn Units) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::config::NandConfig;
    use crate::support::ids::Lpn;

    /// 8 channels, 4 chips each, 2 dies, 2 planes.
    fn geometry() -> Geometry {
        let config: NandConfig = serde_json::from_value(serde_json::json!({
            "channels": 8, "chips_per_channel": 4, "dies_per_chip": 2, "planes_per_die": 2, "blocks_per_plane": 4,
            "pages_per_block": 4, "page_size": "4 KiB",
            "timing": {"read": "1 us", "program": "1 us", "erase": "1 us", "transfer": "1 us"},
        }))
        .unwrap();
        Geometry::new(&config).unwrap()
    }

    /// Channel, chip, die and plane of a unit.
    fn place(unit: u32) -> [u32; 4] {
        [unit % 8, unit / 8 % 4, unit / 32 % 2, unit / 64]
    }

    #[test]
    fn orders_are_mqsims() {
        let g = geometry();
        let at = |order: &str, page: u32| {
            place(Pools::new(g.units, turns(order, &g).unwrap(), 1).of_page(Lpn(page)))
        };
        for (page, expected) in [
            (8, [0, 1, 0, 0]),
            (9, [1, 1, 0, 0]),
            (32, [0, 0, 1, 0]),
            (64, [0, 0, 0, 1]),
            (127, [7, 3, 1, 1]),
            (128, [0, 0, 0, 0]),
        ] {
            assert_eq!(at("CWDP", page), expected, "page {page}");
        }
        assert_eq!(at("PDWC", 9), [0, 2, 0, 1]);
        assert_eq!(at("WCDP", 9), [2, 1, 0, 0]);
        assert_eq!(at("DPWC", 9), [0, 2, 1, 0]);
    }

    #[test]
    fn every_order_of_the_letters_reaches_every_unit_once() {
        let g = geometry();
        let mut orders = Vec::new();
        for a in "CWDP".chars() {
            for b in "CWDP".chars() {
                for c in "CWDP".chars() {
                    for d in "CWDP".chars() {
                        orders.push([a, b, c, d].iter().collect::<String>());
                    }
                }
            }
        }
        let legal: Vec<_> = orders.iter().filter_map(|order| turns(order, &g).ok()).collect();
        assert_eq!(legal.len(), 24);
        for mut units in legal.iter().cloned() {
            units.sort_unstable();
            assert_eq!(units, (0..g.units).collect::<Vec<_>>());
        }
        assert_eq!(legal.iter().collect::<std::collections::BTreeSet<_>>().len(), 24);
        for (wrong, says) in
            [("CWD", "lacks P"), ("CWDX", "each of the letters"), ("CCWP", "each of the letters")]
        {
            assert!(turns(wrong, &g).unwrap_err().contains(says), "{wrong}");
        }
    }
}
