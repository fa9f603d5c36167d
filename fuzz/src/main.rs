//! All fuzz targets in one program; the environment says which one it is.
//!
//! `FUZZ_TARGET` is the name of a trace format (its reader), `detect`, `unpack` or `nbd` (what a client
//! says to the server); `list` prints all of them. `FUZZ_SEEDS` is a folder into which files to begin with are written.
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
    /// The first byte says how the conversation begins, the second how its bytes come.
    Nbd,
}

static TARGET: OnceLock<Target> = OnceLock::new();

fn target() -> &'static Target {
    TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        match name.as_str() {
            "detect" => Target::Detect,
            "unpack" => Target::Unpack,
            "nbd" => Target::Nbd,
            "list" => list(),
            _ => match name.parse() {
                Ok(format) => Target::Read(format, fuzzing::ways_to_read(format)),
                Err(problem) => panic!("FUZZ_TARGET: {problem}, or detect, unpack, nbd, list"),
            },
        }
    })
}

fn list() -> ! {
    for name in formats().map(|format| format.name).chain(["detect", "unpack", "nbd"]) {
        println!("{name}");
    }
    std::process::exit(0)
}

fn prepare() {
    let target = target();
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        let folder = Path::new(&folder);
        let written = match target {
            Target::Read(format, _) => seeds::write(folder, Some(format)),
            Target::Detect | Target::Unpack => seeds::write(folder, None),
            Target::Nbd => seeds::write_conversations(folder),
        };
        written.expect("seeds can be written");
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
        Target::Nbd => {
            if let [start, piece, bytes @ ..] = data {
                eraseblock_nbd::fuzzing::converse(*start as usize, bytes, *piece as usize);
            }
        }
    }
});
