//! All tests of traces in one program, so that what they share is linked once and every processor
//! always has one to run. `cargo test -p eraseblock-tests --test traces text_formats::` runs those of
//! one file.

mod bad_lines;
mod binary_formats;
mod bundled_workload;
mod characterise;
mod outside_traces;
mod page;
mod stand_ins;
mod text_formats;
mod workloads;
