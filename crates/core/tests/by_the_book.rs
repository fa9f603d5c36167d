//! The fast schemes against slow ones written straight from the papers: every answer and every eviction is the same, under
//! tens of thousands of random request sequences and under the recorded workloads.

use crate::references::{
    Decisions, Pair, Reference, arc, blas, block_lru, bpac, bplru, cbm, cflru, clc, clock, epo, fab, hbm,
    lb_clock, lirs_wsr, parallel, ref_policy, request_lru, s3_fifo, sftl, split_lru, supa, w_tinylfu,
};
use eraseblock_core::buffer::parallel::Part;
use eraseblock_core::buffer::{Answer, Buffer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::host::Op;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

type Make = fn(Shape, &mut Pcg64Mcg) -> Pair;

/// Each scheme: its name, the pages that it needs at least, and how to make a pair.
const PAIRS: [(&str, u32, Make); 25] = [
    ("clock", 1, clock::pair),
    ("block-lru", 1, block_lru::pair),
    ("arc", 1, arc::pair),
    ("s3-fifo", 1, s3_fifo::pair),
    ("w-tinylfu", 1, w_tinylfu::pair),
    ("split-lru", 2, split_lru::pair),
    ("cflru", 1, cflru::pair),
    ("ref", 1, ref_policy::pair),
    ("lirs-wsr", 1, lirs_wsr::pair),
    ("fab", 1, fab::pair),
    ("bplru", 1, bplru::pair),
    ("request-lru", 1, request_lru::pair),
    ("epo", 1, epo::pair),
    ("lb-clock", 1, lb_clock::pair),
    ("clc", 1, clc::pair),
    ("bpac", 1, bpac::pair),
    ("hbm", 1, hbm::pair),
    ("cbm", 2, cbm::pair),
    ("supa", 1, supa::pair),
    ("cave", 1, parallel::cave),
    ("fap-lru", 1, parallel::fap_lru),
    ("mca", 1, parallel::mca),
    ("gb", 1, parallel::gb),
    ("blas", 1, blas::pair),
    ("sftl", 2, sftl::pair),
];

fn decisions(out: &Outcome) -> Decisions {
    Decisions {
        hits: out.answers.iter().map(|answer| *answer == Answer::Hit).collect(),
        left: out
            .evictions
            .iter()
            .map(|e| (e.action, out.pages_of(e).iter().map(|page| (page.lpn, page.dirty)).collect()))
            .collect(),
    }
}

fn build(fast: &Value, shape: Shape) -> Box<dyn Buffer> {
    serde_json::from_value::<BufferConfig>(fast.clone()).unwrap().build(shape).unwrap()
}

/// Some writes cover the end of their first page only, some the beginning of their last one.
fn in_part(quick: &mut dyn Buffer, slow: &mut dyn Reference, span: &Span, random: &mut Pcg64Mcg) {
    const OF: u32 = 8;
    let (first, last) = (span.first, span.first + span.count - 1);
    let (from, to) = (random.random_range(0..OF), random.random_range(1..=OF));
    let parts = match random.random_range(0..4) {
        0 if first == last && from < to => vec![(first, from..to)],
        1 if first < last => vec![(first, from..OF), (last, 0..to)],
        2 if first < last => vec![(last, 0..to)],
        _ => Vec::new(),
    };
    for (page, bytes) in parts {
        quick.writes_part(page, Part { from: bytes.start, to: bytes.end, of: OF });
        slow.part(page, bytes, OF);
    }
}

#[test]
fn random_sequences_are_served_the_same() {
    for (name, least, pair) in PAIRS {
        for seed in 0..10_000 {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let pages_per_block = [1, 2, 3, 4, 5, 7, 8][random.random_range(0..7)];
            let blocks = random.random_range(2..8);
            let shape = Shape {
                capacity: random.random_range(least..20),
                pages_per_block,
                logical_pages: blocks * pages_per_block,
            };
            let (fast, mut slow) = pair(shape, &mut random);
            let mut quick = build(&fast, shape);
            let mut out = Outcome::default();
            let mut parts = Pcg64Mcg::seed_from_u64(seed);
            for request in 0..random.random_range(1..80) {
                out.clear();
                let step = random.random_range(0..40);
                let first = random.random_range(0..shape.logical_pages);
                let count = random.random_range(1..=pages_per_block - first % pages_per_block);
                let expected = if step == 0 {
                    quick.flush(&mut out);
                    slow.flush()
                } else if step == 1 {
                    quick.trim(first, count);
                    (first..first + count).for_each(|page| slow.trim(page));
                    Decisions::default()
                } else if step == 2 {
                    quick.flush_pages(first, count, &mut out);
                    slow.force(first, count)
                } else {
                    let span = Span { first, count, write: random.random_range(0..3) > 0, request };
                    if span.write {
                        in_part(&mut *quick, &mut *slow, &span, &mut parts);
                        if parts.random() {
                            let pages = count + parts.random_range(0..4);
                            quick.writes(request, pages);
                            slow.writes(request, pages);
                        }
                    }
                    quick.access(&span, &Idle, &mut out);
                    slow.access(&span)
                };
                assert_eq!(
                    decisions(&out),
                    expected,
                    "{name}, seed {seed}, request {request}: {fast}, {shape:?}"
                );
                if let Err(problem) = quick.check() {
                    panic!("{name}, seed {seed}, request {request}: {problem}");
                }
            }
        }
    }
}

/// The bundled recordings, by name.
fn recordings() -> Vec<String> {
    let files = std::fs::read_dir(workloads()).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
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
    let mut evictions = [0; PAIRS.len()];
    for (seed, recording) in recordings.iter().enumerate() {
        let workload = eraseblock_traces::WorkloadConfig::trace(recording).prepare(&workloads()).unwrap();
        let drive =
            eraseblock_traces::DriveShape { exported_bytes: BYTES, page_bytes: PAGE, block_bytes: 64 * PAGE };
        let fitted = workload.fit(drive).unwrap();
        for ((name, _, pair), evictions) in PAIRS.into_iter().zip(&mut evictions) {
            let shape = Shape { capacity: 300, pages_per_block: 64, logical_pages: (BYTES / PAGE) as u32 };
            let (fast, mut slow) = pair(shape, &mut Pcg64Mcg::seed_from_u64(seed as u64));
            let mut quick = build(&fast, shape);
            let mut out = Outcome::default();
            for (number, request) in fitted.requests().take(2_000).enumerate() {
                let request = request.unwrap();
                let at = format!("{name}, {recording}, request {number}: {fast}");
                out.clear();
                if request.op == Op::Flush {
                    quick.flush(&mut out);
                    assert_eq!(decisions(&out), slow.flush(), "{at}: flush");
                    continue;
                }
                let (first, end) = (request.offset / PAGE, (request.offset + request.len).div_ceil(PAGE));
                if request.op == Op::Write {
                    quick.writes(number as u64, (end - first) as u32);
                    slow.writes(number as u64, (end - first) as u32);
                }
                for block in first / 64..end.div_ceil(64) {
                    let (from, to) = ((block * 64).max(first) as u32, ((block + 1) * 64).min(end) as u32);
                    out.clear();
                    if request.op == Op::Trim {
                        quick.trim(from, to - from);
                        (from..to).for_each(|page| slow.trim(page));
                        continue;
                    }
                    let write = request.op == Op::Write;
                    let span = Span { first: from, count: to - from, write, request: number as u64 };
                    quick.access(&span, &Idle, &mut out);
                    *evictions += out.evictions.len();
                    assert_eq!(decisions(&out), slow.access(&span), "{at}");
                    if request.fua {
                        out.clear();
                        quick.flush_pages(from, to - from, &mut out);
                        assert_eq!(decisions(&out), slow.force(from, to - from), "{at}: forced");
                    }
                }
            }
        }
    }
    for ((name, ..), evictions) in PAIRS.iter().zip(evictions) {
        assert!(evictions > 500, "{name}: {evictions}");
    }
}
