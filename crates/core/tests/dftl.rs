//! DFTL as a drive: beside page mapping, and what its misses cost in time.

use crate::support;
use crate::support::request;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

/// The report of a drive with `mapping` after random requests.
fn figures(mapping: &Value, over: &Value, seed: u64) -> Value {
    let mut all = over.clone();
    all["ftl"]["mapping"] = mapping.clone();
    let mut device = support::device(&all);
    let (mut random, pages) = (Pcg64Mcg::seed_from_u64(seed), device.exported_bytes() / 4096);
    for number in 0..3_000 {
        let op =
            [Op::Write, Op::Write, Op::Write, Op::Read, Op::Read, Op::Read, Op::Trim, Op::Flush]
                [random.random_range(0..8)];
        let (first, count) = (random.random_range(0..pages), random.random_range(1..6));
        let mut request = request(op, first, count.min(pages - first));
        if op == Op::Flush {
            (request.offset, request.len) = (0, 0);
        }
        request.arrival_ns = number * 400_000;
        device.submit(&request).unwrap();
    }
    let mut report = serde_json::to_value(device.finish().unwrap()).unwrap();
    for memory in ["map_bytes", "bytes_per_page"] {
        report.as_object_mut().unwrap().remove(memory).unwrap();
    }
    report
}

#[test]
fn with_the_whole_map_in_ram_it_works_as_page_mapping() {
    let drives = [
        json!({"ftl": {}}),
        json!({"ftl": {"allocator": "static", "victim": "cost-benefit"}, "host": {"replay": "open"},
               "nand": {"channels": 2, "blocks_per_plane": 9}}),
        json!({"ftl": {"gc": {"regions": 2, "idle_free_blocks": 4}, "wear": "dual-pool"}, "host": {"replay": "open"},
               "nand": {"dies_per_chip": 2, "blocks_per_plane": 10}, "buffer": {"scheme": "lru"}}),
    ];
    for (seed, drive) in drives.iter().enumerate() {
        let page = figures(&json!("page"), drive, seed as u64);
        let dftl = figures(
            &json!({"kind": "dftl", "cache": 32, "entries_per_page": 4}),
            drive,
            seed as u64,
        );
        assert_eq!(dftl, page, "{drive}");
        let partly = figures(
            &json!({"kind": "dftl", "cache": 31, "entries_per_page": 4}),
            drive,
            seed as u64,
        );
        assert!(partly["map_hit_ratio"].as_f64().unwrap() < 1.0);
    }
}

/// The response time in us of the last of these requests, each of which finds an idle drive.
fn last_takes(options: &Value, requests: &[(Op, u64)]) -> f64 {
    let mut mapping = json!({"kind": "dftl", "entries_per_page": 4, "replacement": "lru"});
    mapping.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let nand = json!({"blocks_per_plane": 32});
    let all = json!({"nand": nand, "ftl": {"mapping": mapping}, "host": {"replay": "open"}});
    let mut device = support::device(&all);
    let total = |device: &mut Device| {
        let report = device.finish().unwrap().response_ns.all.unwrap();
        report.mean * report.count as f64 / 1000.0
    };
    let mut sums = Vec::new();
    for count in [requests.len() - 1, requests.len()] {
        for (number, &(op, page)) in requests[..count].iter().enumerate() {
            let mut request = request(op, page, 1);
            request.arrival_ns = number as u64 * 100_000_000;
            device.submit(&request).unwrap();
        }
        sums.push(if count == 0 { 0.0 } else { total(&mut device) });
        device = support::device(&all);
    }
    sums[1] - sums[0]
}

/// A page read takes 25 + 100 us, a program 100 + 200 us, on one die.
#[test]
fn a_miss_takes_its_reads_and_what_makes_room_its_program() {
    let cache = |entries: u32| json!({"cache": entries});
    let (r, w) = (Op::Read, Op::Write);
    let takes = |entries, requests: &[(Op, u64)], us: f64| {
        let found = last_takes(&cache(entries), requests);
        assert!(
            (found - us).abs() < 1e-6,
            "{requests:?} with {entries} entries: {found}, not {us}"
        );
    };
    // Reads of pages 0 and 4 leave no dirty entry from the filling of the drive in the cache.
    takes(2, &[(r, 0), (r, 4), (r, 0)], 125.0);
    takes(2, &[(r, 0), (r, 4), (r, 8)], 125.0 + 125.0);
    takes(2, &[(r, 0), (r, 4), (w, 4), (r, 8), (r, 12)], 125.0 + 300.0 + 125.0 + 125.0);
    takes(2, &[(r, 0), (r, 4), (w, 4)], 300.0);
    takes(2, &[(r, 0), (r, 4), (w, 8)], 125.0 + 300.0);
    takes(2, &[(r, 0), (w, 4), (r, 8), (w, 12)], 125.0 + 300.0 + 125.0 + 300.0);
}

#[test]
fn translation_pages_take_room_of_their_own() {
    let config = support::config(&json!({
        "ftl": {"mapping": {"kind": "dftl", "cache": 2, "entries_per_page": 1}, "exported": "128 KiB"},
    }));
    let error = Device::new(&config, Options::default()).unwrap_err().to_string();
    assert!(error.contains("32 are exported and 32 hold the map"), "{error}");
}

/// Collection, misses and trims at once, on several arrays, with everything checked.
#[test]
fn every_read_of_the_map_finds_what_it_should() {
    for (seed, nand) in [
        json!({"blocks_per_plane": 20}),
        json!({"channels": 2, "planes_per_die": 2, "blocks_per_plane": 8}),
        json!({"planes_per_die": 2, "blocks_per_plane": 20, "page_size": "8 KiB", "mapping_unit": "4 KiB",
               "pages_per_program": 2, "multi_plane": true, "program_order": "sequential"}),
    ]
    .into_iter()
    .enumerate()
    {
        for allocator in ["round-robin", "static", "dynamic"] {
            for batch in [false, true] {
                let mapping =
                    json!({"kind": "dftl", "cache": 5, "entries_per_page": 4, "batch_evict": batch});
                let drive =
                    json!({"nand": nand, "ftl": {"allocator": allocator}, "host": {"replay": "open"}});
                let report = figures(&mapping, &drive, seed as u64);
                let mapping = &report["flash"];
                assert!(mapping["reads"]["mapping"].as_u64().unwrap() > 1_000, "{drive}: {mapping}");
                assert!(mapping["programs"]["mapping"].as_u64().unwrap() > 500, "{drive}: {mapping}");
                assert!(mapping["erases"]["gc"].as_u64().unwrap() > 500, "{drive}: {mapping}");
            }
        }
    }
}

/// Data and translation pages share open program units on small planes that are full, where
/// collection used to move pages from one to the other without end.
#[test]
fn collection_gains_room_where_programs_take_several_pages() {
    let nand = json!({"planes_per_die": 2, "blocks_per_plane": 16, "page_size": "8 KiB", "mapping_unit": "4 KiB",
                      "pages_per_program": 2, "multi_plane": true, "program_order": "sequential"});
    for seed in 0..300 {
        let (replay, buffer) = (["open", "untimed"][seed % 2], ["none", "lru", "hbm"][seed % 3]);
        let mut device = support::device(&json!({
            "nand": nand,
            "ftl": {"exported": "384 KiB", "mapping": {"kind": "dftl", "cache": 6, "entries_per_page": 8}},
            "buffer": {"scheme": buffer},
            "host": {"replay": replay, "partial_page": "read-modify-write", "max_outstanding": 4, "end_of_run": "flush"},
        }));
        let (mut random, sectors) =
            (Pcg64Mcg::seed_from_u64(seed as u64), device.exported_bytes() / 2048);
        let mut arrival_ns = 0;
        for _ in 0..160 {
            let op = [[Op::Write; 8].as_slice(), &[Op::Read; 5], &[Op::Trim, Op::Flush]].concat()
                [random.random_range(0..15)];
            let sector = random.random_range(0..256);
            let first = if sector % 3 == 0 { sector / 4 } else { sector } * sectors / 256;
            let count =
                if op == Op::Flush { 0 } else { random.random_range(1..14).min(sectors - first) };
            arrival_ns += if random.random() { random.random_range(0..3_000_000) } else { 0 };
            let fua = op == Op::Write && random.random_range(0..10) == 0;
            let (offset, len) = (first * 2048, count * 2048);
            let sent = device.submit(&Request { arrival_ns, op, offset, len, volume: 0, fua });
            sent.unwrap_or_else(|error| panic!("seed {seed}, {replay}, {buffer}: {error}"));
        }
        device.finish().unwrap_or_else(|error| panic!("seed {seed}, {replay}, {buffer}: {error}"));
    }
}

/// Each page is looked up once, however long its write waits for room.
#[test]
fn a_write_that_waits_for_room_has_its_entry_read_once() {
    let mapping = json!({"kind": "dftl", "cache": 4, "entries_per_page": 4});
    let mut device = support::device(&json!({
        "ftl": {"mapping": mapping}, "host": {"replay": "closed", "max_outstanding": 8},
    }));
    let before = device.counters().map_lookups;
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for _ in 0..2_000 {
        device.submit(&request(Op::Write, random.random_range(0..32), 1)).unwrap();
    }
    device.finish().unwrap();
    assert_eq!(device.counters().map_lookups - before, 2_000);
}
