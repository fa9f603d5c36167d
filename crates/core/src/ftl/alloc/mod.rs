//! Which unit each page goes to: the allocators of page-level mappings, by name.
//!
//! An allocator divides the units into *pools*. A page always goes to its own pool, and inside that
//! to the unit that the allocator picks when the page is issued. Pages of one request, or of one
//! eviction from the buffer, that go to one unit together are a *stripe*: as many as the striping
//! unit says, and at least what one program writes. A tombstone that a flush writes goes on with
//! the stripe of what was written last.

pub mod dynamic;
pub mod non_striping;
mod pools;
pub mod round_robin;
pub mod static_order;
mod units;

pub use pools::Pools;

use dyn_clone::DynClone;

use crate::nand::Geometry;
use crate::support::ids::{PlaneId, Ppn};
use crate::support::persist::Persist;
pub use units::Units;

/// A page that is going to be written.
#[derive(Debug, Clone, Copy)]
pub struct Fresh {
    /// Its pool.
    pub pool: u32,
    /// What it is written together with: pages of one request, or of one eviction, have the same
    /// number.
    pub group: u64,
    /// Where the version before lies, if there is one.
    pub old: Option<Ppn>,
}

/// Chooses units.
pub trait Allocator: DynClone + Persist + std::fmt::Debug + Send + Sync {
    /// The unit that a page goes to: one that takes it, or `None` if none does.
    fn pick(&mut self, page: Fresh, units: &mut dyn Units) -> Option<PlaneId>;

    /// A page picked for `unit` has been put there.
    fn placed(&mut self, unit: PlaneId, units: &mut dyn Units);

    /// Whether it asks how long dies have to work.
    fn needs_work_estimates(&self) -> bool {
        false
    }

    /// Whether all units get as many pages, whatever they hold.
    fn takes_turns(&self) -> bool {
        false
    }
}

dyn_clone::clone_trait_object!(Allocator);
crate::persist_objects!(Allocator);

/// What an allocator is built for.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// The array.
    pub geometry: &'a Geometry,
}

/// An allocator with the pools that it divides the units into.
pub type Built = (Box<dyn Allocator>, Pools);

/// The length of stripes in pages: what is asked for, or one program.
///
/// # Errors
/// It is 0.
pub(crate) fn stripe_pages(asked: Option<u32>, geometry: &Geometry) -> Result<u32, String> {
    match asked {
        Some(0) => Err("ftl.allocator.striping_unit: found 0, expected at least 1 page".into()),
        Some(pages) => Ok(pages),
        None => Ok(geometry.program_pages),
    }
}

crate::registry! {
    /// Which unit each page goes to: a name, or a table with `kind` and the allocator's options.
    "allocator" AllocatorConfig builds Built, from Shape<'_>;
    "round-robin" => RoundRobin in round_robin,
    "static" => Static in static_order,
    "dynamic" => Dynamic in dynamic,
    "non-striping" => NonStriping in non_striping,
}

impl Default for AllocatorConfig {
    fn default() -> Self {
        Self::RoundRobin(round_robin::Config::default())
    }
}
