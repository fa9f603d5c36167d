//! The scheme that docs/python-scheme.md takes from Python to Rust decides as the registered
//! `clock` does, with which the one in Python agrees.

#[path = "../../../examples/my_scheme.rs"]
#[allow(dead_code, reason = "what the registry would use")]
mod example;

use eraseblock_core::buffer::{BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

#[test]
fn the_example_decides_as_clock() {
    let shape = Shape { capacity: 24, pages_per_block: 4, logical_pages: 96 };
    let mut clock = BufferConfig::by_name("clock").unwrap().build(shape).unwrap();
    let mut mine = example::Config::default().build(shape).unwrap();
    let mut dice = Pcg64Mcg::seed_from_u64(1);
    let (mut theirs, mut ours) = (Outcome::default(), Outcome::default());
    let mut left = 0;
    for request in 0..3000 {
        let first = dice.random_range(0..shape.logical_pages);
        let count = dice.random_range(1..=4 - first % 4);
        let span = Span { first: Lpn(first), count, write: dice.random_bool(0.7), request };
        for (buffer, out) in [(&mut clock, &mut theirs), (&mut mine, &mut ours)] {
            out.clear();
            match request % 100 {
                99 => buffer.flush(out),
                98 => buffer.flush_pages(span.first, count, out),
                97 => buffer.trim(span.first, count),
                _ => buffer.access(&span, &Idle, out),
            }
            buffer.check().unwrap();
        }
        assert_eq!(theirs, ours, "request {request}");
        left += ours.evictions.len();
    }
    assert!(left > 1000, "{left}");
}
