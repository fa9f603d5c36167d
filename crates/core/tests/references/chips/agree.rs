//! Random requests are answered at the same moments by the product.

use std::collections::BTreeMap;

use eraseblock_core::host::{Op, Request};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::Chips;
use super::array::Array;
use crate::references::{is_chosen, seeds};
use crate::support;

/// Requests that are spread over some time, so that some find an idle drive and some a long queue.
fn requests(array: &Array, random: &mut Pcg64Mcg) -> Vec<Request> {
    let half = array.exported() / 2;
    let step = array.program_pages();
    let gap = [1_000, 100_000, 1_000_000][random.random_range(0..3)];
    let mut now = 1;
    // Several planes of a die go together for pages of one request, or of requests that come at the
    // same moment.
    let same = u64::from(array.together.is_none());
    (0..random.random_range(1..40))
        .map(|_| {
            now += if random.random_range(0..3) > 0 { random.random_range(1..gap) } else { same };
            if random.random_range(0..16) == 0 {
                Request { arrival_ns: now, ..support::request(Op::Flush, 0, 0) }
            } else if random.random() {
                let first = random.random_range(0..half - 8);
                Request {
                    arrival_ns: now,
                    ..support::request(Op::Read, first.into(), random.random_range(1..=6))
                }
            } else {
                let first = (half / step + random.random_range(1..half / step - 6)) * step;
                let count = u64::from(step * random.random_range(1..=6));
                // A forced write takes no longer: nothing is held in RAM.
                Request {
                    arrival_ns: now,
                    fua: random.random(),
                    ..support::request(Op::Write, first.into(), count)
                }
            }
        })
        .collect()
}

/// `false` where it cannot be compared.
fn compare(seed: u64) -> bool {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let array = Array::draw(&mut random);
    let requests = requests(&array, &mut random);
    let Some(answers) = Chips::new(&array).run(&requests) else { return false };
    let mut quick = support::device(&array.over());
    quick.note_answers();
    for request in &requests {
        quick.submit(request).unwrap_or_else(|error| panic!("seed {seed}: {error}: {array:?}"));
    }
    let report = quick.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}: {array:?}"));
    let at = || {
        let list = requests.iter().map(|r| (r.arrival_ns, r.op, r.offset / 4096, r.len / 4096));
        format!("seed {seed}: {array:?}, {:?}, expected {answers:?}", list.collect::<Vec<_>>())
    };
    for (found, op) in [(report.response_ns.read, Op::Read), (report.response_ns.write, Op::Write)]
    {
        let of = |&&(n, _): &&(usize, u64)| requests[n].op == op;
        let times: Vec<u64> =
            answers.iter().filter(of).map(|&(n, end)| end - requests[n].arrival_ns).collect();
        let (sum, most) = (times.iter().sum::<u64>(), times.iter().copied().max());
        let found = found.map(|f| ((f.mean * f.count as f64).round() as u64, f.max));
        assert_eq!(
            found,
            most.map(|most| (sum, most)),
            "{op:?}: sum and longest of response times, {}",
            at()
        );
    }
    // Answers of one moment have no order.
    let ends: BTreeMap<u64, u64> = answers.iter().map(|&(n, end)| (n as u64, end)).collect();
    assert!(quick.answers().is_sorted_by_key(|n| ends[n]), "order of the answers, {}", at());
    true
}

#[test]
fn random_requests_take_as_long() {
    if is_chosen("chips") {
        let all = seeds(1_000, 10_000);
        let compared = all.clone().filter(|&seed| compare(seed)).count();
        assert!(compared > all.clone().count() * 4 / 5, "{compared} of {all:?} could be compared");
    }
}
