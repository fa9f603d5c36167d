//! The simulator: what a workload does to a solid-state drive.
//!
//! The modules follow the way of a request; `device` wires them together.

pub mod config;
pub mod host;

pub mod buffer;
pub mod ftl;
pub mod nand;
pub mod pattern;
pub mod upkeep;

pub mod metrics;

pub mod device;
pub mod example;
pub mod support;
