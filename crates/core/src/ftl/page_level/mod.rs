//! Page-level mappings: any logical page in any flash page.
//!
//! A scheme says what it does otherwise than page mapping ([`PageScheme`]): which class a written
//! page belongs to, where it goes, what follows from reads, hints and idle time, and which pages
//! hold its map. All else is the mapping's that it becomes ([`PageLevel`]): the map of pages, trims
//! and their tombstones, collection, recovery, and the comparison of what is known twice.

pub mod blas;
pub mod dftl;
pub mod page;
mod scheme;
pub mod ssd_model;
pub mod store;

pub use scheme::{PageLevel, PageScheme};
