//! Small structures that the stages share: index-linked lists, sets, a tree of minima, the registry macro.

pub mod bits;
pub mod classes;
pub mod divide;
pub mod frequency;
pub mod heap;
pub mod list;
pub mod marks;
pub mod members;
pub mod minima;
pub mod registry;
pub mod sketch;
pub mod tournament;

/// "No such index" in every `u32` index of this crate.
pub const NONE: u32 = u32::MAX;
