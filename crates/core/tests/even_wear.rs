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
}

const SMALL: Drive = Drive { units: 1, blocks: 128, pages: 16, endurance: 0 };

impl Drive {
    fn build(self, wear: &Value) -> Device {
        let bytes = u64::from(self.units * self.blocks * self.pages) * 4096 * env("EXPORT", 875) / 1000 / 4096 * 4096;
        let config = support::config(&json!({
            "nand": {"channels": self.units, "blocks_per_plane": self.blocks, "pages_per_block": self.pages,
                     "endurance": self.endurance},
            "ftl": {"exported": format!("{bytes} B"), "allocator": "round-robin", "wear": wear},
        }));
        let mut device = Device::new(&config, Options { verify: false }).unwrap();
        device.precondition().unwrap();
        device
    }
}

/// What a run has come to.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// Most erases of a block beyond the fewest.
    spread: u32,
    waf: f64,
    most: u32,
    mean: f64,
}

fn run(drive: Drive, wear: &Value, load: Load, times: u64, seed: u64) -> Outcome {
    let mut device = drive.build(wear);
    let pages = device.exported_bytes() / 4096;
    let mut dice = Dice(seed);
    for _ in 0..pages * times {
        device.submit(&support::request(Op::Write, load.page(&mut dice, pages), 1)).unwrap();
    }
    let (most, least) = (device.erases().iter().max().unwrap(), device.erases().iter().min().unwrap());
    let (spread, most) = (most - least, *most);
    let report = device.finish().unwrap();
    Outcome { spread, most, waf: report.waf.unwrap(), mean: report.wear.erases_mean }
}

/// The share of its ideal life that a drive has: were all blocks worn out evenly.
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
    let report = device.finish().unwrap();
    let flash = f64::from(drive.units * drive.blocks * drive.pages) * 4096.0;
    let waf = report.waf.unwrap();
    (written / (f64::from(drive.endurance) * flash / waf), waf)
}

fn median<T: Copy>(of: impl Fn(u64) -> T, key: impl Fn(&T) -> f64) -> T {
    let mut all: Vec<T> = (1..=if std::env::var_os("FAST").is_some() {1} else {5}).map(of).collect();
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    all[all.len() / 2]
}

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn table() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for name in WearConfig::NAMES.iter().filter(|n| n.contains(&only)) {
        let small = Drive { pages: env("PAGES", 64) as u32, blocks: env("BLOCKS", 128) as u32, ..SMALL };
        let t = env("T", 16) as u32;
        let times = env("TIMES", 60);
        let parts = std::env::var("PARTS").unwrap_or("ulzhc".into());
        let plain = *name == "none";
        let wear = |threshold: u32, cluster: u32| {
            if plain { json!("none") } else { json!({"kind": name, "threshold": threshold, "cluster": cluster}) }
        };
        let spread = |what: &str, drive: Drive, load: Load, times: u64, cluster: u32| {
            let o = median(|seed| run(drive, &wear(t, cluster), load, times, seed), |o| f64::from(o.spread));
            println!("{name:10} {what:24} spread {:5} waf {:.3} most {:5} mean {:.0}", o.spread, o.waf, o.most, o.mean);
        };
        let large = Drive { blocks: 1024, ..small };
        let four = Drive { units: 4, blocks: 32, ..small };
        for part in parts.chars() {
            match part {
                'u' => spread("uniform 128", small, Load::Uniform, times, 1),
                'U' => spread("uniform 128 x10", small, Load::Uniform, times * 10, 1),
                'l' => spread("uniform 1024", large, Load::Uniform, times, 1),
                'L' => spread("uniform 1024 x10", large, Load::Uniform, times * 10, 1),
                'z' => spread("zipf 128", small, Load::Zipf, times, 1),
                'h' => spread("half cold", small, Load::HalfCold, times, 1),
                'f' => spread("half cold 4 units", four, Load::HalfCold, times, 1),
                'c' => spread("half cold cluster 4", four, Load::HalfCold, times, 4),
                'C' => spread("half cold cluster 4 x10", four, Load::HalfCold, times * 10, 4),
                'x' => spread("uniform cluster 4", four, Load::Uniform, times, 4),
                '1' | '2' | '3' => {
                    let load = [Load::Uniform, Load::HalfCold, Load::Zipf][part as usize - '1' as usize];
                    let drive = Drive { endurance: 100, ..small };
                    let (share, waf) = median(|seed| life(drive, &wear(4, 1), load, seed), |o| o.0);
                    println!("{name:10} life {load:?} {share:.3} waf {waf:.3}");
                }
                _ => panic!("{part}"),
            }
        }
    }
}
