//! From logical pages to flash operations: mappings, and what they are built from.
//!
//! A mapping changes its state at once and appends flash operations to the plan through its [`Cx`].
//! It never asks for the time. What it may ask is what is under way on the flash, which an untimed
//! run shows as nothing.

mod advice;
pub mod alloc;
pub mod block_level;
pub mod config;
pub mod context;
pub mod gc;
mod mapping;
pub mod page_level;
pub mod pool;
pub mod victim;
pub mod wear;

pub use advice::Advice;
pub use context::{Cx, PageOut, Waiter};
pub use mapping::{Mapping, Reclaim, Single, SinglePages};

use crate::nand::Geometry;
use config::FtlConfig;

/// What a mapping is built for.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// The array.
    pub geometry: &'a Geometry,
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// The chip's order of programming.
    pub order: crate::nand::config::ProgramOrder,
    /// The parts that a page-level mapping is composed of.
    pub parts: &'a FtlConfig,
}

crate::registry! {
    /// How logical pages are found: a name, or a table with `kind` and the mapping's options.
    "mapping" MappingConfig builds Box<dyn Mapping>, from Shape<'_>;
    "page" => Page in page_level::page,
    "ssd-model" => SsdModel in page_level::ssd_model,
    "dftl" => Dftl in page_level::dftl,
    "bast" => Bast in block_level::bast,
    "fast" => Fast in block_level::fast,
    "mnk" => Mnk in block_level::mnk,
    "block" => Block in block_level::block,
    "hybrid" => Hybrid in block_level::hybrid,
    "replacement" => Replacement in block_level::replacement,
    "superblock" => Superblock in block_level::superblock,
    "pattern" => Pattern in block_level::pattern,
    "blas" => Blas in page_level::blas,
    "sftl" => Sftl in block_level::sftl,
}

impl MappingConfig {
    /// Most pages that an array exports unless the configuration says how many.
    pub fn exported_pages(&self, geometry: &Geometry) -> u64 {
        match self {
            Self::SsdModel(model) => model.exported_pages(geometry),
            _ => u64::MAX,
        }
    }
}

/// Whether a mapping is composed of an allocator, a victim policy and a wear leveller that the
/// configuration names; one that is not places pages and wins back space in its own way.
pub fn is_composed(mapping: &str) -> bool {
    registry().iter().any(|entry| entry.name == mapping && entry.about.composed)
}
