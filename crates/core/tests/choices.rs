//! What schemes say of themselves: every file begins with its page, and every reading of a paper
//! that is offered can be had, and makes a difference.

use std::collections::BTreeMap;

use crate::common::{Random, drive, nand, request};
use eraseblock_core::buffer::{self, BufferConfig, Foreseen, Idle, Outcome, Shape, Span};
use eraseblock_core::config::{Precondition, ProgramOrder};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::ftl::alloc::AllocatorConfig;
use eraseblock_core::ftl::victim::VictimConfig;
use eraseblock_core::ftl::wear::WearConfig;
use eraseblock_core::ftl::{self, MappingConfig};
use eraseblock_core::host::Op;
use eraseblock_core::support::ids::Lpn;
use eraseblock_core::support::registry::Entry;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Every choice of a stage's schemes names an option, and values that differ from its default.
fn choices_hold<C: DeserializeOwned + Serialize>(registry: &[Entry]) {
    for entry in registry {
        let defaults = (entry.defaults)();
        for choice in entry.about.choices {
            let default = defaults.get(choice.option);
            assert!(default.is_some(), "{}: no option is called {}", entry.name, choice.option);
            assert!(
                !choice.others.is_empty() && !choice.open.is_empty(),
                "{}.{}",
                entry.name,
                choice.option
            );
            for other in choice.others {
                let value: Value = serde_json::from_str(other).unwrap();
                assert_ne!(Some(&value), default, "{}.{}", entry.name, choice.option);
                let config: C =
                    serde_json::from_value(json!({"kind": entry.name, choice.option: value}))
                        .unwrap();
                assert_eq!(
                    serde_json::to_value(config).unwrap()[choice.option],
                    value,
                    "{}",
                    entry.name
                );
            }
        }
    }
}

#[test]
fn every_other_reading_of_a_paper_can_be_configured() {
    choices_hold::<BufferConfig>(buffer::registry());
    choices_hold::<MappingConfig>(ftl::registry());
    choices_hold::<AllocatorConfig>(ftl::alloc::registry());
    choices_hold::<VictimConfig>(ftl::victim::registry());
    choices_hold::<WearConfig>(ftl::wear::registry());
}

#[test]
fn every_scheme_has_a_page() {
    let parts = [ftl::alloc::registry(), ftl::victim::registry(), ftl::wear::registry()]
        .into_iter()
        .flatten();
    for entry in buffer::registry().iter().chain(ftl::registry()).chain(parts) {
        let page = entry.page();
        assert!(page.contains("**What it does.**"), "{} does not say what it does", entry.name);
        assert!(page.contains("\nCost of a page"), "{} does not say what it costs", entry.name);
    }
    for entry in buffer::registry() {
        assert!(!entry.about.examples.is_empty(), "{} shows no example", entry.name);
    }
}

/// Every other reading of a scheme, as the scheme's configuration.
fn readings(registry: &[Entry]) -> Vec<Value> {
    let of = |entry: &Entry| {
        let name = entry.name;
        let values = entry.about.choices.iter().flat_map(|choice| {
            choice
                .others
                .iter()
                .map(|other| (choice.option, serde_json::from_str::<Value>(other).unwrap()))
        });
        values.map(|(option, value)| json!({"kind": name, option: value})).collect::<Vec<_>>()
    };
    registry.iter().flat_map(of).collect()
}

/// Buffers from a handful of pages to one that HBM's thesis calls large, and how many requests fill
/// them.
const SHAPES: [(Shape, u64); 4] = [
    (Shape { capacity: 6, pages_per_block: 4, logical_pages: 64 }, 400),
    (Shape { capacity: 40, pages_per_block: 4, logical_pages: 256 }, 4_000),
    (Shape { capacity: 300, pages_per_block: 16, logical_pages: 2048 }, 8_000),
    (Shape { capacity: 8192, pages_per_block: 64, logical_pages: 1 << 16 }, 20_000),
];

/// The request at which two buffers first decide differently, if they do.
fn parting(
    scheme: &Value,
    other: &Value,
    (shape, requests): (Shape, u64),
    seed: u64,
) -> Option<u64> {
    let build = |config: &Value| {
        let config: BufferConfig = serde_json::from_value(config.clone()).unwrap();
        // A reading may not fit each shape: HBM's fixed beta is refused for small buffers.
        config.build(shape).ok()
    };
    let mut pair = [build(scheme)?, build(other)?];
    let mut random = Random::new(seed);
    let stream = stream(&mut random, shape, requests);
    for buffer in pair.iter_mut().filter(|buffer| buffer.needs_future()) {
        for span in &stream {
            buffer.foresee(Foreseen::Access(*span)).unwrap();
        }
        buffer.foresee(Foreseen::End).unwrap();
    }
    let mut outs = [Outcome::default(), Outcome::default()];
    stream.iter().find_map(|span| {
        for (buffer, out) in pair.iter_mut().zip(&mut outs) {
            out.clear();
            buffer.access(span, &Idle, out);
        }
        let same = outs[0].answers == outs[1].answers
            && outs[0].evictions.len() == outs[1].evictions.len()
            && outs[0].evictions.iter().zip(&outs[1].evictions).all(|(one, two)| {
                one.action == two.action && outs[0].pages_of(one) == outs[1].pages_of(two)
            });
        (!same).then_some(span.request)
    })
}

/// Reads and writes, scattered, sequential and on hot blocks.
fn stream(random: &mut Random, shape: Shape, requests: u64) -> Vec<Span> {
    let ppb = u64::from(shape.pages_per_block);
    let blocks = u64::from(shape.logical_pages) / ppb;
    let span = |request| {
        let block =
            if random.chance(0.5) { random.below(blocks / 8) } else { random.below(blocks) };
        let (from, count) = match random.below(4) {
            0 => (0, ppb),
            1 => (random.below(ppb), 1),
            _ => (random.below(ppb), 1 + random.below(ppb)),
        };
        let count = count.min(ppb - from) as u32;
        Span { first: Lpn((block * ppb + from) as u32), count, write: random.chance(0.6), request }
    };
    (0..requests).map(span).collect()
}

#[test]
fn every_other_reading_of_a_buffer_decides_differently_somewhere() {
    for other in readings(buffer::registry()) {
        let scheme = json!({"kind": other["kind"]});
        let parted = SHAPES
            .iter()
            .any(|&shape| (0..3).any(|seed| parting(&scheme, &other, shape, seed).is_some()));
        assert!(parted, "{other} decides as its default does, whatever is asked for");
    }
}

/// Pages of a flash block in these drives: many more than one step of collection copies.
const PAGES: u32 = 32;

/// What a drive did with an FTL and a buffer under random requests; nothing where it refuses to be
/// built.
fn figures(mapping: &Value, array: [u32; 4], buffer: &Value) -> Option<Value> {
    let mut nand = nand(array, 24, PAGES);
    nand.program_order = ProgramOrder::Ascending;
    let units = u64::from(array.iter().product::<u32>());
    let mut config = drive(nand, units * 17 * u64::from(PAGES));
    config.ftl.mapping = serde_json::from_value(mapping.clone()).unwrap();
    config.buffer = serde_json::from_value(buffer.clone()).unwrap();
    let mut device = Device::new(&config, Options::default()).ok()?;
    let (mut random, pages) = (Random::new(1), u64::from(PAGES));
    for number in 0..3_000 {
        let (op, first) = (
            if random.chance(0.8) { Op::Write } else { Op::Read },
            random.below(units * 16 * pages),
        );
        let count = if random.chance(0.3) { pages } else { 1 + random.below(4) };
        device.submit(&request(op, first / count * count, count, number * 2_000_000)).unwrap();
    }
    Some(serde_json::to_value(device.finish().unwrap()).unwrap())
}

#[test]
fn every_other_reading_of_an_ftl_works_differently_somewhere() {
    // What a scheme does by default is run once for all its other readings.
    let mut by_default = BTreeMap::new();
    for other in readings(ftl::registry()) {
        let mut mapping = json!({"kind": other["kind"]});
        let defaults = MappingConfig::by_name(other["kind"].as_str().unwrap()).unwrap();
        let options = serde_json::to_value(defaults).unwrap();
        for (option, small) in [("log_blocks", 4), ("cache", 40), ("entries_per_page", 16)] {
            if options.get(option).is_some() {
                mapping[option] = json!(small);
            }
        }
        let mut switched = mapping.clone();
        switched.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        // Some readings matter only where a buffer tells how blocks were read.
        let buffers =
            [json!({"size": "0 B", "scheme": "none"}), json!({"size": "2 MiB", "scheme": "supa"})];
        let arrays = [[1, 1, 1, 1], [2, 1, 1, 2]];
        let parted = buffers.iter().flat_map(|buffer| arrays.map(|array| (array, buffer))).any(
            |(array, buffer)| {
                let usual = by_default
                    .entry((mapping.to_string(), array, buffer.to_string()))
                    .or_insert_with(|| figures(&mapping, array, buffer));
                let switched = figures(&switched, array, buffer);
                usual.is_some() && switched.is_some() && *usual != switched
            },
        );
        assert!(parted, "{other} works as its default does");
    }
}

/// What a full drive did with page mapping and one part of it under single-page writes: `hot`, most
/// of them to a few pages of its first half, or to all pages alike.
fn figures_of_part(part: &str, value: &Value, hot: bool) -> Value {
    let (array, blocks, exported) =
        if hot { ([2, 2, 1, 2], 12, 8 * 8) } else { ([1, 1, 1, 1], 64, 56) };
    let mut config = drive(nand(array, blocks, PAGES), exported * u64::from(PAGES));
    let exported = config.ftl.exported;
    config.ftl = serde_json::from_value(json!({"mapping": "page", part: value})).unwrap();
    config.ftl.exported = exported;
    config.precondition.state = Precondition::Full;
    let mut device = Device::new(&config, Options::default()).unwrap();
    device.precondition().unwrap();
    let (mut random, pages) = (Random::new(1), device.exported_bytes() / device.page_bytes());
    for number in 0..60_000 {
        let among = match (hot, random.chance(0.9)) {
            (false, _) => pages,
            (true, often) => pages / if often { 8 } else { 2 },
        };
        device.submit(&request(Op::Write, random.below(among), 1, number * 150_000)).unwrap();
    }
    serde_json::to_value(device.finish().unwrap()).unwrap()
}

#[test]
fn every_other_reading_of_a_part_works_differently_somewhere() {
    for (part, registry) in [
        ("allocator", ftl::alloc::registry()),
        ("victim", ftl::victim::registry()),
        ("wear", ftl::wear::registry()),
    ] {
        let mut by_default = BTreeMap::new();
        for other in readings(registry) {
            let parted = [true, false].into_iter().any(|hot| {
                let scheme = json!({"kind": other["kind"]});
                let usual = by_default
                    .entry((scheme.to_string(), hot))
                    .or_insert_with(|| figures_of_part(part, &scheme, hot));
                figures_of_part(part, &other, hot) != *usual
            });
            assert!(parted, "{part} {other} works as its default does");
        }
    }
}
