//! Tests of the patterns through the door that workloads use.

use eraseblock_core::host::Op;
use serde_json::{Value, json};

use super::*;

/// A generator of `kind` with these options.
fn config(kind: &str, options: Value) -> GenerateConfig {
    let mut table = json!({"kind": kind});
    if let Value::Object(options) = options {
        table.as_object_mut().unwrap().extend(options);
    }
    serde_json::from_value(table).unwrap()
}

fn requests(config: &GenerateConfig) -> Vec<Request> {
    config.generator().unwrap().collect()
}

fn offsets(config: &GenerateConfig) -> Vec<u64> {
    requests(config).iter().map(|request| request.offset).collect()
}

/// Pearson's statistic over its degrees of freedom: near 1 where `counts` follow `expected`.
fn chi_square(counts: &[u64], expected: impl Iterator<Item = f64>) -> f64 {
    let sum: f64 = counts
        .iter()
        .zip(expected)
        .map(|(&count, mean)| (count as f64 - mean).powi(2) / mean)
        .sum();
    sum / (counts.len() - 1) as f64
}

#[test]
fn uniform_is_uniform_and_aligned() {
    let config = config("uniform", json!({"footprint": "4096100 B"}));
    let mut counts = vec![0; 1000];
    for offset in offsets(&config) {
        assert_eq!(offset % 4096, 0);
        counts[(offset / 4096) as usize] += 1;
    }
    let chi = chi_square(&counts, std::iter::repeat(1000.0));
    assert!((0.8..1.2).contains(&chi), "{chi}");
}

/// Room for the longest request was kept behind each place: all began at the first.
#[test]
fn long_requests_leave_no_part_of_the_footprint_to_others() {
    for kind in ["uniform", "zipf", "hotcold"] {
        let config = config(
            kind,
            json!({"requests": 20_000, "footprint": "1 MiB",
                "size": {"kind": "exponential", "mean": "8 KiB"}}),
        );
        let mut quarters = [0_u32; 4];
        for one in requests(&config) {
            assert!(one.offset + one.len <= 1 << 20, "{kind}: {one:?}");
            assert_eq!(one.offset % 4096, 0, "{kind}: {one:?}");
            quarters[(one.offset >> 18) as usize] += 1;
        }
        assert!(quarters.iter().all(|&count| count > 1000), "{kind}: {quarters:?}");
        if kind == "uniform" {
            assert!(quarters.iter().all(|count| (4500..5500).contains(count)), "{quarters:?}");
        }
    }
}

#[test]
fn alignment_may_be_finer_than_the_size() {
    let config =
        config("uniform", json!({"requests": 10_000, "footprint": "8 KiB", "align": "512 B"}));
    let mut seen = offsets(&config);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (0..=8).map(|slot| slot * 512).collect::<Vec<_>>());
}

#[test]
fn sequential_goes_round() {
    let places = |requests: u64, footprint: u64| {
        offsets(&config(
            "sequential",
            json!({"requests": requests, "footprint": format!("{footprint} B")}),
        ))
    };
    assert_eq!(places(5, 3 * 4096 + 1), [0, 4096, 8192, 0, 4096]);
    assert_eq!(places(3, 4096), [0, 0, 0]);
}

#[test]
fn zipf_follows_its_law() {
    for theta in [0.5, 0.99, 1.0, 1.5] {
        let slots = 500;
        let config =
            config("zipf", json!({"footprint": format!("{} B", slots * 4096), "theta": theta}));
        let mut counts = vec![0_u64; slots as usize];
        for offset in offsets(&config) {
            counts[(offset / 4096) as usize] += 1;
        }
        let scatter = scatter::Scatter::new(slots);
        let by_rank: Vec<u64> =
            (0..slots).map(|rank| counts[scatter.place(rank) as usize]).collect();
        let weights: Vec<f64> = (1..=slots).map(|rank| (rank as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        let chi = chi_square(&by_rank, weights.iter().map(|weight| weight / total * 1e6));
        assert!((0.8..1.25).contains(&chi), "theta {theta}: {chi}");
    }
}

#[test]
fn hot_places_take_their_share() {
    let shares = |scatter: bool| {
        let options = json!({"requests": 100_000, "footprint": "4 MiB", "hot_accesses": 0.5, "hot_space": 0.05,
            "warm_accesses": 0.3, "warm_space": 0.15, "scatter": scatter});
        let mut counts = vec![0_u64; 1024];
        for offset in offsets(&config("hotcold", options)) {
            counts[(offset / 4096) as usize] += 1;
        }
        counts
    };
    let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64 / 100_000.0;
    let front = shares(false);
    assert!((sum(&front[..51]) - 0.5).abs() < 0.01 && (sum(&front[51..204]) - 0.3).abs() < 0.01);
    let mut scattered = shares(true);
    assert!(sum(&scattered[..51]) < 0.2);
    scattered.sort_unstable_by(|a, b| b.cmp(a));
    assert!((sum(&scattered[..51]) - 0.5).abs() < 0.01);
}

/// Shares of reads, trims, flushes and writes.
fn shares(read: f64, trim: f64, flush: f64) -> [f64; 4] {
    let options =
        json!({"requests": 100_000, "read_share": read, "trim_share": trim, "flush_share": flush});
    let all = requests(&config("uniform", options));
    let share = |op| all.iter().filter(|request| request.op == op).count() as f64 / 1e5;
    assert!(all.iter().all(|request| (request.len == 0) == (request.op == Op::Flush)));
    [Op::Read, Op::Trim, Op::Flush, Op::Write].map(share)
}

#[test]
fn operations_come_in_their_shares() {
    for (found, wanted) in shares(0.3, 0.05, 0.01).into_iter().zip([0.3, 0.05, 0.01, 0.64]) {
        assert!((found - wanted).abs() < 0.005, "{found} {wanted}");
    }
    for (shares, only) in [((0.0, 0.0, 0.0), 3), ((1.0, 0.0, 0.0), 0), ((0.0, 0.0, 1.0), 2)] {
        let found = self::shares(shares.0, shares.1, shares.2);
        assert!(
            found[only] > 0.999_999 && found.iter().sum::<f64>() < 1.000_001,
            "{shares:?}: {found:?}"
        );
    }
}

#[test]
fn seeds_decide_everything_and_streams_stand_apart() {
    for kind in ["uniform", "zipf", "hotcold"] {
        let base = json!({"requests": 1000});
        let with = |key: &str, value: Value| {
            let mut options = base.clone();
            options[key] = value;
            offsets(&config(kind, options))
        };
        let plain = offsets(&config(kind, base.clone()));
        assert_eq!(plain, with("seed", 1.into()), "{kind}");
        assert_ne!(plain, with("seed", 2.into()), "{kind}");
        for (key, value) in [
            ("read_share", 0.5.into()),
            ("interval", "1 us".into()),
            ("arrivals", "b-model".into()),
        ] {
            assert_eq!(plain, with(key, value), "{kind} {key}");
        }
    }
}

/// These figures must never change: published results name a seed.
#[test]
fn requests_are_pinned() {
    let digest = |kind| {
        let options = json!({"requests": 4, "read_share": 0.5, "interval": "1 us", "arrivals": "exponential"});
        requests(&config(kind, options))
            .iter()
            .map(|request| (request.offset / 4096, request.op == Op::Read, request.arrival_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(digest("uniform"), PINNED_UNIFORM);
    assert_eq!(digest("zipf"), PINNED_ZIPF);
}

const PINNED_UNIFORM: [(u64, bool, u64); 4] =
    [(239_475, false, 0), (188_866, false, 928), (63_831, true, 3118), (111_082, true, 5427)];
const PINNED_ZIPF: [(u64, bool, u64); 4] =
    [(37_172, false, 0), (43_094, false, 928), (59_786, true, 3118), (158_246, true, 5427)];

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the parameters: inside the footprint, aligned, in order of time, as many as
        /// asked for.
        #[test]
        fn requests_keep_to_their_bounds(
            kind in 0_usize..4,
            start in 0_u64..1 << 40,
            slack in 0_u64..1 << 30,
            align in 1_u64..20_000,
            size in 0_usize..4,
            shares in (0.0..0.5_f64, 0.0..0.25_f64, 0.0..0.25_f64),
            arrivals in 0_usize..5,
            seed: u64,
        ) {
            let kind = ["uniform", "zipf", "hotcold", "sequential"][kind];
            let size = [
                json!("3 KiB"),
                json!({"512 B": 1, "64 KiB": 2.5}),
                json!({"kind": "lognormal", "median": "4 KiB", "sigma": 2.0, "max": "128 KiB"}),
                json!({"kind": "uniform", "min": "1 B", "max": "999 B", "step": "1 B"}),
            ][size].clone();
            let footprint = (1 << 20) + slack;
            let mut options = json!({
                "requests": 200, "start": format!("{start} B"), "footprint": format!("{footprint} B"), "size": size,
                "read_share": shares.0, "trim_share": shares.1, "flush_share": shares.2, "interval": "10 us",
                "arrivals": Arrivals::NAMES[arrivals], "seed": seed,
            });
            if kind != "sequential" {
                options["align"] = format!("{align} B").into();
            }
            let config = config(kind, options);
            let all = requests(&config);
            prop_assert_eq!(&all, &requests(&config));
            prop_assert_eq!(all.len(), 200);
            prop_assert!(all.is_sorted_by_key(|request| request.arrival_ns));
            for request in all.iter().filter(|request| request.op != Op::Flush) {
                prop_assert!(request.len > 0);
                prop_assert!(request.offset >= start && request.offset + request.len <= start + footprint);
                prop_assert!(kind == "sequential" || (request.offset - start) % align == 0);
            }
        }
    }
}
