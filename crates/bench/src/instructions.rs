//! Whether an access costs the same in a large buffer as in a small one, and a flush command:
//! instructions, counted by valgrind.
//!
//! A child process of each scheme fills buffers of all sizes, one after the other, and makes `n`
//! accesses of each. Callgrind writes what it has counted whenever these begin and end, so that the
//! count is free of start-up and filling. For flush commands each access is a write with a flush
//! command after it, so that one page is dirty at each.

use std::hint::black_box;
use std::num::NonZero;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use eraseblock_core::buffer::{self, BufferConfig, Foreseen, Idle, Outcome, Shape, Span};
use eraseblock_core::config::Bytes;
use eraseblock_core::support::ids::Lpn;
use eraseblock_core::support::registry::{Cost as Growth, Entry};
use serde::Serialize;

use crate::drive::PAGE;
use crate::load::Uniform;

/// Buffer sizes that are compared.
pub const SIZES: [Bytes; 3] = [Bytes(1 << 20), Bytes(64 << 20), Bytes(1 << 30)];
/// Those of a quick comparison: far enough apart for a search through the buffer to stand out.
pub const QUICK: [Bytes; 2] = [Bytes(1 << 20), Bytes(16 << 20)];
/// How much dearer the dearest size may be than the cheapest, where an access costs O(1).
const LIMIT: f64 = 1.3;
/// The same where it costs O(log n).
const LOGARITHMIC_LIMIT: f64 = 2.0;
/// The same for a write and a flush command, which sorts what is dirty; a scan of the buffer would
/// be 64 times as much.
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
    const ALL: [Self; 2] = [Self::Access, Self::Flush];

    /// What a table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Flush => "flush",
        }
    }

    /// How often it is done where there are `accesses`.
    fn times(self, accesses: u64) -> u64 {
        match self {
            Self::Access => accesses,
            Self::Flush => accesses / 4,
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

/// Fills a buffer, then makes `accesses` more, of the kind that `work` says: these are counted.
/// Uniform pages, half of them read, over twice as many pages as it holds.
///
/// # Errors
/// There is no such scheme, or it refuses the size.
pub fn run(work: Work, name: &str, bytes: u64, accesses: u64) -> Result<Done, String> {
    let capacity = u32::try_from(bytes / PAGE).map_err(|_| format!("{bytes} B are too many"))?;
    let shape = Shape { capacity, pages_per_block: PAGES_PER_BLOCK, logical_pages: capacity * 2 };
    let mut scheme = BufferConfig::by_name(name)
        .ok_or_else(|| {
            format!(
                "no buffer is called `{name}`, expected one of {}",
                BufferConfig::NAMES.join(", ")
            )
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
        Span { first: Lpn(page as u32), count: 1, write: !read || flushes(request), request }
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
    border_of_count();
    (warm_up..warm_up + accesses).for_each(&mut one);
    border_of_count();
    let ns = start.elapsed().as_nanos() as f64 / accesses as f64;
    Ok(Done { left, ns })
}

/// Callgrind looks for this name when the child enters what is to be counted, and when it leaves
/// it.
#[inline(never)]
fn border_of_count() {
    black_box(0);
}

/// What a child does for each of its schemes: all that is counted of it.
///
/// # Errors
/// As [`run`]'s.
pub fn run_all(name: &str, sizes: &[Bytes], accesses: u64) -> Result<(), String> {
    let each = Work::ALL.into_iter().flat_map(|work| sizes.iter().map(move |size| (work, size.0)));
    each.into_iter()
        .try_for_each(|(work, bytes)| run(work, name, bytes, work.times(accesses)).map(|_| ()))
}

/// Counts instructions of every registered buffer, with `accesses` accesses each, and a quarter as
/// many writes with flush commands. `None` without valgrind.
///
/// # Errors
/// A child fails, or says something unexpected.
pub fn costs(sizes: &[Bytes], accesses: u64) -> Result<Option<Vec<Cost>>, String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(None);
    }
    let entries: Vec<&Entry> = buffer::registry().iter().collect();
    let counts = count_all(&entries, sizes, accesses)?;
    let cost = |(number, work): (usize, Work), entry: &Entry, counts: &[u64]| {
        let times = work.times(accesses);
        let counts = &counts[number * sizes.len()..][..sizes.len()];
        let instructions: Vec<_> = sizes
            .iter()
            .zip(counts)
            .map(|(&size, &count)| (size, count as f64 / times as f64))
            .collect();
        let (low, high) = instructions
            .iter()
            .fold((f64::MAX, 0.0f64), |(low, high), &(_, n)| (low.min(n), high.max(n)));
        let limit = match (work, entry.about.cost) {
            (Work::Flush, _) => FLUSH_LIMIT,
            (Work::Access, Growth::Constant) => LIMIT,
            (Work::Access, Growth::Logarithmic) => LOGARITHMIC_LIMIT,
        };
        let ns = sizes
            .iter()
            .map(|&size| Ok((size, run(work, entry.name, size.0, times)?.ns)))
            .collect::<Result<Vec<_>, String>>()?;
        Ok(Cost { name: entry.name, work, instructions, ns, ratio: high / low, limit })
    };
    Work::ALL
        .into_iter()
        .enumerate()
        .flat_map(|work| {
            entries.iter().zip(&counts).map(move |(entry, counts)| (work, entry, counts))
        })
        .map(|(work, entry, counts)| cost(work, entry, counts))
        .collect::<Result<Vec<_>, String>>()
        .map(Some)
}

/// Schemes that a child counts: to start one takes valgrind as long as to count some of them.
const TOGETHER: usize = 8;

/// Instructions of each scheme, by children, as many at a time as there are processors: that changes
/// no count.
fn count_all(entries: &[&Entry], sizes: &[Bytes], accesses: u64) -> Result<Vec<Vec<u64>>, String> {
    let next = AtomicUsize::new(0);
    let children: Vec<_> = entries.chunks(TOGETHER).map(|some| (some, OnceLock::new())).collect();
    let work = || {
        while let Some((some, counts)) = children.get(next.fetch_add(1, Ordering::Relaxed)) {
            counts.get_or_init(|| count(some, sizes, accesses));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let mut all = Vec::new();
    for (_, counts) in children {
        all.extend(counts.into_inner().unwrap_or_else(|| Err("nothing was counted".into()))?);
    }
    Ok(all)
}

/// Instructions of what a child counts, in its order, for each of the schemes.
fn count(entries: &[&Entry], sizes: &[Bytes], accesses: u64) -> Result<Vec<Vec<u64>>, String> {
    let names = entries.iter().map(|entry| entry.name).collect::<Vec<_>>().join(",");
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what} of {names}: {error}");
    let program = std::env::current_exe().map_err(|e| format!("finding this program: {e}"))?;
    let folder = tempfile::tempdir().map_err(|e| failed("making room for the counts", &e))?;
    let file = folder.path().join("counts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-before=*border_of_count*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(["count", &names, &accesses.to_string()])
        .args(sizes.iter().map(|size| size.0.to_string()))
        .output()
        .map_err(|e| format!("starting valgrind: {e}"))?;
    if !output.status.success() {
        return Err(failed("valgrind", &String::from_utf8_lossy(&output.stderr)));
    }
    // A count is written when a part begins, of what was before it, and one when it ends.
    let total = |part: usize| {
        let path = file.with_extension((2 * part).to_string());
        let text = std::fs::read_to_string(path).map_err(|e| failed("reading the counts", &e))?;
        let total =
            text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
        total.ok_or_else(|| failed("counting", &"no total was written"))
    };
    let parts = Work::ALL.len() * sizes.len();
    (0..entries.len()).map(|n| (n * parts + 1..=(n + 1) * parts).map(total).collect()).collect()
}
