//! What several schemes share: directories of blocks and pages, ghosts, windows, the two regions of
//! HBM and CBM.

pub mod admission;
pub mod batched;
pub mod blocked;
pub mod blocks;
pub mod by_size;
pub mod ghosts;
pub mod modules;
pub mod paged;
pub mod pages;
pub mod parallel;
pub mod regions;
pub mod stamps;
pub mod window;
pub mod written;
