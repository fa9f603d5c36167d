//! The model meets what it is given, whatever that is.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::generate::GenerateConfig;

fn config(options: &Value) -> GenerateConfig {
    let mut table = json!({"kind": "calibrated"});
    table.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    serde_json::from_value(table).unwrap()
}

fn requests(options: &Value) -> Vec<Request> {
    let config = config(options);
    let all: Vec<Request> = config.generator().unwrap().collect();
    assert!(all.is_sorted_by_key(|request| request.arrival_ns));
    all
}

fn sequential(all: &[Request]) -> usize {
    all.windows(2).filter(|pair| pair[1].offset == pair[0].offset + pair[0].len).count()
}

fn touched_pages(all: &[Request]) -> usize {
    let pages =
        |request: &Request| request.offset / 4096..(request.offset + request.len).div_ceil(4096);
    all.iter()
        .flat_map(|request| pages(request).map(|page| (request.volume, page)))
        .collect::<BTreeSet<_>>()
        .len()
}

#[test]
fn counts_sizes_and_space_are_met() {
    let options = json!({
        "requests": 50_000, "read_share": 0.3, "sequential_share": 0.2, "footprint": "64 MiB", "span": "10 GiB",
        "read_size": {"4 KiB": 70, "16 KiB": 30}, "write_size": {"512 B": 5, "8 KiB": 5, "64 KiB": 1, "mean": "6 KiB"},
        "interval": "1 ms", "arrivals": {"kind": "b-model"},
    });
    let all = requests(&options);
    let of = |op: Op| all.iter().filter(|request| request.op == op).copied().collect::<Vec<_>>();
    let (reads, writes) = (of(Op::Read), of(Op::Write));
    assert_eq!((reads.len(), writes.len()), (15_000, 35_000));
    assert_eq!(reads.iter().filter(|request| request.len == 4096).count(), 10_500);
    let mean = writes.iter().map(|request| request.len).sum::<u64>() as f64 / 35_000.0;
    assert!((mean / 6144.0 - 1.0).abs() < 1e-3, "{mean}");
    assert!((sequential(&all) as i64 - 10_000).abs() < 50, "{}", sequential(&all));
    assert!((touched_pages(&all) as f64 / 16384.0 - 1.0).abs() < 0.005, "{}", touched_pages(&all));
    assert_eq!(all.iter().map(|request| request.offset + request.len).max(), Some(10 << 30));
    assert_eq!(all[49_999].arrival_ns, 49_999 * 1_000_000);
}

#[test]
fn a_shorter_one_is_the_beginning_of_the_whole() {
    let config = config(&json!({"requests": 100_000, "footprint": "64 MiB", "read_share": 0.5}));
    let given = Given { requests: Some(10_000), ..Given::default() };
    let all: Vec<Request> = config.build(&given).unwrap().collect();
    assert_eq!(all.iter().filter(|request| request.op == Op::Read).count(), 5000);
    assert!((touched_pages(&all) as f64 / 1638.4 - 1.0).abs() < 0.01, "{}", touched_pages(&all));
}

#[test]
fn sequential_requests_keep_their_kind() {
    let all = requests(&json!({"requests": 10_000, "sequential_share": 0.9, "read_share": 0.5}));
    let follows = |pair: &&[Request]| pair[1].offset == pair[0].offset + pair[0].len;
    let kept = all.windows(2).filter(follows).filter(|pair| pair[0].op == pair[1].op).count();
    assert_eq!(sequential(&all), 9000);
    assert!(kept > 8900, "{kept}");
}

/// Files of equal length, each written once: runs end where pieces do.
#[test]
fn pieces_are_filled_one_by_one() {
    let all = requests(&json!({
        "requests": 1500, "write_size": "4 KiB", "sequential_share": 1, "footprint": "6000 KiB", "span": "1 GiB",
        "extent": "60 KiB",
    }));
    assert_eq!(sequential(&all), 1400);
    assert_eq!(touched_pages(&all), 1500);
}

/// What requests miss, once all are made.
fn missed_by(config: &GenerateConfig) -> Vec<String> {
    let mut generator = config.generator().unwrap();
    generator.by_ref().for_each(drop);
    generator.missed()
}

fn missed(options: &Value) -> Vec<String> {
    missed_by(&config(options))
}

const NOTHING: [&str; 0] = [];

#[test]
fn sequential_requests_without_room_are_told_of() {
    // A piece of ten requests ends each run.
    let short = |share: f64| {
        missed(&json!({
            "requests": 3000, "write_size": "4 KiB", "sequential_share": share, "footprint": "12000 KiB", "span": "1 GiB",
            "extent": "40 KiB",
        }))
    };
    assert_eq!(
        short(0.99),
        [
            "sequential_share: 2699 of 3000 requests start where the one before them ended, and 2970 were asked for: too few \
          in a row fit into the footprint or its pieces; give a larger `footprint` or `extent`, or a smaller share"
        ]
    );
    assert_eq!(short(0.5), NOTHING);
    assert_eq!(short(1.0), NOTHING, "as many as there is room for");

    let none = json!({"requests": 50_000, "sequential_share": 0.006, "footprint": "8 MiB", "extent": "4 KiB"});
    let found = missed(&none);
    assert!(found[0].starts_with("sequential_share: 0 of 50000 requests"), "{found:?}");
    // The first request follows none.
    for requests in [1, 5, 20, 50, 199] {
        for share in [0.9, 0.97, 0.995] {
            let few =
                json!({"requests": requests, "sequential_share": share, "footprint": "4 KiB"});
            let found = missed(&few);
            assert!(found.iter().all(|one| one.starts_with("sequential")), "{requests}: {found:?}");
            let wide = json!({
                "requests": requests, "sequential_share": share, "footprint": format!("{} KiB", 400 * requests)
            });
            let found = missed(&wide);
            assert!(found.iter().all(|one| one.starts_with("footprint")), "{requests}: {found:?}");
        }
    }
}

#[test]
fn a_footprint_out_of_reach_is_told_of() {
    let of = |footprint: &str| {
        missed(&json!({"requests": 1000, "write_size": "4 KiB", "footprint": footprint}))
    };
    assert_eq!(of("3960 KiB"), NOTHING, "its pieces hold 3904 KiB");
    assert_eq!(of("4032 KiB"), NOTHING);
    assert_eq!(
        of("4160 KiB"),
        [
            "footprint: 4000 KiB were read or written, and 4160 KiB were asked for: give a smaller `footprint`, more or \
          longer requests, or a smaller `sequential_share`"
        ]
    );
    // Pieces of less than two pages are rounded down to one.
    let coarse = json!({"requests": 1000, "footprint": "510 KiB", "volumes": 2});
    let found = missed(&coarse);
    assert_eq!(
        found,
        [
            "footprint: 256 KiB were read or written, and 510 KiB were asked for: its pieces are rounded down to \
          whole sectors and pages, and hold 256 KiB; give another `footprint`, `extent`, `span` or number of `volumes`"
        ]
    );
    let few = missed(&json!({"requests": 10, "footprint": "510 KiB", "volumes": 2}));
    assert!(few[0].contains("more or longer requests"), "{few:?}");
    let begun = Given { requests: Some(100), ..Given::default() };
    let mut begun = config(&json!({"requests": 1000, "write_size": "4 KiB", "footprint": "8 MiB"}))
        .build(&begun)
        .unwrap();
    assert_eq!(begun.by_ref().count(), 100);
    let found = begun.missed();
    assert!(
        found[0].contains("8 MiB were asked for, 838860 B of it by request 100: "),
        "{found:?}"
    );
}

#[test]
fn parts_say_where_they_missed() {
    let wide = json!({"requests": 1000, "write_size": "4 KiB", "footprint": "64 MiB"});
    let met = json!({"requests": 1000, "sequential_share": 0.2, "footprint": "1 MiB"});
    assert_eq!(missed(&met), NOTHING);
    let mixed = |order: &str, parts: Value| -> GenerateConfig {
        serde_json::from_value(json!({"kind": "mixed", "order": order, "streams": parts})).unwrap()
    };
    let orders = ["time", "shuffle", "phases"];
    for order in orders {
        let flat = mixed(order, json!({"a": config(&wide), "b": config(&met)}));
        assert_eq!(missed_by(&flat), [format!("streams.a.{}", missed(&wide)[0])], "{order}");
        for inner in orders {
            let deep = mixed(inner, json!({"a": config(&met), "b": config(&wide)}));
            let deep = mixed(order, json!({"c": deep}));
            let told = [format!("streams.c.streams.b.{}", missed(&wide)[0])];
            assert_eq!(missed_by(&deep), told, "{inner} in {order}");
        }
    }
    let set = json!({"kind": "standin", "name": "hbm-camwebdev", "requests": 500, "set": {"footprint": "1 TiB", "span": "1 TiB"}});
    let set: GenerateConfig = serde_json::from_value(set).unwrap();
    let found = missed_by(&set);
    assert!(found[0].starts_with("set.footprint: "), "{found:?}");
}

#[test]
fn recent_places_may_be_those_of_the_other_kind() {
    let again = |crossing: f64| {
        let all = requests(&json!({
            "requests": 20_000, "read_share": 0.5, "footprint": "16 MiB", "recent_share": 1.0, "recent_requests": 64,
            "read_after_write": crossing, "write_after_read": crossing,
        }));
        let mut last = std::collections::BTreeMap::new();
        let mut crossed = 0;
        for request in &all {
            if last.insert(request.offset, request.op).is_some_and(|op| op != request.op) {
                crossed += 1;
            }
        }
        f64::from(crossed) / all.len() as f64
    };
    assert!(again(0.0) < 0.02, "{}", again(0.0));
    assert!(again(1.0) > 0.4, "{}", again(1.0));
}

#[test]
fn volumes_share_the_span() {
    let all = requests(
        &json!({"requests": 20_000, "footprint": "24 MiB", "span": "48 GiB", "volumes": 6, "volume": 2}),
    );
    let volumes: BTreeSet<u32> = all.iter().map(|request| request.volume).collect();
    assert_eq!(volumes.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7]);
    for volume in 2..8 {
        let end = all.iter().filter(|r| r.volume == volume).map(|r| r.offset + r.len).max();
        assert_eq!(end, Some(8 << 30), "{volume}");
    }
}

#[test]
fn what_cannot_be_met_is_said() {
    for (options, part) in [
        (json!({"requests": 0}), "requests: found 0"),
        (json!({"span": "1 MiB"}), "span: found 1 MiB, expected at least the footprint"),
        (json!({"footprint": "1 KiB"}), "footprint: found 1 KiB"),
        (json!({"extent": "1 KiB"}), "extent: found 1 KiB"),
        (json!({"volumes": 0}), "volumes: found 0"),
        (json!({"read_share": 2}), "read_share: found 2"),
        (json!({"recent_requests": 0}), "recent_requests: found 0"),
        (json!({"write_size": {"4 KiB": 1, "mean": "4 KiB"}}), "write_size.mean: found 4 KiB"),
        (json!({"footprint": "64 KiB", "span": "1 MiB", "volumes": 24}), "footprint: is divided"),
    ] {
        let problem = config(&options).generator().unwrap_err().to_string();
        assert!(problem.contains(&format!("workload.generate.{part}")), "{options}: {problem}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests_keep_to_the_span(
        count in 1_u64..500,
        footprint in 200_000_u64..10_000_000,
        wider in 0_u64..1 << 40,
        start in 0_u64..1 << 40,
        extent in 0_u64..1_000_000,
        shares in (0.0..=1.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64),
        seed: u64,
    ) {
        let span = footprint + wider;
        let mut options = json!({
            "requests": count, "footprint": format!("{footprint} B"), "span": format!("{span} B"), "seed": seed,
            "start": format!("{start} B"), "read_share": shares.0, "sequential_share": shares.1, "recent_share": shares.2,
            "read_size": {"512 B": 1, "128 KiB": 1}, "write_size": {"kind": "exponential", "mean": "8 KiB", "max": "64 KiB"},
        });
        if extent > 150_000 {
            options["extent"] = format!("{extent} B").into();
        }
        let config = config(&options);
        let Ok(generator) = config.generator() else { return Ok(()) };
        let all: Vec<Request> = generator.collect();
        prop_assert_eq!(all.len() as u64, count);
        let again: Vec<Request> = config.generator().unwrap().collect();
        prop_assert_eq!(&all, &again);
        for request in &all {
            prop_assert!(request.len > 0 && request.offset >= start);
            prop_assert!(request.offset + request.len <= start + span, "{request:?}");
        }
        let reads = all.iter().filter(|request| request.op == Op::Read).count() as f64;
        prop_assert!((reads - shares.0 * count as f64).abs() <= 1.0);
    }
}
