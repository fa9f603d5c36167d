//! Which unit each page goes to: the allocators of page-level mappings, by name.
//!
//! An allocator divides the units into *pools*. A page always goes to its own pool, and inside that
//! to the unit that the allocator picks when the page is issued. Pages of one request, or of one
//! eviction from the buffer, that go to one unit together are a *stripe*: as many as the striping
//! unit says, and at least what one program writes. A tombstone that a flush writes goes on with
//! the stripe of what was written last.

pub mod dynamic;
pub mod non_striping;
mod planes;
mod pools;
pub mod round_robin;
pub mod static_order;
mod units;

pub use pools::Pools;

use dyn_clone::DynClone;

use crate::nand::Geometry;
use crate::support::ids::{PlaneId, Ppn};
use crate::support::persist::{Object, Persist};
use planes::Planes;
use round_robin::RoundRobin;
use static_order::Static;
pub use units::{Offer, Units};

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

/// An allocator. Those that most drives have are told apart from the others: they are asked for each
/// page, and answer without a detour.
#[derive(Debug, Clone)]
pub enum Chooser {
    /// Units take turns. In a box, so that little is moved when it is taken out to be asked.
    Turns(Box<RoundRobin>),
    /// A page's number says where it lies.
    Home(Static),
    /// Planes of an element, the emptiest first.
    Planes(Box<Planes>),
    /// Any other.
    Other(Box<dyn Allocator>),
}

impl Chooser {
    /// Any allocator.
    pub fn other(alloc: impl Allocator + 'static) -> Self {
        Self::Other(Box::new(alloc))
    }

    /// Planes of elements, which are the pools; see [`Planes::new`].
    pub fn planes(pools: Pools, stays: bool) -> Self {
        Self::Planes(Box::new(Planes::new(pools, stays)))
    }

    /// The unit that it picks for any page of `pool` if that takes it; `None` where that is not
    /// known beforehand.
    #[inline(always)]
    pub fn first_choice(&self, pool: impl FnOnce() -> u32) -> Option<PlaneId> {
        // One look each, the likeliest first.
        if let Self::Turns(turns) = self {
            return turns.next_of_single();
        }
        if let Self::Home(_) = self { Some(PlaneId(pool())) } else { None }
    }

    /// [`Self::placed`], where that asks nothing of the units; else `false`.
    #[inline(always)]
    pub fn has_placed(&mut self, unit: PlaneId) -> bool {
        if let Self::Turns(turns) = self {
            return turns.has_placed_single();
        }
        if let Self::Planes(planes) = self {
            planes.has_placed(unit);
        }
        !matches!(self, Self::Other(_))
    }

    /// What a unit offers has changed otherwise than by a page that was picked for it and placed: by
    /// collection, or by a page of a class that is not picked for. Planes hear of nothing else,
    /// since their pages are of one class and programmed one by one.
    #[inline]
    pub fn has_changed(&mut self, unit: PlaneId) {
        if let Self::Planes(planes) = self {
            planes.has_changed(unit);
        }
    }

    /// [`Allocator::pick`].
    #[inline]
    pub fn pick(&mut self, page: Fresh, units: &mut impl Units) -> Option<PlaneId> {
        match self {
            Self::Turns(turns) => turns.pick_of(page, units),
            Self::Home(_) => Static::pick_of(page, units),
            Self::Planes(planes) => planes.pick_of(page, units),
            Self::Other(alloc) => alloc.pick(page, units),
        }
    }

    /// [`Allocator::placed`].
    #[inline]
    pub fn placed(&mut self, unit: PlaneId, units: &mut impl Units) {
        match self {
            Self::Turns(turns) => turns.placed_in(unit, units),
            Self::Home(_) => {}
            Self::Planes(planes) => planes.has_placed(unit),
            Self::Other(alloc) => alloc.placed(unit, units),
        }
    }

    /// [`Allocator::needs_work_estimates`].
    pub fn needs_work_estimates(&self) -> bool {
        self.as_allocator().needs_work_estimates()
    }

    /// [`Allocator::takes_turns`].
    pub fn takes_turns(&self) -> bool {
        self.as_allocator().takes_turns()
    }

    fn as_allocator(&self) -> &dyn Allocator {
        match self {
            Self::Turns(turns) => &**turns,
            Self::Home(home) => home,
            Self::Planes(planes) => &**planes,
            Self::Other(alloc) => &**alloc,
        }
    }
}

impl Object for Chooser {
    fn object(&self) -> Option<&dyn Persist> {
        match self {
            Self::Turns(turns) => Some(&**turns),
            Self::Home(home) => Some(home),
            Self::Planes(planes) => Some(&**planes),
            Self::Other(alloc) => Some(&**alloc),
        }
    }

    fn object_mut(&mut self) -> Option<&mut dyn Persist> {
        match self {
            Self::Turns(turns) => Some(&mut **turns),
            Self::Home(home) => Some(home),
            Self::Planes(planes) => Some(&mut **planes),
            Self::Other(alloc) => Some(&mut **alloc),
        }
    }
}

/// What an allocator is built for.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// The array.
    pub geometry: &'a Geometry,
}

/// An allocator with the pools that it divides the units into.
pub type Built = (Chooser, Pools);

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
