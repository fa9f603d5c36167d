//! Streams reach the bandwidth, and queues the waiting times, that pencil and paper give.

use crate::common::{
    PAGE, PROGRAM, READ, Random, TRANSFER, assert_within, closed, drive, nand, preconditioned,
    request,
};
use eraseblock_core::config::{DeviceConfig, Nanos, Precondition};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;
use eraseblock_core::metrics::Report;

const PAGES: u64 = 100_000;

fn stream(config: &DeviceConfig, op: Op) -> Report {
    let mut device = Device::new(config, Options::default()).unwrap();
    device.precondition().unwrap();
    for page in 0..PAGES {
        device.submit(&request(op, page, 1, 0)).unwrap();
    }
    device.finish().unwrap()
}

/// Time that a page takes when each die runs `command + transfer` on the bus, then its array: a
/// channel moves pages no faster than its bus, nor than its dies, which are held through all of it.
fn page_ns(channels: u64, chips: u64, command: u64, array: u64) -> f64 {
    let bus = command + TRANSFER;
    let die = (bus + array) as f64 / chips as f64;
    (bus as f64).max(die) / channels as f64
}

/// The same for reads whose command goes over the bus before and whose data after the array. The
/// bus serves its dies in the order of asking, so that they come to travel in a convoy: a die that
/// has sent its page asks at once to send its next command, but those behind it have asked before.
/// Each round takes all transfers, one command, one array time, unless the bus alone takes longer.
fn read_ns(channels: u64, chips: u64, command: u64, array: u64) -> f64 {
    if command == 0 {
        return page_ns(channels, chips, 0, array);
    }
    let round = (chips * TRANSFER + command + array).max(chips * (command + TRANSFER));
    round as f64 / (chips * channels) as f64
}

#[test]
fn streams_reach_the_closed_form_bandwidth() {
    for channels in 1..=8 {
        for chips in 1..=4 {
            for command in [0, 2_000] {
                let blocks = (PAGES / 64).div_ceil(u64::from(channels * chips)) as u32 + 8;
                let mut nand = nand([channels, chips, 1, 1], blocks, 64);
                nand.timing.command = Nanos(command);
                let pages = PAGES.next_multiple_of(64);
                // Deep enough that no die ever runs dry.
                let config = closed(drive(nand, pages), 8 * channels * chips);
                let (channels, chips) = (u64::from(channels), u64::from(chips));
                for (op, state, ns) in [
                    (Op::Write, Precondition::Empty, page_ns(channels, chips, command, PROGRAM)),
                    (Op::Read, Precondition::Full, read_ns(channels, chips, command, READ)),
                ] {
                    let report = stream(&preconditioned(config.clone(), state), op);
                    let found = report.throughput.unwrap().bytes_per_s;
                    let what = format!(
                        "{op:?}, {channels} channels x {chips} chips, command {command} ns"
                    );
                    assert_within(found, PAGE as f64 * 1e9 / ns, 0.001, &what);
                }
            }
        }
    }
}

/// Fast arrays behind a slow bus: the bus is the bound, wholly.
#[test]
fn streams_fill_a_slow_bus() {
    for chips in 2..=4 {
        for (op, state) in [(Op::Write, Precondition::Empty), (Op::Read, Precondition::Full)] {
            let mut nand = nand([2, chips, 1, 1], 1000, 64);
            (nand.timing.read, nand.timing.program) = (Nanos(8_000).into(), Nanos(9_000).into());
            let config = preconditioned(closed(drive(nand, PAGES.next_multiple_of(64)), 64), state);
            let expected = PAGE as f64 * 1e9 / page_ns(2, chips.into(), 0, 9_000);
            let found = stream(&config, op).throughput.unwrap().bytes_per_s;
            assert_within(found, expected, 0.001, &format!("{op:?}, {chips} chips"));
        }
    }
}

/// One server with Poisson arrivals and equal service times: the mean wait is rho / (2 (1 - rho))
/// services.
#[test]
fn a_die_under_poisson_arrivals_waits_as_an_m_d_1_queue() {
    let service = (READ + TRANSFER) as f64;
    for (load, requests) in [(0.2, 400_000), (0.5, 400_000), (0.7, 1_000_000), (0.85, 3_000_000)] {
        let pages = 64 * 20;
        let mut config =
            preconditioned(drive(nand([1, 1, 1, 1], 24, 64), pages), Precondition::Full);
        config.host.max_outstanding = 1_000_000;
        let mut device = Device::new(&config, Options::default()).unwrap();
        device.precondition().unwrap();
        let (mut random, mut arrival) = (Random::new(7), 0.0);
        for _ in 0..requests {
            arrival += random.exponential(service / load);
            device.submit(&request(Op::Read, random.below(pages), 1, arrival as u64)).unwrap();
        }
        let report = device.finish().unwrap();
        let wait = report.response_ns.read.unwrap().mean - service;
        let expected = service * load / (2.0 * (1.0 - load));
        assert_within(wait, expected, 0.02, &format!("mean wait at a load of {load}"));
        assert!(report.trusted, "{:?}", report.reasons);
    }
}
