//! BLAS: when a block is scattered, what that costs, and what puts an end to it; and what its write
//! buffer sends where.

use crate::support;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::latency::LatencySummary;
use eraseblock_core::nand::Cause;
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;

/// Four channels of 16 blocks of 4 pages, 32 blocks exported and full: block 0 on channel 0, and so
/// on.
fn drive(over: &Value) -> Device {
    let mut all = json!({
        "nand": {"channels": 4}, "ftl": {"exported": "512 KiB", "mapping": "blas"},
        "host": {"replay": "open", "max_outstanding": 16},
    });
    for (section, values) in over.as_object().unwrap() {
        for (key, value) in values.as_object().unwrap() {
            all[section][key] = value.clone();
        }
    }
    support::device(&all)
}

fn at(op: Op, page: u64, count: u64, ms: u64) -> Request {
    Request { arrival_ns: ms * MS, ..support::request(op, page, count) }
}

fn submit(drive: &mut Device, requests: &[(Op, u64, u64, u64)]) {
    for &(op, page, count, ms) in requests {
        drive.submit(&at(op, page, count, ms)).unwrap();
    }
}

/// Channels of these pages.
fn channels(drive: &Device, pages: std::ops::Range<u32>) -> Vec<u32> {
    let lies = |page| drive.mapping().lookup(page).expect("a written page");
    pages.map(|page| drive.geometry().unit_of_page(lies(Lpn(page))).0 % 4).collect()
}

/// All response times together.
fn total(times: &LatencySummary) -> u64 {
    (times.mean * times.count as f64).round() as u64
}

/// Pages that scattering has read and programmed.
fn scattered(drive: &Device) -> (u64, u64) {
    let counters = drive.counters();
    (counters.reads[Cause::Placement as usize], counters.programs[Cause::Placement as usize])
}

#[test]
fn a_block_begins_in_one_channel() {
    let drive = drive(&json!({}));
    assert_eq!(
        channels(&drive, 0..20),
        [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 0, 0, 0, 0]
    );
}

#[test]
fn a_block_read_often_enough_is_scattered_once_all_is_idle() {
    let mut drive = drive(&json!({}));
    submit(&mut drive, &[(Op::Read, 0, 4, 0), (Op::Read, 8, 4, 10)]);
    assert_eq!(scattered(&drive), (0, 0));
    // The second read of block 0; the next request comes long after it.
    submit(&mut drive, &[(Op::Read, 0, 4, 20), (Op::Read, 30, 1, 40)]);
    assert_eq!((scattered(&drive), channels(&drive, 0..4)), ((3, 3), vec![0, 1, 2, 3]));
    // It stays so, however often it is read.
    submit(&mut drive, &[(Op::Read, 0, 4, 60), (Op::Read, 0, 4, 80), (Op::Read, 30, 1, 100)]);
    assert_eq!(scattered(&drive), (3, 3));
    // Four pages from four channels: one read, and one page after the other over each channel's
    // bus.
    let report = drive.finish().unwrap();
    let read = report.response_ns.read.unwrap();
    let one = 25_000 + 100_000;
    assert_eq!((total(&read), read.max), (3 * 4 * one + 4 * one, 4 * one));
}

/// Three reads of the one chip that has the pages, then three programs on three channels at the
/// same time.
#[test]
fn scattering_reads_one_page_after_the_other_and_programs_them_side_by_side() {
    let timing =
        json!({"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "0 ns"});
    let mut drive = drive(&json!({"nand": {"timing": timing}}));
    submit(&mut drive, &[(Op::Read, 0, 4, 0), (Op::Read, 0, 4, 10)]);
    // That ends at 10.1 ms. Page 3 is read for its copy until 10.175 and programmed until 10.375
    // ms; before it is in RAM, the host has to wait for its new place.
    drive.submit(&Request { arrival_ns: 10_160_000, ..support::request(Op::Read, 3, 1) }).unwrap();
    let report = drive.finish().unwrap();
    let read = report.response_ns.read.unwrap();
    assert_eq!((total(&read), read.max), (2 * 100_000 + 240_000, 10_400_000 - 10_160_000));
}

#[test]
fn a_write_in_between_begins_anew() {
    let mut drive = drive(&json!({}));
    let requests =
        [(Op::Read, 0, 4, 0), (Op::Write, 2, 1, 10), (Op::Read, 0, 4, 20), (Op::Read, 30, 1, 40)];
    submit(&mut drive, &requests);
    assert_eq!(scattered(&drive), (0, 0));
    submit(&mut drive, &[(Op::Read, 0, 4, 60), (Op::Read, 30, 1, 80)]);
    assert_eq!(scattered(&drive), (3, 3));
    // What has been scattered is under locality again once it is written; the rest stays where it
    // is.
    submit(&mut drive, &[(Op::Write, 1, 2, 100), (Op::Read, 30, 1, 120)]);
    let home = channels(&drive, 1..3);
    assert_eq!(home[0], home[1]);
    drive.finish().unwrap();
}

/// A block that has been scattered, written and read again is scattered again.
#[test]
fn a_written_block_is_scattered_again() {
    let mut drive = drive(&json!({}));
    for round in 0..3 {
        let begin = round * 1_000;
        let other = (Op::Write, 30, 1, begin + 40);
        submit(&mut drive, &[(Op::Read, 0, 4, begin), (Op::Read, 0, 4, begin + 20), other]);
        assert_eq!(scattered(&drive), (3 * (round + 1), 3 * (round + 1)));
        submit(&mut drive, &[(Op::Write, 0, 4, begin + 60)]);
    }
    drive.finish().unwrap();
}

/// Blocks 0 and 8 lie on the same channel; block 8 is read more often, and first. All of that has
/// ended after 2.5 ms.
#[test]
fn the_block_read_most_is_scattered_first() {
    let mut drive = drive(&json!({}));
    let reads = [
        (Op::Read, 0, 4, 0),
        (Op::Read, 0, 4, 0),
        (Op::Read, 32, 4, 0),
        (Op::Read, 32, 4, 0),
        (Op::Read, 32, 4, 0),
    ];
    submit(&mut drive, &reads);
    drive.submit(&Request { arrival_ns: 2_600_000, ..support::request(Op::Read, 30, 1) }).unwrap();
    assert_eq!((channels(&drive, 0..4), channels(&drive, 32..36)), (vec![0; 4], vec![0, 1, 2, 3]));
    drive.finish().unwrap();
}

/// Blocks of eight pages are two stripes: the first page of each stays where it is.
#[test]
fn each_stripe_of_a_block_begins_where_it_lies() {
    let mut drive = drive(
        &json!({"nand": {"channels": 4, "pages_per_block": 8}, "ftl": {"exported": "1 MiB"}}),
    );
    submit(&mut drive, &[(Op::Read, 0, 8, 0), (Op::Read, 0, 8, 10), (Op::Read, 60, 1, 40)]);
    assert_eq!(scattered(&drive), (6, 6));
    drive.finish().unwrap();
}

/// Pages written one after the other, with others in between.
#[test]
fn a_block_stays_in_its_unit_or_goes_to_the_one_with_least_to_do() {
    let pages = [
        (Op::Write, 1, 1, 0),
        (Op::Write, 9, 1, 10),
        (Op::Write, 2, 1, 20),
        (Op::Write, 14, 1, 30),
    ];
    let mut kept = drive(&json!({}));
    submit(&mut kept, &pages);
    assert_eq!((channels(&kept, 0..4), channels(&kept, 8..12)), (vec![0; 4], vec![2; 4]));
    kept.finish().unwrap();
    // The unit whose turn it is has four pages to read; the one after it has nothing to do.
    let mut least =
        drive(&json!({"ftl": {"mapping": {"kind": "blas", "placement": "least-busy"}}}));
    submit(&mut least, &pages[..1]);
    let turn = (channels(&least, 1..2)[0] + 1) % 4;
    submit(&mut least, &[(Op::Read, 4 * u64::from(turn) + 16, 4, 10), (Op::Write, 30, 1, 10)]);
    assert_eq!(channels(&least, 30..31), [(turn + 1) % 4]);
    least.finish().unwrap();
}

#[test]
fn a_drive_that_is_never_idle_scatters_nothing() {
    let mut drive = drive(&json!({}));
    // Writes on all channels while block 0 is read again and again.
    for turn in 0..20 {
        let ns = |k: u64| turn * 400_000 + k * 20_000;
        for k in 0..4 {
            drive
                .submit(&Request {
                    arrival_ns: ns(k),
                    ..support::request(Op::Write, 16 + 4 * k, 2)
                })
                .unwrap();
        }
        drive.submit(&Request { arrival_ns: ns(5), ..support::request(Op::Read, 0, 4) }).unwrap();
    }
    assert_eq!(scattered(&drive), (0, 0));
    drive.finish().unwrap();
}

#[test]
fn reads_of_any_length_count_and_sequential_writes_where_that_is_asked_for() {
    let read_twice = [(Op::Read, 0, 1, 0), (Op::Read, 0, 1, 10), (Op::Read, 30, 1, 40)];
    // All count by default, whatever their length.
    let long = json!({"kind": "blas", "score": "long-reads"});
    for (mapping, expected) in [(json!("blas"), (3, 3)), (long, (0, 0))] {
        let score = mapping.to_string();
        let mut drive = drive(&json!({"ftl": {"mapping": mapping}}));
        submit(&mut drive, &read_twice);
        assert_eq!(scattered(&drive), expected, "{score}");
    }
    for (sequential, expected) in [(Value::Null, (0, 0)), (json!(3), (3, 3)), (json!(4), (0, 0))] {
        let mut drive =
            drive(&json!({"ftl": {"mapping": {"kind": "blas", "sequential": sequential}}}));
        submit(&mut drive, &[(Op::Write, 0, 4, 0), (Op::Read, 30, 1, 40)]);
        assert_eq!(scattered(&drive), expected, "{sequential}");
    }
}

/// A unit takes 35 valid pages here, and has 32. Each block of channel 0 that is scattered sends
/// one page to each of the others.
#[test]
fn pages_stay_where_the_next_channel_has_no_room_to_spare() {
    let mut drive = drive(&json!({"ftl": {"gc": {"free_blocks": 6}}}));
    for block in 0..4 {
        let (first, ms) = (16 * block, 100 * block);
        submit(&mut drive, &[(Op::Read, first, 4, ms), (Op::Read, first, 4, ms + 20)]);
    }
    submit(&mut drive, &[(Op::Read, 30, 1, 400)]);
    assert_eq!((channels(&drive, 32..36), scattered(&drive)), (vec![0, 1, 2, 3], (9, 9)));
    assert_eq!(channels(&drive, 48..52), [0; 4], "the fourth block finds no room");
    // Block 2 goes, and channel 2 has room again: for the third page, as those before.
    submit(&mut drive, &[(Op::Trim, 8, 4, 420), (Op::Read, 64, 4, 440), (Op::Read, 64, 4, 460)]);
    submit(&mut drive, &[(Op::Read, 26, 1, 500)]);
    assert_eq!((channels(&drive, 64..68), scattered(&drive)), (vec![0, 0, 2, 0], (10, 10)));
    drive.finish().unwrap();
}

#[test]
fn a_threshold_of_none_is_refused() {
    let config = support::config(&json!({"ftl": {"mapping": {"kind": "blas", "threshold": 0}}}));
    let error = Device::new(&config, Options::default()).expect_err("refused");
    assert!(error.to_string().contains("ftl.mapping.threshold: found 0"), "{error}");
}

/// A buffer of 12 pages: two each of six blocks, two of which lie on channel 0.
#[test]
fn the_buffer_lets_pages_go_to_all_channels_in_turn() {
    use eraseblock_core::buffer::{BufferConfig, Idle, Outcome, Shape, Span, View};
    use eraseblock_core::pattern::{Pattern, Route};

    /// Block `n` lies on channel `n mod 4`.
    struct Below;
    impl View for Below {
        fn units(&self) -> u32 {
            Idle.units()
        }
        fn unit_of(&self, _lpn: Lpn) -> Option<PlaneId> {
            None
        }
        fn chips(&self) -> u32 {
            Idle.chips()
        }
        fn home_chip(&self, lpn: Lpn) -> Option<u32> {
            Idle.home_chip(lpn)
        }
        fn queued(&self, _unit: PlaneId) -> u32 {
            0
        }
        fn free_blocks(&self, _unit: PlaneId) -> u32 {
            1
        }
        fn channels(&self) -> u32 {
            4
        }
        fn channel_ready(&self, _channel: u32) -> bool {
            true
        }
        fn route(&self, block: LogicalBlock, _pattern: Pattern) -> Route {
            Route::Channel(block.0 % 4)
        }
    }

    let config: BufferConfig = serde_json::from_value(json!("blas")).unwrap();
    let mut buffer =
        config.build(Shape { capacity: 12, pages_per_block: 4, logical_pages: 128 }).unwrap();
    let mut out = Outcome::default();
    let mut write = |buffer: &mut dyn eraseblock_core::buffer::Buffer, first: u32, count: u32| {
        out.clear();
        buffer.access(
            &Span { first: Lpn(first), count, write: true, request: 0 },
            &Below,
            &mut out,
        );
        let channels = out.evictions.iter().map(|eviction| eviction.hint.unwrap().channel.unwrap());
        (out.pages.iter().map(|page| page.lpn.0).collect::<Vec<_>>(), channels.collect::<Vec<_>>())
    };
    for block in [0, 4, 1, 2, 5, 6] {
        assert!(write(&mut *buffer, 4 * block, 2).0.is_empty());
    }
    // From the end: 0, 4 (its channel has block 0), 1, 2; blocks 5 and 6 are kept.
    assert_eq!(write(&mut *buffer, 28, 3), (vec![0, 4, 8], vec![0, 1, 2]));
    // Block 1 is written again and unmarked.
    assert!(write(&mut *buffer, 5, 1).0.is_empty());
    assert_eq!(write(&mut *buffer, 31, 1).0, [1]);
    buffer.check().unwrap();
}

/// What the first request writes does not go on with what the drive was filled with last.
#[test]
fn the_first_write_after_the_filling_has_its_own_turn() {
    for reads in 0..4 {
        let mut drive = support::device(&json!({
            "nand": {"channels": 4},
            "ftl": {"exported": "32 KiB", "mapping": {"kind": "blas", "placement": "turn"}},
        }));
        for _ in 0..reads {
            drive.submit(&support::request(Op::Read, 0, 1)).expect("a read");
        }
        drive.submit(&support::request(Op::Write, 4, 1)).expect("a write");
        let unit =
            |page| drive.mapping().lookup(page).map(|ppn| drive.geometry().unit_of_page(ppn).0);
        assert_eq!(
            (unit(Lpn(0)), unit(Lpn(4)), unit(Lpn(5))),
            (Some(0), Some(2), Some(1)),
            "after {reads} reads"
        );
    }
}

/// Each round programs a page in unit 0 and a tombstone in the unit whose turn it is: the pages
/// take no turns from it.
#[test]
fn tombstones_take_turns_by_themselves() {
    let mut drive = support::device(&json!({
        "nand": {"channels": 2}, "ftl": {"mapping": "blas"}, "precondition": {"state": "empty"},
    }));
    for _ in 0..8 {
        for op in [Op::Write, Op::Trim, Op::Flush] {
            drive.submit(&support::request(op, 0, 1)).expect("a small request");
        }
    }
    let free = [0, 1].map(|unit| drive.mapping().free_blocks(PlaneId(unit)));
    assert_eq!(free, [16 - 3, 16 - 1], "12 pages in unit 0, 4 in unit 1");
}

/// Pages 0 and 1 of a block are all that is written of it.
#[test]
fn reads_of_pages_that_hold_nothing_do_not_count() {
    for (first, count, score, moved) in
        [(2, 2, "reads", 0), (1, 3, "reads", 1), (1, 3, "long-reads", 0), (0, 4, "long-reads", 1)]
    {
        let mut drive = support::device(&json!({
            "nand": {"channels": 4}, "host": {"replay": "open"}, "precondition": {"state": "empty"},
            "ftl": {"mapping": {"kind": "blas", "threshold": 1, "score": score}},
        }));
        submit(
            &mut drive,
            &[(Op::Write, 0, 2, 0), (Op::Read, first, count, 10), (Op::Read, 8, 1, 40)],
        );
        assert_eq!(scattered(&drive), (moved, moved), "{score}: {count} pages from {first}");
        drive.finish().unwrap();
    }
}
