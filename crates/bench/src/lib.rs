//! Speed and cost of engine and readers, each figure beside its goal.
//!
//! This crate alone looks at the wall clock. Each figure comes with a hash of what was simulated: a
//! change that makes the engine faster must leave it as it is.

pub mod baseline;
pub mod buffers;
pub mod drive;
pub mod generators;
pub mod goals;
pub mod instructions;
pub mod load;
pub mod measure;
pub mod readers;
pub mod scale;
pub mod stream;
pub mod table;
