//! What chips can do beside one command at a time: planes that work together, cache program,
//! suspension, pages of several types, buses of their own. The times are those of pencil and paper,
//! to the nanosecond.

use crate::common::bench::{Item, Play, at, play};
use crate::common::{ERASE, PROGRAM, READ, TRANSFER, nand};
use crate::support;
use eraseblock_core::config::{
    Bytes, DeviceConfig, NandConfig, Nanos, PageTypes, PlaneGroups, Scheduling, SuspendConfig,
    TwoPlaneConfig,
};
use eraseblock_core::device::{Device, DeviceError, Options, idle};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::latency::LatencySummary;
use eraseblock_core::nand::{Cause, Chip, FlashOp, Geometry, Kind};
use eraseblock_core::support::ids::BlockId;
use proptest::prelude::*;
use serde_json::{Value, json};

const BLOCKS: u32 = 8;

/// One die with so many planes.
fn planes(planes: u32, rules: TwoPlaneConfig) -> NandConfig {
    NandConfig { two_plane: Some(rules), ..nand([1, 1, 1, planes], BLOCKS, 16) }
}

fn read(block: u32, page: u32, count: u32) -> FlashOp {
    FlashOp {
        array_reads: count,
        ..FlashOp::new(Kind::Read, Cause::Host, BlockId(block), page, count)
    }
}

fn program(block: u32, page: u32, count: u32) -> FlashOp {
    FlashOp::new(Kind::Program, Cause::Host, BlockId(block), page, count)
}

fn erase(block: u32) -> FlashOp {
    FlashOp::new(Kind::Erase, Cause::Gc, BlockId(block), 0, 0)
}

fn copy_back(source: u32, block: u32, count: u32) -> FlashOp {
    FlashOp {
        copy_back: true,
        guard: BlockId(source),
        array_reads: count,
        ..FlashOp::new(Kind::Copy, Cause::Gc, BlockId(block), 0, count)
    }
}

/// Ends of operations that are all issued at once, to an idle die; behind a read that keeps it busy
/// while they come they take as long.
fn together(nand: &NandConfig, ops: &[FlashOp]) -> Vec<u64> {
    let busy = FlashOp { cause: Cause::Gc, ..read(7, 0, 1) };
    let idle: Vec<_> = ops.iter().map(|&op| at(1_000, op)).collect();
    let behind: Vec<_> = [busy].iter().chain(ops).map(|&op| at(0, op)).collect();
    let [idle, behind] = [ends(nand, &idle), ends(nand, &behind)];
    let found: Vec<_> = idle.iter().map(|end| end - 1_000).collect();
    assert_eq!(found, behind[1..].iter().map(|end| end - behind[0]).collect::<Vec<_>>());
    found
}

fn ends(nand: &NandConfig, script: &[Item]) -> Vec<u64> {
    let ends = play(nand, script, Play::Runs);
    assert_eq!(ends, play(nand, script, Play::Steps));
    ends
}

/// The figures of a K9F8G08UXM: a page takes 105.6 us on the bus and 200 us to program.
#[test]
fn two_planes_program_in_the_time_of_one() {
    let mut nand = planes(4, TwoPlaneConfig { delay: Nanos(500), ..TwoPlaneConfig::default() });
    (nand.timing.transfer, nand.timing.program) = (Nanos(105_600), Nanos(200_000).into());
    assert_eq!(together(&nand, &[program(0, 0, 1), program(BLOCKS, 0, 1)]), [411_700; 2]);
    // Pairs are 0 and 1, 2 and 3: any others go one after the other.
    let one = 305_600;
    assert_eq!(together(&nand, &[program(0, 0, 1), program(2 * BLOCKS, 0, 1)]), [one, 2 * one]);
    assert_eq!(
        together(&nand, &[program(BLOCKS, 0, 1), program(2 * BLOCKS, 0, 1)]),
        [one, 2 * one]
    );
    assert_eq!(
        together(&nand, &[program(2 * BLOCKS, 0, 1), program(3 * BLOCKS, 0, 1)]),
        [411_700; 2]
    );
    // The same plane, and another page of the block, are refused, too.
    assert_eq!(together(&nand, &[program(0, 0, 1), program(1, 0, 1)]), [one, 2 * one]);
    assert_eq!(together(&nand, &[program(0, 0, 1), program(BLOCKS, 1, 1)]), [one, 2 * one]);
    // Pages that follow go together as long as both have some.
    let (pair, both) = (411_700, together(&nand, &[program(0, 0, 3), program(BLOCKS, 0, 2)]));
    assert_eq!(both, [2 * pair + one, 2 * pair]);
}

/// Of planes that read together each brings what is wanted of its flash page: one mapped page of
/// two here, and both there.
#[test]
fn planes_that_read_together_transfer_what_is_wanted_of_each() {
    let mut nand = planes(2, TwoPlaneConfig::default());
    nand.mapping_unit = Some(nand.page_size);
    nand.page_size = Bytes(2 * nand.page_size.0);
    let fetch = |block, page, count| FlashOp { array_reads: 1, ..read(block, page, count) };
    assert_eq!(together(&nand, &[fetch(0, 3, 1), fetch(BLOCKS, 2, 2)]), [READ + 3 * TRANSFER; 2]);
    assert_eq!(together(&nand, &[fetch(0, 2, 2), fetch(BLOCKS, 3, 1)]), [READ + 3 * TRANSFER; 2]);
}

#[test]
fn the_rules_of_a_chip_say_what_goes_together() {
    let rules = |change: fn(&mut TwoPlaneConfig)| {
        let mut rules = TwoPlaneConfig::default();
        change(&mut rules);
        planes(4, rules)
    };
    let one = TRANSFER + PROGRAM;
    let pair = 2 * TRANSFER + PROGRAM;
    // Any page, where the chip allows that.
    let any_page = rules(|r| r.same_page = false);
    assert_eq!(together(&any_page, &[program(0, 0, 1), program(BLOCKS, 5, 1)]), [pair; 2]);
    // Only the block with the same number.
    let same_block = rules(|r| r.same_block = true);
    assert_eq!(
        together(&same_block, &[program(0, 0, 1), program(BLOCKS + 1, 0, 1)]),
        [one, 2 * one]
    );
    assert_eq!(together(&same_block, &[program(1, 0, 1), program(BLOCKS + 1, 0, 1)]), [pair; 2]);
    // All planes of a die.
    let all = rules(|r| r.planes = PlaneGroups::All);
    let four: Vec<_> = (0..4).map(|plane| program(plane * BLOCKS, 0, 1)).collect();
    assert_eq!(together(&all, &four), [4 * TRANSFER + PROGRAM; 4]);
    // Each kind by itself.
    let no_program = rules(|r| r.program = false);
    assert_eq!(together(&no_program, &[program(0, 0, 1), program(BLOCKS, 0, 1)]), [one, 2 * one]);
    let no_erase = rules(|r| r.erase = false);
    assert_eq!(together(&no_erase, &[erase(0), erase(BLOCKS)]), [ERASE, 2 * ERASE]);
    // Not further ahead than the controller looks.
    let near = rules(|r| r.lookahead = 1);
    let ops = [program(0, 0, 1), program(0, 1, 1), program(BLOCKS, 0, 1)];
    assert_eq!(together(&near, &ops), [one, 2 * one, 3 * one]);
    assert_eq!(together(&rules(|_| ()), &ops), [pair, pair + one, pair]);
}

#[test]
fn erases_reads_and_copies_go_together() {
    let mut nand = planes(2, TwoPlaneConfig::default());
    nand.timing.command = Nanos(300);
    assert_eq!(together(&nand, &[erase(0), erase(BLOCKS + 3)]), [600 + ERASE; 2]);
    let reads = [
        FlashOp { cause: Cause::Gc, ..read(0, 2, 1) },
        FlashOp { cause: Cause::Gc, ..read(BLOCKS, 2, 1) },
    ];
    assert_eq!(together(&nand, &reads), [600 + READ + 2 * TRANSFER; 2]);
    let copies = [copy_back(0, 1, 2), copy_back(BLOCKS, BLOCKS + 1, 2)];
    assert_eq!(together(&nand, &copies), [2 * (1_200 + READ + PROGRAM); 2]);
    // An erase and a program never do.
    let mixed = [erase(0), program(BLOCKS, 0, 1)];
    assert_eq!(together(&nand, &mixed), [300 + ERASE, 600 + ERASE + TRANSFER + PROGRAM]);
}

/// Reads name a flash page, whichever of its mapped pages they are of.
#[test]
fn mapped_pages_of_flash_pages_with_the_same_number_are_read_together() {
    let mut nand = planes(2, TwoPlaneConfig::default());
    nand.mapping_unit = Some(Bytes(nand.page_size.0 / 2));
    let with = |page| together(&nand, &[read(0, 2, 1), read(BLOCKS, page, 1)]);
    assert_eq!(with(3), with(2));
    assert!(with(4)[1] > with(2)[1], "flash page 2 goes after flash page 1");
}

/// Pages of one request to an idle drive, and of requests that arrive together, go to the planes
/// together: two programs take twice 105.6 us on the bus, 0.5 us between them and 200 us in the
/// array, 411.7; two reads 25 us in the array and twice 105.6 us, 236.2.
#[test]
fn planes_of_an_idle_drive_begin_together() {
    let responses = |requests: &[(u64, Op, u64, u64)]| {
        let config = support::config(&json!({
            "nand": {
                "planes_per_die": 2, "two_plane": {"delay": "500ns"},
                "timing": {"read": "25us", "program": "200us", "transfer": "105.6us"},
            },
            "ftl": {"exported": "64 KiB", "mapping": "page", "allocator": "static"},
            "host": {"replay": "open", "max_outstanding": 16}, "precondition": {"state": "empty"},
        }));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        for &(arrival_ns, op, page, count) in requests {
            let request = Request { arrival_ns, ..support::request(op, page, count) };
            device.submit(&request).unwrap();
        }
        let report = device.finish().unwrap();
        let of = |summary: Option<LatencySummary>| summary.map(|s| (s.count, s.max, s.mean as u64));
        (of(report.response_ns.write), of(report.response_ns.read))
    };
    let once = |ns| Some((1, ns, ns));
    assert_eq!(responses(&[(0, Op::Write, 0, 1)]), (once(305_600), None));
    assert_eq!(responses(&[(0, Op::Write, 0, 2)]), (once(411_700), None));
    assert_eq!(responses(&[(0, Op::Write, 0, 4)]), (once(2 * 411_700), None));
    let read = (5_000_000, Op::Read, 0, 2);
    assert_eq!(responses(&[(0, Op::Write, 0, 2), read]), (once(411_700), once(236_200)));
    // Two requests of one page each, in the same nanosecond; one later, the second goes alone.
    let (first, second) = ((7, Op::Write, 0, 1), (7, Op::Write, 1, 1));
    assert_eq!(responses(&[first, second]), (Some((2, 411_700, 411_700)), None));
    let late = (8, Op::Write, 1, 1);
    assert_eq!(responses(&[first, late]).0, Some((2, 2 * 305_600 - 1, (3 * 305_600 - 1) / 2)));
    // When the die becomes free, too: a page that comes at that moment goes with the one that
    // waits.
    let waits = [(0, Op::Write, 0, 2), (5, Op::Write, 2, 1), (411_700, Op::Write, 3, 1)];
    assert_eq!(responses(&waits).0.map(|(count, max, _)| (count, max)), Some((3, 2 * 411_700 - 5)));
}

/// Those that go along leave the order of the others alone: a host read still goes first, between
/// steps.
#[test]
fn host_reads_go_between_the_steps_of_planes_together() {
    let mut nand = planes(2, TwoPlaneConfig::default());
    nand.scheduling = Scheduling::ReadFirst;
    let pair = 2 * TRANSFER + PROGRAM;
    let script = [
        at(0, erase(2)),
        at(0, program(0, 0, 2)),
        at(0, program(BLOCKS, 0, 2)),
        at(ERASE + 1, read(3, 0, 1)),
    ];
    let served = READ + TRANSFER;
    let last = ERASE + 2 * pair + served;
    assert_eq!(ends(&nand, &script), [ERASE, last, last, ERASE + pair + served]);
}

/// n pages in x + n (3 us + tPROG) where the bus is the faster part: Micron's cache program.
#[test]
fn cache_program_hides_the_bus_behind_the_array() {
    let mut nand =
        NandConfig { cache_program: Some(Nanos(3_000)), ..nand([1, 1, 1, 1], BLOCKS, 16) };
    (nand.timing.transfer, nand.timing.program) = (Nanos(105_600), Nanos(200_000).into());
    for pages in [1, 2, 4, 16] {
        let expected = 105_600 + u64::from(pages) * 203_000;
        assert_eq!(ends(&nand, &[at(0, program(0, 0, pages))]), [expected]);
        // The same as operations of their own.
        let script: Vec<_> = (0..pages).map(|page| at(0, program(0, page, 1))).collect();
        assert_eq!(*ends(&nand, &script).last().unwrap(), expected);
    }
    assert_eq!(105_600 + 4 * 203_000, 917_600);
    // A slow bus hides the array.
    nand.timing.transfer = Nanos(500_000);
    assert_eq!(ends(&nand, &[at(0, program(0, 0, 4))]), [4 * (500_000 + 3_000) + 200_000]);
}

#[test]
fn other_commands_wait_for_the_array_behind_the_cache() {
    let nand = NandConfig { cache_program: Some(Nanos(3_000)), ..nand([1, 1, 1, 1], BLOCKS, 16) };
    let programmed = TRANSFER + 3_000 + PROGRAM;
    for other in [1, programmed - 1, programmed, programmed + 1] {
        let script = [at(0, program(0, 0, 1)), at(other, erase(1))];
        assert_eq!(
            ends(&nand, &script),
            [programmed, programmed.max(other) + ERASE],
            "issued at {other}"
        );
        let script = [at(0, program(0, 0, 1)), at(other, read(1, 0, 1))];
        assert_eq!(ends(&nand, &script)[1], programmed.max(other) + READ + TRANSFER);
    }
    // A program that comes while the array works has only the register to wait for.
    for late in [TRANSFER, TRANSFER + 3_000, PROGRAM - 1, programmed - TRANSFER] {
        let script = [at(0, program(0, 0, 1)), at(late, program(1, 0, 1))];
        assert_eq!(ends(&nand, &script)[1], programmed + 3_000 + PROGRAM, "issued at {late}");
    }
}

fn suspending(change: fn(&mut SuspendConfig)) -> NandConfig {
    let mut rules =
        SuspendConfig { latency: Nanos(20_000), resume: Nanos(5_000), ..SuspendConfig::default() };
    change(&mut rules);
    NandConfig {
        suspend: Some(rules),
        scheduling: Scheduling::ReadFirst,
        ..nand([1, 1, 1, 1], BLOCKS, 16)
    }
}

#[test]
fn host_reads_suspend_erases_and_programs() {
    let nand = suspending(|_| ());
    let served = READ + TRANSFER;
    let lost = 20_000 + served + 5_000;
    // Until so close to the end that waiting is no slower.
    for (arrival, suspends) in [
        (1, true),
        (1_000_000, true),
        (ERASE - 20_001, true),
        (ERASE - 20_000, false),
        (ERASE - 1, false),
    ] {
        let script = [at(0, erase(0)), at(arrival, read(1, 0, 1))];
        let expected = if suspends {
            [ERASE + lost, arrival + 20_000 + served]
        } else {
            [ERASE, ERASE + served]
        };
        assert_eq!(ends(&nand, &script), expected, "read at {arrival}");
    }
    // A program whose data are still on the bus stops when the array has begun.
    for arrival in [1, TRANSFER - 1, TRANSFER, TRANSFER + 7] {
        let script = [at(0, program(0, 0, 1)), at(arrival, read(1, 0, 1))];
        let begun = arrival.max(TRANSFER);
        assert_eq!(
            ends(&nand, &script),
            [TRANSFER + PROGRAM + lost, begun + 20_000 + served],
            "read at {arrival}"
        );
    }
    // Reads that come while one is served are served before the array goes on.
    let script = [at(0, erase(0)), at(100, read(1, 0, 1)), at(200, read(2, 0, 1))];
    assert_eq!(ends(&nand, &script)[0], ERASE + 20_000 + 2 * served + 5_000);
    // What is not a host read waits.
    let gc = FlashOp { cause: Cause::Gc, ..read(1, 0, 1) };
    assert_eq!(ends(&nand, &[at(0, erase(0)), at(1, gc)]), [ERASE, ERASE + served]);
}

/// Two dies on one bus: an erase on one stops for its read, that on the other goes on; reads of
/// both share nothing but the bus.
#[test]
fn each_die_suspends_by_itself() {
    let mut nand = suspending(|_| ());
    nand.dies_per_chip = 2;
    let (served, lost) = (READ + TRANSFER, 20_000 + READ + TRANSFER + 5_000);
    let other = BLOCKS;
    let script = [at(0, erase(0)), at(0, erase(other)), at(1_000, read(1, 0, 1))];
    assert_eq!(ends(&nand, &script), [ERASE + lost, ERASE, 1_000 + 20_000 + served]);
    // Reads of both at once: the second's page crosses the bus behind the first's, and its erase
    // stops for as much longer.
    let script = [
        at(0, erase(0)),
        at(0, erase(other)),
        at(1_000, read(1, 0, 1)),
        at(1_000, read(other + 1, 0, 1)),
    ];
    let first = 21_000 + served;
    assert_eq!(
        ends(&nand, &script),
        [ERASE + lost, ERASE + lost + TRANSFER, first, first + TRANSFER]
    );
    // A program stops, whose data come over the bus before the other's page.
    let script =
        [at(0, program(0, 0, 1)), at(0, program(other, 0, 1)), at(400_000, read(other + 1, 0, 1))];
    let second = 2 * TRANSFER + PROGRAM;
    assert_eq!(ends(&nand, &script), [TRANSFER + PROGRAM, second + lost, 420_000 + served]);
    // Stopped or not, a die keeps its own count of how often.
    let mut once = suspending(|rules| rules.at_most = 1);
    once.dies_per_chip = 2;
    let script = [
        at(0, erase(0)),
        at(0, erase(other)),
        at(1, read(1, 0, 1)),
        at(1_000_000, read(2, 0, 1)),
        at(2_000_000, read(other + 1, 0, 1)),
    ];
    let end = ERASE + lost;
    assert_eq!(ends(&once, &script), [end, end, 20_001 + served, end + served, 2_020_000 + served]);
}

#[test]
fn suspension_has_its_limits() {
    let served = READ + TRANSFER;
    let only_programs = suspending(|rules| rules.erase = false);
    assert_eq!(ends(&only_programs, &[at(0, erase(0)), at(1, read(1, 0, 1))])[0], ERASE);
    let once = suspending(|rules| rules.at_most = 1);
    let script = [at(0, erase(0)), at(1, read(1, 0, 1)), at(1_000_000, read(2, 0, 1))];
    let end = ERASE + 20_000 + served + 5_000;
    assert_eq!(ends(&once, &script), [end, 20_001 + served, end + served]);
    // A page is not read before it is programmed, urgent or not.
    let script = [at(0, program(0, 0, 1)), at(1, read(0, 0, 1))];
    assert_eq!(
        ends(&suspending(|_| ()), &script),
        [TRANSFER + PROGRAM, TRANSFER + PROGRAM + served]
    );
}

#[test]
fn pages_of_several_types_take_their_own_times() {
    let mut nand = nand([1, 1, 1, 1], BLOCKS, 16);
    (nand.timing.read, nand.timing.program) =
        ("40us / 65us".parse().unwrap(), "500us/1300us".parse().unwrap());
    let (fast, slow) = (TRANSFER + 500_000, TRANSFER + 1_300_000);
    assert_eq!(ends(&nand, &[at(0, program(0, 0, 4))]), [2 * (fast + slow)]);
    assert_eq!(
        ends(&nand, &[at(0, program(0, 0, 3)), at(0, program(1, 0, 1))]),
        [2 * fast + slow, 3 * fast + slow]
    );
    assert_eq!(ends(&nand, &[at(0, read(0, 1, 3))]), [40_000 + 2 * 65_000 + 3 * TRANSFER]);
    nand.page_types = PageTypes::Shadow;
    assert_eq!(ends(&nand, &[at(0, program(0, 0, 4))]), [3 * fast + slow]);
    // A copy takes what its source takes to read.
    let copy = FlashOp { own_ns: 65_000, ..copy_back(0, 1, 1) };
    assert_eq!(ends(&nand, &[at(0, copy)]), [65_000 + 500_000]);
}

/// 25 ns a byte and 16 bytes more for each sector: 105.6 us for 4 KiB, and a quarter of it for 1
/// KiB.
#[test]
fn pages_of_any_size_take_their_share_of_the_bus() {
    for (page_size, transfer) in [(4096, 105_600), (2048, 52_800), (1024, 26_400)] {
        let mut nand = nand([1, 1, 1, 1], BLOCKS, 16);
        nand.page_size = Bytes(page_size);
        (nand.timing.transfer, nand.timing.transfer_per) = (Nanos(13_200), Some(Bytes(512)));
        assert_eq!(ends(&nand, &[at(0, program(0, 0, 2))]), [2 * (transfer + PROGRAM)]);
        assert_eq!(ends(&nand, &[at(0, read(0, 0, 1))]), [READ + transfer]);
    }
}

#[test]
fn chips_with_buses_of_their_own_do_not_meet() {
    let mut nand = nand([1, 2, 1, 1], BLOCKS, 16);
    let script = [at(0, program(0, 0, 1)), at(0, program(BLOCKS, 0, 1))];
    let one = TRANSFER + PROGRAM;
    assert_eq!(ends(&nand, &script), [one, one + TRANSFER]);
    nand.shared_bus = false;
    assert_eq!(ends(&nand, &script), [one, one]);
}

/// The record counts what chips did beside one command at a time.
#[test]
fn abilities_are_counted() {
    let drive = |nand: Value| {
        let config = support::config(&json!({
            "nand": nand, "ftl": {"exported": "64 KiB", "mapping": "page", "allocator": "static"},
            "host": {"replay": "open", "max_outstanding": 16},
        }));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        device
    };
    // Pages 0 to 3 lie on two planes in turn.
    let request = |arrival_ns, op, page: u64, count: u64| Request {
        arrival_ns,
        op,
        offset: page * 4096,
        len: count * 4096,
        volume: 0,
        fua: false,
    };
    let work = |nand: Value, requests: &[Request]| {
        let mut device = drive(nand);
        for request in requests {
            device.submit(request).unwrap();
        }
        let flash = device.finish().unwrap().flash;
        let counts =
            [flash.multi_plane.reads, flash.multi_plane.programs, flash.multi_plane.erases];
        (counts, flash.cache_programs, [flash.suspensions.programs, flash.suspensions.erases])
    };
    let four = [request(0, Op::Write, 0, 4)];
    let planes = json!({"planes_per_die": 2, "two_plane": {"same_page": false}});
    assert_eq!(work(planes.clone(), &four), ([0, 2, 0], 0, [0, 0]));
    let apart = json!({"planes_per_die": 2});
    assert_eq!(work(apart, &four), ([0, 0, 0], 0, [0, 0]));
    // Five reads at the same time: two pairs, and one alone.
    let reads =
        [request(0, Op::Read, 8, 1), request(0, Op::Read, 0, 2), request(0, Op::Read, 4, 2)];
    assert_eq!(work(planes, &reads).0, [2, 0, 0]);
    // All but the first of four pages cross the bus while the array works; a fifth comes when it is
    // idle.
    let cache = json!({"cache_program": "3us"});
    assert_eq!(work(cache, &[four[0], request(5_000_000, Op::Write, 8, 1)]), ([0; 3], 3, [0, 0]));
    // Three dies on one bus: the second page of the first crosses it from 300 us on, when the array
    // has programmed the first page.
    let shared =
        json!({"cache_program": "3us", "dies_per_chip": 3, "timing": {"program": "150us"}});
    let six = [request(0, Op::Write, 0, 6)];
    assert_eq!(work(shared, &six), ([0; 3], 0, [0, 0]));
    let longer =
        json!({"cache_program": "3us", "dies_per_chip": 3, "timing": {"program": "250us"}});
    assert_eq!(work(longer, &six), ([0; 3], 3, [0, 0]));
    // A read in the middle of a program of 200 us, after 100 us on the bus.
    let suspend = json!({"suspend": {}, "scheduling": "read-first"});
    let requests = [
        request(0, Op::Write, 0, 1),
        request(200_000, Op::Read, 1, 1),
        request(1_000_000, Op::Read, 2, 1),
    ];
    assert_eq!(work(suspend, &requests), ([0; 3], 0, [1, 0]));
}

#[test]
fn abilities_that_contradict_one_another_are_refused() {
    let refuse = |over: Value, part: &str| {
        let config = support::config(&json!({"nand": over}));
        let Err(DeviceError::Config(why)) = Device::new(&config, Options::default()) else {
            panic!("{part}: taken")
        };
        assert!(why.contains(part), "{why}");
    };
    refuse(json!({"suspend": {}}), "needs nand.scheduling");
    refuse(json!({"two_plane": {}}), "a die has one plane");
    refuse(
        json!({"two_plane": {}, "planes_per_die": 2, "multi_plane": true}),
        "drives all planes together anyway",
    );
    refuse(
        json!({"two_plane": {"lookahead": 0}, "planes_per_die": 2}),
        "nand.two_plane.lookahead: found 0",
    );
    refuse(
        json!({"cache_program": "3us", "two_plane": {}, "planes_per_die": 2}),
        "does not go together with nand.two_plane",
    );
    refuse(
        json!({"cache_program": "3us", "suspend": {}, "scheduling": "read-first"}),
        "together with nand.suspend",
    );
    refuse(
        json!({"timing": {"read": "1us/2us", "program": "1us/2us/3us"}}),
        "nand.timing.read: found 2 times where the other has 3",
    );
    refuse(
        json!({"timing": {"program": "1us/2us"}, "pages_per_program": 2}),
        "one program writes 2 pages at once",
    );
    for size in ["0 B", "3 KiB", "8 KiB"] {
        let timing = json!({"timing": {"transfer_per": size}});
        refuse(
            timing,
            &format!(
                "transfer_per: found {size}, expected a size that divides a mapped page (4 KiB)"
            ),
        );
    }
}

/// Arrays whose chips can do more than one thing at a time.
fn able() -> Vec<(&'static str, Value)> {
    let two = |more: Value| {
        let mut nand =
            json!({"planes_per_die": 2, "blocks_per_plane": 12, "channels": 2, "copy_back": true});
        nand.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        nand
    };
    vec![
        ("two-plane", two(json!({"two_plane": {"delay": "500ns"}}))),
        (
            "two-plane, read first",
            two(json!({"two_plane": {"same_page": false}, "scheduling": "read-first"})),
        ),
        ("cache program", two(json!({"cache_program": "3us"}))),
        (
            "suspension",
            two(
                json!({"suspend": {"latency": "20us", "resume": "5us"}, "scheduling": "read-first"}),
            ),
        ),
        (
            "all planes, suspension",
            two(
                json!({"two_plane": {"planes": "all"}, "suspend": {"latency": "20us"}, "scheduling": "read-first"}),
            ),
        ),
        (
            "two kinds of pages",
            two(
                json!({"timing": {"read": "25us / 40us", "program": "100us / 300us"}, "page_types": "shadow"}),
            ),
        ),
    ]
}

fn drive(mapping: &str, nand: &Value) -> DeviceConfig {
    let mapping = support::mapping(mapping, 6);
    support::config(&json!({
        "nand": nand, "ftl": {"mapping": mapping, "exported": "400 KiB"}, "buffer": {"size": "32 KiB", "scheme": "lru"},
        "host": {"replay": "open", "max_outstanding": 16},
    }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: support::cases(10, 600), failure_persistence: None, ..ProptestConfig::default() })]

    /// Under every ability the oracle and the laws hold on every mapping, twice with the same
    /// result.
    #[test]
    fn drives_of_able_chips_keep_what_was_written(
        requests in prop::collection::vec((0u8..8, 0u64..96, 1u64..5, 0u64..400_000), 1..300),
    ) {
        for mapping in MappingConfig::NAMES {
            for (name, nand) in able() {
                let run = || {
                    let mut device = Device::new(&drive(mapping, &nand), Options { verify: true }).unwrap();
                    device.precondition().unwrap();
                    let mut arrival = 0;
                    for &(kind, page, count, gap) in &requests {
                        arrival += gap;
                        let op = match kind { 0..4 => Op::Write, 4..6 => Op::Read, 6 => Op::Trim, _ => Op::Flush };
                        let (offset, len) = if op == Op::Flush { (0, 0) } else { (page * 4096, count * 4096) };
                        let request = Request { arrival_ns: arrival, op, offset, len, volume: 0, fua: kind == 1 };
                        device.submit(&request).unwrap_or_else(|error| panic!("{mapping}, {name}: {error}"));
                    }
                    let report = device.finish().unwrap_or_else(|error| panic!("{mapping}, {name}: {error}"));
                    serde_json::to_string(&report).unwrap()
                };
                prop_assert_eq!(run(), run(), "{}, {}", mapping, name);
            }
        }
    }
}

/// The physics' own limits: nothing of this depends on the geometry being small.
#[test]
fn chips_are_settled_from_the_configuration() {
    let nand = planes(8, TwoPlaneConfig { planes: PlaneGroups::All, ..TwoPlaneConfig::default() });
    let chip = Chip::new(&nand, &Geometry::new(&nand).unwrap()).unwrap();
    assert_eq!((chip.read_ns(0), chip.is_typed()), (READ, false));
}

/// Each of these decides something beside the others.
#[test]
fn settings_with_an_effect_are_not_said_to_have_none() {
    let idle = |over: Value, key: &str| {
        let device = Device::new(&support::config(&over), Options::default()).unwrap();
        device.idle_settings().iter().any(|idle| idle.key == key)
    };
    // A map on flash lies in blocks of its own, so that there is more than one place to choose from.
    let gathering = |mapping: &str| {
        let victim = "locality-gathering";
        json!({"ftl": {"mapping": mapping, "victim": victim, "exported": "32 KiB"}})
    };
    assert!(idle(gathering("page"), "ftl.victim"));
    assert!(!idle(gathering("dftl"), "ftl.victim"));
    // What waits for its request leaves program units part-filled, time or no time.
    let untimed = |pages: u32, scheme: &str| {
        json!({
            "nand": {"pages_per_program": pages},
            "ftl": {"exported": "32 KiB"},
            "buffer": {"size": "16 KiB", "scheme": scheme},
            "host": {"replay": "untimed"},
        })
    };
    assert!(idle(untimed(1, "lru"), "buffer.write_back"));
    assert!(!idle(untimed(4, "lru"), "buffer.write_back"));
    // It weighs schemes by what they would take.
    assert!(idle(untimed(1, "lru"), "nand.timing"));
    assert!(!idle(untimed(1, "ensemble"), "nand.timing"));
}

/// What has no effect is named; what has one is not.
#[test]
fn settings_without_effect_are_warned_of() {
    let warned = |over: Value, ftl: Value| {
        let mut ftl = ftl;
        ftl["exported"] = json!("64 KiB");
        let host = json!({"replay": "open"});
        let config =
            support::config(&json!({"nand": over.clone(), "ftl": ftl.clone(), "host": host}));
        let device = Device::new(&config, Options::default()).unwrap();
        // The keys that are given here, and no others.
        let mut given = vec![];
        for (section, table) in [("nand", &over), ("ftl", &ftl)] {
            for (key, value) in table.as_object().unwrap() {
                given.push(format!("{section}.{key}"));
                let inside = value.as_object().into_iter().flatten();
                given.extend(inside.map(|(inner, _)| format!("{section}.{key}.{inner}")));
            }
        }
        let warning =
            idle::warning(&device.idle_settings(), |key| given.iter().any(|one| one == key));
        warning.into_iter().collect::<Vec<_>>()
    };
    let planes = |rules: Value| json!({"planes_per_die": 2, "two_plane": rules});
    let suspend = |rules: Value| json!({"scheduling": "read-first", "suspend": rules});
    let none = json!({"read": false, "program": false, "erase": false});
    for (nand, ftl, part) in [
        (
            json!({}),
            json!({"gc": {"region_pages": 5}}),
            "ftl.gc.region_pages (ftl.gc.regions is 1)",
        ),
        (json!({}), json!({"victim": "locality-gathering"}), "which makes it \"fifo\""),
        (json!({}), json!({"gc": {"idle_free_blocks": 16}}), "a unit has 16 blocks"),
        (
            json!({}),
            json!({"victim": {"kind": "windowed-greedy", "window": 16}}),
            "which makes it \"greedy\"",
        ),
        (json!({"page_types": "shadow"}), json!({}), "nand.page_types"),
        (planes(none.clone()), json!({}), "nand.two_plane ("),
        (suspend(json!({"program": false, "erase": false})), json!({}), "nand.suspend ("),
        (suspend(json!({"at_most": 0})), json!({}), "nand.suspend ("),
        (json!({"cache_program": "200us"}), json!({}), "nand.cache_program ("),
    ] {
        let found = warned(nand, ftl);
        assert!(found.len() == 1 && found[0].contains(part), "{part}: {found:?}");
    }
    // All of them in one sentence.
    let found = warned(
        json!({"page_types": "shadow"}),
        json!({"victim": "locality-gathering", "gc": {"region_pages": 5}}),
    );
    assert!(found.len() == 1 && found[0].matches(" (").count() == 3, "{found:?}");
    for (nand, ftl) in [
        (
            json!({}),
            json!({"gc": {"region_pages": 5, "regions": 2}, "victim": "locality-gathering"}),
        ),
        (
            json!({}),
            json!({"gc": {"idle_free_blocks": 15}, "victim": {"kind": "windowed-greedy", "window": 15}}),
        ),
        (
            json!({"page_types": "shadow", "timing": {"read": "1us/2us", "program": "100us / 200us"}}),
            json!({}),
        ),
        (planes(json!({"read": false, "program": false})), json!({})),
        (suspend(json!({"program": false})), json!({})),
        (json!({"cache_program": "199us"}), json!({})),
    ] {
        assert_eq!(warned(nand, ftl), Vec::<String>::new());
    }
}
