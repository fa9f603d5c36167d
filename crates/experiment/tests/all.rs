//! All tests of experiments in one program, so that what they share is linked once and every
//! processor always has one to run. `cargo test -p eraseblock-tests --test experiments run::` runs
//! those of one file.

mod bounds;
mod cache;
mod docs;
mod errors;
mod events;
mod golden;
mod once;
mod presets;
mod registry;
mod resolve;
mod robust;
mod run;
mod schema;
mod settings;
mod structure;
mod support;
