//! Flash operations take exactly the time that the sum of their phases gives, and wait exactly as
//! long as they must.

use crate::common::bench::{Item, Play, When, at, play};
use crate::common::{ERASE, PROGRAM, READ, TRANSFER, drive, nand, preconditioned, request};
use eraseblock_core::config::{NandConfig, Nanos, Precondition, Scheduling};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;
use eraseblock_core::nand::{Cause, FlashOp, Kind};
use eraseblock_core::support::ids::BlockId;
use proptest::prelude::*;

const BLOCKS: u32 = 64;

/// Dies of one plane, with `command` ns on the bus for each command.
fn array(channels: u32, dies: u32, command: u64) -> NandConfig {
    let mut nand = nand([channels, dies, 1, 1], BLOCKS, 16);
    nand.timing.command = Nanos(command);
    nand
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

fn copy(source: u32, block: u32, count: u32, copy_back: bool) -> FlashOp {
    FlashOp {
        copy_back,
        guard: BlockId(source),
        array_reads: count,
        ..FlashOp::new(Kind::Copy, Cause::Gc, BlockId(block), 0, count)
    }
}

/// Ends of a script; however it is played, they are the same.
fn ends(nand: &NandConfig, script: &[Item]) -> Vec<u64> {
    let ends = play(nand, script, Play::Runs);
    assert_eq!(ends, play(nand, script, Play::Steps));
    ends
}

#[test]
fn single_operations_on_an_idle_drive_are_exact() {
    for command in [0, 300] {
        let nand = array(1, 1, command);
        for (op, expected) in [
            (read(0, 0, 1), command + READ + TRANSFER),
            (program(0, 0, 1), command + TRANSFER + PROGRAM),
            (erase(0), command + ERASE),
            (copy(0, 1, 1, false), 2 * command + READ + 2 * TRANSFER + PROGRAM),
            (copy(0, 1, 1, true), 2 * command + READ + PROGRAM),
            (read(0, 0, 5), 5 * (command + READ + TRANSFER)),
            (program(0, 0, 5), 5 * (command + TRANSFER + PROGRAM)),
            (copy(0, 1, 5, false), 5 * (2 * command + READ + 2 * TRANSFER + PROGRAM)),
            (copy(0, 1, 5, true), 5 * (2 * command + READ + PROGRAM)),
        ] {
            assert_eq!(
                ends(&nand, &[at(1_000, op)]),
                [1_000 + expected],
                "{op:?}, command {command}"
            );
        }
    }
}

/// Larger units: an array read fetches all mapped pages of a flash page, one program writes
/// several.
#[test]
fn units_of_several_pages_move_together() {
    let mut nand = array(1, 1, 300);
    nand.mapping_unit = Some(eraseblock_core::config::Bytes(1024));
    (nand.pages_per_program, nand.pages_per_block) = (3, 18);
    let program_pages = 12;
    let one_read = FlashOp { array_reads: 1, ..read(0, 0, 4) };
    let two_reads = FlashOp { array_reads: 2, ..read(0, 2, 4) };
    let copy = FlashOp { array_reads: 5, ..copy(0, 1, program_pages, false) };
    for (op, expected) in [
        (one_read, 300 + READ + 4 * TRANSFER),
        (two_reads, 300 + 2 * READ + 4 * TRANSFER),
        (program(0, 0, 2 * program_pages), 2 * (300 + 12 * TRANSFER + PROGRAM)),
        (copy, 600 + 5 * READ + 24 * TRANSFER + PROGRAM),
    ] {
        assert_eq!(ends(&nand, &[at(0, op)]), [expected], "{op:?}");
    }
}

#[test]
fn a_request_to_an_idle_drive_takes_what_its_flash_operation_takes() {
    for command in [0, 300] {
        let config = preconditioned(drive(array(2, 2, command), 256), Precondition::Full);
        for (op, expected) in
            [(Op::Read, command + READ + TRANSFER), (Op::Write, command + TRANSFER + PROGRAM)]
        {
            let mut device = Device::new(&config, Options::default()).unwrap();
            device.precondition().unwrap();
            for i in 0..100 {
                device.submit(&request(op, i * 37 % 256, 1, i * 10_000_000)).unwrap();
            }
            let report = device.finish().unwrap();
            let found =
                if op == Op::Read { report.response_ns.read } else { report.response_ns.write };
            let found = found.unwrap();
            assert_eq!((found.count, found.max), (100, expected));
            assert!((found.mean - expected as f64).abs() < 1e-6, "all alike: {found:?}");
        }
    }
}

/// Two dies share a bus and nothing else: the second waits for the bus alone.
#[test]
fn dies_on_one_bus_interleave() {
    let nand = array(1, 2, 300);
    let (first, second) = (0, BLOCKS);
    let both = |a, b| ends(&nand, &[at(0, a), at(0, b)]);
    // Programs: the second's command and data follow the first's.
    let one = 300 + TRANSFER + PROGRAM;
    assert_eq!(both(program(first, 0, 1), program(second, 0, 1)), [one, one + 300 + TRANSFER]);
    // Reads: commands one after the other; the second's data is ready while the first's is still on
    // the bus.
    let data = 300 + READ + TRANSFER;
    assert_eq!(both(read(first, 0, 1), read(second, 0, 1)), [data, data + TRANSFER]);
    // An erase leaves the bus free once its command is out.
    assert_eq!(both(erase(first), read(second, 0, 1)), [300 + ERASE, 600 + READ + TRANSFER]);
    // On two channels nothing is shared.
    let apart = array(2, 1, 300);
    let script = [at(0, program(first, 0, 1)), at(0, program(second, 0, 1))];
    assert_eq!(ends(&apart, &script), [one, one]);
}

/// A host read under read-first goes between the steps of what runs, FIFO lets it wait for all of
/// them.
#[test]
fn reads_overtake_only_under_read_first() {
    let mut nand = array(1, 1, 0);
    let step = TRANSFER + PROGRAM;
    let served = READ + TRANSFER;
    let script = |arrival| [at(0, program(0, 0, 4)), at(0, erase(1)), at(arrival, read(2, 0, 1))];
    assert_eq!(ends(&nand, &script(1)), [4 * step, 4 * step + ERASE, 4 * step + ERASE + served]);
    nand.scheduling = Scheduling::ReadFirst;
    for arrival in [1, step - 1, step] {
        // At the very end of a step the next one has begun before the read comes.
        let after = if arrival < step { step } else { 2 * step };
        let expected = [4 * step + served, 4 * step + served + ERASE, after + served];
        assert_eq!(ends(&nand, &script(arrival)), expected, "read at {arrival}");
    }
    // Reads for collection have no precedence.
    let mut script = script(1);
    script[2].op.cause = Cause::Gc;
    assert_eq!(ends(&nand, &script), [4 * step, 4 * step + ERASE, 4 * step + ERASE + served]);
}

/// Checks that an operation issued around time `legal` starts then at the earliest: a tick before,
/// it waits a tick.
fn starts_at(nand: &NandConfig, before: &[Item], op: FlashOp, legal: u64, takes: u64) {
    for issue in [legal - 1_000, legal - 1, legal, legal + 1] {
        let mut script = before.to_vec();
        script.push(at(issue, op));
        let end = ends(nand, &script)[before.len()];
        assert_eq!(end, issue.max(legal) + takes, "{op:?} issued at {issue}, legal from {legal}");
    }
}

/// Whatever a die does, the next command begins when it is over and not a tick before.
#[test]
fn every_command_waits_for_every_other_on_its_die() {
    for scheduling in [Scheduling::Fifo, Scheduling::ReadFirst] {
        let nand = NandConfig { scheduling, ..array(1, 1, 700) };
        let of = |n| {
            [
                read(n, 0, 1),
                program(n, 0, 1),
                erase(n),
                copy(n, n + 1, 1, true),
                copy(n, n + 1, 1, false),
            ]
        };
        for first in of(0) {
            for second in of(4) {
                starts_at(
                    &nand,
                    &[at(0, first)],
                    second,
                    takes(&nand, &first),
                    takes(&nand, &second),
                );
            }
        }
    }
}

#[test]
fn operations_start_at_the_first_legal_moment() {
    // Two channels: nothing but the hazard stands in the way on die 1.
    let mut nand = array(2, 1, 0);
    let (here, there) = (0, BLOCKS);
    let done = TRANSFER + PROGRAM;
    // An erase waits for the program elsewhere that replaces a page of its block.
    let replaces = FlashOp { guard: BlockId(there), ..program(here, 0, 1) };
    starts_at(&nand, &[at(0, replaces)], erase(there), done, ERASE);
    // An ordered program waits for the programs under way on the block that it guards; one that is
    // not does not.
    let follows = FlashOp { guard: BlockId(here), ordered: true, ..program(there, 0, 1) };
    starts_at(&nand, &[at(0, program(here, 0, 1))], follows, done, done);
    let free = FlashOp { ordered: false, ..follows };
    assert_eq!(ends(&nand, &[at(0, program(here, 0, 1)), at(5, free)]), [done, done + 5]);
    // An operation waits for a join.
    for late in [1, done - 1] {
        let mut script = [at(0, program(here, 0, 1)), at(late, read(there, 0, 1))];
        script[1].waits_for = Some(0);
        assert_eq!(ends(&nand, &script), [done, done + READ + TRANSFER]);
    }
    // A host read overtakes what waits on its die, but for the program of its own page.
    nand.scheduling = Scheduling::ReadFirst;
    let queue = [at(0, erase(0)), at(0, program(1, 0, 2)), at(0, program(2, 0, 1))];
    let taken = |op| {
        let mut script = queue.to_vec();
        script.push(at(1, op));
        ends(&nand, &script)[3]
    };
    let served = READ + TRANSFER;
    assert_eq!(taken(read(3, 0, 1)), ERASE + served, "another block");
    assert_eq!(taken(read(1, 1, 1)), ERASE + 2 * done + served, "a page of the first program");
    assert_eq!(taken(read(2, 0, 1)), ERASE + 3 * done + served, "the page of the second program");
    // An erase waits for an earlier read of its block that has not begun, wherever the wait comes
    // from.
    let mut script = vec![at(0, program(there, 0, 1)), at(0, read(0, 0, 1)), at(1, erase(0))];
    script[1].waits_for = Some(0);
    assert_eq!(ends(&nand, &script), [done, done + served, done + served + ERASE]);
    // A program after an erase, and what reads it, come in that order though the read is urgent.
    let script =
        [at(0, read(5, 0, 4)), at(0, erase(0)), at(0, program(0, 0, 1)), at(0, read(0, 0, 1))];
    let [_, erased, programmed, found] = ends(&nand, &script)[..] else { unreachable!() };
    assert_eq!((programmed, found), (erased + done, erased + done + served));
}

/// An erase waits for copies out of its block, and for both halves of a copy to another die.
#[test]
fn erases_wait_for_copies() {
    let nand = array(2, 1, 0);
    let one = READ + 2 * TRANSFER + PROGRAM;
    assert_eq!(
        ends(&nand, &[at(0, copy(0, 1, 3, false)), at(1, erase(0))]),
        [3 * one, 3 * one + ERASE]
    );
    let to_other_die = FlashOp { guard: BlockId(0), cause: Cause::Gc, ..program(BLOCKS, 0, 1) };
    let mut script =
        [at(0, read(0, 0, 1)), at(0, to_other_die), at(0, erase(0)), at(0, program(2, 0, 1))];
    script[1].waits_for = Some(0);
    let (fetched, done) = (READ + TRANSFER, TRANSFER + PROGRAM);
    // The die is free for others while the erase waits for the program elsewhere.
    assert_eq!(
        ends(&nand, &script),
        [fetched, fetched + done, fetched + done + ERASE, fetched + done]
    );
}

/// Time that an operation takes where nothing hinders it.
fn takes(nand: &NandConfig, op: &FlashOp) -> u64 {
    let t = &nand.timing;
    let (command, transfer) = (t.command.0, t.transfer.0);
    let (read, program) = (t.read.each()[0].0, t.program.each()[0].0);
    match op.kind {
        Kind::Read => u64::from(op.count) * (command + read + transfer),
        Kind::Program => u64::from(op.count) * (command + transfer + program),
        Kind::Erase => command + t.erase.0,
        Kind::Copy => {
            let bus = if op.copy_back { 0 } else { 2 * transfer };
            u64::from(op.count) * (2 * command + read + bus + program)
        }
    }
}

/// Whether operation `later` of a script has to wait for operation `earlier` because of what they
/// do to blocks.
fn must_wait(script: &[Item], earlier: usize, later: usize) -> bool {
    let (a, b) = (&script[earlier].op, &script[later].op);
    let erased_between = |block| {
        script[earlier + 1..later].iter().any(|i| i.op.kind == Kind::Erase && i.op.block == block)
    };
    let changes = |op: &FlashOp| op.kind != Kind::Read;
    let overlap = a.page < b.page + b.count && b.page < a.page + a.count;
    match b.kind {
        // What is read has been programmed; copies take any page of their source.
        Kind::Read => {
            changes(a)
                && a.kind != Kind::Erase
                && a.block == b.block
                && overlap
                && !erased_between(b.block)
        }
        Kind::Copy
            if changes(a)
                && a.kind != Kind::Erase
                && a.block == b.guard
                && !erased_between(a.block) =>
        {
            true
        }
        Kind::Program
            if b.ordered
                && changes(a)
                && a.kind != Kind::Erase
                && a.block == b.guard
                && !erased_between(a.block) =>
        {
            true
        }
        // An erase comes after everything that needs what is in its block.
        Kind::Erase if a.kind == Kind::Read && a.block == b.block => true,
        Kind::Erase if a.guard == b.block => true,
        // What changes a block comes after what changed it before.
        _ => changes(a) && a.block == b.block,
    }
}

/// A random operation that hinders no other but by using its die and its bus: item `n` has blocks
/// of its own.
fn independent(n: usize, dies: u32, kind: u8, die: u32, count: u32) -> FlashOp {
    let base = (die % dies) * BLOCKS;
    let (block, other) = (base + n as u32 * 2, base + n as u32 * 2 + 1);
    match kind {
        0 => read(block, 0, count),
        1 => FlashOp { cause: Cause::Gc, ..read(block, 0, count) },
        2 => program(block, 0, count),
        3 => erase(block),
        4 => copy(block, other, count, false),
        _ => copy(block, other, count, true),
    }
}

prop_compose! {
    /// An array of up to three channels with up to three dies each, with times that often coincide.
    fn arrays()(
        channels in 1u32..4, dies in 1u32..4, read_first: bool, command in 0u64..3,
        read in 0u64..5, program in 0u64..9, erase in 0u64..20, transfer in 0u64..4,
    ) -> NandConfig {
        let mut nand = array(channels, dies, command);
        nand.timing.read = Nanos(read).into();
        nand.timing.program = Nanos(program).into();
        nand.timing.erase = Nanos(erase);
        nand.timing.transfer = Nanos(transfer);
        nand.scheduling = if read_first { Scheduling::ReadFirst } else { Scheduling::Fifo };
        nand
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::support::cases(4000, 200_000), failure_persistence: None, ..ProptestConfig::default() })]

    /// Several steps as one event, step by step, or as an operation for each page: the times are
    /// the same.
    #[test]
    fn runs_of_steps_end_as_single_steps_do(
        nand in arrays(),
        ops in prop::collection::vec((0u8..6, 0u32..9, 1u32..7, 0u64..60, any::<Option<prop::sample::Index>>()), 1..24),
    ) {
        let dies = nand.channels * nand.chips_per_channel;
        let script: Vec<_> = ops
            .iter()
            .enumerate()
            .map(|(n, (kind, die, count, time, after))| Item {
                when: match after {
                    Some(index) if n > 0 => When::After(index.index(n)),
                    _ => When::At(*time),
                },
                op: independent(n, dies, *kind, *die, *count),
                waits_for: None,
            })
            .collect();
        let runs = play(&nand, &script, Play::Runs);
        prop_assert_eq!(&runs, &play(&nand, &script, Play::Steps), "runs and steps");
        prop_assert_eq!(&runs, &play(&nand, &script, Play::Pages), "runs and pages");
    }

    /// The same where one program writes three pages. A copy reads none of them where all are
    /// fillers.
    #[test]
    fn program_units_and_fillers_end_as_single_steps_do(
        nand in arrays(),
        ops in prop::collection::vec((0u8..6, 0u32..9, 1u32..6, 0u64..60, 0u32..4), 1..24),
    ) {
        let mut nand = nand;
        (nand.pages_per_program, nand.pages_per_block) = (3, 18);
        let dies = nand.channels * nand.chips_per_channel;
        let script: Vec<_> = ops
            .iter()
            .enumerate()
            .map(|(n, &(kind, die, count, time, array_reads))| {
                let pages = if kind >= 4 { 3 } else { 3 * count };
                let op = independent(n, dies, kind, die, pages);
                at(time, if kind >= 4 { FlashOp { array_reads, ..op } } else { op })
            })
            .collect();
        prop_assert_eq!(play(&nand, &script, Play::Runs), play(&nand, &script, Play::Steps));
    }

    /// The same where operations share blocks and wait for one another: everything ends, at the
    /// same times.
    #[test]
    fn hazards_do_not_depend_on_how_steps_are_served(
        nand in arrays(),
        ops in prop::collection::vec((0u8..6, 0u32..5, 0u32..5, 1u32..7, 0u64..60, any::<Option<prop::sample::Index>>()), 1..32),
    ) {
        let dies = nand.channels * nand.chips_per_channel;
        // Two blocks a die, used as a chip would allow.
        let block = |n: u32| (n % dies) * BLOCKS + n / dies % 2;
        let mut written = vec![0; (dies * BLOCKS) as usize];
        let mut script = Vec::new();
        for (kind, a, b, count, time, after) in &ops {
            let (target, source) = (block(*a), block(*b));
            let (from, room) = (written[target as usize], 16 - written[target as usize]);
            let n = (*count).min(room);
            let op = match kind {
                0 if from > 0 => read(target, 0, (*count).min(from)),
                1 | 2 if n > 0 => {
                    written[target as usize] += n;
                    let guard = if source == target { u32::MAX } else { source };
                    FlashOp { guard: BlockId(guard), ordered: *kind == 2 && guard != u32::MAX, ..program(target, from, n) }
                }
                3 if from > 0 => {
                    written[target as usize] = 0;
                    erase(target)
                }
                4 | 5 if n > 0 && source != target && source / BLOCKS == target / BLOCKS && written[source as usize] > 0 => {
                    written[target as usize] += n;
                    FlashOp { page: from, ..copy(source, target, n, *kind == 5) }
                }
                _ => continue,
            };
            let waits_for = after.filter(|_| !script.is_empty()).map(|index| index.index(script.len()));
            script.push(Item { when: When::At(*time), op, waits_for });
        }
        // Issue follows the order in which the chip was used.
        let mut last = 0;
        for item in &mut script {
            if let When::At(time) = &mut item.when {
                last = last.max(*time);
                *time = last;
            }
        }
        let ends = play(&nand, &script, Play::Runs);
        prop_assert_eq!(&ends, &play(&nand, &script, Play::Steps));
        for (later, item) in script.iter().enumerate() {
            for earlier in (0..later).filter(|&n| item.waits_for == Some(n) || must_wait(&script, n, later)) {
                let earliest = ends[earlier] + takes(&nand, &item.op);
                prop_assert!(ends[later] >= earliest, "{:?} after {:?}: {:?}", item.op, script[earlier].op, ends);
            }
        }
    }
}
