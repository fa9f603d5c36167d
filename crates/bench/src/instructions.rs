//! Whether an access costs the same in a large buffer as in a small one, and a flush command: instructions, counted by valgrind.
//!
//! A child process fills a buffer and makes `n` accesses; another makes `2n`. The difference of their instruction
//! counts, over `n`, is what one access costs, free of start-up and filling. For flush commands each access is a write with a flush
//! command after it, so that one page is dirty at each.

use std::num::NonZero;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
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
/// The same for a write and a flush command, which sorts what is dirty; a scan of the buffer would be 64 times as much.
const FLUSH_LIMIT: f64 = 3.0;
const PAGES_PER_BLOCK: u32 = 64;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// An access to a page, half of them reads.
    Access,
    /// A write of a page and a flush command.
    Flush,
}

impl Work {
    /// The command of this program that does it.
    pub fn command(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Flush => "flush",
        }
    }
}

/// What an access costs in buffers of several sizes.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// The scheme.
    pub name: &'static str,
    /// What an access is here.
    pub work: Work,
    /// Instructions for it, by size.
    pub instructions: Vec<(Bytes, f64)>,
    /// Time for it, in ns, by size.
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

/// What the child does: fills a buffer, then makes `accesses` more, of the kind that `work` says. Uniform pages, half of them read,
/// over twice as many pages as it holds.
///
/// # Errors
/// There is no such scheme, or it refuses the size.
pub fn run(work: Work, name: &str, bytes: u64, accesses: u64) -> Result<Done, String> {
    let capacity = u32::try_from(bytes / PAGE).map_err(|_| format!("{bytes} B are too many"))?;
    let shape = Shape { capacity, pages_per_block: PAGES_PER_BLOCK, logical_pages: capacity * 2 };
    let mut scheme = BufferConfig::by_name(name)
        .ok_or_else(|| {
            format!("no buffer is called `{name}`, expected one of {}", BufferConfig::NAMES.join(", "))
        })?
        .build(shape)?;
    let load = Uniform::new(u64::from(capacity) * 2, PAGE, 128, 0);
    // Four times the capacity brings any mixture of hits and misses to where it stays.
    let fill = u64::from(capacity) * 4;
    let flushes = |request| work == Work::Flush && request >= fill;
    // The first of the flush commands writes all that is dirty from before: it is not counted.
    let warm_up = fill + u64::from(work == Work::Flush);
    let span = |load: &mut Uniform, request| {
        let (page, read) = load.page();
        Span { first: page as u32, count: 1, write: !read || flushes(request), request }
    };
    if scheme.needs_future() {
        let mut told = load.clone();
        (0..warm_up + accesses).try_for_each(|n| {
            scheme.foresee(Foreseen::Access(span(&mut told, n)))?;
            if flushes(n) { scheme.foresee(Foreseen::Flush) } else { Ok(()) }
        })?;
        scheme.foresee(Foreseen::End)?;
    }
    let (mut load, mut out, mut left) = (load, Outcome::default(), 0);
    let mut one = |request| {
        out.clear();
        scheme.access(&span(&mut load, request), &Idle, &mut out);
        if flushes(request) {
            scheme.flush(&mut out);
        }
        left += out.pages.len() as u64;
    };
    (0..warm_up).for_each(&mut one);
    let start = Instant::now();
    (warm_up..warm_up + accesses).for_each(&mut one);
    let ns = start.elapsed().as_nanos() as f64 / accesses as f64;
    Ok(Done { left, ns })
}

/// Counts instructions of every registered buffer, with `accesses` accesses each, and a quarter as many writes with flush
/// commands. `None` without valgrind.
///
/// # Errors
/// A child fails, or says something unexpected.
pub fn costs(sizes: &[Bytes], accesses: u64) -> Result<Option<Vec<Cost>>, String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(None);
    }
    let works = [Work::Access, Work::Flush];
    let all: Vec<(Work, &Entry)> = works
        .into_iter()
        .flat_map(|work| buffer::registry().iter().map(move |entry| (work, entry)))
        .collect();
    let accesses = |work| if work == Work::Flush { accesses / 4 } else { accesses };
    let jobs: Vec<_> = all
        .iter()
        .flat_map(|&(work, entry)| sizes.iter().map(move |&size| (work, entry.name, size)))
        .flat_map(|(work, name, size)| [1, 2].map(|times| (work, name, size, accesses(work) * times)))
        .collect();
    let counts = count_all(&jobs)?;
    let cost = |(&(work, entry), counts): (&(Work, &Entry), &[u64])| {
        let accesses = accesses(work);
        let per_access = |pair: &[u64]| (pair[1] - pair[0]) as f64 / accesses as f64;
        let instructions: Vec<_> =
            sizes.iter().copied().zip(counts.chunks_exact(2).map(per_access)).collect();
        let (low, high) =
            instructions.iter().fold((f64::MAX, 0.0f64), |(low, high), &(_, n)| (low.min(n), high.max(n)));
        let limit = match (work, entry.about.cost) {
            (Work::Flush, _) => FLUSH_LIMIT,
            (Work::Access, Growth::Constant) => LIMIT,
            (Work::Access, Growth::Logarithmic) => LOGARITHMIC_LIMIT,
        };
        let ns = sizes
            .iter()
            .map(|&size| Ok((size, run(work, entry.name, size.0, accesses)?.ns)))
            .collect::<Result<Vec<_>, String>>()?;
        Ok(Cost { name: entry.name, work, instructions, ns, ratio: high / low, limit })
    };
    all.iter()
        .zip(counts.chunks_exact(2 * sizes.len()))
        .map(cost)
        .collect::<Result<Vec<_>, String>>()
        .map(Some)
}

/// Instructions of child processes, as many at a time as there are processors: that changes no count.
fn count_all(jobs: &[(Work, &str, Bytes, u64)]) -> Result<Vec<u64>, String> {
    let next = AtomicUsize::new(0);
    let counts: Vec<OnceLock<_>> = jobs.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(work, name, size, accesses)) = jobs.get(n) else { break };
            counts[n].get_or_init(|| count(work, name, size, accesses));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    counts
        .into_iter()
        .map(|count| count.into_inner().unwrap_or_else(|| Err("nothing was counted".into())))
        .collect()
}

/// Instructions of a child process.
fn count(work: Work, name: &str, size: Bytes, accesses: u64) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|e| format!("finding this program: {e}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args([work.command(), name, &size.0.to_string(), &accesses.to_string()])
        .output()
        .map_err(|e| format!("starting valgrind: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let refs = text.lines().find_map(|line| line.split_once("refs:")).map(|(_, n)| n.trim().replace(',', ""));
    match refs.map(|n| n.parse()) {
        Some(Ok(n)) if output.status.success() => Ok(n),
        _ => Err(format!("valgrind on {name} at {size} ended with {}: {text}", output.status)),
    }
}
