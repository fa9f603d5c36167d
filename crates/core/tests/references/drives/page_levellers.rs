//! Wear levellers: page mapping on one unit, collected greedily.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Drive, DriveReference};
use super::page::Mapping;
use super::page_allocators::{Allocator, Kind};
use super::page_store::Rules;
use super::page_victims::Policy;
use super::page_wear::{Kind as Leveller, Wear};

macro_rules! reference {
    ($name:literal, $pair:ident) => {
        inventory::submit! {
            DriveReference {
                covers: &[("leveller", $name)],
                from: "its page, schemes.md section 5, and the pages of swaps and of blocks that rest",
                pair: $pair,
            }
        }

        fn $pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
            let (over, mapping) = draw($name, random);
            (over, Box::new(mapping))
        }
    };
}

reference!("hot-cold", hot_cold);
reference!("two-level", two_level);
reference!("dual-pool", dual_pool);

fn draw(name: &str, random: &mut Pcg64Mcg) -> (Value, Mapping) {
    let pages_per_block = random.random_range(1..=6);
    let exported = random.random_range(2..=8);
    let free_blocks = random.random_range(1..=3);
    let blocks = exported + free_blocks + 1 + random.random_range(0..=9);
    let (threshold, rest) = (random.random_range(1..=4), random.random_range(0..=3));
    let full = random.random();
    let over = json!({
        "nand": {"blocks_per_plane": blocks, "pages_per_block": pages_per_block},
        "ftl": {
            "exported": format!("{} KiB", exported * pages_per_block * 4),
            "mapping": "page",
            "victim": "greedy",
            "wear": {"kind": name, "threshold": threshold, "rest": rest},
            "gc": {
                "free_blocks": free_blocks,
                "step_pages": random.random_range(1..=8),
                "grain": (["steps", "victim", "all"][random.random_range(0..3)]),
                "cost": if random.random() { "full" } else { "free" },
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let rules = Rules {
        pages_per_block,
        free_blocks,
        share: usize::MAX,
        regions: 1,
        region_pages: u64::MAX,
        spread: false,
        victim: Policy::Greedy,
        seed: 1,
    };
    let kind = match name {
        "hot-cold" => Leveller::HotCold,
        "two-level" => Leveller::TwoLevel,
        _ => Leveller::DualPool {
            hot: (0..blocks).map(|b| b < blocks / 2).collect(),
            effective: vec![0; blocks],
        },
    };
    let allocator = Allocator::new(Kind::RoundRobin, 1, [1; 4]);
    let wear = Some(Wear::new(kind, threshold, rest));
    (over, Mapping::levelled(rules, allocator, wear, blocks, exported * pages_per_block, full))
}

/// Random workloads would compare nothing if they brought no swaps about.
#[test]
fn small_thresholds_bring_swaps_about() {
    for name in ["hot-cold", "two-level", "dual-pool"] {
        let mut swapping = 0;
        for seed in 0..300 {
            let random = &mut Pcg64Mcg::seed_from_u64(seed);
            let (_, mut drive) = draw(name, random);
            let pages = drive.pages();
            // Half of the workloads keep to a few pages, so that some data are hot.
            let range = if random.random() { pages.div_ceil(3) } else { pages };
            for _ in 0..75 {
                drive.write(random.random_range(0..range), 1);
            }
            let swaps = drive.swaps();
            swapping += u32::from(swaps > 0);
        }
        assert!(swapping >= 60, "{name}: only {swapping} of 300 drives swap");
    }
}
