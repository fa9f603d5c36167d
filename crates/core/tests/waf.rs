//! Write amplification of greedy, FIFO and d-choices collection under uniform random writes agrees
//! with the published models.

use crate::common::{Random, assert_within, drive, nand, preconditioned, request};
use eraseblock_core::config::{Precondition, Replay};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;
use serde_json::{Value, json};

/// Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR 2012), greedy collection in
/// steady state.
///
/// Collection takes blocks with `x` valid pages of `n`, `1 / (n - x)` of them for each page that
/// the host writes. As many blocks pass from `i` valid pages to `i - 1`, for each `i` above `x`;
/// each does so with probability `i / user pages`. Hence there are `user / (n - x) / i` blocks with
/// `i` valid pages, and their sum over `x < i <= n` is the number of blocks. That fixes `x`,
/// between whole numbers by linear interpolation, and the write amplification `n / (n - x)`.
fn greedy_waf(blocks: f64, user_pages: f64, pages_per_block: u32) -> f64 {
    let n = f64::from(pages_per_block);
    // Blocks that the distribution needs if victims hold `x` valid pages: fewer, the larger x is.
    let needed = |x: u32| {
        (x + 1..=pages_per_block).map(|i| user_pages / (n - f64::from(x)) / f64::from(i)).sum()
    };
    let mut above: f64 = needed(0);
    for x in 1..pages_per_block {
        let below: f64 = needed(x);
        if below <= blocks && blocks <= above {
            let x = f64::from(x - 1) + (above - blocks) / (above - below);
            return n / (n - x);
        }
        above = below;
    }
    panic!("{blocks} blocks cannot hold {user_pages} pages");
}

/// Desnoyers, SYSTOR 2012: collection in the order of writing, which he calls LRU; Robinson's log.
/// With `alpha` physical pages for each user page, a page is still valid when its block comes round
/// again with probability `exp(-alpha / A)`, and `A = 1 / (1 - that)`.
fn fifo_waf(alpha: f64) -> f64 {
    let excess = |a: f64| 1.0 / (1.0 - libm::exp(-alpha / a)) - a;
    root(1.0 + 1e-9, 1e3, excess)
}

/// Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid
/// state drives", SIGMETRICS 2013: the fixed point. A share `s[i]` of blocks has at most `i` valid
/// pages, so that the best of `d` has with probability `q[i] = 1 - (1 - s[i])^d`; divided by the
/// probability that not all are fully valid, since others are drawn then. As many blocks lose their
/// `i + 1`st valid page as are collected with at most `i`: `h / user * (i + 1) * (s[i + 1] - s[i])
/// = q[i]`, where `h = sum of q` is the number of pages that the host writes for each block
/// collected and `user` the valid pages of a block on average. Write amplification is `pages / h`.
fn d_choices_waf(d: i32, pages: u32, user: f64) -> f64 {
    // The last share and the sum of q, from the share of blocks without a valid page and a guess of
    // `h`.
    let unfold = |h: f64, none: f64| {
        let full = user / (h * f64::from(pages));
        let not_all_full = 1.0 - (0..d).fold(1.0, |product, _| product * full);
        let (mut s, mut sum) = (none, 0.0);
        for i in 0..pages {
            // 1 - (1 - s)^d = s * (1 + (1 - s) + (1 - s)^2 + ...), which small shares survive.
            let share = s.min(1.0);
            let powers = (0..d).fold(0.0, |powers, _| 1.0 + (1.0 - share) * powers);
            let q = share * powers / not_all_full;
            sum += q;
            s += q * user / h / f64::from(i + 1);
        }
        (s, sum)
    };
    let none = |h: f64| root(1e-300, 1.0, |none| unfold(h, none).0 - 1.0);
    // Each block collected gains at least a page, and no more than it has.
    let h = root(1.01, f64::from(pages), |h| unfold(h, none(h)).1 - h);
    f64::from(pages) / h
}

/// Where a function that changes its sign once between `low` and `high` is zero; by halving on a
/// scale of ratios.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let rises = f(high) > 0.0;
    for _ in 0..3000 {
        let middle = (low * high).sqrt();
        if (f(middle) > 0.0) == rises {
            high = middle;
        } else {
            low = middle;
        }
        if high / low < 1.0 + 1e-12 {
            break;
        }
    }
    low
}

/// Write amplification over several drive writes after the drive has settled, in one pool of
/// blocks.
fn measured_waf(victim: &Value, blocks: u32, pages_per_block: u32, user_blocks: u32) -> f64 {
    let pages = u64::from(user_blocks * pages_per_block);
    let mut config = preconditioned(
        drive(nand([1, 1, 1, 1], blocks, pages_per_block), pages),
        Precondition::Steady,
    );
    config.ftl.victim = Some(serde_json::from_value(victim.clone()).unwrap());
    config.host.replay = Replay::Untimed;
    config.precondition.tolerance = 0.005;
    config.precondition.max_drive_writes = 30;
    let mut device = Device::new(&config, Options::default()).unwrap();
    device.precondition().unwrap();
    let mut random = Random::new(3);
    for _ in 0..pages * 4 {
        device.submit(&request(Op::Write, random.below(pages), 1, 0)).unwrap();
    }
    let report = device.finish().unwrap();
    assert!(report.precondition.settled, "{:?}", report.precondition);
    report.waf.unwrap()
}

#[test]
fn greedy_collection_amplifies_writes_as_published() {
    for (blocks, pages_per_block) in [(2048, 64), (2048, 128)] {
        for spare in [0.07, 0.15, 0.28] {
            let user_blocks = (f64::from(blocks) / (1.0 + spare)).round() as u32;
            let user_pages = f64::from(user_blocks * pages_per_block);
            let found = measured_waf(&json!("greedy"), blocks, pages_per_block, user_blocks);
            let model = |blocks| greedy_waf(f64::from(blocks), user_pages, pages_per_block);
            let what = format!("{blocks} blocks of {pages_per_block} pages, spare {spare}");
            assert_within(found, model(blocks), 0.02, &what);
            // The model knows no reserve and no open blocks. One erased block is always kept, and
            // the two that are being filled are half full on average: without those two blocks'
            // room it agrees more closely.
            assert_within(found, model(blocks - 2), 0.005, &what);
        }
    }
}

/// Two policies at three levels of spare flash. One erased block is always kept and the two that
/// are being filled are half full: the models get the room that is left.
#[test]
fn fifo_and_d_choices_amplify_writes_as_published() {
    let (blocks, pages_per_block) = (crate::support::cases(1024, 2048), 64);
    for spare in [0.07, 0.15, 0.28] {
        let user_blocks = (f64::from(blocks) / (1.0 + spare)).round() as u32;
        let physical = f64::from(blocks - 2);
        let found = |victim: Value| measured_waf(&victim, blocks, pages_per_block, user_blocks);
        let fifo = fifo_waf(physical / f64::from(user_blocks));
        assert_within(found(json!("fifo")), fifo, 0.02, &format!("fifo, spare {spare}"));
        let user = f64::from(user_blocks * pages_per_block) / physical;
        for d in [2, 10] {
            let expected = d_choices_waf(d, pages_per_block, user);
            let found = found(json!({"kind": "d-choices", "d": d}));
            assert_within(found, expected, 0.02, &format!("{d} choices, spare {spare}"));
        }
        // The models agree with one another where they should: many choices are greedy, and one is
        // not far from it.
        let greedy =
            greedy_waf(physical, f64::from(user_blocks * pages_per_block), pages_per_block);
        assert_within(
            d_choices_waf(100, pages_per_block, user),
            greedy,
            0.02,
            "many choices are greedy",
        );
        assert!(
            fifo > greedy
                && d_choices_waf(1, pages_per_block, user)
                    > d_choices_waf(2, pages_per_block, user)
        );
    }
}

/// Windows between one block and all of them lie between FIFO and greedy; policies that know ages
/// or wear copy no less than greedy where all pages are alike.
#[test]
fn no_policy_beats_greedy_under_even_writes() {
    let waf = |victim: Value| measured_waf(&victim, 256, 32, 222);
    let (greedy, fifo) = (waf(json!("greedy")), waf(json!("fifo")));
    let window = waf(json!({"kind": "windowed-greedy", "window": 0.3}));
    assert!(greedy < window && window < fifo, "{greedy} {window} {fifo}");
    assert_within(
        waf(json!({"kind": "windowed-greedy", "window": 1})),
        fifo,
        1e-9,
        "a window of one block",
    );
    assert_within(
        waf(json!({"kind": "windowed-greedy", "window": 256})),
        greedy,
        0.01,
        "a window of all blocks",
    );
    for name in ["cost-benefit", "cat", "leveling-degree", "locality-gathering", "rga", "random"] {
        let found = waf(json!(name));
        assert!(found > greedy * 0.995, "{name}: {found}, greedy {greedy}");
    }
}
