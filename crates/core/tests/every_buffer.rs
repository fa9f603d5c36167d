//! What every buffer must do, with its defaults and with each other value of its switches and choices: decisions that can be
//! carried out, flush commands that leave nothing dirty, forced writes that are written, trims that forget.

mod support;

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Outcome, Shape};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use support::stream::{self, Ram, Step};

const SHAPES: [Shape; 4] = [
    Shape { capacity: 8, pages_per_block: 4, logical_pages: 64 },
    Shape { capacity: 1, pages_per_block: 4, logical_pages: 16 },
    Shape { capacity: 37, pages_per_block: 8, logical_pages: 256 },
    Shape { capacity: 200, pages_per_block: 4, logical_pages: 64 },
];

/// What holds after a step, beside decisions that can be carried out.
fn obeys(step: Step, written: &[u32], dirty_before: &[u32], ram: &Ram, shape: Shape) -> Result<(), String> {
    match step {
        Step::Access(_) => Ok(()),
        Step::Trim(..) if written.is_empty() => Ok(()),
        Step::Trim(..) => Err("a trim writes pages".to_owned()),
        Step::Flush => {
            let left = ram.dirty(0, shape.logical_pages);
            if left.is_empty() && written.len() == dirty_before.len() {
                return Ok(());
            }
            Err(format!(
                "a flush of {} dirty pages writes {} and leaves {left:?}",
                dirty_before.len(),
                written.len()
            ))
        }
        Step::Force(first, count) => {
            let left = ram.dirty(first, count);
            let block = first / shape.pages_per_block;
            if left.is_empty() && written.iter().all(|page| page / shape.pages_per_block == block) {
                return Ok(());
            }
            Err(format!(
                "a forced write of {count} pages from {first} writes {written:?} and leaves {left:?}"
            ))
        }
    }
}

#[test]
fn every_buffer_makes_decisions_that_can_be_carried_out() {
    let large = Shape { capacity: 1 << 16, pages_per_block: 64, logical_pages: 1 << 20 };
    let mut left: BTreeSet<String> = support::variants(large).into_keys().collect();
    for shape in SHAPES {
        for (name, config) in support::variants(shape) {
            left.remove(&name);
            for seed in 0..60 {
                let mut random = Pcg64Mcg::seed_from_u64(seed);
                let count = random.random_range(1..400);
                let steps = stream::random(&mut random, shape, count);
                let mut buffer = config.build(shape).unwrap();
                stream::tell(&mut *buffer, &steps);
                let (mut ram, mut out) = (Ram::default(), Outcome::default());
                for (number, step) in steps.iter().enumerate() {
                    let dirty = ram.dirty(0, shape.logical_pages);
                    stream::call(&mut *buffer, *step, &mut out);
                    let result = ram
                        .follow(shape, *step, &out)
                        .and_then(|written| obeys(*step, &written, &dirty, &ram, shape))
                        .and_then(|()| ram.compare(shape, &*buffer));
                    if let Err(problem) = result {
                        panic!("{name}, {shape:?}, seed {seed}, step {number} ({step:?}): {problem}");
                    }
                }
            }
        }
    }
    assert!(left.is_empty(), "no shape suits {left:?}");
}

/// A buffer that serves reads writes what is forced and nothing else.
#[test]
fn forced_writes_of_read_buffers_write_nothing_else() {
    let (shape, mut read_buffers) = (SHAPES[0], 0);
    for (name, config) in support::variants(shape) {
        let steps = [access(0, 4, true), access(5, 1, false), Step::Force(1, 2), Step::Flush];
        let mut buffer = config.build(shape).unwrap();
        stream::tell(&mut *buffer, &steps);
        let (mut ram, mut out) = (Ram::default(), Outcome::default());
        let mut written = Vec::new();
        for step in steps {
            let dirty =
                if step == Step::Force(1, 2) { ram.dirty(1, 2) } else { ram.dirty(0, shape.logical_pages) };
            stream::call(&mut *buffer, step, &mut out);
            let mut pages = ram.follow(shape, step, &out).unwrap();
            pages.sort_unstable();
            written.push((pages, dirty));
        }
        if buffer.holds(5) {
            assert_eq!(written[2].0, written[2].1, "{name}: forced");
            assert_eq!(written[3].0, written[3].1, "{name}: flushed");
            read_buffers += 1;
        }
    }
    assert!(read_buffers >= 6, "{read_buffers}");
}

fn access(first: u32, count: u32, write: bool) -> Step {
    Step::Access(eraseblock_core::buffer::Span { first, count, write, request: 0 })
}

/// Trimmed pages are never written, nor found again.
#[test]
fn trims_forget_pages_whether_dirty_or_not() {
    let shape = SHAPES[0];
    for (name, config) in support::variants(shape) {
        let steps = [
            access(0, 2, true),
            access(5, 1, true),
            Step::Trim(0, 5),
            access(0, 1, false),
            Step::Trim(0, 1),
            Step::Flush,
        ];
        let mut buffer = config.build(shape).unwrap();
        stream::tell(&mut *buffer, &steps);
        let (mut ram, mut out) = (Ram::default(), Outcome::default());
        let mut last = Vec::new();
        for step in steps {
            stream::call(&mut *buffer, step, &mut out);
            last = ram.follow(shape, step, &out).unwrap();
        }
        assert_eq!(ram.hits, 0, "{name} finds a page that was trimmed");
        let expected: &[u32] = if config.name() == "none" { &[] } else { &[5] };
        assert_eq!(last, expected, "{name}");
    }
}
