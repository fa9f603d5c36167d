//! Faults that were found once, each with its story.

use crate::support;
use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Fate, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

fn at(op: Op, page: u64, count: u64, arrival_ns: u64) -> Request {
    Request { arrival_ns, ..support::request(op, page, count) }
}

fn run(config: &DeviceConfig, verify: bool, requests: &[Request]) -> Report {
    let mut drive = Device::new(config, Options { verify }).unwrap();
    drive.precondition().unwrap();
    support::foresee(&mut drive, requests).unwrap();
    for request in requests {
        drive.submit(request).unwrap();
    }
    drive.finish().unwrap()
}

/// A write with forced unit access made room by evicting pages of its own, and was answered before
/// those were stored: only the pages that the buffer still held were waited for.
#[test]
fn forced_writes_wait_for_pages_that_they_evict_themselves() {
    let mut answered = 0;
    for scheme in [
        json!({"kind": "fab", "reads": "bypass"}),
        json!({"kind": "fab"}),
        json!({"kind": "bplru", "padding": false}),
        json!({"kind": "bplru"}),
        json!({"kind": "lru", "reads": "bypass"}),
    ] {
        let config = support::config(&json!({
            "nand": {"channels": 2, "pages_per_block": 16},
            "ftl": {"exported": "1 MiB"},
            "buffer": {"size": "40 KiB", "scheme": scheme},
            "host": {"replay": "open", "max_outstanding": 64},
        }));
        // Seven pages of block 0, then two that do not fit; reads keep one die busy, so that
        // programs there wait.
        let mut requests =
            vec![at(Op::Write, 0, 7, 0), at(Op::Write, 32, 1, 0), at(Op::Write, 48, 1, 0)];
        requests.extend((0..30).map(|_| at(Op::Read, 101, 1, 1000)));
        let forced = requests.len() as u64;
        requests.push(Request { fua: true, ..at(Op::Write, 7, 2, 2000) });
        requests.push(at(Op::Read, 200, 1, 1_000_000_000));
        for completions in 1..120 {
            let mut drive = Device::new(&config, Options { verify: true }).unwrap();
            drive.precondition().unwrap();
            drive.note_answers();
            drive.cut_after(drive.completions() + completions);
            if requests.iter().all(|request| drive.submit(request).is_ok())
                || !drive.answers().contains(&forced)
            {
                continue;
            }
            answered += 1;
            let back = Device::recover(&config, drive.cut(|_| Fate::Absent).unwrap()).unwrap();
            for page in 7..9 {
                assert_eq!(
                    back.stored_version(Lpn(page)),
                    2,
                    "{scheme}, cut after {completions}, page {page}"
                );
            }
        }
    }
    assert!(answered >= 5, "cuts come after the answer too: {answered}");
}

/// A run of steps that take no time at all was cut by a division by its length. A simulated bus or
/// program may well cost nothing.
#[test]
fn operations_may_take_no_time() {
    let zero = json!({"read": "0 ns", "program": "0 ns", "erase": "0 ns", "transfer": "0 ns"});
    let no_bus =
        json!({"read": "25 us", "program": "0 ns", "erase": "1500 us", "transfer": "0 ns"});
    for timing in [zero, no_bus] {
        for mapping in [json!("page"), json!({"kind": "bast", "log_blocks": 3})] {
            for buffer in BufferConfig::NAMES {
                let config = support::config(&json!({
                    "nand": {"channels": 2, "planes_per_die": 2, "blocks_per_plane": 8, "scheduling": "read-first", "timing": timing},
                    "ftl": {"mapping": mapping},
                    "buffer": {"scheme": buffer},
                    "host": {"replay": "closed", "max_outstanding": 8},
                }));
                let requests: Vec<Request> = (0..400u64)
                    .map(|i| {
                        at(if i % 3 == 0 { Op::Read } else { Op::Write }, i * 37 % 29, 1 + i % 3, 0)
                    })
                    .collect();
                assert_eq!(run(&config, false, &requests).requests.completed, 400);
            }
        }
    }
}

/// The time for copies in RAM was added to the response and to nothing else, so that one request at
/// a time came out at many times the rate that the copies allow.
#[test]
fn copies_in_ram_take_their_time() {
    let config = support::config(&json!({
        "nand": {"timing": {"ram": "10 us"}},
        "buffer": {"scheme": "lru"},
        "host": {"replay": "closed", "max_outstanding": 1},
    }));
    let requests: Vec<Request> = (0..1000).map(|i| at(Op::Write, i % 4, 1, 0)).collect();
    let report = run(&config, true, &requests);
    assert!((report.throughput.unwrap().iops - 100_000.0).abs() < 1.0);
    assert_eq!(report.response_ns.write.unwrap().max, 10_000);
}

/// Reads of pages whose own read from flash was still under way, for padding or to complete a
/// partial write, were answered at once from RAM that held nothing yet.
#[test]
fn a_page_that_is_still_being_read_cannot_be_served() {
    let drive = |scheme: Value| {
        support::config(&json!({
            "buffer": {"size": "4 KiB", "scheme": scheme},
            "host": {"replay": "open", "max_outstanding": 64, "partial_page": "read-modify-write"},
        }))
    };
    let padding = [at(Op::Write, 0, 1, 0), at(Op::Write, 8, 1, 0), at(Op::Read, 3, 1, 0)];
    let report = run(&drive(json!("bplru")), false, &padding);
    assert!(report.response_ns.read.unwrap().max >= 125_000);
    let partial = Request { len: 512, ..at(Op::Write, 0, 1, 0) };
    let report = run(
        &drive(json!({"kind": "lru", "reads": "bypass"})),
        false,
        &[partial, at(Op::Write, 8, 1, 0), at(Op::Read, 0, 1, 0)],
    );
    assert!(report.response_ns.read.unwrap().max >= 125_000);
}

/// Merging all log blocks after the random writes of a steady state put the drive back into the
/// state of a fresh fill.
#[test]
fn the_steady_state_of_a_log_block_drive_has_open_logs() {
    let erases = |state: &str| {
        let config = support::config(&json!({
            "nand": {"blocks_per_plane": 40}, "ftl": {"mapping": {"kind": "bast", "log_blocks": 16}, "exported": "256 KiB"},
            "precondition": {"state": state},
        }));
        let requests: Vec<Request> = (0..12).map(|i| at(Op::Write, i * 4, 1, 0)).collect();
        run(&config, true, &requests).flash.erases.total
    };
    assert_eq!(erases("full"), 0);
    assert!(erases("steady") > 0);
}

/// Untimed runs counted an array read for each page, timed ones one for each flash page.
#[test]
fn time_changes_no_counts() {
    let figures = |replay: &str| {
        let config = support::config(&json!({
            "nand": {"planes_per_die": 2, "page_size": "16 KiB", "mapping_unit": "4 KiB", "multi_plane": true, "pages_per_program": 1,
                     "program_order": "sequential", "energy": {"read_mj": 1.0, "program_mj": 10.0, "erase_mj": 100.0}},
            "ftl": {"exported": "1 MiB"},
            "host": {"replay": replay, "max_outstanding": 1},
        }));
        let requests: Vec<Request> = (0..200)
            // Within a logical block each: what of a request waits for room with time goes on
            // together.
            .map(|i| {
                let first = i * 7 % 12 * 16 + i % 5;
                at(if i % 2 == 0 { Op::Read } else { Op::Write }, first, 1 + i % 11, 0)
            })
            .collect();
        let report = run(&config, true, &requests);
        (report.flash, report.energy_mj, report.host_pages)
    };
    assert_eq!(figures("closed"), figures("untimed"));
}

/// Energy was 0 where nothing is known of it.
#[test]
fn energy_is_that_of_the_operations_or_nothing() {
    let energy_of = |energy: serde_json::Value| {
        let config = support::config(&json!({"nand": {"energy": energy}}));
        let requests: Vec<Request> = (0..4000)
            .map(|i| at(if i % 4 == 0 { Op::Read } else { Op::Write }, i * 7 % 32, 1, 0))
            .collect();
        let report = run(&config, false, &requests);
        let flash = report.flash;
        (report.energy_mj, [flash.reads.total, flash.programs.total, flash.erases.total])
    };
    let (energy, [reads, programs, erases]) =
        energy_of(json!({"read_mj": 1.0, "program_mj": 10.0, "erase_mj": 100.0}));
    assert!(reads > 0 && programs > 0 && erases > 0);
    assert_eq!(energy, Some((reads + 10 * programs + 100 * erases) as f64));
    assert_eq!(energy_of(json!({"erase_mj": 1.0})).0, Some(erases as f64));
    assert_eq!(energy_of(json!({})).0, None);
}

/// A backlog that fitted into `max_outstanding` went unnoticed: only the wait for admission was
/// looked at.
#[test]
fn a_growing_backlog_is_seen_wherever_it_waits() {
    for max_outstanding in [1, 32, 1_000_000] {
        let config = support::config(
            &json!({"host": {"replay": "open", "max_outstanding": max_outstanding}}),
        );
        let requests: Vec<Request> =
            (0..4000).map(|i| at(Op::Read, i % 32, 1, i * 20_000)).collect();
        assert!(!run(&config, false, &requests).trusted, "{max_outstanding}");
        let slow: Vec<Request> = (0..4000).map(|i| at(Op::Read, i % 32, 1, i * 200_000)).collect();
        assert!(run(&config, false, &slow).trusted, "{max_outstanding}");
    }
}

/// A backlog that had stopped growing went unnoticed, although the drive was still far behind at
/// the end.
#[test]
fn a_drive_that_ends_far_behind_is_seen() {
    let config = support::config(&json!({"host": {"replay": "open", "max_outstanding": 32}}));
    let (burst, gap, wide) = (1500, 20_000, 140_000);
    let arrival = |i: u64| if i < burst { i * gap } else { burst * gap + (i - burst) * wide };
    let requests: Vec<Request> = (0..4000).map(|i| at(Op::Read, i % 32, 1, arrival(i))).collect();
    let report = run(&config, false, &requests);
    assert!(report.reasons[0].contains("did not keep up"), "{:?}", report.reasons);
}

/// A backlog that drained before the end went unnoticed, though most requests spent their time in
/// it. A read takes 125 us; requests come every 10 us for a while, and then none for as long as the
/// drive needs.
#[test]
fn a_burst_that_most_of_a_run_waits_in_is_seen() {
    // So many of 4,000 requests come in bursts of so many; the others every millisecond.
    let run_of = |in_bursts: u64, burst: u64, max_outstanding: u32, replay: &str| {
        let config = support::config(
            &json!({"host": {"replay": replay, "max_outstanding": max_outstanding}}),
        );
        let (mut time, mut requests) = (0, Vec::new());
        for i in 0..4000 {
            let late = i < in_bursts && i % burst != 0;
            time += if late {
                10_000
            } else if i <= in_bursts {
                burst * 200_000
            } else {
                1_000_000
            };
            requests.push(at(Op::Read, i % 32, 1, time));
        }
        run(&config, false, &requests)
    };
    for max_outstanding in [1, 32, 1_000_000] {
        let far = run_of(3_600, 1_800, max_outstanding, "open");
        assert!(!far.trusted, "{max_outstanding}: {:?}", far.response_ns.all);
        assert!(far.reasons[0].contains("the drive was behind for"), "{:?}", far.reasons);
        assert!(far.reasons[0].contains("host.speedup below 1"), "{:?}", far.reasons);
        // One request in twenty in a burst is a tail that any drive has; so are short bursts.
        assert!(run_of(200, 200, max_outstanding, "open").trusted, "{max_outstanding}");
        assert!(run_of(3_600, 8, max_outstanding, "open").trusted, "{max_outstanding}");
        assert!(run_of(3_600, 1_800, max_outstanding, "closed").trusted, "{max_outstanding}");
    }
    assert!(run_of(3_600, 1_800, 32, "untimed").trusted);
}

/// Requests without times were told to come at another speed.
#[test]
fn requests_that_come_at_once_are_told_to_have_times() {
    let requests: Vec<Request> = (0..2000).map(|i| at(Op::Read, i % 32, 1, 7)).collect();
    let config = support::config(&json!({"host": {"replay": "open", "max_outstanding": 32}}));
    let report = run(&config, false, &requests);
    assert!(
        report.reasons[0].contains("at the same time: give them times"),
        "{:?}",
        report.reasons
    );
    assert!(!report.reasons[0].contains("host.speedup"), "{:?}", report.reasons);
}

/// A closed loop was told to keep up: in a short run what was under way at its end took long beside
/// the whole.
#[test]
fn a_closed_loop_is_never_behind() {
    let requests: Vec<Request> = (0..64).map(|i| at(Op::Read, i % 32, 1, i)).collect();
    for (replay, trusted) in [("open", false), ("closed", true)] {
        let config = support::config(&json!({"host": {"replay": replay, "max_outstanding": 32}}));
        let report = run(&config, false, &requests);
        assert_eq!(report.trusted, trusted, "{replay}: {:?}", report.reasons);
    }
}

/// A request that had waited for room wrote pages which its own reads, done by then, had filled:
/// the program was to wait for their join, whose number was by then that of the merge that the
/// program belonged to.
#[test]
fn a_program_does_not_wait_for_reads_that_have_ended() {
    let config = support::config(&json!({
        "ftl": {"mapping": "block"},
        "buffer": {"size": "32 KiB", "scheme": "cbm"},
        "host": {"replay": "open", "partial_page": "read-modify-write", "max_outstanding": 4, "end_of_run": "flush"},
    }));
    let half_pages = |op, first: u64, count: u64, arrival_ns| Request {
        arrival_ns,
        offset: first * 2048,
        len: count * 2048,
        ..support::request(op, 0, 1)
    };
    let requests = [
        half_pages(Op::Write, 5, 4, 1),
        half_pages(Op::Read, 49, 4, 1_719_144),
        half_pages(Op::Write, 31, 10, 1_719_144),
        half_pages(Op::Write, 23, 4, 1_719_144),
        half_pages(Op::Write, 29, 6, 2_666_773),
        half_pages(Op::Write, 63, 1, 2_666_773),
        half_pages(Op::Write, 1, 8, 4_774_513),
    ];
    assert_eq!(run(&config, true, &requests).requests.completed, 7);
}

/// Fillers of open program units were counted with what keeps the mapping.
#[test]
fn fillers_are_counted_by_themselves() {
    let config = support::config(&json!({
        "nand": {"pages_per_program": 2, "program_order": "sequential", "blocks_per_plane": 12}, "ftl": {"exported": "64 KiB"},
        "host": {"replay": "open"},
    }));
    let flush = Request { len: 0, ..at(Op::Flush, 0, 0, 0) };
    let programs = run(&config, true, &[at(Op::Write, 0, 3, 0), flush]).flash.programs;
    assert_eq!((programs.total, programs.host, programs.filler, programs.mapping), (4, 3, 1, 0));
    // A trim is kept by a tombstone, which takes a filler along.
    let programs = run(&config, true, &[at(Op::Trim, 0, 1, 0), flush]).flash.programs;
    assert_eq!((programs.total, programs.host, programs.filler, programs.mapping), (2, 0, 1, 1));
}

fn request(drive: &mut Device, op: Op, page: u64, count: u64) {
    drive.submit(&support::request(op, page, count)).unwrap();
}

/// A trim that a copy of the block had made durable was made so again by the next flush, if the
/// tombstone happened to lie where the trimmed page had been.
#[test]
fn flushes_bury_a_page_once_wherever_its_tombstone_lies() {
    let mut drive =
        support::device(&json!({"nand": {"blocks_per_plane": 10}, "ftl": {"mapping": "block"}}));
    request(&mut drive, Op::Trim, 0, 1);
    // Each write copies the block to the one erased longest ago; the third of them is the one it
    // began in.
    support::write(&mut drive, &[1, 1, 1]);
    assert_eq!(support::cost(&drive), (6, 12, 3));
    request(&mut drive, Op::Flush, 0, 0);
    assert_eq!(support::cost(&drive), (6, 12, 3));
}

/// Pages that followed one that goes to the log went there too, though their slots in the data
/// block were erased.
#[test]
fn direct_first_writes_are_told_page_by_page() {
    let mut drive = support::device(&json!({
        "ftl": {"mapping": {"kind": "bast", "log_blocks": 2, "first_write": "direct"}},
        "precondition": {"state": "empty"},
    }));
    request(&mut drive, Op::Write, 0, 2);
    request(&mut drive, Op::Write, 1, 2);
    // Page 1 was the only one in the log.
    support::write(&mut drive, &[1, 1, 1]);
    assert_eq!(support::cost(&drive), (0, 7, 0));
}

/// A log block that a tombstone filled was not merged at once.
#[test]
fn eager_merges_follow_tombstones_too() {
    for (mapping, written, merges) in [("bast", [1, 1, 1], 1), ("fast", [1, 5, 9], 4)] {
        let mapping = json!({"kind": mapping, "log_blocks": 1, "merge_timing": "eager"});
        let mut drive = support::device(&json!({"ftl": {"mapping": mapping}}));
        support::write(&mut drive, &written);
        request(&mut drive, Op::Trim, if merges == 1 { 2 } else { 13 }, 1);
        assert_eq!(drive.counters().full_merges, 0);
        request(&mut drive, Op::Flush, 0, 0);
        assert_eq!(drive.counters().full_merges, merges);
    }
}

/// A tombstone is no write of the host's: it does not save its log. A superblock that grows by one
/// can be collected.
#[test]
fn tombstones_do_not_make_a_log_one_written_lately() {
    let mnk = json!({"kind": "mnk", "striping": 1, "group_logs": 1, "log_blocks": 2});
    for mapping in [json!({"kind": "bast", "log_blocks": 2}), mnk] {
        let mut drive = support::device(&json!({"ftl": {"mapping": mapping}}));
        support::write(&mut drive, &[1, 5]);
        request(&mut drive, Op::Trim, 2, 1);
        request(&mut drive, Op::Flush, 0, 0);
        // Block 0 goes, and then block 1 for it.
        support::write(&mut drive, &[9, 1]);
        assert_eq!(drive.counters().full_merges, 2, "{mapping}");
    }
    let mut drive = support::device(&json!({
        "nand": {"blocks_per_plane": 12}, "ftl": {"mapping": {"kind": "superblock", "blocks": 1, "update_blocks": 1}},
    }));
    support::write(&mut drive, &[0, 4]);
    request(&mut drive, Op::Trim, 1, 1);
    request(&mut drive, Op::Flush, 0, 0);
    // Pages 5 to 7 are moved, not 2 and 3.
    support::write(&mut drive, &[8]);
    assert_eq!(support::cost(&drive), (3, 7, 1));
}

/// A log that a merge had emptied while it was its group's newest was not erased when another took
/// its place.
#[test]
fn logs_that_merges_have_emptied_are_recycled() {
    let mnk =
        json!({"kind": "mnk", "striping": 1, "group_blocks": 2, "group_logs": 2, "log_blocks": 3});
    let mut drive = support::device(&json!({"ftl": {"mapping": mnk}}));
    support::write(&mut drive, &[1, 1, 1, 3, 0, 2, 0, 2]);
    assert_eq!(support::cost(&drive), (0, 8, 0));
    // The first log is merged: all of block 0 is copied, from both logs. The second one is empty
    // then.
    support::write(&mut drive, &[5]);
    assert_eq!(support::cost(&drive), (4, 13, 3));
}

/// What a trim had asked for began with the next write, or only with the next one that asked
/// itself, as somebody looked on or not.
#[test]
fn collection_that_a_trim_asks_for_begins_with_the_next_write() {
    for scheme in ["lru", "cflru", "clock", "fab"] {
        let config = support::config(&json!({
            "nand": {"planes_per_die": 2, "blocks_per_plane": 16, "pages_per_block": 4,
                     "page_size": "8 KiB", "mapping_unit": "4 KiB", "pages_per_program": 2,
                     "multi_plane": true, "program_order": "sequential"},
            "ftl": {"exported": "384 KiB", "mapping": support::mapping("dftl", 3)},
            "buffer": {"size": "32 KiB", "scheme": scheme},
            "host": {"replay": "open", "max_outstanding": 4},
        }));
        for seed in 0..150 {
            let mut dice = support::Dice(seed);
            let mut arrival = 0;
            let requests: Vec<Request> = (0..60)
                .map(|_| {
                    arrival += dice.roll(2) * dice.roll(3_000_000);
                    let op = [Op::Write, Op::Write, Op::Read, Op::Trim][dice.roll(4) as usize];
                    let count = 1 + dice.roll(6);
                    at(op, dice.roll(96 - count), count, arrival)
                })
                .collect();
            let text = |verify| {
                let report = run(&config, verify, &requests);
                let same = Report { verified_reads: None, bytes_per_page: 0.0, ..report };
                serde_json::to_string(&same).unwrap()
            };
            assert!(text(false) == text(true), "{scheme}, {seed}");
        }
    }
}

/// FAST erased its oldest log block before it wrote the page that the room was for, if the last
/// word there was that page, trimmed and not buried yet. After a power cut in between, what came
/// back was older than what had been flushed.
#[test]
fn a_trimmed_page_in_a_log_block_outlasts_its_next_write() {
    let config = support::config(&json!({
        "ftl": {"mapping": {"kind": "fast", "log_blocks": 1}},
        "host": {"replay": "open", "max_outstanding": 1},
    }));
    let mut requests = vec![at(Op::Write, 1, 1, 0); 4];
    requests[3].fua = true;
    requests.extend([at(Op::Trim, 1, 1, 0), at(Op::Write, 1, 1, 0)]);
    for fate in [Fate::Absent, Fate::Torn] {
        let mut cuts = 0;
        for completions in 1.. {
            let mut drive = Device::new(&config, Options { verify: true }).unwrap();
            drive.precondition().unwrap();
            drive.note_answers();
            drive.cut_after(drive.completions() + completions);
            if requests.iter().all(|request| drive.submit(request).is_ok()) && drive.end().is_ok() {
                break;
            }
            if drive.answers().contains(&3) {
                let back = Device::recover(&config, drive.cut(|_| fate).unwrap()).unwrap();
                let found = back.stored_version(Lpn(1));
                // What was forced, the trim after it, or the write after that.
                assert!([5, 0, 7].contains(&found), "cut after {completions}: version {found}");
                cuts += 1;
            }
        }
        assert!(cuts > 0, "cuts come after the answer too");
    }
}

/// The last pages that brought a drive into its steady state waited in open program units, and the
/// run programmed them.
#[test]
fn a_run_does_not_program_what_its_steady_state_left_open() {
    let config = support::config(&json!({
        "nand": {
            "channels": 2, "blocks_per_plane": 24, "pages_per_block": 2,
            "page_size": "16 KiB", "mapping_unit": "4 KiB",
        },
        "ftl": {"exported": "836 KiB", "mapping": "page"},
        "buffer": {"size": "64 KiB", "scheme": "lru"},
        "precondition": {"state": "steady"},
        "host": {"end_of_run": "flush"},
    }));
    let report = run(&config, true, &[at(Op::Read, 0, 1, 0)]);
    assert_eq!(report.flash.programs.total, 0, "{:?}", report.flash.programs);
    assert_eq!(report.end_of_run.programs, 0);
}
