//! How evenly blocks wear under each wear leveller, against a drive without one.

use crate::support;
use crate::support::Dice;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::ftl::wear::WearConfig;
use eraseblock_core::host::Op;
use serde_json::{Value, json};

/// Which logical pages are written, of so many.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Load {
    Uniform,
    /// Half of the pages are never written again.
    HalfCold,
    /// By Zipf's law: each doubling of the rank is hit as often as the one before.
    Zipf,
}

impl Load {
    fn page(self, dice: &mut Dice, pages: u64) -> u64 {
        match self {
            Self::Uniform => dice.roll(pages),
            Self::HalfCold => dice.roll(pages / 2),
            Self::Zipf => {
                let least = 1 << dice.roll(u64::from(pages.ilog2()));
                // Neighbours in rank lie apart.
                (least + dice.roll(least)) * 613 % pages
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Drive {
    units: u32,
    blocks: u32,
    pages: u32,
    endurance: u32,
    /// Erased blocks of a unit, at least.
    erased: u32,
}

const SMALL: Drive = Drive { units: 1, blocks: 128, pages: 32, endurance: 0, erased: 1 };
const LARGE: Drive = Drive { blocks: 1024, pages: 16, ..SMALL };
const FOUR: Drive = Drive { units: 4, blocks: 32, ..SMALL };

impl Drive {
    fn build(self, wear: &Value) -> Device {
        let bytes = self.bytes() / 8 * 7;
        let mut config = support::config(&json!({
            "nand": {"channels": self.units, "blocks_per_plane": self.blocks, "pages_per_block": self.pages,
                     "endurance": self.endurance},
            "ftl": {"exported": format!("{bytes} B"), "allocator": "round-robin", "wear": wear},
        }));
        if self.erased > 1 {
            config.ftl.gc.free_blocks = Some(f64::from(self.erased));
        }
        let mut device = Device::new(&config, Options { verify: false }).unwrap();
        device.precondition().unwrap();
        device
    }

    fn bytes(self) -> u64 {
        u64::from(self.units * self.blocks * self.pages) * 4096
    }
}

/// Most erases of a block beyond the fewest, and the write amplification.
fn run(drive: Drive, wear: &Value, load: Load, times: u64, seed: u64) -> (f64, f64) {
    let mut device = drive.build(wear);
    let pages = device.exported_bytes() / 4096;
    let mut dice = Dice(seed);
    for _ in 0..pages * times {
        device.submit(&support::request(Op::Write, load.page(&mut dice, pages), 1)).unwrap();
    }
    let (most, least) =
        (device.erases().iter().max().unwrap(), device.erases().iter().min().unwrap());
    (f64::from(most - least), device.finish().unwrap().waf.unwrap())
}

/// The share of a drive's erases that are of use by the end of its life.
fn life(drive: Drive, wear: &Value, load: Load, seed: u64) -> (f64, f64) {
    let mut device = drive.build(wear);
    let pages = device.exported_bytes() / 4096;
    let mut dice = Dice(seed);
    let written = loop {
        match device.submit(&support::request(Op::Write, load.page(&mut dice, pages), 1)) {
            Ok(()) => {}
            Err(DeviceError::EndOfLife { host_bytes }) => break host_bytes as f64,
            Err(error) => panic!("{error}"),
        }
    };
    let waf = device.finish().unwrap().waf.unwrap();
    (written * waf / (f64::from(drive.endurance) * drive.bytes() as f64), waf)
}

/// Of five seeds the outcome in the middle.
fn median(of: impl Fn(u64) -> (f64, f64)) -> (f64, f64) {
    let mut all: Vec<_> = (1..=5).map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all[2]
}

/// Whether three of five seeds pass, which is what their median would say: the others need not run.
fn most_pass(what: &str, passes: impl Fn((f64, f64)) -> bool, of: impl Fn(u64) -> (f64, f64)) {
    let (mut passed, mut failed) = (0, Vec::new());
    for outcome in (1..=5).map(of) {
        if passes(outcome) {
            passed += 1;
        } else {
            failed.push(outcome);
        }
        assert!(failed.len() < 3, "{what}: {failed:?}");
        if passed == 3 {
            return;
        }
    }
}

fn levellers() -> impl Iterator<Item = &'static str> {
    WearConfig::NAMES.iter().copied().filter(|name| *name != "none")
}

fn levelled(name: &str, threshold: u32) -> Value {
    json!({"kind": name, "threshold": threshold})
}

/// No leveller may make worse what is even without one; and it costs few copies.
fn no_worse_than_without(drive: Drive, load: Load, times: u64) {
    let (without, waf_without) = median(|seed| run(drive, &json!("none"), load, times, seed));
    for name in levellers() {
        most_pass(
            &format!("{name}, {load:?}, without {without}, {waf_without}"),
            |(spread, waf)| spread <= without && waf < waf_without * 1.05,
            |seed| run(drive, &levelled(name, 16), load, times, seed),
        );
    }
}

#[test]
fn uniform_writes_wear_a_small_drive_no_less_evenly() {
    no_worse_than_without(SMALL, Load::Uniform, 60);
}

#[test]
fn uniform_writes_wear_a_large_drive_no_less_evenly() {
    no_worse_than_without(LARGE, Load::Uniform, 12);
}

/// What only slows down shows in a run ten times as long: with `ERASEBLOCK_SOAK` set.
#[test]
fn uniform_writes_wear_no_less_evenly_in_the_long_run() {
    if support::is_soak() {
        no_worse_than_without(SMALL, Load::Uniform, 600);
        no_worse_than_without(LARGE, Load::Uniform, 200);
    }
}

#[test]
fn skewed_writes_wear_more_evenly() {
    no_worse_than_without(SMALL, Load::Zipf, 30);
}

/// Blocks of cold data are levelled, whether units are levelled each by itself or all together.
#[test]
fn cold_data_are_levelled_in_a_unit_and_between_units() {
    for (drive, clusters) in [(SMALL, &[1][..]), (FOUR, &[1, 4])] {
        let without = run(drive, &json!("none"), Load::HalfCold, 40, 1);
        assert!(without.0 > 100.0, "{drive:?}: {without:?}");
        for (name, cluster) in levellers().flat_map(|name| clusters.iter().map(move |c| (name, c)))
        {
            let wear = json!({"kind": name, "threshold": 16, "cluster": cluster});
            most_pass(
                &format!("{name}, {drive:?}, cluster of {cluster}, without {without:?}"),
                |(spread, waf)| spread <= 48.0 && waf < without.1 * 1.1,
                |seed| run(drive, &wear, Load::HalfCold, 40, seed),
            );
        }
    }
}

/// Nearly all erases that the blocks endure are of use.
#[test]
fn levelled_drives_use_up_their_blocks() {
    let drive = Drive { pages: 64, endurance: 100, ..SMALL };
    for name in levellers() {
        for (load, least) in [(Load::Uniform, 0.93), (Load::HalfCold, 0.85)] {
            most_pass(
                &format!("{name}, {load:?}, share of the ideal life and write amplification"),
                |(share, _)| share >= least,
                |seed| life(drive, &levelled(name, 4), load, seed),
            );
        }
    }
}

/// `dual-pool` leaves the most worn of its cold blocks alone for as long as they rest and no
/// longer: it levels uniform writes, small blocks and long runs only where they rest for longer
/// than by default.
#[test]
fn dual_pool_levels_small_blocks_where_worn_ones_rest_longer() {
    let wear = |threshold: u32| json!({"kind": "dual-pool", "threshold": threshold, "rest": 6});
    let drive = Drive { pages: 16, endurance: 100, ..SMALL };
    most_pass(
        "share of the ideal life and write amplification",
        |(share, _)| share >= 0.93,
        |seed| life(drive, &wear(4), Load::Uniform, seed),
    );
    for (drive, times) in [(SMALL, 60), (LARGE, 20)] {
        let (without, _) = median(|seed| run(drive, &json!("none"), Load::Uniform, times, seed));
        most_pass(
            &format!("{drive:?}, without {without}"),
            |(spread, _)| spread <= without,
            |seed| run(drive, &wear(16), Load::Uniform, times, seed),
        );
    }
    let soak = support::is_soak();
    let cluster = json!({"kind": "dual-pool", "threshold": 16, "rest": 6, "cluster": 4});
    let runs = [(SMALL, &wear(16), Load::Uniform, 200), (FOUR, &cluster, Load::HalfCold, 40)];
    for (drive, wear, load, times) in runs {
        let times = if soak { times * 10 } else { times };
        most_pass(
            &format!("{drive:?}, {load:?}"),
            |(spread, _)| spread <= 48.0,
            |seed| run(drive, wear, load, times, seed),
        );
    }
}

/// Where many blocks are erased, it shows which of them is written next. Nothing is swapped here.
#[test]
fn two_level_writes_the_least_worn_erased_block_next() {
    let drive = Drive { erased: 12, ..SMALL };
    let spread =
        |name: &str| median(|seed| run(drive, &levelled(name, 10_000), Load::Uniform, 40, seed)).0;
    let (least_worn, longest_ago) = (spread("two-level"), spread("hot-cold"));
    assert!(
        least_worn < longest_ago / 2.0,
        "{least_worn}, the one erased longest ago {longest_ago}"
    );
}
