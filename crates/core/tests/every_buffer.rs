//! What every buffer must do, with its defaults and with each other value of its switches and
//! choices: decisions that can be carried out, flush commands that leave nothing dirty, forced
//! writes that are written, trims that forget.

use crate::support;
use std::collections::BTreeSet;

use crate::support::stream::{self, Ram, Step};
use eraseblock_core::buffer::{BufferConfig, Outcome, Shape};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::support::ids::Lpn;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

const SHAPES: [Shape; 4] = [
    Shape { capacity: 8, pages_per_block: 4, logical_pages: 64 },
    Shape { capacity: 1, pages_per_block: 4, logical_pages: 16 },
    Shape { capacity: 37, pages_per_block: 8, logical_pages: 256 },
    Shape { capacity: 200, pages_per_block: 4, logical_pages: 64 },
];

/// What holds after a step, beside decisions that can be carried out.
fn obeys(
    step: Step,
    written: &[Lpn],
    dirty_before: usize,
    ram: &Ram,
    shape: Shape,
) -> Result<(), String> {
    match step {
        Step::Access(_) => Ok(()),
        Step::Trim(..) if written.is_empty() => Ok(()),
        Step::Trim(..) => Err("a trim writes pages".to_owned()),
        Step::Flush => {
            let left = ram.dirty(Lpn(0), shape.logical_pages);
            if left.is_empty() && written.len() == dirty_before {
                return Ok(());
            }
            Err(format!(
                "a flush of {dirty_before} dirty pages writes {} and leaves {left:?}",
                written.len()
            ))
        }
        Step::Force(first, count) => {
            let left = ram.dirty(first, count);
            let block = first.block(shape.pages_per_block);
            if left.is_empty()
                && written.iter().all(|page| page.block(shape.pages_per_block) == block)
            {
                return Ok(());
            }
            Err(format!(
                "a forced write of {count} pages from {first} writes {written:?} and leaves \
                 {left:?}"
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
            for seed in support::seeds(support::cases(4, 300)) {
                let mut random = Pcg64Mcg::seed_from_u64(seed);
                let count = random.random_range(1..400);
                let steps = stream::random(&mut random, shape, count);
                let mut buffer = config.build(shape).unwrap();
                stream::tell(&mut *buffer, &steps);
                let (mut ram, mut out) = (Ram::default(), Outcome::default());
                for (number, step) in steps.iter().enumerate() {
                    let dirty = ram.dirty_count();
                    stream::call(&mut *buffer, *step, &mut out);
                    let result = ram
                        .follow(shape, *step, &out)
                        .and_then(|written| obeys(*step, &written, dirty, &ram, shape))
                        .and_then(|()| ram.compare(shape, &*buffer));
                    if let Err(problem) = result {
                        panic!(
                            "{name}, {shape:?}, seed {seed}, step {number} ({step:?}): {problem}"
                        );
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
        let steps = [access(0, 4, true), access(5, 1, false), Step::Force(Lpn(1), 2), Step::Flush];
        let mut buffer = config.build(shape).unwrap();
        stream::tell(&mut *buffer, &steps);
        let (mut ram, mut out) = (Ram::default(), Outcome::default());
        let mut written = Vec::new();
        for step in steps {
            let dirty = if step == Step::Force(Lpn(1), 2) {
                ram.dirty(Lpn(1), 2)
            } else {
                ram.dirty(Lpn(0), shape.logical_pages)
            };
            stream::call(&mut *buffer, step, &mut out);
            let mut pages = ram.follow(shape, step, &out).unwrap();
            pages.sort_unstable();
            written.push((pages, dirty));
        }
        if buffer.holds(Lpn(5)) {
            assert_eq!(written[2].0, written[2].1, "{name}: forced");
            assert_eq!(written[3].0, written[3].1, "{name}: flushed");
            read_buffers += 1;
        }
    }
    assert!(read_buffers >= 6, "{read_buffers}");
}

fn access(first: u32, count: u32, write: bool) -> Step {
    Step::Access(eraseblock_core::buffer::Span { first: Lpn(first), count, write, request: 0 })
}

/// Trimmed pages are never written, nor found again.
#[test]
fn trims_forget_pages_whether_dirty_or_not() {
    let shape = SHAPES[0];
    for (name, config) in support::variants(shape) {
        let steps = [
            access(0, 2, true),
            access(5, 1, true),
            Step::Trim(Lpn(0), 5),
            access(0, 1, false),
            Step::Trim(Lpn(0), 1),
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
        let expected: &[Lpn] = if config.name() == "none" { &[] } else { &[Lpn(5)] };
        assert_eq!(last, expected, "{name}");
    }
}

/// Writes and reads with a flush command after every `flush_every` of them and, if `fua`, every
/// fifth write forced.
fn served(buffer: &str, battery: bool, flush_every: Option<usize>, fua: bool) -> (Report, u32) {
    let config = support::config(&json!({
        "buffer": {"size": "32 KiB", "scheme": buffer, "battery": battery},
        "ftl": {"mapping": {"kind": "bast", "log_blocks": 2}},
        "host": {"replay": "open", "max_outstanding": 4},
    }));
    let mut requests: Vec<Request> = Vec::new();
    for number in 0..300u64 {
        let op = if number % 4 == 3 { Op::Read } else { Op::Write };
        let arrival_ns = number * 5_000_000;
        let forced = fua && op == Op::Write && number % 5 == 0;
        // Pages are written again soon, and the place moves on.
        let access =
            support::request(op, number / 20 * 5 % 26 + number * 3 % 5, 1 + number % 3 % 2);
        requests.push(Request { arrival_ns, fua: forced, ..access });
        if flush_every.is_some_and(|every| (number as usize + 1).is_multiple_of(every)) {
            requests.push(Request {
                arrival_ns: arrival_ns + 2_500_000,
                ..support::request(Op::Flush, 0, 0)
            });
        }
    }
    let mut drive = Device::new(&config, Options { verify: true }).unwrap();
    drive.precondition().unwrap();
    support::foresee(&mut drive, &requests).unwrap();
    for request in &requests {
        drive.submit(request).unwrap();
    }
    let report = drive.finish().unwrap();
    (report, drive.buffer().len())
}

/// With a battery a flush command is answered at once, and it and forced writes cost nothing: the
/// run is the one without them.
#[test]
fn a_battery_makes_flush_commands_and_forced_writes_free() {
    for name in BufferConfig::NAMES {
        let (with, held) = served(name, true, Some(7), true);
        let (without, held_without) = served(name, true, None, false);
        assert_eq!(
            (&with.flash, &with.hit_ratio, held),
            (&without.flash, &without.hit_ratio, held_without),
            "{name}"
        );
        assert_eq!(with.response_ns.write, without.response_ns.write, "{name}");
        assert_eq!(with.response_ns.read, without.response_ns.read, "{name}");
        // Without a battery both cost programs, except where there is no buffer.
        let programs = |report: &Report| report.flash.programs.host;
        let (flushed, _) = served(name, false, Some(7), false);
        let (forced, _) = served(name, false, None, true);
        let costs = [programs(&flushed), programs(&forced)].map(|found| found > programs(&without));
        assert_eq!(costs, [*name != "none"; 2], "{name}");
    }
}

/// Section 4.2.4 of the paper: flush commands empty the buffer, block by padded block, and take
/// from what it gains.
#[test]
fn bplru_is_emptied_by_flush_commands() {
    let (seldom, _) = served("bplru", false, Some(100), false);
    let (often, left) = served("bplru", false, Some(3), false);
    assert_eq!(left, 0, "the last request is a flush command");
    assert!(
        often.padded_pages > seldom.padded_pages,
        "{} {}",
        often.padded_pages,
        seldom.padded_pages
    );
    assert!(often.flash.erases.total > seldom.flash.erases.total);
    assert!(often.hit_ratio.write < seldom.hit_ratio.write);
    // Every block that leaves is written whole.
    assert_eq!(often.figures.read("flush_pages.after_padding.p50"), Some(4));
}
