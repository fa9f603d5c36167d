//! Nothing: this package compiles tests whose files stand in other crates.
//!
//! Cargo compiles a crate's tests with the optimisation of the crate. These take longer to compile so
//! than to run: what they wait for is the engine, and all of it that is not generic stays optimised.
//! For unit tests a crate is compiled a second time, too. Here they have a package, and so a profile,
//! of their own. Tests that take longer to run than to compile stay with their crates.
