//! BLAS in runs with time, in which the drive is idle after each request for as long as it likes:
//! what was read a lot is scattered.
//!
//! Written from the page of BLAS (docs/ftls/blas.md) and SUPA, sections 3.3 and 4.2. No two
//! requests are under way at once, and collection takes no time: units that are collected take
//! turns, so much each as `ftl.gc.grain` says. So the order is known without a clock.

use eraseblock_core::device::DeviceError;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Counters;
use eraseblock_core::nand::Cause;
use eraseblock_core::support::ids::Lpn;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::references::drives::blas;
use crate::references::{Drive as _, is_chosen, seeds};
use crate::support;

/// Longer than anything that one request causes.
const LONG_NS: u64 = 10_000_000_000;

/// How many pages were scattered, and how many blocks erased.
fn compare(seed: u64) -> (u64, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (over, mut slow) = blas::draw(&mut random, true);
    let mut quick = support::device(&over);
    // Trims of the last block, of which nothing is left then, let time pass.
    let pages = (quick.exported_bytes() / quick.page_bytes()) as u32 - slow.size;
    let hot = if random.random() { random.random_range(1..=pages) } else { pages };
    let mut now = 0;
    for step in 0..random.random_range(1..100) {
        let range = if random.random_range(0..6) > 0 { hot } else { pages };
        let first = random.random_range(0..range);
        let count = random.random_range(1..=8.min(pages - first));
        let op = match random.random_range(0..30) {
            0 => Op::Flush,
            1 | 2 => Op::Trim,
            3..16 => Op::Read,
            _ => Op::Write,
        };
        let at = format!("seed {seed}, step {step}, {op:?} {first}+{count}: {over}");
        for (op, first, count) in [(op, first, count), (Op::Trim, pages, slow.size)] {
            now += LONG_NS;
            let request = Request {
                arrival_ns: now,
                ..support::request(op, u64::from(first), u64::from(count))
            };
            match quick.submit(&request) {
                Ok(()) => {}
                Err(DeviceError::NoSpace(_)) => return (0, 0),
                Err(error) => panic!("{at}: {error}"),
            }
            match op {
                Op::Write => slow.write(first, count),
                Op::Read => slow.read(first, count),
                Op::Trim => slow.trim(first, count),
                Op::Flush => slow.flush(),
            }
            slow.idle();
        }
        let c = quick.counters();
        let found =
            [Counters::total(&c.reads), Counters::total(&c.programs), Counters::total(&c.erases)];
        let expected = slow.counts();
        assert_eq!(found, [expected.reads, expected.programs, expected.erases], "{at}");
        assert_eq!(c.programs[Cause::Placement as usize], slow.scattered, "{at}: scattered pages");
        let g = quick.geometry();
        let unit = |page| quick.mapping().lookup(page).map(|ppn| g.unit_of_page(ppn).0);
        let all: Vec<Option<u32>> = Lpn(0).run(pages + slow.size).map(unit).collect();
        assert_eq!(Some(all), slow.units(), "{at}: units of the pages");
    }
    let erases = slow.counts().erases;
    quick.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}: {over}"));
    (slow.scattered, erases)
}

#[test]
fn blocks_read_a_lot_are_scattered_while_all_is_idle() {
    if is_chosen("blas") {
        let all: Vec<(u64, u64)> = seeds(1_000, 10_000).map(compare).collect();
        let both = all.iter().filter(|(scattered, erases)| *scattered > 10 && *erases > 10).count();
        assert!(both > 100, "{both} runs scattered and collected");
    }
}
