//! Any geometry that has room can be brought into any state and then be used; one that has not says
//! so.

use crate::common::{Random, drive, nand};
use eraseblock_core::config::{
    Bytes, DeviceConfig, Precondition, ProgramOrder, Replay, Scheduling,
};
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::ftl::alloc::AllocatorConfig;
use eraseblock_core::ftl::gc::{Copies, GcConfig, GcCost, Grain};
use eraseblock_core::ftl::victim::VictimConfig;
use eraseblock_core::ftl::wear::WearConfig;
use eraseblock_core::ftl::{self, MappingConfig};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use proptest::prelude::*;
use serde_json::{Value, json};

const FLASH_PAGE: u64 = 4096;

/// A name out of a registry, or one of these tables.
fn one_of(names: &'static [&str], tables: Vec<Value>) -> BoxedStrategy<Option<Value>> {
    let named = names.iter().map(|name| json!(name)).chain(tables).map(Some);
    proptest::sample::select(named.chain([None]).collect::<Vec<_>>()).boxed()
}

fn allocators() -> BoxedStrategy<Option<Value>> {
    let tables = vec![
        json!({"kind": "round-robin", "striping_unit": 3}),
        json!({"kind": "static", "order": "PDWC", "striping_unit": 2}),
        json!({"kind": "static", "order": "WCPD", "striping_unit": 7}),
        json!({"kind": "dynamic", "pool": "channel", "striping_unit": 4}),
        json!({"kind": "dynamic", "pool": "chip"}),
        json!({"kind": "dynamic", "pool": "plane"}),
    ];
    one_of(AllocatorConfig::NAMES, tables)
}

fn levellers() -> BoxedStrategy<Option<Value>> {
    let tables = vec![
        json!({"kind": "hot-cold", "threshold": 1}),
        json!({"kind": "two-level", "threshold": 2, "cluster": 1}),
        json!({"kind": "dual-pool", "threshold": 1}),
        json!({"kind": "dual-pool", "threshold": 2, "cluster": 1}),
    ];
    one_of(WearConfig::NAMES, tables)
}

prop_compose! {
    fn collection()(
        free_blocks in prop_oneof![Just(None), Just(Some(0.05)), (1u32..4).prop_map(|n| Some(f64::from(n)))],
        step_pages in 1u32..20,
        grain in prop::sample::select(vec![Grain::Steps, Grain::Victim, Grain::All]),
        free: bool,
        spread: bool,
        idle_free_blocks in prop_oneof![Just(None), Just(Some(0.3)), Just(Some(4.0))],
        regions in 1u32..4,
        region_pages in prop_oneof![Just(None), (1u64..200).prop_map(Some)],
    ) -> GcConfig {
        GcConfig {
            free_blocks,
            grain,
            step_pages,
            cost: if free { GcCost::Free } else { GcCost::Full },
            idle_free_blocks,
            copies: if spread { Copies::Spread } else { Copies::Unit },
            regions,
            region_pages,
        }
    }
}

prop_compose! {
    /// Any mapping, with some of its options, and parts for those that are composed.
    fn ftls()(
        name in prop::sample::select(MappingConfig::NAMES), log_blocks in 1u32..12, partial_merge: bool,
        other_readings: bool, allocator in allocators(), victim in one_of(VictimConfig::NAMES, vec![]),
        wear in levellers(), gc in collection(),
    ) -> Value {
        let mut mapping = serde_json::to_value(MappingConfig::by_name(name).unwrap()).unwrap();
        let options = mapping.as_object_mut().unwrap();
        for (key, value) in [("log_blocks", json!(log_blocks)), ("partial_merge", json!(partial_merge))] {
            if let Some(option) = options.get_mut(key) {
                *option = value;
            }
        }
        let about = ftl::registry().iter().find(|entry| entry.name == name).unwrap().about;
        for choice in about.choices.iter().filter(|choice| other_readings && choice.option != "partial_merge") {
            options.insert(choice.option.to_owned(), serde_json::from_str(choice.others[0]).unwrap());
        }
        if ftl::is_composed(name) {
            json!({"mapping": mapping, "allocator": allocator, "victim": victim, "wear": wear, "gc": gc})
        } else {
            json!({"mapping": mapping})
        }
    }
}

prop_compose! {
    /// Odd arrays, exporting from next to nothing to every block but one.
    fn configs()(
        array in [1u32..5, 1u32..4, 1u32..3, 1u32..4],
        blocks in 2u32..24,
        (units, per_program) in (1u32..13, 1u32..4),
        fraction in prop_oneof![Just(1u64), Just(2), Just(4)],
        multi_plane: bool,
        order in prop_oneof![Just(ProgramOrder::Sequential), Just(ProgramOrder::Ascending), Just(ProgramOrder::Any)],
        share in prop_oneof![0.05..1.0f64, 0.8..1.0f64],
        ftl in ftls(),
        (read_first, closed) in any::<(bool, bool)>(),
        state in prop_oneof![Just(Precondition::Empty), Just(Precondition::Full), Just(Precondition::Steady)],
        seed in 0u64..1000,
    ) -> DeviceConfig {
        let mut nand = nand(array, blocks, units * per_program);
        nand.pages_per_program = per_program;
        nand.mapping_unit = (fraction > 1).then_some(Bytes(FLASH_PAGE / fraction));
        nand.multi_plane = multi_plane;
        nand.program_order = order;
        nand.scheduling = if read_first { Scheduling::ReadFirst } else { Scheduling::Fifo };
        let raw = array.iter().product::<u32>() * blocks * units * per_program;
        let mut config = drive(nand, 1);
        config.ftl = serde_json::from_value(ftl).unwrap();
        config.ftl.exported = Some(Bytes((f64::from(raw) * share) as u64 * FLASH_PAGE));
        config.precondition.state = state;
        config.host.replay = if closed { Replay::Closed } else { Replay::Open };
        config.seed = seed;
        config
    }
}

/// Fills the drive and writes, reads and trims it at random, one and a half times its size.
fn used(config: &DeviceConfig) -> Result<Report, DeviceError> {
    let mut device = Device::new(config, Options::default())?;
    device.precondition()?;
    let (bytes, unit) = (device.exported_bytes(), device.page_bytes());
    let mut random = Random::new(config.seed);
    let pages = bytes / unit;
    for i in 0..pages + pages / 2 {
        let first = random.below(pages);
        let count = 1 + random.below(8.min(pages - first));
        let op = [Op::Write, Op::Write, Op::Write, Op::Read, Op::Trim][random.below(5) as usize];
        let (offset, len) = (first * unit, count * unit);
        device.submit(&Request {
            arrival_ns: i * 20_000,
            offset,
            len,
            volume: 0,
            op,
            fua: false,
        })?;
    }
    device.finish()
}

/// Drives that are drawn; `ERASEBLOCK_SOAK` makes it more.
fn cases() -> u32 {
    crate::support::cases(1000, 60_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_drive_works_or_its_configuration_is_refused(config in configs()) {
        match used(&config) {
            Ok(report) => {
                prop_assert_eq!(report.requests.submitted, report.requests.completed);
                let filled = config.precondition.state != Precondition::Empty;
                prop_assert_eq!(report.precondition.pages_written > 0, filled);
                let random = report.precondition.drive_writes;
                prop_assert_eq!(random > 0, config.precondition.state == Precondition::Steady);
                prop_assert!(random <= config.precondition.max_drive_writes);
            }
            Err(DeviceError::Config(why)) => prop_assert!(
                why.contains("ftl") || why.contains("nand") || why.contains("page mapping"), "{}", why
            ),
            // What was accepted must work: running out of room halfway is not an answer.
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

/// The property above would pass if everything were refused; roomy drives are not.
#[test]
fn drives_with_spare_blocks_are_accepted() {
    for array in [[1, 1, 1, 1], [3, 2, 1, 2], [8, 1, 2, 1]] {
        for state in [Precondition::Empty, Precondition::Full, Precondition::Steady] {
            let raw = u64::from(array.iter().product::<u32>() * 12 * 6);
            let mut config = drive(nand(array, 12, 6), raw / 2);
            config.precondition.state = state;
            let report = used(&config).unwrap();
            assert_eq!(report.requests.submitted, report.requests.completed, "{array:?} {state:?}");
        }
    }
}

/// A drive that the workload itself has used: the run goes on where the passes over it have ended,
/// and nothing of them is counted.
#[test]
fn a_workload_uses_the_drive_before_it_runs() {
    let mut config = drive(nand([2, 1, 1, 1], 32, 16), 704);
    config.precondition.state = Precondition::Workload;
    let unit = FLASH_PAGE;
    let mut random = Random::new(3);
    // Mostly the first tenth of the drive; some of it is trimmed.
    let requests: Vec<Request> = (0..4000)
        .map(|i| Request {
            arrival_ns: i * 20_000,
            offset: random.below(if i % 10 == 0 { 700 } else { 70 }) * unit,
            len: unit * (1 + random.below(4)),
            volume: 0,
            op: [Op::Write, Op::Write, Op::Read, Op::Trim][(i % 29 / 9) as usize],
            fua: false,
        })
        .collect();
    let run = |state| {
        let mut config = config.clone();
        config.precondition.state = state;
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        if state == Precondition::Workload {
            let pass = || requests.iter().map(|request| Ok::<_, DeviceError>(*request));
            assert!(device.overwrite_with(pass, &mut |_, _| true).unwrap());
        }
        assert_eq!(device.counters().programmed, 0);
        for request in &requests {
            device.submit(request).unwrap();
        }
        device.finish().unwrap()
    };
    let [full, used] = [Precondition::Full, Precondition::Workload].map(run);
    let done = &used.precondition;
    assert!(done.settled && (2..=10).contains(&done.drive_writes), "{done:?}");
    assert_eq!(done.waf.len(), done.drive_writes as usize);
    assert_eq!((done.state.as_str(), full.precondition.drive_writes), ("workload", 0));
    let written: u64 = requests.iter().filter(|r| r.op == Op::Write).map(|r| r.len / unit).sum();
    assert_eq!(
        done.pages_written,
        full.precondition.pages_written + written * u64::from(done.drive_writes)
    );
    assert_eq!(full.requests.submitted, used.requests.submitted);
    // The full drive still had all its spare blocks erased.
    assert!(used.waf.unwrap() > full.waf.unwrap(), "{:?} {:?}", used.waf, full.waf);
}

/// A pass that is shorter than what the drive has to spare is repeated until it has been used up.
#[test]
fn a_short_workload_uses_all_of_the_drive() {
    let mut config = drive(nand([2, 1, 1, 1], 32, 16), 704);
    config.precondition.state = Precondition::Workload;
    let requests: Vec<Request> = (0..40)
        .map(|i| Request {
            arrival_ns: i * 2_000_000,
            offset: i * 17 % 40 * 16 * FLASH_PAGE,
            len: FLASH_PAGE,
            volume: 0,
            op: [Op::Write, Op::Write, Op::Write, Op::Flush][i as usize % 4],
            fua: false,
        })
        .collect();
    let mut device = Device::new(&config, Options { verify: true }).unwrap();
    device.precondition().unwrap();
    let pass = || requests.iter().map(|request| Ok::<_, DeviceError>(*request));
    assert!(device.overwrite_with(pass, &mut |_, _| true).unwrap());
    // Spare blocks of a full drive would take this without an erase: they have 320 pages.
    for round in 0..4 {
        for request in &requests {
            let arrival_ns = request.arrival_ns + round * 100_000_000;
            device.submit(&Request { arrival_ns, ..*request }).unwrap();
        }
    }
    let report = device.finish().unwrap();
    let done = &report.precondition;
    assert!(done.settled && done.pages_written >= 3 * 704, "{done:?}");
    assert!(report.flash.erases.total > 0, "{:?}", report.flash.erases);
}

/// Nobody waits for thousands of passes over a workload that hardly writes.
#[test]
fn a_workload_that_writes_too_little_is_refused() {
    let mut config = drive(nand([4, 1, 1, 1], 32, 64), 4096);
    config.precondition.state = Precondition::Workload;
    let write =
        Request { arrival_ns: 0, offset: 0, len: FLASH_PAGE, volume: 0, op: Op::Write, fua: false };
    let refused = |writes: usize| {
        let mut device = Device::new(&config, Options::default()).unwrap();
        device.precondition().unwrap();
        let pass = || std::iter::repeat_n(Ok::<_, DeviceError>(write), writes);
        match device.overwrite_with(pass, &mut |_, _| true) {
            Ok(finished) => !finished,
            Err(error) => error.to_string().contains("writes 4 of the drive's 4096 pages"),
        }
    };
    assert!(refused(4));
    assert!(!refused(5));
}

/// A workload that writes nothing has nothing to settle.
#[test]
fn a_workload_of_reads_uses_nothing() {
    let mut config = drive(nand([2, 1, 1, 1], 32, 16), 704);
    config.precondition.state = Precondition::Workload;
    let mut device = Device::new(&config, Options::default()).unwrap();
    device.precondition().unwrap();
    let read =
        Request { arrival_ns: 0, offset: 0, len: FLASH_PAGE, volume: 0, op: Op::Read, fua: false };
    let pass = || std::iter::once(Ok::<_, DeviceError>(read));
    assert!(device.overwrite_with(pass, &mut |_, _| true).unwrap());
    let beyond = Request { offset: 1 << 40, ..read };
    let pass = || std::iter::once(Ok::<_, DeviceError>(beyond));
    device.submit(&read).unwrap();
    let done = device.finish().unwrap().precondition;
    assert!(done.settled && done.drive_writes == 0, "{done:?}");
    let mut device = Device::new(&config, Options::default()).unwrap();
    device.precondition().unwrap();
    assert!(matches!(
        device.overwrite_with(pass, &mut |_, _| true),
        Err(DeviceError::Request { .. })
    ));
}

/// What a workload reads has been stored by the time it runs, what it never touches has not; trims
/// have taken nothing away.
#[test]
fn a_trace_is_written_once_before_it_runs() {
    let mut config = drive(nand([2, 1, 1, 1], 32, 16), 704);
    config.precondition.state = Precondition::Trace;
    let request = |arrival_us: u64, op, page: u64, pages: u64| Request {
        arrival_ns: arrival_us * 1000,
        offset: page * FLASH_PAGE,
        len: pages * FLASH_PAGE,
        volume: 0,
        op,
        fua: false,
    };
    let requests = [
        request(0, Op::Trim, 0, 4),
        request(10_000, Op::Read, 100, 3),
        request(20_000, Op::Write, 200, 1),
        request(30_000, Op::Flush, 0, 0),
        request(40_000, Op::Read, 100, 1),
    ];
    let run = |stored: bool| {
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        if stored {
            let all = requests.iter().map(|request| Ok::<_, DeviceError>(*request));
            assert!(device.store_with(all, &mut |_, _| true).unwrap());
        }
        assert_eq!(device.counters().programmed, 0);
        for request in &requests {
            device.submit(request).unwrap();
        }
        // Never touched, and so never stored.
        device.submit(&request(50_000, Op::Read, 300, 1)).unwrap();
        device.finish().unwrap()
    };
    let [empty, stored] = [false, true].map(run);
    assert_eq!((empty.flash.reads.total, stored.flash.reads.total), (0, 4));
    let done = &stored.precondition;
    assert_eq!((done.state.as_str(), done.pages_written, done.settled), ("trace", 5, true));
    assert_eq!(stored.flash.programs.total, empty.flash.programs.total);

    let mut device = Device::new(&config, Options::default()).unwrap();
    device.precondition().unwrap();
    let beyond = || std::iter::once(Ok::<_, DeviceError>(request(0, Op::Read, 1 << 30, 1)));
    assert!(matches!(
        device.store_with(beyond(), &mut |_, _| true),
        Err(DeviceError::Request { .. })
    ));
    let all = requests.iter().map(|request| Ok::<_, DeviceError>(*request));
    assert!(!device.store_with(all, &mut |_, _| false).unwrap());
}

/// As much as the model takes: pages that are written again after a trim find room beside the
/// tombstones that tell of it.
#[test]
fn the_ssd_model_bears_trims_on_a_full_drive() {
    let most = |pages| {
        let mut config = drive(nand([3, 2, 1, 2], 13, 9), pages);
        config.ftl.mapping = MappingConfig::by_name("ssd-model").unwrap();
        config.precondition.state = Precondition::Full;
        config
    };
    // Six elements of two planes, with 12 blocks of 8 pages beside the erased one; five pages of an
    // element stay free.
    let pages = 6 * (2 * 12 * 8 - 5);
    assert!(matches!(used(&most(pages + 6)), Err(DeviceError::Config(_))));
    for seed in 0..100 {
        let config = DeviceConfig { seed, ..most(pages) };
        let report = used(&config).unwrap();
        assert_eq!(report.requests.submitted, report.requests.completed, "seed {seed}");
    }
}

/// An erase waits for pages of a program unit that only the host's next writes fill. What is
/// collected in one go after it does not: reads of that, which are all the host has in flight,
/// would never be answered.
#[test]
fn collection_in_one_go_does_not_wait_for_writes_that_are_still_to_come() {
    let mut nand = nand([3, 1, 2, 3], 11, 27);
    nand.pages_per_program = 3;
    nand.mapping_unit = Some(Bytes(FLASH_PAGE / 4));
    nand.scheduling = Scheduling::ReadFirst;
    let mut config = drive(nand, 1);
    config.ftl.exported = Some(Bytes(2410 * FLASH_PAGE));
    config.ftl.mapping = serde_json::from_value(json!({"kind": "dftl", "cache": 8192.0})).unwrap();
    config.ftl.allocator =
        Some(serde_json::from_value(json!({"kind": "dynamic", "pool": "ssd"})).unwrap());
    config.ftl.victim = Some(VictimConfig::by_name("leveling-degree").unwrap());
    config.ftl.gc = GcConfig { grain: Grain::All, ..GcConfig::default() };
    for seed in 0..12 {
        config.seed = seed;
        let report = used(&config).unwrap();
        assert_eq!(report.requests.submitted, report.requests.completed, "seed {seed}");
    }
}
