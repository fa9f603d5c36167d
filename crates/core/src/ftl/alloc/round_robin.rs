//! Round robin: the units take turns, a stripe each.
//!
//! **What it does.** The next stripe goes to the next unit that takes pages, whatever the units
//! have to do. A unit whose share of valid pages has run ahead, or which has only its reserve of
//! erased blocks left, is passed over, so that no unit fills up while others have room. A page may
//! lie on any unit. Ahead is a unit with more valid pages than its even share and half of its spare
//! pages. Where all are passed over, the one whose turn it was begins a stripe when there is room.
//!
//! **When it wins**: all units are written equally much, at no cost. **When it loses**: it queues
//! pages behind a unit that is busy with reads or with collection while others are idle.
//!
//! **Where the paper is silent.** The papers name static and dynamic striping; in between lies
//! this, the usual order of a log over all units.
//!
//! Cost of a page write: O(1), and O(units) where all but one are passed over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Allocator, Built, Chooser, Fresh, Pools, Shape, Units, stripe_pages};
use crate::support::ids::PlaneId;
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "round robin",
    summary: "The units take turns, a stripe each; one that has no room is passed over.",
    source: include_str!("round_robin.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Consecutive pages of a request that go to one unit. Default: what one program writes.
    pub striping_unit: Option<u32>,
}

impl Config {
    /// Builds the allocator.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, shape: Shape<'_>) -> Result<Built, String> {
        let g = shape.geometry;
        let stripe = stripe_pages(self.striping_unit, g)?;
        let turns = RoundRobin {
            units: g.units,
            program: g.program_pages,
            stripe,
            turn: PlaneId(0),
            placed: 0,
            group: 0,
        };
        Ok((Chooser::Turns(Box::new(turns)), Pools::one(g.units)))
    }
}

/// The units in turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RoundRobin {
    units: u32,
    /// Pages of a program.
    program: u32,
    /// Pages of a stripe.
    stripe: u32,
    /// The unit whose turn it is.
    turn: PlaneId,
    /// Pages that it has been given of this turn's stripe, and what they were written with.
    placed: u32,
    group: u64,
}

impl RoundRobin {
    #[inline]
    fn pass_on(&mut self) {
        let next = self.turn + 1;
        self.turn = if next.0 == self.units { PlaneId(0) } else { next };
        self.placed = 0;
    }

    /// The unit whose turn it is, where each page is a stripe and a program by itself: then it is
    /// given the page if it takes it.
    #[inline]
    pub(super) fn next_of_single(&self) -> Option<PlaneId> {
        (self.stripe == 1 && self.program == 1).then_some(self.turn)
    }

    /// [`Allocator::placed`], if each page is a stripe and a program by itself; else `false`.
    #[inline]
    pub(super) fn has_placed_single(&mut self) -> bool {
        let is_single = self.next_of_single().is_some();
        if is_single {
            self.pass_on();
        }
        is_single
    }

    /// [`Allocator::pick`] among any units.
    #[inline]
    pub(super) fn pick_of(
        &mut self,
        page: Fresh,
        units: &mut (impl Units + ?Sized),
    ) -> Option<PlaneId> {
        if self.placed > 0
            && self.stripe > self.program
            && self.group != page.group
            && !units.has_pending(self.turn)
        {
            self.pass_on();
        }
        for _ in 0..self.units {
            if units.takes(self.turn) {
                self.group = page.group;
                return Some(self.turn);
            }
            self.pass_on();
        }
        None
    }

    /// [`Allocator::placed`] among any units.
    #[inline]
    pub(super) fn placed_in(&mut self, unit: PlaneId, units: &mut (impl Units + ?Sized)) {
        self.placed += 1;
        // No stripe ends, and no turn, inside a program.
        if self.stripe.saturating_sub(self.placed) < self.program && !units.has_pending(unit) {
            self.pass_on();
        }
    }
}

impl Allocator for RoundRobin {
    fn takes_turns(&self) -> bool {
        true
    }

    fn pick(&mut self, page: Fresh, units: &mut dyn Units) -> Option<PlaneId> {
        self.pick_of(page, units)
    }

    fn placed(&mut self, unit: PlaneId, units: &mut dyn Units) {
        self.placed_in(unit, units);
    }
}
