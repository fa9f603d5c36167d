//! Power cuts in drives that wear out: erase counts and worn-out blocks come back, and the end of
//! life is a result at any moment, never a panic or a hang. What was flushed stays readable.

use crate::support;
use crate::support::Dice;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Fate, Options};
use eraseblock_core::ftl::{self, MappingConfig};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::nand::{Cause, FlashOp};
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

/// What the host wrote, counted since power came: the newest version of each page, and the oldest
/// that may come back.
struct Host {
    newest: Vec<u32>,
    durable: Vec<u32>,
    /// Of each request, the versions that its answer makes durable.
    promises: Vec<Vec<(u32, u32)>>,
    /// Pages of the writes that the drive has taken since power came.
    taken: u64,
    /// Pages of each of its requests that writes.
    lengths: Vec<u64>,
    /// Every answer is a promise.
    battery: bool,
}

impl Host {
    fn new(versions: Vec<u32>, battery: bool) -> Self {
        Self {
            durable: versions.clone(),
            newest: versions,
            promises: Vec::new(),
            taken: 0,
            lengths: Vec::new(),
            battery,
        }
    }

    fn note(&mut self, request: &Request) {
        let mut promises = Vec::new();
        for page in request.offset / 4096..(request.offset + request.len) / 4096 {
            if request.op == Op::Write {
                self.newest[page as usize] += 1;
                if self.battery {
                    promises.push((page as u32, self.newest[page as usize]));
                }
            }
        }
        if request.op == Op::Flush {
            promises.extend((0..).zip(&self.newest).map(|(page, &version)| (page, version)));
        }
        self.promises.push(promises);
        self.lengths.push(if request.op == Op::Write { request.len / 4096 } else { 0 });
    }

    fn answered(&mut self, drive: &Device) {
        for &number in drive.answers() {
            self.keep(number);
        }
    }

    fn keep(&mut self, number: u64) {
        for &(page, version) in &self.promises[number as usize] {
            let durable = &mut self.durable[page as usize];
            *durable = (*durable).max(version);
        }
    }
}

fn drive(mapping: &str, endurance: u32, over: &Value) -> DeviceConfig {
    let mut all = json!({
        "nand": {"dies_per_chip": 2, "blocks_per_plane": 6, "scheduling": "read-first", "endurance": endurance},
        "ftl": {"mapping": support::mapping(mapping, 2), "exported": "96 KiB"},
        "buffer": {"size": "24 KiB", "scheme": "lru"},
        "host": {"replay": "open", "max_outstanding": 4},
    });
    if mapping == "dftl" {
        // The map takes blocks of its own.
        all["nand"]["blocks_per_plane"] = json!(7);
    }
    if let Some(wear) = over.get("wear").filter(|_| ftl::is_composed(mapping)) {
        all["ftl"]["wear"] = wear.clone();
    }
    for key in ["nand", "buffer", "ftl"] {
        for (option, value) in over.get(key).and_then(Value::as_object).into_iter().flatten() {
            all[key][option] = value.clone();
        }
    }
    support::config(&all)
}

/// Superblocks of a drive of twelve blocks that hold six blocks of pages. A victim that wears out
/// by its erase is not the end, though it leaves a single erased block: there is still much to
/// collect.
#[test]
fn superblocks_outlive_their_first_worn_block() {
    for seed in 0..20 {
        let ftl = json!({"mapping": {"kind": "superblock", "blocks": 2, "update_blocks": 4}});
        let config = drive("superblock", 12, &json!({"ftl": ftl}));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        let mut dice = Dice(seed);
        let ended = (0..100_000)
            .find_map(|_| device.submit(&support::request(Op::Write, dice.roll(24), 1)).err());
        assert!(matches!(ended, Some(DeviceError::EndOfLife { .. })), "{ended:?}");
        let space = device.mapping().space();
        let worn = space.split(" are worn out").next().and_then(|text| text.rsplit(' ').next());
        let worn: u32 = worn.and_then(|number| number.parse().ok()).expect(&space);
        assert!(worn > 1, "seed {seed}: {space}");
    }
}

fn fates(variant: u64) -> impl FnMut(&FlashOp) -> Fate {
    let mut dice = Dice(variant * 7919 + 1);
    move |_| match variant {
        0 => Fate::Absent,
        1 => Fate::Torn,
        2 => Fate::Done,
        _ => [Fate::Absent, Fate::Torn, Fate::Done][dice.roll(3) as usize],
    }
}

/// What ended a stretch of a drive's life.
#[derive(Debug, PartialEq)]
enum End {
    Cut,
    /// With what the drive then says that it has taken.
    Worn(u64),
    /// It had come to its end before power came.
    Dead,
}

/// Writes and flushes until power fails after `completions`, or the drive is worn out.
fn live(drive: &mut Device, host: &mut Host, dice: &mut Dice, completions: u64, what: &str) -> End {
    let pages = drive.exported_bytes() / 4096;
    drive.note_answers();
    drive.cut_after(drive.completions() + completions);
    let mut arrival_ns = 0;
    let end = loop {
        if dice.roll(3) == 0 {
            arrival_ns += dice.roll(2_000_000);
        }
        let (first, length) = (dice.roll(pages), 1 + dice.roll(5));
        let op = [Op::Write, Op::Write, Op::Write, Op::Read, Op::Flush][dice.roll(5) as usize];
        let length = if op == Op::Flush { 0 } else { length.min(pages - first) };
        let request = Request {
            arrival_ns,
            op,
            offset: if length == 0 { 0 } else { first * 4096 },
            len: length * 4096,
            volume: 0,
            fua: false,
        };
        host.note(&request);
        match drive.submit(&request) {
            Ok(()) if op == Op::Write => host.taken += length,
            Ok(()) => {}
            Err(DeviceError::PowerCut) => break End::Cut,
            Err(DeviceError::EndOfLife { host_bytes }) => break End::Worn(host_bytes),
            // A battery holds up more than the flash has room for.
            Err(DeviceError::Failed) if host.battery => break End::Dead,
            Err(error) => panic!("{what}: {error}"),
        }
    };
    host.answered(drive);
    end
}

/// What a drive says of itself when its life ends: what it has taken, and that it refuses
/// everything from then on. What it took before goes on to be stored, and is answered or not.
fn last_words(drive: &mut Device, host: &mut Host, host_bytes: u64, what: &str) {
    // Requests that waited for room when the end came are not among what it has taken.
    let answered: u64 = drive.answers().iter().map(|&number| host.lengths[number as usize]).sum();
    let told = host_bytes / 4096;
    assert!(
        (answered..=host.taken).contains(&told),
        "{what}: {answered} <= {told} <= {}",
        host.taken
    );
    for op in [Op::Read, Op::Write] {
        assert_eq!(drive.submit(&support::request(op, 0, 1)), Err(DeviceError::Failed), "{what}");
    }
    let report = drive.finish().unwrap_or_else(|e| panic!("{what}: {e}"));
    let end = report.end_of_life.as_ref().unwrap_or_else(|| panic!("{what}: no end of life"));
    let (came, answered) = (host.promises.len() as u64, drive.answers().len() as u64);
    assert_eq!((report.requests.submitted, report.requests.completed), (came, answered), "{what}");
    assert_eq!((end.host_bytes, end.unanswered), (host_bytes, came - answered), "{what}");
    host.answered(drive);
}

/// What a drive has had when its life ends.
struct Life {
    /// The share of the erases that its flash endures.
    used: f64,
    /// Blocks that are worn out.
    worn_out: usize,
    /// Erases on account of wear levelling.
    moved: u64,
}

/// One drive from its first write to its end, with a power cut every `apart` completions.
fn life(name: &str, config: &DeviceConfig, (seed, apart): (u64, u64)) -> Life {
    let endurance = config.nand.endurance;
    let mut dice = Dice(seed);
    let mut drive = Device::new(config, Options { verify: true }).unwrap();
    drive.precondition().unwrap();
    let pages = (drive.exported_bytes() / 4096) as u32;
    let mut host = Host::new(vec![1; pages as usize], config.buffer.battery);
    let (mut worn_before, mut moved) = (0, 0);
    for cut in 0.. {
        let what = format!("{name}, seed {seed}, a cut every {apart}, cut {cut}");
        assert!(cut < 5_000, "{what}: it never wears out");
        let end = live(&mut drive, &mut host, &mut dice, apart, &what);
        // Power fails at the end itself, or when everything has come to rest.
        if let End::Worn(host_bytes) = end
            && seed % 2 == 0
        {
            last_words(&mut drive, &mut host, host_bytes, &what);
        }
        moved += drive.counters().erases[Cause::Wear as usize];
        let crash = drive.cut(fates(dice.roll(4))).unwrap();
        // Power may fail again before any program or erase of the recovery.
        let (back, again) =
            Device::recovery_cuts(config, crash).unwrap_or_else(|e| panic!("{what}, back: {e}"));
        for (change, crash) in again.into_iter().enumerate() {
            let back = Device::recover(config, crash)
                .unwrap_or_else(|e| panic!("{what}, back again after change {change}: {e}"));
            check(&back, &host, &what);
        }
        drive = back;
        let versions = check(&drive, &host, &what);
        let erases: Vec<u32> = drive.erases().to_vec();
        assert!(erases.iter().all(|&e| e <= endurance), "{what}: {erases:?}");
        let worn = erases.iter().sum::<u32>();
        assert!(
            worn >= worn_before,
            "{what}: erases are forgotten, {worn_before} before and {worn} after"
        );
        worn_before = worn;
        if end != End::Cut {
            let worn_out = erases.iter().filter(|&&erases| erases == endurance).count();
            // It still answers reads, all of which are compared with what came back.
            for page in 0..u64::from(pages) {
                match drive.submit(&support::request(Op::Read, page, 1)) {
                    Ok(()) => {}
                    // A battery holds up more than the flash has room for; else nothing has to be
                    // written.
                    Err(DeviceError::EndOfLife { .. } | DeviceError::Failed)
                        if config.buffer.battery => {}
                    Err(error) => panic!("{what}, read after the end: {error}"),
                }
            }
            let report = drive.finish().unwrap_or_else(|e| panic!("{what}, the end: {e}"));
            assert!(report.verified_reads >= Some(1) || config.buffer.battery, "{what}");
            let used = f64::from(worn) / f64::from(endurance * erases.len() as u32);
            return Life { used, worn_out, moved };
        }
        host = Host::new(versions, config.buffer.battery);
    }
    unreachable!("it wears out");
}

/// Every page holds a version that may come back; those versions.
fn check(drive: &Device, host: &Host, what: &str) -> Vec<u32> {
    let found: Vec<u32> =
        (0..host.newest.len() as u32).map(|page| drive.stored_version(Lpn(page))).collect();
    for (page, &version) in found.iter().enumerate() {
        let (durable, newest) = (host.durable[page], host.newest[page]);
        assert!(
            (durable..=newest).contains(&version),
            "{what}: page {page} comes back as version {version}, expected {durable} to {newest}"
        );
    }
    found
}

/// Every mapping, with every small endurance, from the first write to the end of its life, cut
/// often or now and then.
#[test]
fn a_drive_wears_out_over_power_cuts() {
    for mapping in MappingConfig::NAMES {
        for endurance in 1..=5 {
            for (seed, apart) in [(1, 3), (2, 17), (3, 40), (4, 9)] {
                let config = drive(mapping, endurance, &json!({}));
                let name = format!("{mapping}, endurance {endurance}");
                let Life { used, worn_out, .. } = life(&name, &config, (seed, apart));
                // Two of twelve blocks are the least that any of them can spare.
                assert!(
                    worn_out > 0 && used > 0.16,
                    "{name}: {worn_out} blocks worn out, {used} of all erases"
                );
            }
        }
    }
}

/// The same where a battery keeps the buffer: every answered write comes back, also where no room
/// is left to store it.
#[test]
fn a_battery_keeps_its_promises_to_the_end() {
    for mapping in MappingConfig::NAMES {
        for endurance in 1..=3 {
            for (seed, apart) in [(1, 5), (2, 23)] {
                let config = drive(mapping, endurance, &json!({"buffer": {"battery": true}}));
                life(
                    &format!("{mapping} with a battery, endurance {endurance}"),
                    &config,
                    (seed, apart),
                );
            }
        }
    }
}

/// The same under every wear leveller, whose swaps are cut short as well, with the map in RAM and
/// on flash.
#[test]
fn levelled_drives_wear_out_over_power_cuts() {
    for mapping in ["page", "dftl"] {
        for wear in ftl::wear::WearConfig::NAMES {
            for endurance in if mapping == "page" { 1..=5 } else { 3..=4 } {
                for (seed, apart) in [(1, 11), (2, 35)] {
                    let over = json!({"wear": if *wear == "none" { json!("none") } else { json!({"kind": wear, "threshold": 1}) }});
                    let config = drive(mapping, endurance, &over);
                    life(
                        &format!("{wear} under {mapping}, endurance {endurance}"),
                        &config,
                        (seed, apart),
                    );
                }
            }
        }
    }
}

/// Cleaning that looks at wear moves cold pages, and passes blocks over.
#[test]
fn drives_with_wear_aware_cleaning_wear_out_over_power_cuts() {
    let mut moved = 0;
    for active in ["plane", "element"] {
        for endurance in 1..=5 {
            let over = json!({"nand": {"dies_per_chip": 1, "planes_per_die": 2}, "ftl": {"exported": "64 KiB"}});
            let mut config = drive("ssd-model", endurance, &over);
            let mapping = json!({"kind": "ssd-model", "active": active, "cleaning": "wear-aware", "lifetime": endurance + 1,
                                 "min_free": 0.34, "reserve": 0.5, "migrate_below": 1.0, "ration_below": 1.0});
            config.ftl.mapping = serde_json::from_value(mapping).unwrap();
            for (seed, apart) in [(1, 11), (2, 35)] {
                let life =
                    life(&format!("{active}, endurance {endurance}"), &config, (seed, apart));
                moved += life.moved;
                assert!(life.worn_out > 0, "{active}, endurance {endurance}");
            }
        }
    }
    assert!(moved > 0);
}
