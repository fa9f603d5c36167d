//! Every registered buffer on every registered mapping under the oracle, with random requests; and
//! proof that the oracle can fail.

use crate::support;
use crate::support::{Dice, Fills};
use eraseblock_core::buffer::{BufferConfig, Shape};
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::ftl::{self, Cx, Mapping, MappingConfig, PageOut, Reclaim};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Metric;
use eraseblock_core::nand::{Flash, JoinId};
use eraseblock_core::support::ids::{BlockId, Lpn, PlaneId, Ppn};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::sync::LazyLock;

/// Arrays that pull at different corners: one die; many units; two buses; several mapped pages a
/// flash page.
fn arrays() -> Vec<(&'static str, Value)> {
    vec![
        ("one die", json!({"nand": {"blocks_per_plane": 16}})),
        (
            "one die, read first",
            json!({"nand": {"blocks_per_plane": 16, "scheduling": "read-first", "copy_back": true}}),
        ),
        (
            "two buses, two dies, two planes",
            json!({"nand": {"channels": 2, "dies_per_chip": 2, "planes_per_die": 2, "blocks_per_plane": 6, "copy_back": true,
                            "scheduling": "read-first"}}),
        ),
        (
            "two planes over one bus, commands take time",
            json!({"nand": {"chips_per_channel": 2, "planes_per_die": 2, "blocks_per_plane": 8, "timing": {"command": "1 us"}}}),
        ),
        (
            "large program units",
            json!({"nand": {"planes_per_die": 2, "blocks_per_plane": 16, "pages_per_block": 4, "page_size": "8 KiB", "mapping_unit": "4 KiB",
                            "pages_per_program": 2, "multi_plane": true, "program_order": "sequential"}, "ftl": {"exported": "384 KiB"}}),
        ),
    ]
}

fn merged(parts: &[&Value]) -> DeviceConfig {
    let mut all = json!({});
    for part in parts {
        merge(&mut all, part);
    }
    support::config(&all)
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) if !from.contains_key("kind") => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// All drives that the registries can make of an array, or the sentence with which they are
/// refused.
fn drives(array: &Value, replay: &str, write_back: &str) -> Vec<(String, DeviceConfig)> {
    let mut all = Vec::new();
    for buffer in BufferConfig::NAMES {
        let buffer = BufferConfig::by_name(buffer).unwrap();
        for mapping in MappingConfig::NAMES {
            all.push(drive(&buffer, mapping, array, replay, write_back));
        }
    }
    all
}

/// One of them.
fn drive(
    buffer: &BufferConfig,
    mapping: &str,
    array: &Value,
    replay: &str,
    write_back: &str,
) -> (String, DeviceConfig) {
    let rest = json!({
        "buffer": {"size": "32 KiB", "scheme": buffer, "write_back": write_back},
        "ftl": {"mapping": support::mapping(mapping, 3)},
        "host": {"replay": replay, "partial_page": "read-modify-write", "max_outstanding": 4, "end_of_run": "flush"},
    });
    (format!("{} on {mapping}", buffer.name()), merged(&[array, &rest]))
}

/// Ways of replay and of writing back.
const WAYS: [(&str, &str); 6] = [
    ("open", "background"),
    ("closed", "background"),
    ("untimed", "background"),
    ("open", "foreground"),
    ("closed", "foreground"),
    ("untimed", "foreground"),
];

type Named = Vec<(String, DeviceConfig)>;

/// The drives of each array, in each of these ways: to make them takes as long as to run them.
static DRIVES: LazyLock<Vec<(&str, [Named; WAYS.len()])>> = LazyLock::new(|| {
    let in_all_ways = |array| WAYS.map(|(replay, write_back)| drives(array, replay, write_back));
    arrays().iter().map(|(name, array)| (*name, in_all_ways(array))).collect()
});

/// The buffer of these drives.
const SMALL: Shape = Shape { capacity: 8, pages_per_block: 4, logical_pages: 32 };

#[derive(Debug, Clone)]
struct Step {
    op: Op,
    offset: u64,
    len: u64,
    fua: bool,
    gap: u64,
}

fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let op = prop_oneof![8 => Just(Op::Write), 5 => Just(Op::Read), 1 => Just(Op::Trim), 1 => Just(Op::Flush)];
    let step = (op, 0u64..256, 1u64..14, any::<bool>(), 0u64..3_000_000, 0u8..10).prop_map(
        |(op, sector, len, fua, gap, burst)| {
            // Half-page units, some of them misaligned; a hot quarter of the drive.
            let sector = if sector % 3 == 0 { sector / 4 } else { sector };
            Step {
                op,
                offset: sector,
                len,
                fua: fua && sector % 5 == 0,
                gap: if burst < 5 { 0 } else { gap },
            }
        },
    );
    prop::collection::vec(step, 1..count)
}

fn requests(steps: &[Step], exported: u64) -> Vec<Request> {
    let (mut arrival_ns, unit) = (0, 2048);
    let units = exported / unit;
    steps
        .iter()
        .map(|s| {
            arrival_ns += s.gap;
            let first = s.offset * units / 256;
            let len = s.len.min(units - first);
            let len = if s.op == Op::Flush { 0 } else { len * unit };
            Request { arrival_ns, op: s.op, offset: first * unit, len, volume: 0, fua: s.fua }
        })
        .collect()
}

thread_local! {
    /// The buffer has no part in how a drive is filled: there are fewer of these than drives.
    static FILLS: RefCell<Fills> = RefCell::default();
}

fn full(config: &DeviceConfig, verify: bool) -> Result<Device, DeviceError> {
    FILLS.with_borrow_mut(|fills| fills.drive(config, Options { verify }))
}

fn run(config: &DeviceConfig, steps: &[Step]) -> Result<u64, DeviceError> {
    let mut device = full(config, true)?;
    let requests = requests(steps, device.exported_bytes());
    support::foresee(&mut device, &requests)?;
    device.keep(Metric::Bounds);
    for request in &requests {
        device.submit(request)?;
    }
    let report = device.finish()?;
    support::keeps_to_its_bounds(config, &report);
    assert_eq!(report.requests.completed, requests.len() as u64);
    Ok(report.flash_ops)
}

fn is_refused(array: &str, config: &DeviceConfig) -> bool {
    array == "large program units" && support::SINGLE_PAGES.contains(&config.ftl.mapping.name())
}

#[test]
fn every_pair_is_built_or_refused_with_a_reason() {
    for (name, array) in arrays() {
        for (pair, config) in drives(&array, "open", "background") {
            let built = Device::new(&config, Options::default());
            let refused = is_refused(name, &config);
            match built {
                Ok(_) => assert!(!refused, "{pair} over {name} should be refused"),
                Err(error) => {
                    assert!(refused, "{pair} over {name}: {error}");
                    assert!(
                        error.is_input() && error.to_string().contains("use page mapping"),
                        "{error}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: support::cases(4, 250), failure_persistence: None, ..ProptestConfig::default() })]

    /// Every pair over every array; the ways of replay and of writing back take turns.
    #[test]
    fn every_pair_keeps_every_write(steps in steps(160), turn in 0usize..6) {
        for (name, in_all_ways) in DRIVES.iter() {
            for (way, drives) in in_all_ways.iter().enumerate() {
                let first = (way + WAYS.len() - turn) % WAYS.len();
                for (pair, config) in drives.iter().skip(first).step_by(WAYS.len()) {
                    if is_refused(name, config) {
                        continue;
                    }
                    if let Err(error) = run(config, &steps) {
                        let (replay, write_back) = WAYS[way];
                        prop_assert!(false, "{pair} over {name}, {write_back}, {replay}: {error}");
                    }
                }
            }
        }
    }

    /// The same for every other reading of the papers, and each value of switches and named
    /// choices, on one array; the mappings take turns.
    #[test]
    fn every_reading_keeps_every_write(steps in steps(160), turn in 0usize..12) {
        let (name, array) = &arrays()[2];
        for (number, (variant, buffer)) in support::variants(SMALL).into_iter().enumerate() {
            let mapping = MappingConfig::NAMES[(number + turn) % MappingConfig::NAMES.len()];
            let (pair, config) = drive(&buffer, mapping, array, "open", "background");
            if let Err(error) = run(&config, &steps) {
                prop_assert!(false, "{variant}, {pair} over {name}: {error}");
            }
        }
    }

    /// Other readings of the mappings' papers, where they fit the array.
    #[test]
    fn every_reading_of_a_mapping_keeps_every_write(steps in steps(160)) {
        let (_, array) = &arrays()[2];
        for entry in ftl::registry() {
            let readings = entry.about.choices.iter().flat_map(|c| c.others.iter().map(|other| (c.option, *other)));
            for (option, other) in readings {
                let mut mapping = support::mapping(entry.name, 3);
                mapping[option] = serde_json::from_str(other).unwrap();
                let rest = json!({
                    "buffer": {"size": "16 KiB", "scheme": "lru"}, "ftl": {"mapping": mapping},
                    "host": {"replay": "open", "partial_page": "read-modify-write", "max_outstanding": 4},
                });
                match run(&merged(&[array, &rest]), &steps) {
                    Ok(_) | Err(DeviceError::Config(_)) => {}
                    Err(error) => prop_assert!(false, "{mapping}: {error}"),
                }
            }
        }
    }

    /// Every two parts of a page-level mapping together, with a buffer and an array that change
    /// from one to the next.
    #[test]
    fn every_composition_keeps_every_write(steps in steps(160)) {
        for (name, composition, config) in COMPOSED.iter() {
            if let Err(error) = run(config, &steps) {
                prop_assert!(false, "{composition} over {name}: {error}");
            }
        }
    }

    /// The oracle looks on; it changes nothing. The arrays take turns.
    #[test]
    fn verification_changes_no_figure(steps in steps(160), turn in 0usize..5) {
        for (offset, (name, [drives, ..])) in DRIVES.iter().enumerate() {
            for (pair, config) in drives.iter().skip((10 - offset - turn) % 5).step_by(5) {
                if is_refused(name, config) {
                    continue;
                }
                let report = |verify| {
                    let mut device = full(config, verify).unwrap();
                    let requests = requests(&steps, device.exported_bytes());
                    support::foresee(&mut device, &requests).unwrap();
                    for request in &requests {
                        device.submit(request).unwrap();
                    }
                    let mut report = device.finish().unwrap();
                    report.verified_reads = None;
                    report.bytes_per_page = 0.0;
                    serde_json::to_string(&report).unwrap()
                };
                prop_assert_eq!(report(false), report(true), "{} over {}", pair, name);
            }
        }
    }
}

/// Drives of page-level mappings in every composition.
static COMPOSED: LazyLock<Vec<(&str, Value, DeviceConfig)>> = LazyLock::new(composed);

fn composed() -> Vec<(&'static str, Value, DeviceConfig)> {
    let (arrays, buffers) = (arrays(), ["none", "lru", "fab", "bplru"]);
    let compositions = support::compositions();
    assert!(compositions.len() > 40);
    let mut all = Vec::new();
    for (n, composition) in compositions.into_iter().enumerate() {
        for (m, (name, array)) in arrays.iter().enumerate() {
            let rest = json!({
                "buffer": {"size": "32 KiB", "scheme": buffers[(n + m) % 4],
                           "write_back": (["background", "foreground"][(n + m) / 4 % 2])},
                "host": {"replay": (["open", "closed", "open", "untimed"][(n + 2 * m) % 4]),
                         "partial_page": "read-modify-write", "max_outstanding": 4, "end_of_run": "flush"},
            });
            let config = merged(&[&json!({"ftl": composition}), array, &rest]);
            match Device::new(&config, Options::default()) {
                Ok(_) => all.push((*name, composition.clone(), config)),
                // One die has one unit: nowhere to spread to.
                Err(error) => {
                    assert!(
                        error.to_string().contains("ftl.gc.copies"),
                        "{composition} over {name}: {error}"
                    );
                }
            }
        }
    }
    assert!(all.len() > 150, "{}", all.len());
    all
}

/// A mapping with a planted bug.
#[derive(Debug, Clone)]
struct Buggy {
    inner: Box<dyn Mapping>,
    bug: Bug,
    writes: u32,
    lost: Option<(Lpn, Option<Ppn>)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bug {
    /// One update in a thousand never reaches the map.
    LosesUpdate,
    /// After a merge or a collection one page is no longer known.
    DropsPage,
    /// A block is erased before its pages have been copied.
    ErasesEarly,
}

support::never_saved!(Buggy);

impl Mapping for Buggy {
    fn translate(&mut self, cx: &mut Cx<'_>, lpn: Lpn) -> Option<Ppn> {
        match self.lost {
            Some((lost, place)) if lost == lpn => place,
            _ => self.inner.translate(cx, lpn),
        }
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        match self.lost {
            Some((lost, place)) if lost == lpn => place,
            _ => self.inner.lookup(lpn),
        }
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: JoinId) -> usize {
        let merges = cx.counters.full_merges;
        let old = self.inner.lookup(pages[0].lpn);
        let written = self.inner.write(cx, pages, waits);
        self.writes += 1;
        if self.bug == Bug::LosesUpdate && self.writes.is_multiple_of(1000) {
            self.lost = Some((pages[0].lpn, old));
        }
        if self.bug == Bug::DropsPage && cx.counters.full_merges > merges && self.lost.is_none() {
            self.lost = Some((Lpn(pages[0].lpn.0 ^ 1), None));
        }
        written
    }

    fn asks_for_reclaim(&self) -> bool {
        self.inner.asks_for_reclaim()
    }

    fn needs_reclaim(&mut self) -> Option<PlaneId> {
        self.inner.needs_reclaim()
    }

    fn reclaim(&mut self, cx: &mut Cx<'_>, unit: PlaneId) -> Reclaim {
        let step = self.inner.reclaim(cx, unit);
        if self.bug == Bug::ErasesEarly {
            // The erase moves ahead of the copies, and they no longer hold it back.
            let erase =
                cx.plan.ops.iter().position(|op| op.kind == eraseblock_core::nand::Kind::Erase);
            if let Some(at) = erase {
                let op = cx.plan.ops.remove(at);
                cx.plan.ops.insert(0, op);
            }
        }
        step
    }

    support::forward_to_inner!();
}

/// Uniform single-page requests, a third of them reads, over a mapping with a bug.
fn run_buggy(mapping: &Value, bug: Option<Bug>) -> Result<(), DeviceError> {
    let config = support::config(&json!({
        "ftl": {"mapping": mapping},
        "host": {"replay": "closed", "max_outstanding": 4},
        "nand": {"channels": 2, "blocks_per_plane": 12},
    }));
    let wrap = |inner| match bug {
        Some(bug) => Box::new(Buggy { inner, bug, writes: 0, lost: None }),
        None => inner,
    };
    let mut device = Device::with_parts(&config, Options { verify: true }, wrap, None)?;
    device.precondition()?;
    let mut dice = Dice(1);
    for i in 0..20_000 {
        let op = if i % 3 == 0 { Op::Read } else { Op::Write };
        device.submit(&support::request(op, dice.roll(32), 1))?;
    }
    device.finish().map(|_| ())
}

#[test]
fn planted_bugs_are_caught() {
    let bast = || json!({"kind": "bast", "log_blocks": 2});
    for (mapping, bug, says) in [
        (json!("page"), Bug::LosesUpdate, "read of logical page"),
        (bast(), Bug::LosesUpdate, "read of logical page"),
        (bast(), Bug::DropsPage, "the FTL has no place for it"),
        (json!("page"), Bug::ErasesEarly, "only stored copy"),
    ] {
        run_buggy(&mapping, None).unwrap();
        let error = run_buggy(&mapping, Some(bug)).expect_err("the oracle sees the bug");
        let seen = match &error {
            DeviceError::Verify(fault) => {
                fault.contains(says) || (bug == Bug::ErasesEarly && fault.contains("found Erased"))
            }
            // The old place of a lost update may have been erased meanwhile: then the flash itself
            // objects.
            DeviceError::Physics(_) => bug == Bug::LosesUpdate,
            _ => false,
        };
        assert!(seen, "{bug:?}: {error}");
    }
}

#[test]
fn the_flash_refuses_what_no_chip_does() {
    use eraseblock_core::config::ProgramOrder;
    use eraseblock_core::nand::{Geometry, Violation};
    type Breach = fn(&mut Flash);
    let config = support::config(&json!({"nand": {"planes_per_die": 2, "dies_per_chip": 2}}));
    let flash = |order| Flash::new(Geometry::new(&config.nand).unwrap(), order);
    let cases: [(ProgramOrder, Breach, bool); 11] = [
        (ProgramOrder::Sequential, |f| f.program(BlockId(0), 0, 4), true),
        (ProgramOrder::Sequential, |f| f.program(BlockId(0), 1, 1), false),
        (ProgramOrder::Ascending, |f| f.program(BlockId(0), 1, 1), true),
        (ProgramOrder::Any, |f| (f.program(BlockId(0), 3, 1), f.program(BlockId(0), 1, 1)).0, true),
        (
            ProgramOrder::Ascending,
            |f| (f.program(BlockId(0), 3, 1), f.program(BlockId(0), 1, 1)).0,
            false,
        ),
        (
            ProgramOrder::Any,
            |f| (f.program(BlockId(0), 1, 1), f.program(BlockId(0), 1, 1)).0,
            false,
        ),
        (ProgramOrder::Sequential, |f| f.program(BlockId(0), 2, 3), false),
        (
            ProgramOrder::Ascending,
            |f| (f.program(BlockId(0), 1, 1), f.read(BlockId(0), 0, 1)).0,
            false,
        ),
        (ProgramOrder::Sequential, |f| f.read(BlockId(0), 0, 1), false),
        // Blocks 0, 16 and 32 lie on die 0, on die 1, and on die 0's other plane.
        (ProgramOrder::Sequential, |f| f.check_copy(BlockId(0), BlockId(16), false), false),
        (ProgramOrder::Sequential, |f| f.check_copy(BlockId(0), BlockId(32), true), false),
    ];
    for (i, (order, act, legal)) in cases.into_iter().enumerate() {
        let mut flash = flash(order);
        act(&mut flash);
        assert_eq!(flash.violation().is_none(), legal, "case {i}: {:?}", flash.violation());
    }
    // Pages that were left out hold nothing, also in what a power cut left, until the block has been
    // erased and they are programmed.
    for order in [ProgramOrder::Ascending, ProgramOrder::Any] {
        let mut flash = flash(order);
        flash.program(BlockId(1), 1, 1);
        flash.program(BlockId(1), 3, 1);
        flash.restore(BlockId(2), [1, 3].into_iter());
        for block in [BlockId(1), BlockId(2)] {
            let written = [0, 1, 2, 3].map(|page| flash.is_written(block, page));
            assert_eq!(written, [false, true, false, true], "{order:?}, {block}");
        }
        flash.erase(BlockId(1));
        flash.program(BlockId(1), 0, 4);
        flash.read(BlockId(1), 0, 4);
        assert_eq!(flash.violation(), None, "{order:?}");
    }
    let mut erased = flash(ProgramOrder::Sequential);
    erased.program(BlockId(0), 0, 4);
    erased.erase(BlockId(0));
    erased.program(BlockId(0), 0, 1);
    assert_eq!(erased.violation(), None);
    erased.read(BlockId(0), 1, 1);
    assert_eq!(erased.violation(), Some(&Violation::ReadErased { block: BlockId(0), page: 1 }));
}
