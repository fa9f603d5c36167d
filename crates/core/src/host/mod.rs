//! What the host asks of the drive.

pub mod request;

pub use request::{Op, Request};
