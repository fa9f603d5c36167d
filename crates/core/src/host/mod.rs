//! What the host asks of the drive, and how it is cut to the drive's pages.

pub mod config;
pub mod request;
pub mod split;

pub use request::{Op, Request};
