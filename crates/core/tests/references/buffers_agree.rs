//! The fast schemes against slow ones written from the papers alone: every answer and every
//! eviction is the same, under thousands of random request sequences and under the recorded
//! workloads.

use crate::references::{Buffer, BufferReference, Decisions, Left, is_chosen, seeds};
use eraseblock_core::buffer::Part;
use eraseblock_core::buffer::{self, Answer, BufferConfig, Idle, Outcome, Shape, Span, View};
use eraseblock_core::host::Op;
use eraseblock_core::pattern::{Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

/// All of them, in the order of their names.
fn references() -> Vec<&'static BufferReference> {
    let mut all: Vec<_> = inventory::iter::<BufferReference>.into_iter().collect();
    all.sort_by_key(|reference| reference.scheme);
    all
}

#[test]
fn every_buffer_has_a_reference() {
    let found = references();
    for reference in &found {
        assert!(!reference.from.is_empty(), "{}: written from what?", reference.scheme);
    }
    for entry in buffer::registry() {
        // A bound that knows the future is held to an exhaustive search instead (`optimum.rs`).
        let covered =
            entry.name == "opt" || found.iter().any(|reference| reference.scheme == entry.name);
        assert!(
            covered,
            "{}: no file in tests/references/buffers registers a reference",
            entry.name
        );
    }
    for reference in found {
        assert!(
            buffer::registry().iter().any(|entry| entry.name == reference.scheme),
            "{}: not a buffer",
            reference.scheme
        );
    }
}

/// A drive whose chips and channels have some work to do, which a span adds to by nothing.
struct Busy {
    queued: [u32; Idle::CHIPS as usize],
    ready: [bool; Idle::CHIPS as usize],
    maps_pages: bool,
    /// So many pages of a block are worth padding.
    worth_padding: u32,
}

impl Busy {
    fn draw(random: &mut Pcg64Mcg) -> Self {
        let mut view = Self {
            queued: [0; Idle::CHIPS as usize],
            ready: [true; Idle::CHIPS as usize],
            maps_pages: random.random(),
            worth_padding: random.random_range(0..6),
        };
        for queued in &mut view.queued {
            *queued = random.random_range(0..4) * random.random_range(0..2);
        }
        for ready in &mut view.ready {
            *ready = random.random_range(0..4) > 0;
        }
        view
    }
}

impl View for Busy {
    fn units(&self) -> u32 {
        Idle.units()
    }
    fn unit_of(&self, lpn: Lpn) -> Option<PlaneId> {
        // Every third page was never written.
        (!lpn.0.is_multiple_of(3)).then_some(PlaneId(lpn.offset(Idle::CHIPS)))
    }
    fn home(&self, lpn: Lpn) -> Option<PlaneId> {
        Idle.home(lpn)
    }
    fn chips(&self) -> u32 {
        Idle.chips()
    }
    fn home_chip(&self, lpn: Lpn) -> Option<u32> {
        Idle.home_chip(lpn)
    }
    fn queued(&self, unit: PlaneId) -> u32 {
        self.queued[unit.index()]
    }
    fn free_blocks(&self, unit: PlaneId) -> u32 {
        Idle.free_blocks(unit)
    }
    fn channels(&self) -> u32 {
        Idle.channels()
    }
    fn channel_ready(&self, channel: u32) -> bool {
        self.ready[channel as usize]
    }
    fn maps_pages(&self) -> bool {
        self.maps_pages
    }
    fn padding_pays(&self, pages: u32) -> bool {
        pages >= self.worth_padding
    }
    fn route(&self, block: LogicalBlock, pattern: Pattern) -> Route {
        Idle.route(block, pattern)
    }
}

fn decisions(out: &Outcome) -> Decisions {
    let left = |e| {
        let e: &buffer::Eviction = e;
        let pages = out.pages_of(e).iter().map(|page| (page.lpn.0, page.dirty)).collect();
        Left { action: e.action, pages, hint: e.hint }
    };
    Decisions {
        hits: out.answers.iter().map(|answer| *answer == Answer::Hit).collect(),
        left: out.evictions.iter().map(left).collect(),
    }
}

fn build(fast: &Value, shape: Shape) -> Box<dyn buffer::Buffer> {
    serde_json::from_value::<BufferConfig>(fast.clone()).unwrap().build(shape).unwrap()
}

/// Some writes cover the end of their first page only, some the beginning of their last one.
fn in_part(
    quick: &mut dyn buffer::Buffer,
    slow: &mut dyn Buffer,
    span: &Span,
    random: &mut Pcg64Mcg,
) {
    const OF: u32 = 8;
    let (first, last) = (span.first.0, span.first.0 + span.count - 1);
    let (from, to) = (random.random_range(0..OF), random.random_range(1..=OF));
    let parts = match random.random_range(0..4) {
        0 if first == last && from < to => vec![(first, from..to)],
        1 if first < last => vec![(first, from..OF), (last, 0..to)],
        2 if first < last => vec![(last, 0..to)],
        _ => Vec::new(),
    };
    for (page, bytes) in parts {
        quick.writes_part(Lpn(page), Part { from: bytes.start, to: bytes.end, of: OF });
        slow.part(page, bytes, OF);
    }
}

/// One random sequence of requests, with flush commands, trims and forced writes in it.
fn compare(reference: &BufferReference, seed: u64) {
    let name = reference.scheme;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let pages_per_block = [1, 2, 3, 4, 5, 7, 8][random.random_range(0..7)];
    let blocks = random.random_range(2..8);
    let shape = Shape {
        capacity: random.random_range(reference.least_capacity..20),
        pages_per_block,
        logical_pages: blocks * pages_per_block,
    };
    let (fast, mut slow) = (reference.pair)(shape, &mut random);
    let mut quick = build(&fast, shape);
    let mut out = Outcome::default();
    let mut parts = Pcg64Mcg::seed_from_u64(seed);
    let mut views = seed.is_multiple_of(2).then(|| Pcg64Mcg::seed_from_u64(seed));
    for request in 0..random.random_range(1..80) {
        out.clear();
        let step = random.random_range(0..40);
        let first = random.random_range(0..shape.logical_pages);
        let count = random.random_range(1..=pages_per_block - first % pages_per_block);
        let expected = if step == 0 {
            quick.flush(&mut out);
            slow.flush()
        } else if step == 1 {
            quick.trim(Lpn(first), count);
            (first..first + count).for_each(|page| slow.trim(page));
            slow.trimmed();
            Decisions::default()
        } else if step == 2 {
            quick.flush_pages(Lpn(first), count, &mut out);
            slow.force(first, count)
        } else {
            let span =
                Span { first: Lpn(first), count, write: random.random_range(0..3) > 0, request };
            if span.write {
                in_part(&mut *quick, &mut *slow, &span, &mut parts);
                if parts.random() {
                    let pages = count + parts.random_range(0..4);
                    quick.writes(request, pages);
                    slow.writes(request, pages);
                }
            }
            if let Some(views) = &mut views {
                let view = Busy::draw(views);
                quick.access(&span, &view, &mut out);
                slow.access(&span, &view)
            } else {
                quick.access(&span, &Idle, &mut out);
                slow.access(&span, &Idle)
            }
        };
        assert_eq!(
            decisions(&out),
            expected,
            "{name}, seed {seed}, request {request} (step {step}, {first}+{count}): {fast}, \
             {shape:?}"
        );
        if let Err(problem) = quick.check() {
            panic!("{name}, seed {seed}, request {request}: {problem}");
        }
    }
}

#[test]
fn random_sequences_are_served_the_same() {
    for reference in references().into_iter().filter(|reference| is_chosen(reference.scheme)) {
        seeds(1_000, 20_000).for_each(|seed| compare(reference, seed));
    }
}

/// The bundled recordings, by name.
fn recordings() -> Vec<String> {
    let files = std::fs::read_dir(workloads()).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".nbdkit.zst"));
    names.sort();
    names
}

fn workloads() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads")
}

#[test]
fn the_recorded_workloads_are_served_the_same() {
    const PAGE: u64 = 4096;
    const BYTES: u64 = 4 << 30;
    let recordings = recordings();
    assert!(recordings.len() >= 10, "{recordings:?}");
    let mut references = references();
    references.retain(|reference| is_chosen(reference.scheme));
    let mut evictions = vec![0; references.len()];
    for (seed, recording) in recordings.iter().enumerate() {
        let workload =
            eraseblock_traces::WorkloadConfig::trace(recording).prepare(&workloads()).unwrap();
        let drive = eraseblock_traces::DriveShape {
            exported_bytes: BYTES,
            page_bytes: PAGE,
            block_bytes: 64 * PAGE,
        };
        let fitted = workload.fit(drive).unwrap();
        for (reference, evictions) in references.iter().zip(&mut evictions) {
            let name = reference.scheme;
            let shape =
                Shape { capacity: 300, pages_per_block: 64, logical_pages: (BYTES / PAGE) as u32 };
            let (fast, mut slow) =
                (reference.pair)(shape, &mut Pcg64Mcg::seed_from_u64(seed as u64));
            let mut quick = build(&fast, shape);
            let mut out = Outcome::default();
            for (number, request) in
                fitted.requests().take(crate::support::cases(300, 10_000)).enumerate()
            {
                let request = request.unwrap();
                let at = format!("{name}, {recording}, request {number}: {fast}");
                out.clear();
                if request.op == Op::Flush {
                    quick.flush(&mut out);
                    assert_eq!(decisions(&out), slow.flush(), "{at}: flush");
                    continue;
                }
                let (first, end) =
                    (request.offset / PAGE, (request.offset + request.len).div_ceil(PAGE));
                if request.op == Op::Write {
                    quick.writes(number as u64, (end - first) as u32);
                    slow.writes(number as u64, (end - first) as u32);
                }
                for block in first / 64..end.div_ceil(64) {
                    let (from, to) =
                        ((block * 64).max(first) as u32, ((block + 1) * 64).min(end) as u32);
                    out.clear();
                    if request.op == Op::Trim {
                        quick.trim(Lpn(from), to - from);
                        (from..to).for_each(|page| slow.trim(page));
                        slow.trimmed();
                        continue;
                    }
                    let write = request.op == Op::Write;
                    let span =
                        Span { first: Lpn(from), count: to - from, write, request: number as u64 };
                    quick.access(&span, &Idle, &mut out);
                    *evictions += out.evictions.len();
                    assert_eq!(decisions(&out), slow.access(&span, &Idle), "{at}");
                    if request.fua {
                        out.clear();
                        quick.flush_pages(Lpn(from), to - from, &mut out);
                        assert_eq!(decisions(&out), slow.force(from, to - from), "{at}: forced");
                    }
                }
            }
        }
    }
    for (reference, evictions) in references.iter().zip(evictions) {
        assert!(evictions > 500 || reference.scheme == "none", "{}: {evictions}", reference.scheme);
    }
}
