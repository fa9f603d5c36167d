//! Dynamic striping: each stripe goes to the unit that will be free first.
//!
//! **What it does.** A stripe, `striping_unit` pages of one request, is bound to a unit as late as
//! possible: it goes to the unit of its pool whose die has least work left, counting all that is
//! planned so far, this request's own pages among it; equals take turns. A pool is the whole drive,
//! or the channel, chip or plane on which static striping would put the stripe.
//!
//! **When it wins**: under load no unit is idle while pages wait for another. **When it loses**:
//! pages of one request end up scattered over blocks, and become invalid at different times: with
//! small stripes collection copies more.
//!
//! Multi-bank thesis (Li 2009), sections 3.1 and 3.4. Pools: Shin et al., ICS 2009.
//!
//! **Where the paper is silent.** Pages that wait in a queue for the first bank that becomes free,
//! and pages that are dealt out when they come, each to the bank that will be free first, end up on
//! the same banks, as long as what the banks have to do is known: so it is here, where the state of
//! the drive runs ahead of time. Only work that comes later and overtakes, such as reads that go
//! first, can make the two differ. The work of a die is the sum of its operations' times; waiting
//! for the bus is not foreseen. Without time (`host.replay = "untimed"`) no die has anything to do,
//! and `tie` alone decides. The papers name no order among free units: here the one whose turn it
//! is (`tie`). Most pages that can still be written is no sign of room: a unit that has just been
//! collected has most, and is given all that comes until it is full of valid pages, while the
//! others' become invalid.
//!
//! Cost of a page write: O(units of the pool) for each stripe.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Allocator, Built, Chooser, Fresh, Pools, Shape, Units, stripe_pages};
use crate::support::ids::PlaneId;
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "dynamic striping",
    summary: "Each stripe of a request goes to the unit of its pool that will be free first.",
    paper: "Li, Analysis of data allocation on multi-bank flash storage system, thesis, section \
        3.1",
    year: Some(2009),
    choices: &[
        Choice {
            option: "pool",
            others: &[r#""channel""#, r#""chip""#, r#""plane""#],
            open: "which units a page may go to; the thesis says any, Shin et al. compare pools",
        },
        TIE,
    ],
    source: include_str!("dynamic.rs"),
    ..About::PLAIN
};

/// Units among which a stripe may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// All.
    #[default]
    Ssd,
    /// Those of one channel.
    Channel,
    /// Those of one chip.
    Chip,
    /// Just one: static striping.
    Plane,
}

/// Which of the units goes that will be free first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// The next one after that of the stripe before.
    #[default]
    Turn,
    /// The one with most pages that can be written before anything is erased.
    FreePages,
    /// The one with the lowest number.
    Lowest,
}

/// The order among free units, which the papers leave open.
pub(super) const TIE: Choice = Choice {
    option: "tie",
    others: &[r#""free-pages""#, r#""lowest""#],
    open: "which of several free units a stripe goes to",
};

/// Options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Units among which a stripe may choose.
    pub pool: Pool,
    /// Consecutive pages of a request that go to one unit. Default: what one program writes.
    pub striping_unit: Option<u32>,
    /// Which of the units goes that will be free first.
    pub tie: Tie,
}

impl Config {
    /// Builds the allocator.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, shape: Shape<'_>) -> Result<Built, String> {
        let g = shape.geometry;
        let stripe = stripe_pages(self.striping_unit, g)?;
        let pools = match self.pool {
            Pool::Ssd => 1,
            Pool::Channel => g.channels,
            Pool::Chip => g.channels * g.chips_per_channel,
            Pool::Plane => g.units,
        };
        // Units are numbered CWDP, so that those of one channel or chip have one remainder.
        let pools = Pools::new(g.units, (0..pools).collect(), stripe);
        let dynamic = Dynamic::new(pools.clone(), g.program_pages, stripe, self.tie);
        Ok((Chooser::other(dynamic), pools))
    }
}

/// Pages of one request that go to one unit together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Stripe {
    /// Where they go, or [`PlaneId::NONE`].
    unit: PlaneId,
    group: u64,
    /// Pages that it still takes.
    left: u32,
    /// Number inside the pool of the unit whose turn it is.
    turn: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Dynamic {
    pools: Pools,
    /// Pages of a program, and of a stripe.
    program: u32,
    length: u32,
    tie: Tie,
    /// The present stripe of each pool.
    stripes: Vec<Stripe>,
}

impl Dynamic {
    pub(super) fn new(pools: Pools, program: u32, length: u32, tie: Tie) -> Self {
        let stripes = vec![
            Stripe { unit: PlaneId::NONE, group: 0, left: 0, turn: 0 };
            pools.count() as usize
        ];
        Self { pools, program, length, tie, stripes }
    }
}

impl Allocator for Dynamic {
    fn pick(&mut self, page: Fresh, units: &mut dyn Units) -> Option<PlaneId> {
        let stripe = &mut self.stripes[page.pool as usize];
        if stripe.unit != PlaneId::NONE {
            // What has been begun is completed.
            let goes_on = stripe.group == page.group && units.takes(stripe.unit);
            if units.has_pending(stripe.unit) || goes_on {
                return Some(stripe.unit);
            }
        }
        let (each, mut best) = (self.pools.units_each(), None);
        for (number, unit) in (0..).zip(self.pools.units(page.pool)) {
            if units.takes(unit) {
                let last_of_equals = match self.tie {
                    Tie::Turn => (number + each - stripe.turn) % each,
                    Tie::FreePages => u32::MAX - units.free_pages(unit),
                    Tie::Lowest => 0,
                };
                let key = (units.busy_ns(unit), last_of_equals, number, unit);
                best = Some(best.map_or(key, |least| key.min(least)));
            }
        }
        let (_, _, number, unit) = best?;
        *stripe = Stripe { unit, group: page.group, left: self.length, turn: (number + 1) % each };
        Some(unit)
    }

    #[inline]
    fn placed(&mut self, unit: PlaneId, units: &mut dyn Units) {
        let stripe = &mut self.stripes[self.pools.of_unit(unit) as usize];
        stripe.left = stripe.left.saturating_sub(1);
        // No stripe ends inside a program.
        if stripe.left < self.program && !units.has_pending(unit) {
            stripe.unit = PlaneId::NONE;
        }
    }

    fn needs_work_estimates(&self) -> bool {
        true
    }
}
