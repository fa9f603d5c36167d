//! The Microsoft SSD model: its times, summaries, planes and cleaning, by hand on small drives.

use crate::support;
use crate::support::request;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::nand::Cause;
use eraseblock_core::support::ids::{Lpn, PlaneId};
use serde_json::{Value, json};

/// An empty drive of planes of 6 blocks with 4 pages each, at the model's times: 528 bytes of 25 ns
/// for each sector.
fn config(options: &Value, planes: u32, replay: &str, kib: u32) -> DeviceConfig {
    let mut mapping = json!({"kind": "ssd-model"});
    mapping.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    support::config(&json!({
        "nand": {"planes_per_die": planes, "blocks_per_plane": 6, "program_order": "sequential", "copy_back": true,
                 "timing": {"transfer": "13200 ns", "transfer_per": "512 B"}},
        "ftl": {"mapping": mapping, "exported": format!("{kib} KiB")},
        "host": {"replay": replay},
        "precondition": {"state": "empty"},
    }))
}

fn drive(options: &Value, planes: u32, kib: u32) -> Device {
    Device::new(&config(options, planes, "untimed", kib), Options { verify: true }).unwrap()
}

/// Where a page lies.
fn at(device: &Device, lpn: u32) -> Option<(u32, u32)> {
    device.mapping().lookup(Lpn(lpn)).map(|ppn| (ppn.0 / 4, ppn.0 % 4))
}

fn programs(device: &Device, cause: Cause) -> u64 {
    device.counters().programs[cause as usize]
}

/// Response times in ns of requests that come at these times, in us.
fn responses(requests: &[(Op, u64, u64)]) -> Vec<u64> {
    let total = |count: usize| {
        let mut device =
            Device::new(&config(&json!({}), 1, "open", 32), Options { verify: true }).unwrap();
        for &(op, page, us) in &requests[..count] {
            device.submit(&Request { arrival_ns: us * 1_000, ..request(op, page, 1) }).unwrap();
        }
        let all = device.finish().unwrap().response_ns.all;
        all.map_or(0, |all| (all.mean * all.count as f64).round() as u64)
    };
    (0..requests.len()).map(|n| total(n + 1) - total(n)).collect()
}

#[test]
fn a_page_takes_what_the_model_says_and_the_last_one_a_summary_more() {
    // The summary: 13.2 us for 512 bytes and their spare ones, and a program.
    let (r, w) = (Op::Read, Op::Write);
    let found = responses(&[
        (w, 0, 0),
        (w, 1, 10_000),
        (w, 2, 20_000),
        (r, 0, 30_000),
        (r, 2, 40_000),
        (w, 3, 50_000),
    ]);
    assert_eq!(found, [305_600, 305_600, 305_600 + 213_200, 130_600, 130_600, 305_600]);
}

#[test]
fn each_block_ends_in_a_summary() {
    let mut device = drive(&json!({}), 1, 32);
    support::write(&mut device, &[0, 1]);
    assert_eq!(programs(&device, Cause::Mapping), 0);
    support::write(&mut device, &[2, 3, 4, 5]);
    assert_eq!(programs(&device, Cause::Mapping), 2);
    let places: Vec<_> = (0..6).map(|lpn| at(&device, lpn).unwrap()).collect();
    assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
}

#[test]
fn among_equals_the_highest_block_is_cleaned_and_blocks_are_taken_in_rotation() {
    let mut device = drive(&json!({}), 1, 32);
    support::write(&mut device, &[0, 1, 2, 3, 4, 5, 0, 3, 1, 4, 4, 4]);
    assert_eq!((device.mapping().free_blocks(PlaneId(0)), support::cost(&device).2), (2, 0));
    // Blocks 0, 1 and 3 have one valid page each.
    support::write(&mut device, &[0]);
    assert_eq!((at(&device, 0), at(&device, 4)), (Some((4, 0)), Some((4, 1))));
    assert_eq!((support::cost(&device).2, programs(&device, Cause::Gc)), (1, 1));
    // Block 5 comes after block 4; blocks 0, 1 and 4 have one valid page each.
    support::write(&mut device, &[0, 0]);
    assert_eq!((at(&device, 0), at(&device, 4)), (Some((5, 0)), Some((5, 1))));
    // Blocks 3 and 4 are erased: the next one after 5 is 3.
    support::write(&mut device, &[0, 0]);
    assert_eq!(at(&device, 0), Some((3, 0)));
}

#[test]
fn a_plane_that_stays_short_is_cleaned_a_block_at_a_time() {
    // Up to two erased blocks are too few.
    let mut device = drive(&json!({"min_free": 0.34, "reserve": 0.5}), 1, 32);
    support::write(&mut device, &[0, 1, 2, 3, 4, 5, 6, 7, 6]);
    for page in [0, 3] {
        device.submit(&request(Op::Trim, page, 1)).unwrap();
    }
    assert_eq!((device.mapping().free_blocks(PlaneId(0)), support::cost(&device).2), (3, 0));
    // Blocks 0 to 2 have two valid pages each. The tombstone of page 3 takes a block of its own.
    support::write(&mut device, &[0]);
    assert_eq!((device.mapping().free_blocks(PlaneId(0)), support::cost(&device).2), (2, 1));
    assert_eq!((at(&device, 7), at(&device, 6)), (Some((3, 1)), Some((3, 2))));
    support::write(&mut device, &[0]);
    assert_eq!((device.mapping().free_blocks(PlaneId(0)), support::cost(&device).2), (2, 2));
    assert_eq!((at(&device, 7), at(&device, 6)), (Some((4, 2)), Some((5, 0))));
}

/// A copy inside the plane takes 225 us and the erase 1500 us, after the write of 305.6 us that
/// came before.
#[test]
fn requests_wait_for_the_cleaning_of_their_element() {
    let pages = [0, 1, 2, 3, 4, 5, 0, 3, 1, 4, 4, 4, 0];
    let mut requests: Vec<_> =
        pages.iter().zip(0..).map(|(&page, number)| (Op::Write, page, number * 10_000)).collect();
    requests.push((Op::Read, 2, 120_600));
    assert_eq!(responses(&requests)[13], 305_600 + 225_000 + 1_500_000 - 600_000 + 130_600);
}

/// How long a read of `page` takes that comes 1 us after the last of these writes has been done and
/// a cleaning has begun.
fn behind_a_cleaning(config: &DeviceConfig, writes: &[u64], page: u64) -> u64 {
    let mut device = Device::new(config, Options { verify: true }).unwrap();
    let mut arrival_ns = 0;
    for &page in writes {
        arrival_ns += 10_000_000;
        device.submit(&Request { arrival_ns, ..request(Op::Write, page, 1) }).unwrap();
    }
    arrival_ns += 305_600 + 1_000;
    device.submit(&Request { arrival_ns, ..request(Op::Read, page, 1) }).unwrap();
    device.finish().unwrap().response_ns.read.unwrap().max
}

/// Blocks of 15 data pages: the write that opens the fifth one has block 0 cleaned, of whose pages
/// nine are valid.
#[test]
fn a_cleaning_holds_its_element_until_the_erase_has_ended() {
    let mut config = config(&json!({}), 1, "open", 256);
    config.nand.pages_per_block = 16;
    let writes: Vec<_> = (0..55).chain(0..6).collect();
    let (copies, erase, read) = (9 * 225_000, 1_500_000, 130_600);
    assert_eq!(behind_a_cleaning(&config, &writes, 20), copies + erase - 1_000 + read);
    // A die that lets reads go first does so between two copies.
    config.nand.scheduling = eraseblock_core::config::Scheduling::ReadFirst;
    assert_eq!(behind_a_cleaning(&config, &writes, 20), 225_000 - 1_000 + read);
}

/// Blocks 0 and 1 are cleaned, of a page each; the second one fills block 4, which gets its
/// summary.
#[test]
fn a_cleaning_of_several_blocks_holds_its_element_until_all_are_erased() {
    let config = config(&json!({"active": "element"}), 1, "open", 32);
    let writes = [0, 1, 2, 3, 4, 5, 0, 3, 1, 4, 4, 4, 0];
    let (copy, summary, erase, read) = (225_000, 213_200, 1_500_000, 130_600);
    let cleaning = copy + erase + copy + summary + erase;
    assert_eq!(behind_a_cleaning(&config, &writes, 0), cleaning - 1_000 + read);
}

#[test]
fn pages_go_to_the_freest_plane_that_is_newer_or_stay_in_theirs() {
    for (pool, planes) in [("element", [0, 1, 0, 1, 1]), ("plane", [0, 1, 0, 0, 0])] {
        let mut device = drive(&json!({"pool": pool}), 2, 24);
        let found = [0, 1, 0, 0, 0].map(|page: u32| {
            support::write(&mut device, &[u64::from(page)]);
            at(&device, page).unwrap().0 / 6
        });
        assert_eq!(found, planes, "{pool}");
    }
}

/// Where pages go, one active block for an element of two planes, by the order of its blocks.
#[test]
fn an_element_with_one_active_block_takes_its_planes_blocks_in_order() {
    for (order, blocks) in
        [("full-stripe", [0, 6, 1]), ("pair-stripe", [0, 6, 1]), ("concatenated", [0, 1, 2])]
    {
        let mut device = drive(&json!({"active": "element", "block_mapping": order}), 2, 48);
        support::write(&mut device, &[0, 1, 2, 3, 4, 5, 6]);
        let found = [0, 3, 6].map(|page| at(&device, page).unwrap());
        assert_eq!(found, blocks.map(|block| (block, 0)), "{order}");
    }
}

/// The same writes as above: there the highest of blocks 0, 1 and 3 is cleaned, and one block is.
#[test]
fn an_element_is_cleaned_lowest_block_first_until_two_more_are_erased() {
    let mut device = drive(&json!({"active": "element"}), 1, 32);
    support::write(&mut device, &[0, 1, 2, 3, 4, 5, 0, 3, 1, 4, 4, 4]);
    assert_eq!((device.mapping().free_blocks(PlaneId(0)), support::cost(&device).2), (2, 0));
    support::write(&mut device, &[0]);
    let found = [0, 2, 5, 4].map(|page| at(&device, page).unwrap());
    assert_eq!(found, [(4, 0), (4, 1), (4, 2), (3, 2)]);
    assert_eq!((device.mapping().free_blocks(PlaneId(0)), support::cost(&device).2), (3, 2));
}

/// Block 3 loses its last page while block 0 is cleaned, and would come next by what is valid then.
/// Block 1 does: the element is busy until both are erased, and page 4 is written afterwards.
#[test]
fn a_cleaning_keeps_to_the_order_of_its_beginning() {
    let config = config(&json!({"active": "element"}), 1, "open", 32);
    let mut device = Device::new(&config, Options { verify: true }).unwrap();
    let pages = [0, 1, 2, 3, 4, 5, 0, 3, 1, 4, 4, 4, 0];
    let times = pages.iter().zip((0..).step_by(10)).chain([(&4, 121)]);
    for (&page, ms) in times {
        device
            .submit(&Request { arrival_ns: ms * 1_000_000, ..request(Op::Write, page, 1) })
            .unwrap();
    }
    device.finish().unwrap();
    assert_eq!([2, 5, 4].map(|page| at(&device, page).unwrap()), [(4, 1), (4, 2), (5, 0)]);
    assert_eq!((device.mapping().free_blocks(PlaneId(0)), support::cost(&device).2), (2, 2));
}

/// Both planes are short of erased blocks; every page to the element has one of them cleaned.
#[test]
fn planes_of_a_die_are_cleaned_one_at_a_time() {
    let mut device = drive(&json!({"min_free": 0.34, "reserve": 0.5}), 2, 48);
    let erases = |device: &Device| support::cost(device).2;
    // Pages take turns on the planes, until four blocks of each are in use.
    let pages: Vec<u64> = (0..11).chain(0..7).collect();
    support::write(&mut device, &pages);
    let mut before = erases(&device);
    let mut cleaned = 0;
    for page in (0..11).cycle().take(40) {
        support::write(&mut device, &[page]);
        assert!(erases(&device) <= before + 1, "page {page}");
        cleaned += erases(&device) - before;
        before = erases(&device);
    }
    assert!(cleaned > 10, "{cleaned}");
}

/// Pages 0 to 2 are never written again. A block that wears out beside them takes them over.
#[test]
fn cold_pages_move_to_worn_blocks() {
    for (cleaning, stay) in [("greedy", true), ("wear-aware", false)] {
        let mut device =
            drive(&json!({"cleaning": cleaning, "min_free": 0.34, "reserve": 0.5}), 1, 32);
        support::write(&mut device, &[0, 1, 2]);
        for _ in 0..200 {
            support::write(&mut device, &[3, 4, 5]);
        }
        assert_eq!(at(&device, 0).unwrap().0 == 0, stay, "{cleaning}");
        let cold = [0, 1, 2].map(|page| at(&device, page).unwrap().0);
        assert_eq!(cold, [cold[0]; 3], "{cleaning}");
        // Every block that was closed has a summary, but for those that got cold pages; one may be
        // open.
        let (swaps, summaries) =
            (device.counters().erases[Cause::Wear as usize], programs(&device, Cause::Mapping));
        let used =
            support::cost(&device).2 + 6 - u64::from(device.mapping().free_blocks(PlaneId(0)));
        assert!(
            (used - 1..=used).contains(&(summaries + swaps)),
            "{cleaning}: {summaries} {swaps} {used}"
        );
        assert_eq!(swaps == 0, stay, "{cleaning}");
    }
}

/// One block for each page written, even if cold data move into it, whose block then makes up for
/// it.
#[test]
fn a_block_that_gets_cold_pages_is_the_one_that_is_cleaned() {
    // Cold pages move to any block that was erased more often than the average.
    let options = json!({"cleaning": "wear-aware", "min_free": 0.34, "reserve": 0.5, "lifetime": 10_000, "migrate_below": 1.0});
    let mut device = drive(&options, 1, 32);
    support::write(&mut device, &[0, 1, 2]);
    let erases =
        |device: &Device| [Cause::Gc, Cause::Wear].map(|c| device.counters().erases[c as usize]);
    let (mut before, mut moved, mut short, mut random) = (erases(&device), 0, 0, 1u32);
    for write in 0..4_000u32 {
        // A row of pages is written, two of them are trimmed, and one is written: as above, what
        // tells of a trim takes room of its own.
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if write % 12 == 9 {
            for page in [3, 6] {
                device.submit(&request(Op::Trim, page, 1)).unwrap();
            }
        }
        let page = if write % 12 < 9 { write % 12 % 8 } else { (random >> 16) % 8 };
        support::write(&mut device, &[u64::from(page)]);
        let [cleaned, made_up] = [0, 1].map(|cause| erases(&device)[cause] - before[cause]);
        assert!(
            cleaned <= 1 && made_up <= cleaned,
            "write {write}: {cleaned} and {made_up} erases"
        );
        moved += made_up;
        short += u64::from(made_up > 0 && device.mapping().free_blocks(PlaneId(0)) <= 2);
        before = erases(&device);
    }
    assert!(short > 5, "{short} of {moved} times the plane was still short");
    assert!(moved > 5, "{moved}");
    // Copies of the block that was cleaned are its own.
    let copies = [Cause::Gc, Cause::Wear].map(|cause| programs(&device, cause));
    assert!(copies[1] <= 3 * moved, "{copies:?}");
}

/// Pages that are written in turn leave blocks without a valid page; the one that was erased
/// longest ago is often one of them.
#[test]
fn a_block_without_valid_pages_holds_nothing_cold() {
    let options = json!({"cleaning": "wear-aware", "min_free": 0.34, "reserve": 0.5, "lifetime": 10_000, "migrate_below": 1.0});
    let mut device = drive(&options, 1, 32);
    let (mut moved, mut random) = (0, 1u32);
    let so_far = |device: &Device| {
        (device.counters().erases[Cause::Wear as usize], programs(device, Cause::Wear))
    };
    for write in 0..2_000u32 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let before = so_far(&device);
        support::write(&mut device, &[u64::from((random >> 16) % 4)]);
        let after = so_far(&device);
        let (erased, copied) = (after.0 - before.0, after.1 - before.1);
        assert!(copied >= erased, "write {write}: {copied} pages moved, for {erased} erases");
        moved += erased;
    }
    assert!(moved > 5, "{moved}");
}

#[test]
fn a_drive_hides_the_reserve_and_the_summaries() {
    let mut config = config(&json!({"reserve": 0.34}), 2, "untimed", 4);
    config.ftl.exported = None;
    // 4 of 6 blocks of each plane, 3 pages of each.
    let device = Device::new(&config, Options::default()).unwrap();
    assert_eq!(device.exported_bytes(), 24 * 4096);
    config.ftl.over_provisioning = Some(1.4);
    let device = Device::new(&config, Options::default()).unwrap();
    assert_eq!(device.exported_bytes(), 20 * 4096);
}

#[test]
fn stripes_lie_on_consecutive_elements() {
    let mut config = config(&json!({"stride": 2}), 2, "untimed", 64);
    config.nand.channels = 3;
    let device = Device::new(&config, Options::default()).unwrap();
    let elements: Vec<_> =
        (0..8).map(|lpn| device.mapping().advice().unwrap().home_chip(Lpn(lpn)).unwrap()).collect();
    assert_eq!(elements, [0, 0, 1, 1, 2, 2, 0, 0]);
}

#[test]
fn impossible_options_are_refused() {
    for (options, kib, says) in [
        (json!({"stride": 0}), 24, "ftl.mapping.stride"),
        (json!({"min_free": 0.6}), 24, "ftl.mapping.min_free"),
        (json!({"min_free": 0.15}), 24, "less than ftl.mapping.reserve"),
        (json!({"reserve": 0.6}), 24, "ftl.mapping.reserve"),
        (json!({"elements_per_gang": 2}), 24, "ftl.mapping.elements_per_gang"),
        (json!({"lifetime": 0}), 24, "ftl.mapping.lifetime"),
        (json!({"migrate_below": 1.1}), 24, "ftl.mapping.migrate_below"),
        (json!({"ration_below": -1.0}), 24, "ftl.mapping.ration_below"),
        (json!({"min_free": -0.1}), 24, "ftl.mapping.min_free"),
        (json!({}), 64, "room for 12 pages, but 16 are exported"),
    ] {
        let error =
            Device::new(&config(&options, 1, "untimed", kib), Options::default()).unwrap_err();
        assert!(error.to_string().contains(says) && error.is_input(), "{error}");
    }
    let mut config = config(&json!({}), 1, "untimed", 4);
    config.nand.pages_per_block = 1;
    let error = Device::new(&config, Options::default()).unwrap_err();
    assert!(error.to_string().contains("nand.pages_per_block"), "{error}");
}
