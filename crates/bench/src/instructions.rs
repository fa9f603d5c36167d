//! Whether an access costs the same in a large buffer as in a small one: instructions, counted by valgrind.
//!
//! A child process fills a buffer and makes `n` accesses; another makes `2n`. The difference of their instruction
//! counts, over `n`, is what one access costs, free of start-up and filling.

use std::process::Command;
use std::time::Instant;

use eraseblock_core::buffer::{self, BufferConfig, Foreseen, Idle, Outcome, Shape, Span};
use eraseblock_core::config::Bytes;
use eraseblock_core::support::registry::{Cost as Growth, Entry};
use serde::Serialize;

use crate::drive::PAGE;
use crate::load::Uniform;

/// Buffer sizes that are compared.
pub const SIZES: [Bytes; 3] = [Bytes(1 << 20), Bytes(64 << 20), Bytes(1 << 30)];
/// How much dearer the dearest size may be than the cheapest, where an access costs O(1).
const LIMIT: f64 = 1.3;
/// The same where it costs O(log n).
const LOGARITHMIC_LIMIT: f64 = 2.0;
const PAGES_PER_BLOCK: u32 = 64;

/// What an access costs in buffers of several sizes.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// The scheme.
    pub name: &'static str,
    /// Instructions for an access, by size.
    pub instructions: Vec<(Bytes, f64)>,
    /// Time for an access, in ns, by size.
    pub ns: Vec<(Bytes, f64)>,
    /// Dearest to cheapest, in instructions.
    pub ratio: f64,
    /// What that may be.
    pub limit: f64,
}

/// Accesses of one buffer.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Pages that left, so that nothing can be left out.
    pub left: u64,
    /// Time for each access, in ns.
    pub ns: f64,
}

/// What the child does: fills a buffer, then makes `accesses` more. Uniform pages, half of them read, over twice as
/// many pages as it holds.
///
/// # Errors
/// There is no such scheme, or it refuses the size.
pub fn access(name: &str, bytes: u64, accesses: u64) -> Result<Done, String> {
    let capacity = u32::try_from(bytes / PAGE).map_err(|_| format!("{bytes} B are too many"))?;
    let shape = Shape { capacity, pages_per_block: PAGES_PER_BLOCK, logical_pages: capacity * 2 };
    let mut scheme = BufferConfig::by_name(name)
        .ok_or_else(|| {
            format!("no buffer is called `{name}`, expected one of {}", BufferConfig::NAMES.join(", "))
        })?
        .build(shape)?;
    let load = Uniform::new(u64::from(capacity) * 2, PAGE, 128, 0);
    let span = |load: &mut Uniform, request| {
        let (page, read) = load.page();
        Span { first: page as u32, count: 1, write: !read, request }
    };
    // Four times the capacity brings any mixture of hits and misses to where it stays.
    let warm_up = u64::from(capacity) * 4;
    if scheme.needs_future() {
        let mut told = load.clone();
        (0..warm_up + accesses).try_for_each(|n| scheme.foresee(Foreseen::Access(span(&mut told, n))))?;
        scheme.foresee(Foreseen::End)?;
    }
    let (mut load, mut out, mut left) = (load, Outcome::default(), 0);
    let mut one = |request| {
        out.clear();
        scheme.access(&span(&mut load, request), &Idle, &mut out);
        left += out.pages.len() as u64;
    };
    (0..warm_up).for_each(&mut one);
    let start = Instant::now();
    (warm_up..warm_up + accesses).for_each(&mut one);
    let ns = start.elapsed().as_nanos() as f64 / accesses as f64;
    Ok(Done { left, ns })
}

/// Counts instructions of every registered buffer, with `accesses` accesses each. `None` without valgrind.
///
/// # Errors
/// A child fails, or says something unexpected.
pub fn costs(sizes: &[Bytes], accesses: u64) -> Result<Option<Vec<Cost>>, String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(None);
    }
    let cost = |entry: &Entry| {
        let instructions = sizes
            .iter()
            .map(|&size| {
                let (once, twice) =
                    (count(entry.name, size, accesses)?, count(entry.name, size, accesses * 2)?);
                Ok((size, (twice - once) as f64 / accesses as f64))
            })
            .collect::<Result<Vec<_>, String>>()?;
        let (low, high) =
            instructions.iter().fold((f64::MAX, 0.0f64), |(low, high), &(_, n)| (low.min(n), high.max(n)));
        let limit = match entry.about.cost {
            Growth::Constant => LIMIT,
            Growth::Logarithmic => LOGARITHMIC_LIMIT,
        };
        let ns = sizes
            .iter()
            .map(|&size| Ok((size, access(entry.name, size.0, accesses)?.ns)))
            .collect::<Result<Vec<_>, String>>()?;
        Ok(Cost { name: entry.name, instructions, ns, ratio: high / low, limit })
    };
    buffer::registry().iter().map(cost).collect::<Result<Vec<_>, String>>().map(Some)
}

/// Instructions of a child process.
fn count(name: &str, size: Bytes, accesses: u64) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|e| format!("finding this program: {e}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args(["access", name, &size.0.to_string(), &accesses.to_string()])
        .output()
        .map_err(|e| format!("starting valgrind: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let refs = text.lines().find_map(|line| line.split_once("refs:")).map(|(_, n)| n.trim().replace(',', ""));
    match refs.map(|n| n.parse()) {
        Some(Ok(n)) if output.status.success() => Ok(n),
        _ => Err(format!("valgrind on {name} at {size} ended with {}: {text}", output.status)),
    }
}
