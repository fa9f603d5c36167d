//! The ensemble: alone an expert is what the buffer does; following costs no more than what the
//! leaders cost and one buffer for each change; the choice keeps what it promises; models count as
//! their FTLs do.

use crate::support::{self, Dice};
use eraseblock_core::buffer::ensemble::choice::Choice;
use eraseblock_core::buffer::ensemble::held::Held;
use eraseblock_core::buffer::ensemble::model::Model;
use eraseblock_core::buffer::{
    Action, Answer, Buffer, BufferConfig, Evicted, Idle, Outcome, Shape, Span, View,
};
use eraseblock_core::host::Op;
use eraseblock_core::pattern::{Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use eraseblock_core::upkeep::{Times, Upkeep};
use serde_json::json;

fn build(scheme: serde_json::Value, shape: Shape) -> Box<dyn Buffer> {
    serde_json::from_value::<BufferConfig>(scheme).unwrap().build(shape).unwrap()
}

fn span(dice: &mut Dice, shape: Shape, request: u64) -> Span {
    let first = Lpn(dice.roll(u64::from(shape.logical_pages)) as u32);
    let room = shape.pages_per_block - first.offset(shape.pages_per_block);
    let count = 1 + dice.roll(u64::from(room)) as u32;
    Span { first, count, write: dice.roll(3) > 0, request }
}

#[test]
fn one_expert_alone_is_that_scheme() {
    let shape = Shape { capacity: 24, pages_per_block: 4, logical_pages: 96 };
    for name in BufferConfig::NAMES.iter().filter(|name| !["opt", "ensemble"].contains(name)) {
        let mut alone = build(json!({"kind": name}), shape);
        let mut tried = build(json!({"kind": "ensemble", "experts": [name]}), shape);
        let (mut dice, mut left) = (Dice(7), 0);
        for request in 0..2_000 {
            let (mut expected, mut found) = (Outcome::default(), Outcome::default());
            if dice.roll(20) == 0 {
                let first = Lpn(dice.roll(90) as u32);
                alone.trim(first, 5);
                tried.trim(first, 5);
            } else {
                let span = span(&mut dice, shape, request);
                for buffer in [&mut alone, &mut tried] {
                    buffer.writes(request, if span.write { span.count } else { 0 });
                }
                alone.access(&span, &Idle, &mut expected);
                tried.access(&span, &Idle, &mut found);
                assert_eq!(found, expected, "{name}, request {request}: {span:?}");
                left += found.pages.len();
            }
            assert_eq!(tried.len(), alone.len(), "{name}, request {request}");
            tried.check().unwrap();
        }
        assert!(left > 100 || *name == "none", "{name}: {left} pages left");
    }
}

/// Pages that an outcome writes.
fn written(span: &Span, out: &Outcome) -> usize {
    let evicted: usize = out
        .evictions
        .iter()
        .filter(|one| one.action != Action::Drop)
        .map(|one| out.pages_of(one).len())
        .sum();
    let bypassed = out.answers.iter().filter(|answer| **answer == Answer::Bypass).count();
    evicted + if span.write { bypassed } else { 0 }
}

/// Plays requests and changes of leader; pages written by the buffer, by its leaders, changes.
fn follow(
    shape: Shape,
    configs: &[BufferConfig; 2],
    requests: &[Span],
    leads: &[usize],
) -> [usize; 3] {
    let mut experts = configs.each_ref().map(|config| config.build(shape).unwrap());
    let (mut held, mut leader) = (Held::new(shape), leads[0]);
    let mut sums = [0; 3];
    for (span, &next) in requests.iter().zip(leads) {
        if next != leader {
            leader = next;
            held.lead(&*experts[leader]);
            sums[2] += 1;
        }
        let mut outs = [Outcome::default(), Outcome::default()];
        for (expert, out) in experts.iter_mut().zip(&mut outs) {
            expert.access(span, &Idle, out);
        }
        let mut out = Outcome::default();
        held.follow(span, &outs[leader], experts[leader].len(), &mut out);
        held.check(&*experts[leader]).unwrap();
        assert!(held.table().len() <= shape.capacity);
        sums[0] += written(span, &out);
        sums[1] += written(span, &outs[leader]);
    }
    sums
}

/// Every sequence of seven requests for one of four pages, the leader changing at one in so many
/// subsets of times.
#[test]
fn following_writes_no_more_than_leaders_and_a_buffer_for_each_change() {
    const LENGTH: u32 = 7;
    for (capacity, names) in [(2, ["lru", "fab"]), (2, ["fifo", "fab"]), (3, ["lru", "block-lru"])]
    {
        let shape = Shape { capacity, pages_per_block: 2, logical_pages: 4 };
        let configs = names.map(|name| BufferConfig::by_name(name).unwrap());
        let mut dear = 0;
        for code in 0..4_u32.pow(LENGTH) {
            let one = |at: u32| {
                let first = Lpn(code / 4_u32.pow(at) % 4);
                Span { first, count: 1, write: true, request: u64::from(at) }
            };
            let requests: Vec<Span> = (0..LENGTH).map(one).collect();
            for changes in (0..1_usize << (LENGTH - 1)).step_by(support::cases(7, 1)) {
                let mut lead = 0;
                let leads: Vec<usize> = (0..LENGTH as usize)
                    .map(|at| {
                        lead ^= changes << 1 >> at & 1;
                        lead
                    })
                    .collect();
                let [ours, theirs, switches] = follow(shape, &configs, &requests, &leads);
                let most = theirs + switches * capacity as usize;
                assert!(ours <= most, "{names:?} {requests:?} {leads:?}: {ours} above {most}");
                dear += usize::from(ours > theirs);
            }
        }
        assert!(dear > 0, "{names:?}: no change ever costs anything");
    }
}

/// Longer random runs, with spans of several pages and reads, of all pairs of some experts.
#[test]
fn following_keeps_that_on_random_requests() {
    let shape = Shape { capacity: 16, pages_per_block: 4, logical_pages: 64 };
    let names = ["lru", "cold-groups", "bplru", "s3-fifo", "ref"];
    for (a, b) in (0..5).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let mut dice = Dice((a * 8 + b) as u64);
        let requests: Vec<Span> = (0..2_000)
            .map(|request| Span { count: 1, ..span(&mut dice, shape, request) })
            .collect();
        let mut lead = 0;
        let leads: Vec<usize> = (0..requests.len())
            .map(|_| {
                lead ^= usize::from(dice.roll(97) == 0);
                lead
            })
            .collect();
        let configs = [names[a], names[b]].map(|name| BufferConfig::by_name(name).unwrap());
        let [ours, theirs, switches] = follow(shape, &configs, &requests, &leads);
        assert!(switches > 5 && theirs > 300);
        let most = theirs + switches * shape.capacity as usize;
        assert!(ours <= most, "{} and {}: {ours} above {most}", names[a], names[b]);
    }
}

/// Copying what the leader decided, where the buffer is in step with it, is what following comes to;
/// and after a change of leader the buffer falls in step again.
#[test]
fn a_copy_is_what_following_would_be() {
    let shape = Shape { capacity: 16, pages_per_block: 4, logical_pages: 48 };
    let names = ["lru", "cold-groups", "cave", "gb", "clc", "bplru", "s3-fifo", "bpac", "fab"];
    for (a, b) in (0..names.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let mut dice = Dice((a * 16 + b) as u64);
        let mut experts = [names[a], names[b]]
            .map(|name| BufferConfig::by_name(name).unwrap().build(shape).unwrap());
        let mut outs = [Outcome::default(), Outcome::default()];
        let (mut follows, mut copies) = (Held::new(shape), Held::new(shape));
        let (mut leader, mut copied) = (0, [0, 0]);
        follows.lead(&*experts[0]);
        copies.lead(&*experts[0]);
        for request in 0..3_000 {
            if request % 500 == 499 {
                leader ^= 1;
                follows.lead(&*experts[leader]);
                copies.lead(&*experts[leader]);
            }
            outs.iter_mut().for_each(Outcome::clear);
            let (mut expected, mut found) = (Outcome::default(), Outcome::default());
            let span = span(&mut dice, shape, request);
            let kind = dice.roll(40);
            for (expert, out) in experts.iter_mut().zip(&mut outs) {
                match kind {
                    0 => expert.trim(span.first, span.count),
                    1 => expert.flush(out),
                    2 => expert.flush_pages(span.first, span.count, out),
                    _ => expert.access(&span, &Idle, out),
                }
            }
            let (expert, theirs) = (&*experts[leader], &outs[leader]);
            for (held, out) in [(&mut follows, &mut expected), (&mut copies, &mut found)] {
                match kind {
                    0 => held.trim(span.first, span.count),
                    1 => held.flush(expert, theirs, out),
                    2 => held.force((span.first, span.count), expert, theirs, out),
                    _ => {}
                }
            }
            if kind > 2 {
                follows.follow(&span, theirs, expert.len(), &mut expected);
                if copies.copy(&span, theirs) {
                    found = theirs.clone();
                    copied[usize::from(request > 500)] += 1;
                } else {
                    copies.follow(&span, theirs, expert.len(), &mut found);
                }
            }
            let which = format!("{} and {}, request {request}: {span:?}", names[a], names[b]);
            assert_eq!(found, expected, "{which}");
            assert!(copies.oldest_first().eq(follows.oldest_first()), "{which}");
            copies.check(expert).unwrap();
        }
        assert!(copied[0] > 100 && copied[1] > 100, "{} and {}: {copied:?}", names[a], names[b]);
    }
}

/// Cost of the choice, changes among it, over these costs of each turn, without caution or a
/// window; the mean over seeds.
fn chosen(turns: &[Vec<u64>], margin: f64, seeds: u64) -> (f64, f64) {
    let (mut cost, mut changes) = (0.0, 0.0);
    for seed in 0..seeds {
        let experts = turns[0].len();
        let mut choice = Choice::new(experts, 1.0, (margin, 1e9, 0.0), seed);
        let mut totals = vec![0; experts];
        for turn in turns {
            let leader = choice.leader();
            cost += turn[leader] as f64;
            totals.iter_mut().zip(turn).for_each(|(total, cost)| *total += cost);
            changes += f64::from(u8::from(choice.turn(totals.iter().copied()) != leader));
        }
    }
    (cost / seeds as f64, changes / seeds as f64)
}

/// What docs/own.md promises of it.
fn keeps_its_promise(turns: &[Vec<u64>], margin: f64, seeds: u64) {
    let most = turns.iter().flatten().max().copied().unwrap() as f64;
    let experts = turns[0].len();
    let total = |n: usize| turns.iter().map(|turn| turn[n]).sum::<u64>() as f64;
    let start = |n: usize| if n == 0 { 0.0 } else { 3.0 };
    let additive = |n: usize| margin * (start(n) + 1.0 + (experts as f64).ln());
    let best = (0..experts).map(|n| total(n) + additive(n)).fold(f64::INFINITY, f64::min);
    let bound = (most / margin).exp() * best;
    let (cost, changes) = chosen(turns, margin, seeds);
    assert!(cost <= bound, "{cost} above {bound}: {turns:?}");
    assert!(changes <= cost / margin + 0.5, "{changes} changes at a cost of {cost}");
}

#[test]
fn the_choice_keeps_its_promise_on_all_short_and_some_long_sequences() {
    for code in 0..4_u32.pow(7) {
        let turn = |at: u32| {
            let costs = code / 4_u32.pow(at) % 4;
            vec![u64::from(costs & 1), u64::from(costs >> 1)]
        };
        keeps_its_promise(&(0..7).map(turn).collect::<Vec<_>>(), 2.0, 24);
    }
    for (seed, margin) in [(1, 5.0), (2, 20.0), (3, 60.0)] {
        let mut dice = Dice(seed);
        for _ in 0..6 {
            let (experts, period) = (2 + dice.roll(5) as usize, 1 + dice.roll(400));
            // Each is good for a while in its turn, and all draw.
            let turn = |at: u64| {
                let good = at / period % experts as u64;
                (0..experts as u64).map(|n| dice.roll(if n == good { 2 } else { 4 })).collect()
            };
            let turns: Vec<Vec<u64>> = (0..1_500).map(turn).collect();
            keeps_its_promise(&turns, margin, 20);
        }
    }
}

/// A drive that shows what an FTL says of its work, and where blocks lie.
struct Shown {
    upkeep: Upkeep,
    blocks: u32,
    pages_per_block: u32,
}

impl View for Shown {
    fn units(&self) -> u32 {
        1
    }
    fn unit_of(&self, _lpn: Lpn) -> Option<PlaneId> {
        Some(PlaneId(0))
    }
    fn chips(&self) -> u32 {
        1
    }
    fn home_chip(&self, _lpn: Lpn) -> Option<u32> {
        None
    }
    fn queued(&self, _unit: PlaneId) -> u32 {
        0
    }
    fn upkeep(&self) -> Upkeep {
        self.upkeep
    }
    fn erase_blocks(&self) -> u32 {
        self.blocks
    }
    fn times(&self) -> Times {
        Times { read: 1, program: 3, erase: 15 }
    }
    fn free_blocks(&self, _unit: PlaneId) -> u32 {
        1
    }
    fn channels(&self) -> u32 {
        1
    }
    fn channel_ready(&self, _channel: u32) -> bool {
        true
    }
    fn route(&self, _block: LogicalBlock, _pattern: Pattern) -> Route {
        Route::Anywhere
    }
}

/// Erases that the FTL of a drive makes, and those that a model of it counts, of pages that are
/// written one by one, most of them in a tenth of the drive.
fn erases(mapping: &serde_json::Value, pages_per_block: u32) -> (f64, f64) {
    let over = json!({
        "nand": {"blocks_per_plane": 40, "pages_per_block": pages_per_block},
        "ftl": {"exported": format!("{} KiB", 32 * pages_per_block * 4), "mapping": mapping},
        "buffer": {"size": "0 B", "scheme": "none"},
    });
    let mut drive = support::device(&over);
    let upkeep = drive.mapping().advice().unwrap().upkeep();
    let view = Shown { upkeep, blocks: 40, pages_per_block };
    let pages = u64::from(32 * pages_per_block);
    let mut model = Model::new(&view, pages as u32, pages_per_block);
    let (mut dice, before) = (Dice(3), drive.erases().iter().sum::<u32>());
    for _ in 0..12_000 {
        let hot = dice.roll(4) > 0;
        let page = dice.roll(if hot { pages / 10 } else { pages });
        drive.submit(&support::request(Op::Write, page, 1)).unwrap();
        model.write(&view, &[Evicted { lpn: Lpn(page as u32), dirty: true }], false);
        model.next(0, 0);
    }
    assert_eq!(view.pages_per_block, pages_per_block);
    (f64::from(drive.erases().iter().sum::<u32>() - before), model.erases() as f64)
}

#[test]
fn models_erase_as_their_ftls_do() {
    for (mapping, within) in [
        (json!("block"), 0.02),
        (json!({"kind": "bast", "log_blocks": 4}), 0.02),
        (json!({"kind": "fast", "log_blocks": 3}), 0.05),
        (json!({"kind": "mnk", "log_blocks": 4}), 0.1),
        (json!({"kind": "sftl", "log_blocks": 4}), 0.02),
        (json!({"kind": "superblock", "blocks": 4}), 0.1),
        (json!("page"), 0.1),
    ] {
        let (real, modelled) = erases(&mapping, 16);
        assert!(real > 300.0, "{mapping}: {real}");
        let off = modelled / real - 1.0;
        assert!(off.abs() <= within, "{mapping}: {real} erases, the model says {modelled}");
    }
}

#[test]
fn what_is_not_possible_is_said() {
    let shape = Shape { capacity: 24, pages_per_block: 4, logical_pages: 96 };
    for (options, said) in [
        (json!({"experts": []}), "experts: found no name"),
        (json!({"experts": ["lru", "opt"]}), "experts: found `opt`"),
        (json!({"experts": ["lru", "ensemble"]}), "experts: found `ensemble`"),
        (json!({"experts": ["lrru"]}), "experts: found `lrru`"),
        (json!({"patience": -1}), "patience: found -1"),
        (json!({"window": 0}), "window: found 0"),
        (json!({"sample": 0}), "sample: found 0"),
    ] {
        let mut scheme = options;
        scheme["kind"] = json!("ensemble");
        let config: BufferConfig = serde_json::from_value(scheme).unwrap();
        let error = config.build(shape).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

/// An expert that nobody competes with leads for good: neither a sample nor a model is kept of it.
#[test]
fn an_only_expert_is_not_tried() {
    let shape = Shape { capacity: 64, pages_per_block: 4, logical_pages: 1024 };
    let options = |sample: u32| json!({"kind": "ensemble", "experts": ["lru"], "sample": sample});
    let taken = |scheme: serde_json::Value, view: &dyn View| {
        let (mut buffer, mut out) = (build(scheme, shape), Outcome::default());
        let mut dice = Dice(5);
        for request in 0..400 {
            out.clear();
            buffer.access(&span(&mut dice, shape, request), view, &mut out);
        }
        buffer.check().unwrap();
        buffer.metadata_bytes()
    };
    // A model of an FTL that maps pages has tables; one that is unknown has none.
    let upkeep = Upkeep::Pages { by_block: false };
    let known = Shown { upkeep, blocks: 300, pages_per_block: 4 };
    let whole = taken(options(64), &Idle);
    assert_eq!(taken(options(8), &Idle), whole);
    assert_eq!(taken(options(64), &known), whole);
    // Where nothing is known, one of those that nobody named is left.
    let unnamed = |sample: u32| taken(json!({"kind": "ensemble", "sample": sample}), &Idle);
    assert_eq!(unnamed(8), unnamed(64));
}

/// A large buffer tries its experts on a sample, and is still what its leader is. Both experts are
/// the same: an only one would not be tried at all.
#[test]
fn a_sample_leads_to_the_same_leader() {
    let shape = Shape { capacity: 64, pages_per_block: 4, logical_pages: 1024 };
    let options =
        |sample: u32| json!({"kind": "ensemble", "experts": ["lru", "lru"], "sample": sample});
    let (mut whole, mut sampled) = (build(options(64), shape), build(options(8), shape));
    let mut dice = Dice(5);
    for request in 0..4_000 {
        let span = span(&mut dice, shape, request);
        let (mut expected, mut found) = (Outcome::default(), Outcome::default());
        whole.access(&span, &Idle, &mut expected);
        sampled.access(&span, &Idle, &mut found);
        assert_eq!(found, expected, "request {request}");
    }
    assert!(sampled.metadata_bytes() < whole.metadata_bytes(), "its experts are smaller");
    let changing = |sample: u32| {
        json!({"kind": "ensemble", "experts": ["lru", "fab", "fifo"], "sample": sample,
               "patience": 0.01, "caution": 0})
    };
    let mut sampled = build(changing(8), shape);
    for request in 0..8_000 {
        let mut out = Outcome::default();
        sampled.access(&span(&mut dice, shape, request), &Idle, &mut out);
        sampled.check().unwrap();
        assert!(sampled.len() <= shape.capacity);
    }
}
