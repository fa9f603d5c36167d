//! What several of these test programs need.

use std::fmt::Write as _;

/// 8 MiB of flash on four planes, half of it for the host. No name and no workload.
const SMALL_DRIVE: &str = r#"
[nand]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 32
pages_per_block = 16
page_size = "4 KiB"
program_order = "ascending"
timing = { read = "25us", program = "200us", erase = "1500us", transfer = "10us" }
[ftl]
exported = "4 MiB"
mapping = "page"
[buffer]
size = "256 KiB"
scheme = "lru"
"#;

/// The small drive's tables with other values, as TOML writes them, for some of its keys.
pub fn small_drive(changes: &[(&str, &str)]) -> String {
    let line = |line: &str| {
        let change = changes.iter().find(|(key, _)| line.split(" = ").next() == Some(key));
        change.map_or_else(|| line.to_owned(), |(key, value)| format!("{key} = {value}")) + "\n"
    };
    for (key, _) in changes {
        assert!(SMALL_DRIVE.contains(&format!("\n{key} = ")), "the small drive has no key `{key}`");
    }
    SMALL_DRIVE.lines().map(line).collect()
}

/// All that a host can ask for, of many sizes, some of it in the middle of pages; mostly whole
/// pages, a few of them hot.
pub fn iolog(requests: u64) -> String {
    let mut text = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n".to_owned();
    let mut random = 7_u64;
    for number in 0..requests {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = random >> 33;
        let (first, hot) = ((value >> 3) % 960, value.is_multiple_of(2));
        let offset = 4096 * if hot { first % 96 } else { first };
        let line = match number % 40 {
            7 => format!("write {} {}", offset + 512, 4096 + value % 20 * 512),
            13 => format!("trim {offset} {}", 4096 * (1 + value % 30)),
            19 => "sync 0 0".to_owned(),
            23 => format!("read {offset} {}", 4096 * (1 + value % 40)),
            29 => format!("write {offset} {}", 4096 * (1 + value % 40)),
            _ if value % 5 < 2 => format!("read {offset} 4096"),
            _ => format!("write {offset} 4096"),
        };
        writeln!(text, "/dev/sdb {line}").unwrap();
    }
    text + "/dev/sdb close\n"
}
