//! What several of these test programs need.

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
