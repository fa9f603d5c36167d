//! All tests of the simulation in one program, so that what they share is compiled once and every
//! processor always has one to run. `cargo test -p eraseblock-tests --test simulation power::` runs those
//! of one file. `references` is a program of its own; it counts allocations, too.

mod allocation;
mod blas;
mod chips;
mod choices;
mod cold_groups;
mod collection;
mod common;
mod dftl;
mod elements;
mod ensemble;
mod erase_bounds;
mod even_wear;
mod every_buffer;
mod examples;
mod flush_times;
mod full_pattern_drives;
mod large_fills;
mod leaving_order;
mod levelling;
mod merges_by_the_book;
mod metrics;
mod mnk;
mod modules;
mod my_scheme;
mod no_room;
mod optimum;
mod oracle;
mod page_schemes;
mod parked;
mod pattern_merges;
mod plain_requests;
mod power;
mod preconditions;
mod read_tail;
mod regressions;
mod replacement;
mod series;
mod sftl;
mod ssd_model;
mod streams;
mod supa;
mod support;
mod thresholds;
mod ties;
mod timing;
mod uses;
mod waf;
mod waits;
mod warm_up;
mod wear_and_power;
mod worked_examples;

/// A file that is not listed above would not be run.
#[test]
fn every_file_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests");
    let listed = include_str!("all.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) =
            name.strip_suffix(".rs").filter(|name| !["all", "memory", "references"].contains(name))
        else {
            continue;
        };
        assert!(
            listed.contains(&format!("mod {module};")),
            "tests/{name} is in no test program: list it in tests/all.rs"
        );
    }
}
