//! All fuzz targets in one program; the environment says which one it is.
//!
//! `FUZZ_TARGET` is the name of a trace format (its reader), `detect` or `unpack`; `list` prints
//! all of them. `FUZZ_SEEDS` is a folder into which files to begin with are written.
//! `tools/fuzz_readers.py` builds it and runs it.

#![no_main]

mod seeds;

use std::path::Path;
use std::sync::OnceLock;

use eraseblock_traces::{Format, NamedFormat, WorkloadConfig, formats, fuzzing};
use libfuzzer_sys::fuzz_target;

/// Unpacked bytes that `unpack` looks at: a few bytes can hold very many.
const UNPACKED: u64 = 1 << 20;

/// What is under test.
enum Target {
    /// A reader, with each choice among its options.
    Read(&'static Format, Vec<NamedFormat>),
    Detect,
    Unpack,
}

static TARGET: OnceLock<Target> = OnceLock::new();

fn target() -> &'static Target {
    TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        match name.as_str() {
            "detect" => Target::Detect,
            "unpack" => Target::Unpack,
            "list" => list(),
            _ => match name.parse() {
                Ok(format) => Target::Read(format, fuzzing::ways_to_read(format)),
                Err(problem) => panic!("FUZZ_TARGET: {problem}, or detect, unpack, list"),
            },
        }
    })
}

fn list() -> ! {
    for name in formats().map(|format| format.name).chain(["detect", "unpack"]) {
        println!("{name}");
    }
    std::process::exit(0)
}

fn prepare() {
    let target = target();
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        let format = if let Target::Read(format, _) = target { Some(*format) } else { None };
        seeds::write(Path::new(&folder), format).expect("seeds can be written");
    }
}

/// The length of the input chooses how it is read, so that a find needs nothing but its bytes.
fn read(ways: &[NamedFormat], data: &[u8]) {
    let length = data.len();
    let config =
        WorkloadConfig { skip_bad_lines: !length.is_multiple_of(4), ..WorkloadConfig::default() };
    _ = fuzzing::read(&ways[length % ways.len()], data, &config);
}

fuzz_target!(init: prepare(), |data: &[u8]| {
    // Whatever is answered is right as long as it is an answer: the promises are checked on the
    // way.
    match target() {
        Target::Read(_, ways) => read(ways, data),
        Target::Detect => _ = fuzzing::detect(data),
        Target::Unpack => _ = fuzzing::unpack(data, UNPACKED),
    }
});
