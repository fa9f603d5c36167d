//! SUPA as its paper draws it: figures 6 to 9 and 11, and tables 1 and 2 by drives that get there.

use crate::support;
use eraseblock_core::buffer::{
    Action, Answer, Buffer, BufferConfig, Idle, Outcome, Shape, Span, View,
};
use eraseblock_core::device::Device;
use eraseblock_core::host::Op;
use eraseblock_core::metrics::Metric;
use eraseblock_core::metrics::patterns::PatternReport;
use eraseblock_core::pattern::{Hint, Pattern, Policy, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use serde_json::{Value, json};

/// The buffer of the figures: blocks A, B, C and so on are 0, 1, 2.
fn buffer(capacity: u32, pages_per_block: u32, options: &Value) -> Box<dyn Buffer> {
    let mut scheme = json!({"kind": "supa"});
    scheme.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let shape = Shape { capacity, pages_per_block, logical_pages: 64 * pages_per_block };
    serde_json::from_value::<BufferConfig>(scheme).unwrap().build(shape).unwrap()
}

fn access(
    buffer: &mut dyn Buffer,
    view: &dyn View,
    write: bool,
    pages: std::ops::Range<u32>,
) -> Outcome {
    let mut out = Outcome::default();
    let span = Span { first: Lpn(pages.start), count: pages.len() as u32, write, request: 0 };
    buffer.access(&span, view, &mut out);
    buffer.check().unwrap();
    out
}

/// The blocks that leave, with their patterns, in order.
fn left(out: &Outcome) -> Vec<(u32, &'static str)> {
    out.evictions
        .iter()
        .filter_map(|e| e.hint)
        .map(|hint| (hint.block.0, hint.pattern.name()))
        .collect()
}

/// Figure 6: blocks take as many slots as pages of them were used, and each page has a flag at
/// least.
#[test]
fn figure_6_pages_have_read_and_write_flags() {
    let mut supa = buffer(12, 16, &json!({}));
    // D is written, C read and written, B read, A read and written.
    access(&mut *supa, &Idle, true, 48..50);
    access(&mut *supa, &Idle, false, 32..34);
    access(&mut *supa, &Idle, true, 33..35);
    access(&mut *supa, &Idle, false, 16..19);
    access(&mut *supa, &Idle, true, 0..3);
    let out = access(&mut *supa, &Idle, false, 1..4);
    assert_eq!(out.answers, [Answer::Hit, Answer::Hit, Answer::Fill]);
    let sizes: Vec<usize> = supa.dump().iter().map(Vec::len).collect();
    assert_eq!((supa.len(), sizes), (12, vec![4, 3, 3, 2]));
    // The patterns are those of the flags, which a flush command does not clear.
    let mut out = Outcome::default();
    supa.flush(&mut out);
    assert_eq!(left(&out), [(3, "RW"), (2, "RW-RR"), (0, "RW-RR")]);
    let mut again = Outcome::default();
    supa.flush(&mut again);
    assert!(again.evictions.is_empty());
    // The blocks are clean now and leave for pages that are read, still with what was done to them.
    let found =
        [64..67, 80..83, 96..99].map(|pages| left(&access(&mut *supa, &Idle, false, pages)));
    assert_eq!(found, [vec![(3, "RW"), (2, "RW-RR")], vec![(1, "RR")], vec![(0, "RW-RR")]]);
}

/// Figure 7(b): 8 pages in a block, a threshold of 4.
#[test]
fn figure_7_runs_within_a_block_and_into_its_neighbours() {
    for write in [true, false] {
        let mut supa = buffer(17, 8, &json!({"threshold": 4}));
        // A: six pages, none of which has more than one neighbour. B: three pages. C: the last six.
        // D: the first two.
        for pages in [0..2, 3..5, 6..8, 16..19, 34..40, 40..42] {
            access(&mut *supa, &Idle, write, pages);
        }
        let (random, sequential) = if write { ("RW", "SW") } else { ("RR", "SR") };
        // A and B make room for a block, then C and D, classified before either has left.
        let mut found = left(&access(&mut *supa, &Idle, true, 56..64));
        found.extend(left(&access(&mut *supa, &Idle, true, 72..80)));
        // D (block 5) goes on from C (block 4).
        assert_eq!(
            found,
            [(0, random), (2, random), (4, sequential), (5, sequential)],
            "write: {write}"
        );
    }
}

/// Figure 8: a read of two pages of block I. From the LRU end H, G and F are dirty, E is clean.
#[test]
fn figure_8_a_read_makes_clean_blocks_leave() {
    for e_is_dirty in [false, true] {
        let mut supa = buffer(16, 4, &json!({}));
        for (block, write) in [
            (7, true),
            (6, true),
            (5, true),
            (4, e_is_dirty),
            (3, true),
            (2, true),
            (1, false),
            (0, true),
        ] {
            access(&mut *supa, &Idle, write, block * 4..block * 4 + 2);
        }
        let out = access(&mut *supa, &Idle, false, 32..34);
        let leaves = if e_is_dirty { 1 } else { 4 };
        assert_eq!(left(&out), [(leaves, "RR")], "E dirty: {e_is_dirty}");
        assert!(out.evictions.iter().all(|eviction| eviction.action == Action::Drop));
    }
    // Without clean blocks: of the dirty ones near the end the one whose pages just fit.
    let mut supa = buffer(10, 4, &json!({}));
    for (block, pages) in [(3, 1), (2, 4), (1, 2), (0, 3)] {
        access(&mut *supa, &Idle, true, block * 4..block * 4 + pages);
    }
    let out = access(&mut *supa, &Idle, false, 16..18);
    assert_eq!(left(&out), [(1, "RW")]);
}

/// Four channels, the first of which cannot take a block; blocks lie nowhere yet.
#[derive(Debug)]
struct Figure9;

impl View for Figure9 {
    fn units(&self) -> u32 {
        4
    }
    fn unit_of(&self, _lpn: Lpn) -> Option<PlaneId> {
        None
    }
    fn chips(&self) -> u32 {
        4
    }
    fn home_chip(&self, _lpn: Lpn) -> Option<u32> {
        None
    }
    fn queued(&self, _unit: PlaneId) -> u32 {
        0
    }
    fn free_blocks(&self, unit: PlaneId) -> u32 {
        u32::from(unit > PlaneId(0))
    }
    fn channels(&self) -> u32 {
        4
    }
    fn channel_ready(&self, channel: u32) -> bool {
        channel > 0
    }
    fn route(&self, _block: LogicalBlock, pattern: Pattern) -> Route {
        if pattern.suits() == Some(Policy::Multi) { Route::Striped } else { Route::Anywhere }
    }
}

/// Figure 9: 4 channels, 4 pages in a block, a threshold of 2. H and G make room; F and D are
/// written with them, E is clean.
#[test]
fn figure_9_a_write_makes_blocks_leave_that_are_written_in_parallel() {
    let mut supa = buffer(16, 4, &json!({"threshold": 2, "search_window": 0.7}));
    // Every second number, so that no run goes on into a neighbour.
    let of = |letter: char| (letter as u32 - 'A' as u32) * 2;
    for (letter, pages, write) in [
        ('H', 1, true),
        ('G', 3, true),
        ('F', 2, true),
        ('E', 2, false),
        ('D', 2, true),
        ('C', 2, true),
        ('B', 2, false),
        ('A', 2, true),
    ] {
        access(&mut *supa, &Idle, write, of(letter) * 4..of(letter) * 4 + pages);
    }
    let out = access(&mut *supa, &Figure9, true, of('I') * 4..of('I') * 4 + 4);
    let hints: Vec<Hint> = out.evictions.iter().filter_map(|eviction| eviction.hint).collect();
    let found: Vec<_> =
        hints.iter().map(|hint| (hint.block.0, hint.pattern.name(), hint.channel)).collect();
    // Channels 2, 3 and 4 of the figure are 1, 2 and 3.
    let expected =
        [('H', "RW", Some(1)), ('G', "SW", None), ('F', "RW", Some(2)), ('D', "RW", Some(3))];
    assert_eq!(found, expected.map(|(letter, pattern, channel)| (of(letter), pattern, channel)));
}

/// The search window leaves out the blocks that take 90 % of the hits, measured when so many
/// requests have come.
#[test]
fn the_search_window_is_measured_anew_after_so_many_requests() {
    let mut supa = buffer(32, 4, &json!({"window_requests": 20}));
    let mut out = Outcome { watched: true, ..Outcome::default() };
    let mut windows = Vec::new();
    for request in 0..41 {
        // Eight blocks; then only the two used last, in turn: all hits fall on the second place.
        let block = if request < 8 { request } else { 6 + request % 2 };
        out.clear();
        let span = Span { first: Lpn(block as u32 * 4), count: 1, write: true, request };
        supa.access(&span, &Idle, &mut out);
        windows.extend(out.notes.iter().filter_map(|note| note.value));
    }
    assert_eq!(windows, [6, 6]);
}

/// A drive with SUPA's FTL on four channels: a block of `pages` pages, `random` of which are few;
/// empty.
fn drive(pages: u32, options: &Value, buffer: &Value) -> Device {
    let mut mapping = json!({"kind": "pattern", "log_blocks": 8, "threshold": 2});
    mapping.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    support::device(&json!({
        "nand": {"channels": 4, "blocks_per_plane": 24, "pages_per_block": pages},
        "ftl": {"exported": format!("{} KiB", 128 * pages), "mapping": mapping},
        "buffer": {"size": "64 KiB", "scheme": buffer},
        "host": {"end_of_run": "merge"},
        "precondition": {"state": "empty"},
    }))
}

fn submit(drive: &mut Device, op: Op, page: u64, count: u64) {
    drive.submit(&support::request(op, page, count)).unwrap();
}

/// Table 2: each cell by what a host does to a block, which then leaves the buffer.
#[test]
fn table_2_every_cell_by_a_run_that_lands_in_it() {
    use Policy::{Hybrid, Multi, Single};
    let patterns = ["SW", "RW", "SR", "RR", "SW-SR", "SW-RR", "RW-SR", "RW-RR"];
    let rows: [(&[&str], [Option<Policy>; 8]); 4] = [
        (
            &[],
            [
                Some(Multi),
                Some(Single),
                None,
                None,
                Some(Multi),
                Some(Multi),
                Some(Hybrid),
                Some(Single),
            ],
        ),
        (&["SW"], [Multi, Hybrid, Multi, Multi, Multi, Multi, Hybrid, Hybrid].map(Some)),
        (&["RW"], [Hybrid, Single, Hybrid, Single, Hybrid, Hybrid, Hybrid, Single].map(Some)),
        (&["RW", "SW"], [Some(Hybrid); 8]),
    ];
    for (before, expected) in rows {
        for (pattern, policy) in patterns.into_iter().zip(expected) {
            let mut drive = drive(8, &json!({}), &json!("supa"));
            for (turn, pattern) in before.iter().chain([&pattern]).enumerate() {
                for part in pattern.split('-') {
                    let op = if part.ends_with('W') { Op::Write } else { Op::Read };
                    submit(&mut drive, op, 8, if part.starts_with('R') { 2 } else { 6 });
                }
                // Two more blocks than the buffer holds with this one.
                let far = 160 + turn as u64 % 2 * 32;
                submit(&mut drive, Op::Write, far, 8);
                submit(&mut drive, Op::Write, far + 16, 8);
                assert!(!drive.buffer().holds(Lpn(8)), "{before:?}, then {pattern}");
            }
            assert_eq!(
                drive.mapping().advice().unwrap().policy(LogicalBlock(1)),
                policy,
                "{before:?}, then {pattern}"
            );
            drive.finish().unwrap();
        }
    }
}

/// Random writes to a block that is read in a run go where its reads want them, or where its writes
/// do.
#[test]
fn mixed_blocks_are_written_where_they_are_told_to() {
    let [multi, single] = ["multi", "single"].map(|mixed| json!({"mixed_writes": mixed}));
    // HYBRID is "data blocks in MULTI and log blocks in SINGLE": table 2.
    for (options, striped) in [(json!({}), false), (multi, true), (single, false)] {
        let mut drive = drive(8, &options, &json!("supa"));
        submit(&mut drive, Op::Write, 8, 2);
        submit(&mut drive, Op::Read, 8, 6);
        submit(&mut drive, Op::Write, 160, 8);
        submit(&mut drive, Op::Write, 176, 8);
        let found = channels(&drive, 8..10);
        assert_eq!(
            (found[0] != found[1], drive.mapping().advice().unwrap().policy(LogicalBlock(1))),
            (striped, Some(Policy::Hybrid))
        );
        drive.finish().unwrap();
    }
}

/// A block that a flush command has made clean leaves without a write: the mapping learns what was
/// done to it all the same.
#[test]
fn patterns_of_clean_blocks_are_heard() {
    let mut drive = drive(8, &json!({}), &json!("supa"));
    submit(&mut drive, Op::Write, 8, 2);
    submit(&mut drive, Op::Flush, 0, 0);
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Single));
    submit(&mut drive, Op::Read, 8, 6);
    submit(&mut drive, Op::Read, 160, 8);
    submit(&mut drive, Op::Read, 176, 8);
    assert!(!drive.buffer().holds(Lpn(8)));
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Hybrid));
    drive.finish().unwrap();
}

/// A block under SINGLE turns read-intensive while it is clean. What is next written of it goes to
/// MULTI if it is read as well, and where its writes want it if it is not.
#[test]
fn a_block_that_turned_read_intensive_waits_for_its_next_pattern() {
    for (reads, striped) in [(true, true), (false, false)] {
        let mut drive = drive(8, &json!({}), &json!("supa"));
        let leave = |drive: &mut Device| {
            submit(drive, Op::Write, 160, 8);
            submit(drive, Op::Write, 176, 8);
            assert!(!drive.buffer().holds(Lpn(8)));
        };
        submit(&mut drive, Op::Write, 8, 2);
        leave(&mut drive);
        submit(&mut drive, Op::Read, 8, 6);
        leave(&mut drive);
        assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Hybrid));
        submit(&mut drive, Op::Write, 8, 2);
        if reads {
            submit(&mut drive, Op::Read, 8, 2);
        }
        leave(&mut drive);
        let found = channels(&drive, 8..10);
        assert_eq!(found[0] != found[1], striped, "read as well: {reads}");
        drive.finish().unwrap();
    }
}

/// A block in the buffer is used so, and leaves.
fn use_block_1(drive: &mut Device, pattern: &str, turn: u64) {
    for part in pattern.split('-') {
        let op = if part.ends_with('W') { Op::Write } else { Op::Read };
        submit(drive, op, 8, if part.starts_with('R') { 2 } else { 6 });
    }
    // Two more blocks than the buffer holds with this one.
    let far = 160 + turn % 2 * 32;
    submit(drive, Op::Write, far, 8);
    submit(drive, Op::Write, far + 16, 8);
    assert!(!drive.buffer().holds(Lpn(8)), "{pattern}");
}

/// Reads at random say nothing of where a block should be: the two patterns that count here are
/// those before and after.
#[test]
fn random_reads_settle_nothing_and_unsettle_nothing() {
    let mut drive = drive(8, &json!({}), &json!("supa"));
    for (turn, pattern) in (0..).zip(["RW", "SW", "RR", "SW"]) {
        use_block_1(&mut drive, pattern, turn);
        let policy = if turn == 0 { Policy::Single } else { Policy::Hybrid };
        assert_eq!(
            drive.mapping().advice().unwrap().policy(LogicalBlock(1)),
            Some(policy),
            "{turn}"
        );
    }
    drive.finish().unwrap();
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Multi));
}

/// Without the handler a block that is written at random and read in a run goes where its writes
/// want it.
#[test]
fn without_the_handler_mixed_blocks_are_single() {
    let mut drive = drive(8, &json!({"handler": false}), &json!("supa"));
    use_block_1(&mut drive, "RW-SR", 0);
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Single));
    let found = channels(&drive, 8..10);
    assert_eq!(found[0], found[1]);
    drive.finish().unwrap();
}

/// Of the units of a channel a block goes to the one with most erased blocks.
#[test]
fn blocks_of_a_channel_use_all_its_units() {
    let mut drive = support::device(&json!({
        "nand": {"channels": 2, "chips_per_channel": 2, "blocks_per_plane": 24, "pages_per_block": 8},
        "ftl": {"exported": "1 MiB", "mapping": {"kind": "pattern", "policy": "single", "log_blocks": 16}},
        "buffer": {"size": "64 KiB", "scheme": {"kind": "supa", "search_window": 0.0}},
        "precondition": {"state": "empty"},
    }));
    for block in 0..12 {
        submit(&mut drive, Op::Write, block * 8, 8);
    }
    submit(&mut drive, Op::Flush, 0, 0);
    let mut found: Vec<u32> =
        (0..8).map(|block| channels(&drive, block * 8..block * 8 + 1)[0]).collect();
    found.sort_unstable();
    assert_eq!(found, [0, 0, 1, 1, 2, 2, 3, 3]);
    drive.finish().unwrap();
}

/// Eight logs of a flash block each are all that there are: the one written longest ago makes room
/// for another, not the one opened first.
#[test]
fn the_log_written_longest_ago_is_merged() {
    let mut drive = drive(4, &json!({}), &json!("none"));
    for block in (0..8).chain([0, 8]) {
        submit(&mut drive, Op::Write, block * 4, 1);
    }
    submit(&mut drive, Op::Write, 1, 1);
    let block = |page| drive.mapping().lookup(page).unwrap().0 / 4;
    assert_eq!(block(Lpn(0)), block(Lpn(1)));
    drive.finish().unwrap();
}

/// Blocks that are written whole take the channels in turn, and go where the buffer wants them,
/// wherever they were before.
#[test]
fn whole_blocks_go_where_the_buffer_wants_them() {
    let mut drive =
        drive(8, &json!({"policy": "single"}), &json!({"kind": "supa", "search_window": 0.0}));
    let mut found = Vec::new();
    for _ in 0..4 {
        // Each makes the one before the last leave: this one is every third to leave.
        for block in [1, 20, 22] {
            submit(&mut drive, Op::Write, block * 8, 8);
        }
        let channels = channels(&drive, 8..16);
        assert!(channels.iter().all(|channel| *channel == channels[0]), "{channels:?}");
        found.push(channels[0]);
    }
    assert_eq!(found, [0, 3, 2, 1]);
    drive.finish().unwrap();
}

/// Channels on which pages lie.
fn channels(drive: &Device, pages: std::ops::Range<u32>) -> Vec<u32> {
    let unit =
        |lpn| drive.geometry().unit_of_page(drive.mapping().lookup(lpn).expect("a written page")).0;
    pages.map(Lpn).map(unit).collect()
}

/// Figure 11(a): 4 channels, 4 pages in a block, a threshold of 2.
#[test]
fn figure_11a_new_pages_of_changed_blocks_go_where_their_pattern_wants_them() {
    let mut drive = drive(4, &json!({}), &json!("none"));
    // In MULTI, then written at random.
    submit(&mut drive, Op::Write, 0, 4);
    assert_eq!(
        (channels(&drive, 0..4), drive.mapping().advice().unwrap().policy(LogicalBlock(0))),
        (vec![0, 1, 2, 3], Some(Policy::Multi))
    );
    submit(&mut drive, Op::Write, 0, 2);
    let now = channels(&drive, 0..4);
    assert_eq!((now[0] == now[1], &now[2..]), (true, &[2, 3][..]));
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(0)), Some(Policy::Hybrid));
    // In SINGLE, then written in a run.
    submit(&mut drive, Op::Write, 4, 2);
    let before = channels(&drive, 4..6);
    assert_eq!(
        (before[0] == before[1], drive.mapping().advice().unwrap().policy(LogicalBlock(1))),
        (true, Some(Policy::Single))
    );
    submit(&mut drive, Op::Write, 5, 3);
    assert_eq!(channels(&drive, 4..8), [before[0], 1, 2, 3]);
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Hybrid));
    drive.finish().unwrap();
}

/// Figure 11(b): a block whose pattern goes on changing is merged in MULTI and stays on the list;
/// one whose last two patterns agree moves where they want it.
#[test]
fn figure_11b_merges_settle_blocks_whose_pattern_changes_no_more() {
    let mut drive = drive(4, &json!({}), &json!("none"));
    for (page, count) in [(0, 4), (0, 2), (4, 2), (5, 3), (4, 4), (8, 4), (8, 2), (9, 1)] {
        submit(&mut drive, Op::Write, page, count);
    }
    assert_eq!(
        [0, 1, 2].map(|block| drive.mapping().advice().unwrap().policy(LogicalBlock(block))),
        [Some(Policy::Hybrid); 3]
    );
    assert_eq!(drive.counters().policy_switches, 3);
    // Two of them settle when they are merged.
    assert_eq!(drive.finish().unwrap().policy_switches, 5);
    let policies = [0, 1, 2]
        .map(|block| drive.mapping().advice().unwrap().policy(LogicalBlock(block)).unwrap());
    assert_eq!(policies, [Policy::Hybrid, Policy::Multi, Policy::Single]);
    let striped = |pages| {
        let mut found = channels(&drive, pages);
        found.sort_unstable();
        found == [0, 1, 2, 3]
    };
    let one = channels(&drive, 8..12);
    assert!(
        striped(0..4) && striped(4..8) && one.iter().all(|channel| *channel == one[0]),
        "{one:?}"
    );
}

/// Table 2 has a changed pattern each time a block on the list leaves the buffer: the same story,
/// counted so. What the drive does is the same.
#[test]
fn each_yes_of_table_2_can_be_counted() {
    let [moves, changes] = ["moves", "changes"].map(|switches| {
        let mut drive = drive(4, &json!({"switches": switches}), &json!("none"));
        let counts = [(0, 4), (0, 2), (4, 2), (5, 3), (4, 4), (8, 4), (8, 2), (9, 1)].map(
            |(page, count)| {
                submit(&mut drive, Op::Write, page, count);
                drive.counters().policy_switches
            },
        );
        (counts, drive.finish().unwrap())
    });
    assert_eq!(moves.0, [0, 1, 1, 2, 2, 2, 3, 3]);
    // Also the third pattern of the second and of the third block.
    assert_eq!(changes.0, [0, 1, 1, 2, 3, 3, 4, 5]);
    assert_eq!((moves.1.policy_switches, changes.1.policy_switches), (5, 5));
    assert_eq!(moves.1.flash, changes.1.flash);
}

#[test]
fn variants_keep_one_policy_or_rewrite_at_once() {
    for (policy, expected) in [("multi", Policy::Multi), ("single", Policy::Single)] {
        let mut drive = drive(4, &json!({"policy": policy}), &json!("none"));
        for (page, count) in [(0, 4), (0, 2), (4, 2), (5, 3)] {
            submit(&mut drive, Op::Write, page, count);
        }
        drive.finish().unwrap();
        assert_eq!(
            [0, 1].map(|block| drive.mapping().advice().unwrap().policy(LogicalBlock(block))),
            [Some(expected); 2]
        );
        assert_eq!(
            channels(&drive, 0..4).windows(2).all(|pair| pair[0] == pair[1]),
            policy == "single"
        );
    }
    // A block that has a home in MULTI, and of which one page is then written: without the handler
    // all of it is rewritten in SINGLE at once, with it only that page goes there.
    for handler in [true, false] {
        let mut drive = drive(4, &json!({"handler": handler, "log_blocks": 4}), &json!("none"));
        for block in 0..8 {
            submit(&mut drive, Op::Write, block * 4, 4);
        }
        assert_eq!(
            (drive.mapping().advice().unwrap().policy(LogicalBlock(0)), channels(&drive, 0..4)),
            (Some(Policy::Multi), vec![0, 1, 2, 3])
        );
        submit(&mut drive, Op::Write, 0, 1);
        let found = channels(&drive, 0..4);
        assert_eq!(found[1..].iter().all(|channel| *channel == found[0]), !handler, "{found:?}");
        let policy = if handler { Policy::Hybrid } else { Policy::Single };
        assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(0)), Some(policy));
        drive.finish().unwrap();
    }
}

/// A striped block lies on all channels, however unevenly these have been used: two chips on each,
/// all blocks written once, and then many blocks of one channel written at random.
#[test]
fn striped_blocks_stay_on_all_channels() {
    let mut drive = support::device(&json!({
        "nand": {"channels": 4, "chips_per_channel": 2, "blocks_per_plane": 20, "pages_per_block": 8},
        "ftl": {"exported": "3840 KiB", "mapping": {"kind": "pattern", "log_blocks": 16, "threshold": 2}},
        "buffer": {"size": "0 B", "scheme": "none"},
    }));
    for round in 0..40 {
        for block in (0..120).step_by(4) {
            submit(&mut drive, Op::Write, block * 8 + round % 8, 1);
        }
        let block = 1 + round * 4 % 120;
        submit(&mut drive, Op::Write, block * 8, 8);
        let units = channels(&drive, block as u32 * 8..block as u32 * 8 + 4);
        let mut found: Vec<u32> = units.iter().map(|unit| unit % 4).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3], "round {round}");
    }
    drive.finish().unwrap();
}

/// A block under SINGLE that has only been read in sequence since goes to MULTI when its log is
/// merged, though all of it lies there.
#[test]
fn a_settled_block_leaves_its_log() {
    let mut drive = drive(8, &json!({}), &json!("supa"));
    let leave = |drive: &mut Device| {
        submit(drive, Op::Read, 160, 8);
        submit(drive, Op::Read, 176, 8);
        submit(drive, Op::Write, 192, 8);
        submit(drive, Op::Write, 208, 8);
        assert!(!drive.buffer().holds(Lpn(8)));
    };
    submit(&mut drive, Op::Write, 8, 2);
    leave(&mut drive);
    for _ in 0..2 {
        submit(&mut drive, Op::Read, 8, 6);
        leave(&mut drive);
    }
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Hybrid));
    drive.finish().unwrap();
    let found = channels(&drive, 8..10);
    assert_eq!(
        (drive.mapping().advice().unwrap().policy(LogicalBlock(1)), found[0] != found[1]),
        (Some(Policy::Multi), true)
    );
}

/// Buffers that say nothing of patterns leave the FTL to see for itself, and SUPA's buffer works on
/// FTLs that do not listen.
#[test]
fn any_buffer_works_on_any_ftl() {
    for (buffer, mapping) in
        [("lru", "pattern"), ("supa", "page"), ("supa", "bast"), ("supa", "mnk")]
    {
        let mut drive = support::device(&json!({
            "nand": {"channels": 2, "blocks_per_plane": 24}, "buffer": {"scheme": buffer},
            "ftl": {"mapping": support::mapping(mapping, 3)},
        }));
        for number in 0..400u64 {
            let op = if number % 3 == 0 { Op::Read } else { Op::Write };
            submit(&mut drive, op, number * 7 % 28, 1 + number % 4);
        }
        let report = drive.finish().unwrap();
        assert!(report.flash.programs.total > 0, "{buffer} on {mapping}");
    }
}

/// A drive with as few spare blocks as the FTL takes goes on being written, at random and in runs,
/// whatever its variant.
#[test]
fn a_drive_as_full_as_can_be_goes_on() {
    for (number, options) in [
        json!({}),
        json!({"handler": false}),
        json!({"policy": "multi"}),
        json!({"policy": "single"}),
        json!({"striping": 8}),
        json!({"striping": 3}),
    ]
    .into_iter()
    .enumerate()
    {
        let width = options["striping"].as_u64().unwrap_or(4);
        let mut mapping = json!({"kind": "pattern", "log_blocks": 8});
        mapping.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let exported = 128 - 8 - (5 * width - 2);
        let mut drive = support::device(&json!({
            "nand": {"channels": 4, "planes_per_die": 2, "blocks_per_plane": 16, "pages_per_block": 8},
            "ftl": {"exported": format!("{} KiB", exported * 32), "mapping": mapping},
            "buffer": {"size": "128 KiB", "scheme": (["supa", "none"][number % 2])},
            "host": {"replay": "open"},
        }));
        let mut dice = support::Dice(12_345);
        let mut roll = |sides: u64| dice.roll(sides);
        for number in 0..4000 {
            let count = if roll(3) == 0 { 1 + roll(16) } else { 1 + roll(2) };
            let page = roll(exported * 8 - count);
            let op = if roll(4) == 0 { Op::Read } else { Op::Write };
            let request = support::request(op, page, count);
            let arrival_ns = number * 2_000_000;
            drive
                .submit(&eraseblock_core::host::Request { arrival_ns, ..request })
                .unwrap_or_else(|error| panic!("{options}: {error}"));
        }
        drive.finish().unwrap();
    }
}

/// A striped block that is rewritten at once goes to the channel that the buffer names, with all
/// its pages.
#[test]
fn a_rewritten_block_goes_to_the_channel_that_the_buffer_names() {
    for buffer in [
        json!({"kind": "supa", "search_window": 0.0}),
        json!({"kind": "cave", "sequential_above": 2, "padding": false, "compensation": false}),
    ] {
        let mut drive = drive(8, &json!({"handler": false}), &buffer);
        use_block_1(&mut drive, "SW", 0);
        assert_eq!(
            drive.mapping().advice().unwrap().policy(LogicalBlock(1)),
            Some(Policy::Multi),
            "{buffer}"
        );
        use_block_1(&mut drive, "RW", 1);
        assert_eq!(
            drive.mapping().advice().unwrap().policy(LogicalBlock(1)),
            Some(Policy::Single),
            "{buffer}"
        );
        // Block 1 would lie on channel 1 if blocks took turns.
        assert_eq!(channels(&drive, 8..14), [0; 6], "{buffer}");
        drive.finish().unwrap();
        assert_eq!(channels(&drive, 8..14), [0; 6], "{buffer}");
    }
}

/// A block whose pattern has changed settles under SINGLE in the channel where its log lies.
#[test]
fn a_block_that_settles_in_one_channel_goes_where_its_log_lies() {
    let mut drive = drive(8, &json!({}), &json!({"kind": "supa", "search_window": 0.0}));
    for (turn, pattern) in (0..).zip(["SW", "RW", "RW"]) {
        use_block_1(&mut drive, pattern, turn);
    }
    assert_eq!(
        (drive.mapping().advice().unwrap().policy(LogicalBlock(1)), channels(&drive, 8..10)),
        (Some(Policy::Hybrid), vec![0, 0])
    );
    drive.finish().unwrap();
    assert_eq!(
        (drive.mapping().advice().unwrap().policy(LogicalBlock(1)), channels(&drive, 8..14)),
        (Some(Policy::Single), vec![0; 6])
    );
}

/// Patterns are those of blocks that leave: one whose pages a flush command has written in between
/// has been used once, not twice.
#[test]
fn a_stay_in_the_buffer_counts_as_one_pattern() {
    for stays in [1, 2] {
        let mut drive = drive(8, &json!({}), &json!("supa"));
        use_block_1(&mut drive, "SW", 0);
        for stay in 0..stays {
            submit(&mut drive, Op::Write, 8, 2);
            submit(&mut drive, Op::Flush, 0, 0);
            assert_eq!(
                drive.mapping().advice().unwrap().policy(LogicalBlock(1)),
                Some(Policy::Hybrid)
            );
            // It leaves clean; block 20 and the others come and go without being written.
            for far in [160, 176, 192, 208] {
                submit(&mut drive, Op::Read, far, 8);
            }
            assert!(!drive.buffer().holds(Lpn(8)), "{stay}");
        }
        drive.finish().unwrap();
        let expected = if stays == 1 { Policy::Hybrid } else { Policy::Single };
        assert_eq!(
            drive.mapping().advice().unwrap().policy(LogicalBlock(1)),
            Some(expected),
            "{stays} stays"
        );
    }
}

/// What a block does after a flush command belongs to the same stay: the pattern of all of it
/// stands in the place of the first. Of the patterns RW, SW and SW the last two agree; with the RW
/// that the flush command told, no two would.
#[test]
fn a_pattern_after_a_flush_command_replaces_the_one_before() {
    let mut drive = drive(8, &json!({}), &json!("supa"));
    use_block_1(&mut drive, "RW", 0);
    use_block_1(&mut drive, "SW", 1);
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Hybrid));
    change_in_the_buffer(&mut drive);
    drive.finish().unwrap();
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Multi));
}

/// One stay of block 1 in the buffer, in the middle of which a flush command comes: RW until then,
/// SW with what follows.
fn change_in_the_buffer(drive: &mut Device) {
    submit(drive, Op::Write, 8, 2);
    submit(drive, Op::Flush, 0, 0);
    submit(drive, Op::Write, 10, 4);
    submit(drive, Op::Write, 160, 8);
    submit(drive, Op::Write, 176, 8);
    assert!(!drive.buffer().holds(Lpn(8)));
}

/// A block that is new or under MULTI, and written in a run with a flush command in between, is
/// under MULTI: its policy has not changed. Reports count its one pattern.
#[test]
fn a_flush_command_makes_no_change_of_pattern() {
    for (before, sequential) in [(false, 3), (true, 6)] {
        let mut drive = drive(8, &json!({}), &json!("supa"));
        drive.keep(Metric::Patterns);
        if before {
            use_block_1(&mut drive, "SW", 1);
        }
        change_in_the_buffer(&mut drive);
        assert_eq!(
            drive.mapping().advice().unwrap().policy(LogicalBlock(1)),
            Some(Policy::Multi),
            "{before}"
        );
        let report = drive.finish().unwrap();
        assert_eq!(
            (drive.mapping().advice().unwrap().policy(LogicalBlock(1)), report.policy_switches),
            (Some(Policy::Multi), 0),
            "{before}"
        );
        // The other blocks are all written in runs.
        let patterns: PatternReport = report.figures.read("patterns").unwrap();
        assert_eq!((patterns.counts.sw, patterns.blocks), (sequential, sequential), "{before}");
        assert_eq!(patterns.change_ratio.sequential_random, Some(0.0), "{before}");
        let mut found = channels(&drive, 8..12);
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3], "{before}");
    }
}

/// Block 1 turned read-intensive under SINGLE and waits for its next pattern. A flush command comes
/// when it has been written: what is written of it later goes to MULTI all the same, since it is
/// read before it leaves.
#[test]
fn a_block_still_waits_for_its_next_pattern_after_a_flush_command() {
    let mut drive = drive(8, &json!({}), &json!("supa"));
    use_block_1(&mut drive, "RW", 0);
    submit(&mut drive, Op::Read, 8, 6);
    submit(&mut drive, Op::Write, 192, 8);
    submit(&mut drive, Op::Write, 208, 8);
    assert!(!drive.buffer().holds(Lpn(8)));
    submit(&mut drive, Op::Write, 8, 2);
    submit(&mut drive, Op::Flush, 0, 0);
    let flushed = channels(&drive, 8..10);
    submit(&mut drive, Op::Read, 8, 2);
    submit(&mut drive, Op::Write, 12, 2);
    submit(&mut drive, Op::Write, 160, 8);
    submit(&mut drive, Op::Write, 176, 8);
    assert!(!drive.buffer().holds(Lpn(8)));
    let found = channels(&drive, 12..14);
    assert_eq!(
        (flushed[0] == flushed[1], found[0] == found[1]),
        (true, false),
        "{flushed:?} {found:?}"
    );
    drive.finish().unwrap();
}

/// Without the handler a block of which nothing is left has nothing to be rewritten.
#[test]
fn a_block_that_was_trimmed_is_not_rewritten() {
    for (trimmed, merges) in [(4, 0), (3, 1)] {
        let mut drive = drive(4, &json!({"handler": false}), &json!("none"));
        submit(&mut drive, Op::Write, 4, 4);
        submit(&mut drive, Op::Trim, 4, trimmed);
        submit(&mut drive, Op::Write, 4, 1);
        assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Single));
        assert_eq!(drive.counters().full_merges, merges, "{trimmed} pages trimmed");
        drive.finish().unwrap();
    }
}

/// Two channels with two chips each, exported in part and empty.
fn two_by_two(mapping: &Value, buffer: &Value) -> Device {
    support::device(&json!({
        "nand": {"channels": 2, "chips_per_channel": 2, "blocks_per_plane": 24, "pages_per_block": 8},
        "ftl": {"exported": "1 MiB", "mapping": mapping},
        "buffer": {"size": "64 KiB", "scheme": buffer},
        "precondition": {"state": "empty"},
    }))
}

/// Of units with as many erased blocks the lowest takes a block, under SINGLE and under MULTI; a
/// striped area uses none twice as long as there are others, however many erased blocks they have.
#[test]
fn equal_units_take_blocks_from_the_lowest_on() {
    let single = json!({"kind": "pattern", "policy": "single", "log_blocks": 16});
    let mut drive = two_by_two(&single, &json!({"kind": "supa", "search_window": 0.0}));
    for block in 0..12 {
        submit(&mut drive, Op::Write, block * 8, 8);
    }
    submit(&mut drive, Op::Flush, 0, 0);
    let found: Vec<u32> =
        (0..8).map(|block| channels(&drive, block * 8..block * 8 + 1)[0]).collect();
    assert_eq!(found, [0, 1, 2, 3, 0, 1, 2, 3]);
    drive.finish().unwrap();

    let mut drive =
        two_by_two(&json!({"kind": "pattern", "policy": "multi", "log_blocks": 8}), &json!("none"));
    for block in [0, 2, 4, 6] {
        submit(&mut drive, Op::Write, block * 8, 2);
    }
    let found = [0, 2, 4, 6].map(|block| channels(&drive, block * 8..block * 8 + 2));
    assert_eq!(found, [[0, 1], [2, 3], [0, 1], [2, 3]]);
    drive.finish().unwrap();

    let wide = json!({"kind": "pattern", "striping": 4, "log_blocks": 16, "threshold": 2});
    let mut drive = two_by_two(&wide, &json!("none"));
    // Three blocks of unit 2 are taken before.
    for block in [2, 6, 10] {
        submit(&mut drive, Op::Write, block * 8, 1);
    }
    submit(&mut drive, Op::Write, 0, 8);
    assert_eq!(channels(&drive, 0..4), [0, 1, 2, 3]);
    drive.finish().unwrap();
}

/// Under MULTI, too, RW-SR changes something: what it writes goes to SINGLE, and the rest stays.
#[test]
fn random_writes_to_a_striped_block_that_is_read_in_a_run_go_to_one_channel() {
    let mut drive = drive(8, &json!({}), &json!("supa"));
    use_block_1(&mut drive, "SW", 0);
    let before = channels(&drive, 8..14);
    use_block_1(&mut drive, "RW-SR", 1);
    let now = channels(&drive, 8..14);
    assert_eq!(drive.mapping().advice().unwrap().policy(LogicalBlock(1)), Some(Policy::Hybrid));
    assert_eq!((now[0] == now[1], before[0] == before[1], &now[2..]), (true, false, &before[2..]));
    drive.finish().unwrap();
}

/// Without the handler a block is rewritten though it lies in a log and nowhere else.
#[test]
fn a_block_that_lies_in_a_log_is_rewritten_too() {
    let mut drive = drive(4, &json!({"handler": false}), &json!("none"));
    submit(&mut drive, Op::Write, 4, 1);
    assert_eq!((channels(&drive, 4..5), drive.counters().full_merges), (vec![1], 0));
    submit(&mut drive, Op::Write, 5, 3);
    assert_eq!((channels(&drive, 4..8), drive.counters().full_merges), (vec![0, 1, 2, 3], 1));
    drive.finish().unwrap();
}
