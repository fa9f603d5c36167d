//! Block-level mappings: the pages of a logical block lie together in a data block, and what is
//! written again goes to log blocks, or moves the block.
//!
//! A scheme says where writes go, and when blocks are folded into one (`blocks::BlockScheme`); the
//! rest is shared (`blocks`).

pub mod bast;
pub mod block;
mod blocks;
pub mod fast;
pub mod hybrid;
pub mod mnk;
pub mod pattern;
pub mod replacement;
pub mod sftl;
pub mod superblock;
