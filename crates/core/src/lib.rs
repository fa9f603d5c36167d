//! The simulator: what a workload does to a solid-state drive.
//!
//! The modules follow the way of a request.

pub mod host;
