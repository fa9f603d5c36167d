//! Small drives against slow ones written from the rules of their parts alone: every random
//! workload, on full drives and on empty ones, with little spare space and with much, costs the
//! same after each request.

use std::collections::BTreeSet;

use crate::references::{Counts, Drive, DriveReference, is_chosen, seeds};
use crate::support;
use eraseblock_core::device::Device;
use eraseblock_core::ftl::alloc::AllocatorConfig;
use eraseblock_core::ftl::victim::VictimConfig;
use eraseblock_core::ftl::wear::WearConfig;
use eraseblock_core::ftl::{Advice, MappingConfig};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Counters;
use eraseblock_core::support::ids::Lpn;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

/// All of them, in the order of what they cover.
fn references() -> Vec<&'static DriveReference> {
    let mut all: Vec<_> = inventory::iter::<DriveReference>.into_iter().collect();
    all.sort_by_key(|reference| reference.covers);
    all
}

#[test]
fn every_part_of_an_ftl_has_a_reference() {
    let registries: [(&str, &[&str]); 4] = [
        ("mapping", MappingConfig::NAMES),
        ("allocator", AllocatorConfig::NAMES),
        ("victim", VictimConfig::NAMES),
        ("leveller", WearConfig::NAMES),
    ];
    let wanted: BTreeSet<(&str, &str)> = registries
        .iter()
        .flat_map(|(registry, names)| names.iter().map(|name| (*registry, *name)))
        .collect();
    let covered: BTreeSet<(&str, &str)> =
        references().iter().flat_map(|reference| reference.covers.iter().copied()).collect();
    assert!(references().iter().all(|reference| !reference.from.is_empty()), "written from what?");
    let missing: Vec<_> = wanted.difference(&covered).collect();
    assert!(missing.is_empty(), "no file in tests/references/drives covers {missing:?}");
    let unknown: Vec<_> = covered.difference(&wanted).collect();
    assert!(unknown.is_empty(), "not in any registry: {unknown:?}");
}

fn counts(c: &Counters) -> Counts {
    Counts {
        reads: Counters::total(&c.reads),
        programs: Counters::total(&c.programs),
        erases: Counters::total(&c.erases),
        switch_merges: c.switch_merges,
        partial_merges: c.partial_merges,
        full_merges: c.full_merges,
        map_lookups: c.map_lookups,
        map_hits: c.map_hits,
    }
}

fn compare(reference: &DriveReference, seed: u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (over, mut slow) = (reference.pair)(&mut random);
    let config = support::config(&over);
    let mut quick = support::device(&over);
    let pages = (quick.exported_bytes() / quick.page_bytes()) as u32;
    // Half of the workloads keep to a few pages, so that some data are hot.
    let hot = random.random::<bool>().then(|| random.random_range(1..=pages.div_ceil(3)));
    let longest = random.random_range(1..=8);
    let steps = random.random_range(1..150);
    for step in 0..steps {
        let range = hot.filter(|_| random.random_range(0..8) > 0).unwrap_or(pages);
        let first = random.random_range(0..range);
        let count = random.random_range(1..=longest.min(pages - first));
        let op = match random.random_range(0..40) {
            0 => Op::Flush,
            1 | 2 => Op::Trim,
            3..10 => Op::Read,
            _ => Op::Write,
        };
        let request = support::request(op, u64::from(first), u64::from(count));
        let at = format!("seed {seed}, step {step}, {op:?} {first}+{count}: {over} of {config:?}");
        // Whatever is drawn has room: a drive that is too small for its rules is refused when it is
        // built.
        quick.submit(&request).unwrap_or_else(|error| panic!("{at}: {error}"));
        match op {
            Op::Write => slow.write(first, count),
            Op::Read => slow.read(first, count),
            Op::Trim => slow.trim(first, count),
            Op::Flush => slow.flush(),
        }
        assert_eq!(counts(quick.counters()), slow.counts(), "{at}");
        compare_places(&quick, &*slow, pages, &at);
    }
    quick.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}: {over}"));
}

/// Where pages lie and how worn blocks are, where the reference says.
fn compare_places(quick: &Device, slow: &dyn Drive, pages: u32, at: &str) {
    if let Some(mut expected) = slow.erases() {
        let mut found = quick.erases().to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{at}: erases of the blocks, sorted");
    }
    if let Some(expected) = slow.units() {
        let g = quick.geometry();
        let unit = |page| quick.mapping().lookup(page).map(|ppn| g.unit_of_page(ppn).0);
        let found: Vec<Option<u32>> = Lpn(0).run(pages).map(unit).collect();
        assert_eq!(found, expected, "{at}: units of the pages");
    }
}

/// Longer than anything that one request causes.
const LONG_NS: u64 = 10_000_000_000;

/// Whether a run in which erases take time, and requests come one by one, comes to what the slow
/// one does, which knows no time. Whether it was compared; nothing of an FTL that places single
/// pages: where these lie depends on what collection finds valid meanwhile.
fn compare_in_time(reference: &DriveReference, seed: u64) -> Option<bool> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut over, mut slow) = (reference.pair)(&mut random);
    over["host"] = json!({"replay": "open"});
    let mut quick = support::device(&over);
    if quick.mapping().advice().is_some_and(Advice::places_pages) {
        return None;
    }
    // What is merged as soon as it is full, and finds no block to take, goes on with the next write:
    // a trim, or the end, may come first.
    if over["ftl"]["mapping"]["merge_timing"] == "eager" {
        return Some(false);
    }
    let pages = (quick.exported_bytes() / quick.page_bytes()) as u32;
    let hot = random.random::<bool>().then(|| random.random_range(1..=pages.div_ceil(3)));
    // Long ones, so that one request makes several merges.
    let longest = random.random_range(1..=32);
    let mut told = Vec::new();
    for step in 0..random.random_range(1..100u64) {
        let range = hot.filter(|_| random.random_range(0..8) > 0).unwrap_or(pages);
        let first = random.random_range(0..range);
        let count = random.random_range(1..=longest.min(pages - first));
        let op = match random.random_range(0..40) {
            0..2 => Op::Flush,
            2..6 => Op::Trim,
            _ => Op::Write,
        };
        told.push(format!("{step}: {op:?} {first}+{count}"));
        let request = support::request(op, u64::from(first), u64::from(count));
        let request = Request { arrival_ns: step * LONG_NS, ..request };
        quick.submit(&request).unwrap_or_else(|error| panic!("seed {seed}: {error}: {over}"));
        match op {
            Op::Write => slow.write(first, count),
            Op::Trim => slow.trim(first, count),
            Op::Flush => slow.flush(),
            Op::Read => unreachable!("pages that are being written are read from RAM"),
        }
    }
    quick.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}: {over}"));
    // Pages are copied from the RAM while they are being written.
    let found = counts(quick.counters());
    let expected = Counts { reads: found.reads, ..slow.counts() };
    assert_eq!(found, expected, "seed {seed}: {over}\n{}", told.join("\n"));
    Some(true)
}

/// Where blocks lie does not depend on how long erases take.
#[test]
fn random_workloads_cost_the_same_in_time() {
    let mut all = 0;
    for reference in references() {
        let mut mappings = reference.covers.iter().filter(|(registry, _)| *registry == "mapping");
        if mappings.any(|(_, name)| is_chosen(name)) {
            let found: Vec<bool> =
                seeds(150, 3_000).filter_map(|seed| compare_in_time(reference, seed)).collect();
            let compared = found.iter().filter(|&&compared| compared).count();
            assert!(found.is_empty() || compared > 0, "{:?} never compared", reference.covers);
            all += compared;
        }
    }
    assert!(all > 0 || std::env::var_os("ERASEBLOCK_REFERENCE").is_some(), "nothing compared");
}

#[test]
fn random_workloads_cost_the_same() {
    let chosen =
        |reference: &&DriveReference| reference.covers.iter().any(|(_, name)| is_chosen(name));
    for reference in references().into_iter().filter(chosen) {
        seeds(300, 10_000).for_each(|seed| compare(reference, seed));
    }
}

/// What a reference's configuration changes is known to the product under the same names.
#[test]
fn references_name_what_they_cover() {
    for reference in references() {
        let mut named = BTreeSet::new();
        for seed in 0..300 {
            let (over, _) = (reference.pair)(&mut Pcg64Mcg::seed_from_u64(seed));
            let ftl = &over["ftl"];
            for (registry, key) in [
                ("mapping", "mapping"),
                ("allocator", "allocator"),
                ("victim", "victim"),
                ("leveller", "wear"),
            ] {
                let value = &ftl[key];
                let name = value.as_str().or_else(|| value["kind"].as_str()).map(str::to_owned);
                named.extend(name.map(|name| (registry, name)));
            }
        }
        for (registry, name) in reference.covers {
            let default = match *registry {
                "leveller" => *name == "none",
                _ => false,
            };
            assert!(
                default || named.contains(&(*registry, (*name).to_owned())),
                "a reference says that it covers {registry} {name}, and never draws it"
            );
        }
    }
}
