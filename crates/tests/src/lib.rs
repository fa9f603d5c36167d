//! Nothing: this package compiles tests whose files stand in other crates.
//!
//! Cargo compiles a crate's tests with the optimisation of the crate. These take longer to compile so
//! than to run: what they wait for is the engine, which is optimised all the same. For unit tests a
//! crate is compiled a second time, too. Here they have a package, and so a profile, of their own.
//! What takes longer to run than to compile stays with its crate: the references of core, the drive
//! that serves.
