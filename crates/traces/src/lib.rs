//! Block-trace readers.
