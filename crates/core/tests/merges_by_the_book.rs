//! Merges that follow from the rules of several mappings with log blocks: those that are the same,
//! what FAST leaves out, and when the host's answer comes. `references` has each mapping by itself.

use crate::support;

use eraseblock_core::device::Device;
use eraseblock_core::ftl;
use eraseblock_core::host::{Op, Request};
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

const PAGES: u64 = 4;
const BLOCKS: u64 = 8;

/// Reads, programs, erases; switch, partial and full merges.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Cost {
    flash: (u64, u64, u64),
    merges: (u64, u64, u64),
}

impl Cost {
    fn of(drive: &Device) -> Self {
        let c = drive.counters();
        let merges = (c.switch_merges, c.partial_merges, c.full_merges);
        Self { flash: support::cost(drive), merges }
    }
}

/// One group of all blocks, with as many log blocks as there are, is the random area of FAST, for
/// offsets above 0. MNK makes room before it looks at the page that needs it: each page comes again
/// only when it is in no log any more. Pages that are out of date in a log are left to the
/// references of both.
#[test]
fn mnk_with_one_group_is_the_random_area_of_fast() {
    for seed in 0..1000 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let most: u64 = random.random_range(1..4);
        let fast = json!({"kind": "fast", "log_blocks": most});
        let mnk = json!({
            "kind": "mnk", "striping": 1, "group_blocks": BLOCKS, "group_logs": most, "log_blocks": most, "recycling": false,
        });
        let mut pages: Vec<u64> = (0..PAGES * BLOCKS).filter(|page| page % PAGES > 0).collect();
        pages.shuffle(&mut random);
        let mut drives =
            [fast, mnk].map(|mapping| support::device(&json!({"ftl": {"mapping": mapping}})));
        let count = random.random_range(1..120);
        for (request, page) in pages.into_iter().cycle().take(count).enumerate() {
            let [fast, mnk] = drives.each_mut().map(|drive| {
                support::write(drive, &[page]);
                Cost::of(drive)
            });
            assert_eq!(fast, mnk, "seed {seed}, request {request}, page {page}: {most} log blocks");
        }
        for mut drive in drives {
            drive.finish().unwrap();
        }
    }
}

/// "Append to the RW area (invalidate an older RW copy first). If no RW page is free: ... for each
/// distinct lbn with a still-valid page in it": the page that is written again does not count any
/// more when room is made for it. One random log block of four pages.
#[test]
fn fast_folds_nothing_for_the_page_that_is_written_again() {
    for (pages, expected) in [
        // Nothing else in the victim is the newest: it is only erased.
        (&[1u64, 1, 1, 1, 1][..], Cost { flash: (0, 5, 1), merges: (0, 0, 0) }),
        // Page 1 is; page 5 is not. One logical block is folded: four copies, its data block and
        // the victim erased.
        (&[1, 5, 5, 5, 5], Cost { flash: (4, 9, 2), merges: (0, 0, 1) }),
        // Page 9 needs room: both are.
        (&[1, 5, 5, 5, 9], Cost { flash: (8, 13, 3), merges: (0, 0, 2) }),
        // Page 6 of its logical block is: it is folded as a whole.
        (&[5, 6, 6, 6, 5], Cost { flash: (4, 9, 2), merges: (0, 0, 1) }),
    ] {
        let mut drive =
            support::device(&json!({"ftl": {"mapping": {"kind": "fast", "log_blocks": 1}}}));
        support::write(&mut drive, pages);
        assert_eq!(Cost::of(&drive), expected, "{pages:?}");
        drive.finish().unwrap();
    }
}

/// Sends writes of `(first page, pages)` a second apart: the longest response time, and the erases.
fn slowest(config: &Value, writes: impl IntoIterator<Item = (u64, u64)>) -> (u64, u64) {
    let mut drive = support::device(config);
    for (number, (first, count)) in (0..).zip(writes) {
        let request = support::request(Op::Write, first, count);
        drive.submit(&Request { arrival_ns: number * 1_000_000_000, ..request }).unwrap();
    }
    let report = drive.finish().unwrap();
    (report.response_ns.write.unwrap().max, report.flash.erases.total)
}

/// 25 us to read, 200 to program, 100 on the bus, 1,500 to erase: the last write takes 300 us,
/// after copies of 425 us each; and, where it waits for the erases, 1,500 us for each.
#[test]
fn a_request_waits_for_the_erases_of_its_merges_where_it_is_to() {
    let copies = |count: u64| 300_000 + count * 425_000;
    let fast = json!({"kind": "fast", "log_blocks": 1});
    let bast = json!({"kind": "bast", "log_blocks": 1});
    let sftl = json!({"kind": "sftl", "log_blocks": 1});
    let mnk =
        json!({"kind": "mnk", "striping": 1, "group_blocks": 1, "group_logs": 1, "log_blocks": 1});
    let pattern = json!({"kind": "pattern", "policy": "single", "log_blocks": 1});
    let block = json!({"kind": "block"});
    let hybrid = json!({"kind": "hybrid"});
    let replacement = json!({"kind": "replacement", "chain_limit": 2});
    let superblock = json!({"kind": "superblock", "blocks": 1, "update_blocks": 1});
    let cases = [
        // The log becomes the data block; it is completed; all is copied, and both blocks are
        // erased.
        (&bast, &[0u64, 1, 2, 3, 4][..], copies(0), copies(0), 1),
        (&bast, &[0, 1, 4], copies(2), copies(2), 1),
        (&bast, &[1, 4], copies(4), copies(4), 2),
        (&sftl, &[1, 4], copies(4), copies(4), 2),
        (&mnk, &[1, 4], copies(4), copies(4), 2),
        (&pattern, &[1, 4], copies(4), copies(4), 2),
        (&fast, &[0, 1, 2, 3, 4], copies(0), copies(0), 1),
        // A broken run: page 2 is copied, page 3 written behind it.
        (&fast, &[0, 1, 3], copies(1), copies(1), 1),
        // The whole run goes to another block: page 0 before the host's page 1, and pages 2 and 3
        // and the erases after it.
        (&fast, &[0, 1, 1], copies(1), copies(3), 2),
        // A victim of which nothing is needed but the page that is written.
        (&fast, &[1, 1, 1, 1, 1], copies(0), copies(0), 1),
        // One with a page that is: its logical block is folded first.
        (&fast, &[1, 5, 5, 5, 5], copies(4), copies(4), 2),
        // A block is written anew with the host's page behind the three others, or before them.
        (&block, &[3], copies(3), copies(3), 1),
        (&block, &[0], copies(0), copies(3), 1),
        (&hybrid, &[3], copies(3), copies(3), 1),
        (&hybrid, &[0], copies(0), copies(3), 1),
        // The replacement block has page 1 already: all goes to an erased block, and both are
        // erased.
        (&replacement, &[1, 1], copies(4), copies(4), 2),
        // The data block is emptied when the update block is full: page 3 is left in it.
        (&superblock, &[0, 1, 2, 2, 0], copies(1), copies(1), 1),
    ];
    for (mapping, pages, after, all, erases) in cases {
        for (option, expected) in [("after", after), ("before", all + erases * 1_500_000)] {
            let mut mapping = mapping.clone();
            mapping["merge_erase"] = json!(option);
            let config = json!({"ftl": {"mapping": mapping}, "host": {"replay": "open", "max_outstanding": 8}});
            let found = slowest(&config, pages.iter().map(|&page| (page, 1)));
            assert_eq!(found, (expected, erases), "{mapping}: {pages:?}");
        }
    }
    let offers = |name: &str| {
        let entry = ftl::registry().iter().find(|entry| entry.name == name).unwrap();
        entry.about.choices.iter().any(|choice| choice.option == "merge_erase")
    };
    assert!(cases.iter().all(|(mapping, ..)| offers(mapping["kind"].as_str().unwrap())));
}

/// A clustered block over two units of a channel each. A log of its second flash block is merged:
/// four copies on both units, an erase on the first and two on the second. The pages of a write to
/// both columns of another clustered block then come after all three.
#[test]
fn all_columns_of_a_write_wait_for_the_erases_of_its_merges() {
    for (option, expected) in
        [("after", 4 * 425_000 + 300_000), ("before", 4 * 425_000 + 2 * 1_500_000 + 300_000)]
    {
        let config = json!({
            "nand": {"channels": 2},
            "ftl": {"mapping": {
                "kind": "mnk", "striping": 2, "group_blocks": 1, "group_logs": 1, "log_blocks": 1, "merge_erase": option,
            }},
            "host": {"replay": "open", "max_outstanding": 8},
        });
        assert_eq!(slowest(&config, [(3, 1), (8, 2)]), (expected, 3), "{option}");
    }
}

/// Merges for tombstones, which no page of the host follows, are planned one at a time: their
/// erases belong to no later plan.
#[test]
fn erases_that_are_waited_for_end_with_their_plan() {
    let kinds =
        ["bast", "fast", "sftl", "mnk", "pattern", "block", "hybrid", "replacement", "superblock"];
    for (kind, channels) in kinds.into_iter().flat_map(|kind| [(kind, 1), (kind, 2)]) {
        let mut mapping = support::mapping(kind, 2);
        mapping["merge_erase"] = json!("before");
        let mut drive = support::device(&json!({
            "nand": {"channels": channels},
            "ftl": {"mapping": mapping},
            "host": {"replay": "open", "max_outstanding": 8},
        }));
        for number in 0..60 {
            let page = number * 5 % 28;
            for (op, count) in [(Op::Write, 1 + number % 5), (Op::Trim, 1)] {
                drive.submit(&support::request(op, page, count)).unwrap();
            }
            drive.submit(&Request { len: 0, ..support::request(Op::Flush, 0, 0) }).unwrap();
        }
        assert_eq!(
            drive.finish().unwrap().requests.completed,
            180,
            "{kind} on {channels} channels"
        );
    }
}
