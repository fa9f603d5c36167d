//! What people write, TOML files and `--set` options, as trees of values that know where they were
//! written.

pub(crate) mod parse;
mod tree;

pub(crate) use tree::{Node, Place, Value};
