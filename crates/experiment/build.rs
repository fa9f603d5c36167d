//! Hashes the source of the engine, so that a stored result can be told from what another build
//! would give.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What decides results, seen from this crate; the lock file stands for the libraries.
const SOURCES: [&str; 4] = ["../core/src", "../traces/src", "src", "../../Cargo.lock"];

fn main() -> io::Result<()> {
    let root =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets the crate's folder"));
    let mut hash = Fnv::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        hash_all(&root.join(source), &mut hash)?;
    }
    println!("cargo::rustc-env=ERASEBLOCK_SOURCE={:016x}", hash.0);
    Ok(())
}

/// A file's content, or all files of a folder in the order of their names.
fn hash_all(path: &Path, hash: &mut Fnv) -> io::Result<()> {
    if path.is_file() {
        hash.add(path.file_name().expect("files have names").as_encoded_bytes());
        hash.add(&fs::read(path)?);
        return Ok(());
    }
    let mut inside = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    inside.sort();
    inside.iter().try_for_each(|path| hash_all(path, hash))
}

/// 64-bit FNV-1a over parts, each with its length: short, and the same with every compiler.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, part: &[u8]) {
        for &byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
