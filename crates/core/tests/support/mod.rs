//! Small drives for tests, and shorthand to drive them.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test file uses its own part")]

pub mod stream;

use std::collections::BTreeMap;

use eraseblock_core::buffer::{self, BufferConfig, Shape};
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Filled, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::ftl::alloc::AllocatorConfig;
use eraseblock_core::ftl::victim::VictimConfig;
use eraseblock_core::ftl::wear::WearConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::metrics::bounds::Bound;
use eraseblock_core::support::ids::{Lpn, PlaneId};
use serde_json::{Value, json};

/// Numbers from a seed.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// One of `0..sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Whether the tests run for long, as in `make soak`.
pub fn is_soak() -> bool {
    std::env::var_os("ERASEBLOCK_SOAK").is_some()
}

/// How many cases of a kind are played: few everyday, since they are the same each time, and many
/// in a soak, which draws others.
pub fn cases<T>(everyday: T, soak: T) -> T {
    if is_soak() { soak } else { everyday }
}

/// The first of the seeds that are played: always the same, or the one of a soak, which names it in
/// `ERASEBLOCK_SEED`.
pub fn first_seed() -> u64 {
    let Ok(text) = std::env::var("ERASEBLOCK_SEED") else { return 0 };
    text.parse().expect("ERASEBLOCK_SEED: a whole number")
}

/// So many seeds, from that one on.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    first_seed()..first_seed() + count
}

/// Drives that have been filled: each kind once, the others start from a copy.
#[derive(Debug, Default)]
pub struct Fills(BTreeMap<String, Filled>);

impl Fills {
    /// A drive that is full, or whatever its configuration says.
    ///
    /// # Errors
    /// As [`Device::new`] and [`Device::precondition`].
    pub fn drive(
        &mut self,
        config: &DeviceConfig,
        options: Options,
    ) -> Result<Device, DeviceError> {
        let key = Filled::key(config, options);
        if let Some(filled) = self.0.get(&key) {
            return Device::starting_from(config, options, filled);
        }
        let mut device = Device::new(config, options)?;
        device.precondition()?;
        self.0.insert(key, device.filled());
        Ok(device)
    }
}

/// A drive from JSON sections laid over a small default: one unit, 4 pages of 4 KiB a block, 16
/// blocks, 8 exported.
pub fn config(over: &Value) -> DeviceConfig {
    let mut base = json!({
        "nand": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
            "blocks_per_plane": 16, "pages_per_block": 4, "page_size": "4 KiB", "program_order": "ascending",
            "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "100 us"},
        },
        "ftl": {"exported": "128 KiB", "mapping": "page"},
        "buffer": {"size": "32 KiB", "scheme": "none"},
        "host": {"replay": "untimed", "partial_page": "round"},
        "precondition": {"state": "full"},
    });
    lay_over(&mut base, over);
    DeviceConfig::from_json(base).expect("a valid configuration")
}

fn lay_over(base: &mut Value, over: &Value) {
    match (base, over) {
        // A scheme given as a table is replaced, not mixed with the one below it.
        (Value::Object(base), Value::Object(over)) if !over.contains_key("kind") => {
            for (key, value) in over {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// A drive that checks itself, in its initial state.
pub fn device(over: &Value) -> Device {
    let mut device =
        Device::new(&config(over), Options { verify: true }).expect("a drive that can be built");
    device.precondition().expect("a drive that can be filled");
    device
}

pub fn request(op: Op, page: u64, count: u64) -> Request {
    Request { arrival_ns: 0, op, offset: page * 4096, len: count * 4096, volume: 0, fua: false }
}

pub fn write(device: &mut Device, pages: &[u64]) {
    for &page in pages {
        device.submit(&request(Op::Write, page, 1)).expect("a write");
    }
}

/// `(reads, programs, erases)` of the flash so far.
pub fn cost(device: &Device) -> (u64, u64, u64) {
    let c = device.counters();
    (c.reads.iter().sum(), c.programs.iter().sum(), c.erases.iter().sum())
}

/// Tells a drive whose buffer needs the future what is going to be submitted.
pub fn foresee(device: &mut Device, requests: &[Request]) -> Result<(), DeviceError> {
    if device.needs_future() { device.foresee(requests.iter().copied().map(Ok)) } else { Ok(()) }
}

/// Every registered buffer with its defaults and, one at a time, with each other value of its
/// switches, of its named choices and of what its paper leaves open. What does not suit a buffer as
/// small as this is left out.
pub fn variants(shape: Shape) -> BTreeMap<String, BufferConfig> {
    let mut all = BTreeMap::new();
    for entry in buffer::registry() {
        let mut add = |option: &str, value: Value| {
            let mut table = json!({"kind": entry.name});
            let mut label = entry.name.to_owned();
            if !option.is_empty() {
                label = format!("{label} with {option} = {value}");
                table[option] = value;
            }
            let config: BufferConfig =
                serde_json::from_value(table).expect("an option's own value");
            match config.build(shape) {
                Ok(_) => _ = all.insert(label, config),
                Err(error) => {
                    let too_small = shape.capacity < 1 << 16 && error.starts_with("buffer.");
                    assert!(too_small, "{label}: {error}");
                }
            }
        };
        add("", Value::Null);
        for choice in entry.about.choices {
            for other in choice.others {
                add(choice.option, serde_json::from_str(other).expect("a choice is JSON"));
            }
        }
        let (schema, defaults) = (entry.schema(), (entry.defaults)());
        for (option, property) in schema["properties"].as_object().into_iter().flatten() {
            let names = names(&schema, property);
            for value in names.into_iter().filter(|value| *value != defaults[option]) {
                add(option, value);
            }
        }
    }
    all
}

/// The values that an option's schema lists.
fn names(root: &Value, property: &Value) -> Vec<Value> {
    if property["type"] == "boolean" {
        return vec![json!(false), json!(true)];
    }
    if let Some(target) = property["$ref"].as_str() {
        return names(
            root,
            root.pointer(target.trim_start_matches('#')).expect("a schema that holds its parts"),
        );
    }
    if let Some(constant) = property.get("const") {
        return vec![constant.clone()];
    }
    if let Some(values) = property["enum"].as_array() {
        return values.clone();
    }
    let kinds = ["oneOf", "anyOf"].iter().filter_map(|key| property[key].as_array()).flatten();
    kinds.flat_map(|kind| names(root, kind)).collect()
}

/// No run is better than the bounds that it reports, and the offline optimum has as many hits as
/// they allow.
pub fn keeps_to_its_bounds(config: &DeviceConfig, report: &Report) {
    let (name, bound) =
        (config.buffer.scheme.name(), report.figures.read::<Bound>("bound").expect("asked for"));
    let (programs, erases) = (report.flash.programs.total, report.flash.erases.total);
    assert!(
        report.hit_ratio.all <= bound.hit_ratio,
        "{name}: {:?} hits, {bound:?}",
        report.hit_ratio
    );
    assert!(
        programs >= bound.flash_programs && erases >= bound.erases,
        "{name}: {programs}, {erases}, {bound:?}"
    );
    if name == "opt" && config.buffer.scheme == BufferConfig::by_name("opt").expect("registered") {
        assert_eq!(report.hit_ratio.all, bound.hit_ratio, "{bound:?}");
    }
}

/// What page-level mappings can be composed of, beside the mapping: `ftl` tables in which every two
/// values of any two parts occur together, each registered name among them, except what is refused.
pub fn compositions() -> Vec<Value> {
    let named = |names: &[&str]| names.iter().map(|name| json!(name)).collect::<Vec<_>>();
    let mut allocators = named(AllocatorConfig::NAMES);
    allocators.push(json!({"kind": "dynamic", "pool": "channel", "striping_unit": 2}));
    allocators.push(json!({"kind": "static", "order": "PDWC", "striping_unit": 8}));
    let levellers = WearConfig::NAMES.iter().map(|name| match *name {
        "none" => json!("none"),
        name => json!({"kind": name, "threshold": 1}),
    });
    let collections = [
        json!({}),
        json!({"cost": "free", "step_pages": 3}),
        json!({"copies": "spread"}),
        json!({"copies": "spread", "grain": "all"}),
        json!({"idle_free_blocks": 4, "step_pages": 1}),
        json!({"idle_free_blocks": 4, "grain": "victim"}),
        json!({"regions": 2, "region_pages": 20}),
    ];
    let parts: [(&str, Vec<Value>); 4] = [
        ("allocator", allocators),
        ("victim", named(VictimConfig::NAMES)),
        ("wear", levellers.collect()),
        ("gc", collections.to_vec()),
    ];
    let refused = |one: &Value, other: &Value| {
        let is_static =
            |value: &Value| *value == json!("static") || value["kind"] == json!("static");
        is_static(one) && other["copies"] == json!("spread")
    };
    let mut missing: std::collections::BTreeSet<[(usize, usize); 2]> =
        std::collections::BTreeSet::new();
    for (a, (_, ones)) in parts.iter().enumerate() {
        for (b, (_, others)) in parts.iter().enumerate().skip(a + 1) {
            for (i, one) in ones.iter().enumerate() {
                let together = others.iter().enumerate().filter(|(_, other)| !refused(one, other));
                missing.extend(together.map(|(j, _)| [(a, i), (b, j)]));
            }
        }
    }
    let mut all = Vec::new();
    // Each composition begins with a pair that is missing; the other parts take what covers most of
    // the rest.
    while let Some(&[first, second]) = missing.first() {
        let mut chosen = vec![first, second];
        for (part, (_, values)) in parts.iter().enumerate() {
            if chosen.iter().any(|&(of, _)| of == part) {
                continue;
            }
            let allowed = |&i: &usize| {
                chosen.iter().all(|&(of, j)| {
                    !refused(&parts[of].1[j], &values[i]) && !refused(&values[i], &parts[of].1[j])
                })
            };
            let covers = |i: usize| {
                let pair =
                    |other| if other < (part, i) { [other, (part, i)] } else { [(part, i), other] };
                chosen.iter().filter(|&&other| missing.contains(&pair(other))).count()
            };
            // Later values in later rounds, so that no value is always the one that is left.
            let order = (0..values.len()).map(|i| (i + all.len()) % values.len());
            let best = order
                .filter(allowed)
                .max_by_key(|&i| covers(i))
                .expect("some value goes with the others");
            chosen.push((part, best));
        }
        chosen.sort_unstable();
        for (n, &one) in chosen.iter().enumerate() {
            for &other in &chosen[n + 1..] {
                missing.remove(&[one, other]);
            }
        }
        let mut table = json!({"mapping": "page"});
        for &(part, i) in &chosen {
            table[parts[part].0] = parts[part].1[i].clone();
        }
        all.push(table);
    }
    all
}

/// Mappings that program single pages, and cannot use a chip that programs several at once.
pub const SINGLE_PAGES: [&str; 10] = [
    "bast",
    "block",
    "fast",
    "hybrid",
    "mnk",
    "pattern",
    "replacement",
    "sftl",
    "ssd-model",
    "superblock",
];

/// A mapping with its defaults, but few log blocks, so that they run out.
pub fn mapping(name: &str, log_blocks: u32) -> Value {
    let mut all =
        serde_json::to_value(MappingConfig::by_name(name).expect("registered")).expect("plain");
    if let Some(found) = all.get_mut("log_blocks") {
        *found = log_blocks.into();
    }
    if all.get("entries_per_page").is_some() {
        // A small drive has several translation pages, and most of their entries lie on flash.
        (all["cache"], all["entries_per_page"]) = ((2 * log_blocks).into(), 8.into());
    }
    all
}

/// Lists of pages by their bare numbers, as examples are written down.
pub fn numbers(lists: &[Vec<Lpn>]) -> Vec<Vec<u32>> {
    lists.iter().map(|pages| pages.iter().map(|page| page.0).collect()).collect()
}

/// What a mapping around another one, its `inner`, leaves as it is.
macro_rules! forward_to_inner {
    () => {
        fn trim(&mut self, cx: &mut eraseblock_core::ftl::Cx<'_>, first: Lpn, count: u32) {
            self.inner.trim(cx, first, count);
        }

        fn make_durable(&mut self, cx: &mut eraseblock_core::ftl::Cx<'_>) -> bool {
            self.inner.make_durable(cx)
        }

        fn recover(
            &mut self,
            cx: &mut eraseblock_core::ftl::Cx<'_>,
            found: eraseblock_core::nand::Media,
        ) {
            self.inner.recover(cx, found);
        }

        fn check(&self, flash: &eraseblock_core::nand::Flash) -> Result<(), String> {
            self.inner.check(flash)
        }

        fn space(&self) -> String {
            self.inner.space()
        }

        fn free_blocks(&self, unit: PlaneId) -> u32 {
            self.inner.free_blocks(unit)
        }

        fn bytes(&self) -> usize {
            self.inner.bytes()
        }
    };
}

pub(crate) use forward_to_inner;

/// A mapping of the tests' own is never written down.
macro_rules! never_saved {
    ($mapping:ty) => {
        impl eraseblock_core::support::persist::Persist for $mapping {
            fn save(
                &self,
                _sink: &mut eraseblock_core::support::persist::Sink<'_>,
            ) -> Result<(), eraseblock_core::support::persist::Error> {
                Err(eraseblock_core::support::persist::Error::WontImplement)
            }

            fn load(
                &mut self,
                _source: &mut eraseblock_core::support::persist::Source<'_>,
            ) -> Result<(), eraseblock_core::support::persist::Error> {
                Err(eraseblock_core::support::persist::Error::WontImplement)
            }
        }
    };
}

pub(crate) use never_saved;
