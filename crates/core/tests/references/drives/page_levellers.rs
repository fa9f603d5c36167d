//! Wear levellers: page mapping on one unit and on clusters of several, collected greedily.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Drive, DriveReference};
use super::page::{Mapping, draw_allocator, draw_shape};
use super::page_allocators::{Allocator, Kind};
use super::page_store::Rules;
use super::page_victims::Policy;
use super::page_wear::{Room, Wear};

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

/// A drive with options drawn at random, and whether pages may move between units of a cluster.
fn draw(name: &str, random: &mut Pcg64Mcg) -> (Value, Mapping) {
    let shape = if random.random_range(0..3) == 0 { [1; 4] } else { draw_shape(random) };
    // Mostly one under which data may move between units.
    let crosses = |chooses: &Allocator| {
        chooses.pool_of_unit(0).len() == chooses.units()
            && !matches!(chooses.kind, Kind::RoundRobin)
    };
    let (mut allocator, mut chooses) = draw_allocator(random, shape);
    for _ in 0..random.random_range(0..4) {
        if !crosses(&chooses) {
            (allocator, chooses) = draw_allocator(random, shape);
        }
    }
    let units = chooses.units();
    let pages_per_block = random.random_range(1..=6);
    let exported =
        if units > 1 { units * random.random_range(2..=4) } else { random.random_range(2..=8) };
    let free_blocks = random.random_range(1..=3);
    let pool = chooses.pool_of_unit(0).len();
    // Only where a page may go to all units.
    let largest = if pool == units { units } else { 1 };
    let cluster = match random.random_range(0..4) {
        0 => None,
        1 => Some(largest),
        _ => Some(random.random_range(1..=largest)),
    };
    let most = (0..units)
        .map(|unit| chooses.pages_of(unit, exported * pages_per_block))
        .max()
        .unwrap_or(0);
    // Blocks that hold data, one for each unit that may be given more than the others, the reserve;
    // and more.
    let data = most.div_ceil(pages_per_block * pool) + usize::from(pool > 1);
    let blocks = data + free_blocks + 1 + random.random_range(0..=9);
    let (threshold, rest) = (random.random_range(1..=4), random.random_range(0..=3));
    let spread = pool > 1 && random.random_range(0..3) == 0;
    let full = random.random();
    let [channels, chips, dies, planes] = shape;
    let over = json!({
        "nand": {
            "channels": channels, "chips_per_channel": chips, "dies_per_chip": dies, "planes_per_die": planes,
            "blocks_per_plane": blocks, "pages_per_block": pages_per_block,
        },
        "ftl": {
            "exported": format!("{} KiB", exported * pages_per_block * 4),
            "mapping": "page",
            "allocator": allocator,
            "victim": "greedy",
            "wear": {"kind": name, "threshold": threshold, "rest": rest, "cluster": cluster},
            "gc": {
                "free_blocks": free_blocks,
                "step_pages": random.random_range(1..=8),
                "grain": (["steps", "victim", "all"][random.random_range(0..3)]),
                "cost": if random.random() { "full" } else { "free" },
                "copies": if spread { "spread" } else { "unit" },
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let rules = Rules {
        pages_per_block,
        free_blocks,
        share: Rules::share(most, pool, blocks, free_blocks, pages_per_block),
        regions: 1,
        region_pages: u64::MAX,
        spread,
        victim: Policy::Greedy,
        seed: 1,
    };
    let room = Room {
        moves: crosses(&chooses),
        most: (blocks - 2) * pages_per_block - usize::from(pool > 1),
    };
    let clusters = clusters(units, cluster.unwrap_or(1));
    let wear = Some(Wear::new(name, threshold, rest, room, clusters, blocks));
    (over, Mapping::levelled(rules, chooses, wear, blocks, exported * pages_per_block, full))
}

/// The units of each unit's cluster: so many by their numbers, the last ones by themselves.
fn clusters(units: usize, size: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..units).collect();
    all.chunks(size).flat_map(|cluster| vec![cluster.to_vec(); cluster.len()]).collect()
}

/// Random workloads would compare nothing if they brought no swaps about.
#[test]
fn small_thresholds_bring_swaps_about() {
    for name in ["hot-cold", "two-level", "dual-pool"] {
        let (mut swapping, mut crossing) = (0, 0);
        for seed in 0..300 {
            let random = &mut Pcg64Mcg::seed_from_u64(seed);
            let (_, mut drive) = draw(name, random);
            let pages = drive.pages();
            // Half of the workloads keep to a few pages, so that some data are hot.
            let range = if random.random() { pages.div_ceil(3) } else { pages };
            for _ in 0..75 {
                let first = random.random_range(0..range);
                drive.write(first, random.random_range(1..=4.min(range - first)));
            }
            let (swaps, crossings) = drive.swaps();
            swapping += u32::from(swaps > 0);
            crossing += u32::from(crossings > 0);
        }
        assert!(
            swapping >= 60 && crossing >= 10,
            "{name}: {swapping} of 300 drives swap, {crossing} across units"
        );
    }
}
