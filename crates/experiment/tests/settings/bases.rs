//! Runs in which settings matter: small drives, short workloads.

use std::path::Path;

use super::drawn::Setting;
use crate::support::small_drive;

/// 16 MiB of flash on eight planes, half of it for the host. No workload.
pub fn file() -> String {
    let drive = small_drive(&[
        ("chips_per_channel", "2"),
        ("program_order", "\"any\""),
        (
            "timing",
            r#"{ read = "25us / 60us", program = "200us / 500us", erase = "1500us", transfer = "10us" }"#,
        ),
        ("exported", "\"12 MiB\""),
    ]);
    format!(
        "name = \"small\"
{drive}"
    )
}

/// Runs that a setting is tried in.
pub struct Base {
    pub sets: Vec<String>,
    /// Values to try; where there are none, those that the schema allows.
    pub values: Vec<String>,
}

/// Reads, writes of many sizes, trims and flushes, to few blocks more often than to others, now and
/// then with time in between.
pub const MIXED: &str = r#"workload.generate={ kind = "zipf", requests = 2000, footprint = "6 MiB", theta = 0.9, size = { "512 B" = 10, "4 KiB" = 40, "16 KiB" = 30, "96 KiB" = 5 }, align = "512 B", read_share = 0.4, trim_share = 0.02, flush_share = 0.01, interval = "900us", arrivals = "exponential" }"#;

/// Small writes and reads in a few places: blocks stay in parts, and come back.
const SMALL: &str = r#"workload.generate={ kind = "hotcold", requests = 8000, footprint = "6 MiB", hot_accesses = 0.9, hot_space = 0.1, size = { "4 KiB" = 60, "16 KiB" = 20, "64 KiB" = 5 }, read_share = 0.4, interval = "900us" }"#;

/// Writes to all pages alike.
const EVEN: &str = r#"workload.generate={ kind = "uniform", requests = 60000, footprint = "12 MiB", size = "4 KiB", read_share = 0.0, interval = "3ms" }"#;

/// Writes in sequence and reads of it.
const RUNS: &str = r#"workload.generate={ kind = "sequential", requests = 2000, footprint = "6 MiB", size = { "4 KiB" = 50, "64 KiB" = 30, "128 KiB" = 20 }, read_share = 0.4, interval = "2ms" }"#;

/// What else settings need to matter: how their names begin (all of the name, where it ends with
/// `$`), settings beside them, and values where the schema tells none that matter.
const EXERCISE: &[(&str, &[&str], &[&str])] = &[
    ("seed$", STEADY, &[]),
    ("precondition.", STEADY, &[]),
    // Only some mappings have blocks padded; this one has each.
    ("buffer.scheme<cold-groups>.padding", &[MIXED, "ftl.mapping=replacement"], &[]),
    (
        "nand.suspend",
        &[
            "nand.scheduling=read-first",
            "nand.suspend={ latency = \"20 us\" }",
            "buffer.scheme=none",
        ],
        &[],
    ),
    ("nand.suspend", &["nand.scheduling=read-first", "buffer.scheme=none"], &[]),
    ("nand.endurance", &[], &["2", "4"]),
    ("nand.mapping_unit", &["nand.page_size=8KiB", "nand.pages_per_block=8"], &["4 KiB"]),
    ("nand.timing.transfer_per", &[], &["512 B"]),
    ("ftl.exported", &[], &["11 MiB", "8 MiB"]),
    ("ftl.over_provisioning", &["ftl.exported=null"], &["0.3", "0.6"]),
    ("ftl.allocator<static>.order", &[], &["PDWC"]),
    ("ftl.gc.region_pages", &["ftl.gc.regions=3"], &["50"]),
    (
        "ftl.wear",
        &[SMALL, "ftl.wear.threshold=2", "workload.generate.requests=20000"],
        &["1", "2", "4"],
    ),
    ("ftl.wear<dual-pool>.rest", &[EVEN, "ftl.wear.threshold=1"], &["0", "8"]),
    ("ftl.wear<hot-cold>.rest", &[EVEN, "ftl.wear.threshold=1"], &["0", "8"]),
    ("ftl.wear<two-level>.rest", &[EVEN, "ftl.wear.threshold=1"], &["0", "8"]),
    ("ftl.mapping<blas>.long_read", &["ftl.mapping.score=long-reads"], &[]),
    ("ftl.mapping<bast>.seed", &["ftl.mapping.victim=random"], &[]),
    ("ftl.mapping<sftl>.seed", &["ftl.mapping.victim=random", "ftl.mapping.log_blocks=4"], &[]),
    ("ftl.mapping<dftl>", &["ftl.mapping.cache=64"], &[]),
    ("ftl.mapping<dftl>.entries_per_page", &["ftl.mapping.cache=64"], &["64"]),
    ("ftl.mapping<mnk>", &[SMALL, "ftl.mapping.striping=1", "ftl.mapping.group_blocks=4"], &[]),
    (
        "nand.pages_per_program",
        &["nand.program_order=sequential", "nand.timing.program=300us"],
        &["2", "4"],
    ),
    ("ftl.mapping<pattern>", &[RUNS, "buffer.scheme=supa"], &[]),
    (
        "ftl.mapping<ssd-model>.reserve",
        &["ftl.exported=null", "ftl.over_provisioning=0.07"],
        &["0.3"],
    ),
    ("ftl.mapping<ssd-model>.block_mapping", &["ftl.mapping.active=element"], &[]),
    ("ftl.mapping<ssd-model>.migrate_below", WEAR_AWARE, &[]),
    ("ftl.mapping<ssd-model>.ration_below", RATIONED, &["0.5"]),
    ("ftl.mapping<ssd-model>.lifetime", RATIONED, &["20"]),
    ("ftl.mapping<ssd-model>.seed", RATIONED, &["2"]),
    ("buffer.scheme<blas>.sequential", &[RUNS, "ftl.mapping=pattern"], &[]),
    ("buffer.scheme<cave>.clean_first", &["buffer.scheme.order=cflru"], &[]),
    (
        "buffer.scheme<cave>.sequential_above",
        &["ftl.mapping=pattern", "buffer.scheme.padding=false"],
        &[],
    ),
    ("buffer.scheme<cbm>.exchange_counts", EXCHANGES, &[]),
    ("buffer.scheme<cbm>", &[SMALL, "buffer.size=1MiB", "buffer.scheme.settle=20"], &[]),
    ("buffer.scheme<ensemble>.experts", &[], &[r#"["fab"]"#, r#"["fifo", "lru"]"#]),
    ("buffer.scheme<ensemble>", LEADERS, &[]),
    ("buffer.scheme<hbm>.exchange_counts", EXCHANGES, &[]),
    ("buffer.scheme<hbm>", &[SMALL, "buffer.size=1MiB", "buffer.scheme.settle=20"], &[]),
    ("buffer.scheme<hbm>", &[SMALL, "buffer.scheme.threshold=4"], &[]),
    (
        "buffer.scheme<supa>.hits_outside",
        &[SMALL, "ftl.mapping=pattern", "buffer.scheme.window_requests=100", "buffer.size=1MiB"],
        &[],
    ),
    (
        "buffer.scheme<supa>",
        &[RUNS, "ftl.mapping=pattern", "buffer.scheme.window_requests=100", "buffer.size=1MiB"],
        &[],
    ),
    ("workload.path", &["workload.path=two.spc"], &["one.spc"]),
    ("workload.format$", &["workload.path=two.spc", "workload.format=ssdsim"], &["spc"]),
    ("workload.volumes", &["workload.path=two.spc"], &["0", "1"]),
    ("workload.ops", &[], &["r", "w", "write"]),
    ("workload.from", &[], &["100 ms"]),
    ("workload.until", &[], &["100 ms"]),
    ("workload.fit", &["workload.generate.footprint=40 MiB", "workload.fit=wrap"], &[]),
    ("workload.out_of_order", &["workload.path=late.spc", "workload.out_of_order=clamp"], &[]),
    ("workload.skip_bad_lines", &["workload.path=bad.blkparse"], &[]),
    (
        "workload.max_",
        &[
            "workload.path=zeroes.nbdkit",
            "workload.format=nbdkit-log",
            "workload.skip_bad_lines=true",
        ],
        &["512 B"],
    ),
    ("workload.format<nbdkit-log>", &["workload.path=zeroes.nbdkit"], &[]),
    ("workload.format<blkparse>", &["workload.path=three.blkparse"], &[]),
    ("workload.format<blktrace>", &["workload.path=three.blktrace"], &[]),
    ("workload.format<fio>.unit", &["workload.path=three.fio"], &[]),
    ("workload.format<fio>.waits", &["workload.path=two.fio"], &[]),
    ("workload.format<oracle-general>", &["workload.path=one.oracleGeneral"], &[]),
    ("workload.format<oracle-general-opns>", &["workload.path=one.oracleGeneralOpNS"], &[]),
    ("workload.generate$", &[], &["{ requests = 50 }"]),
    ("workload.generate<mixed>.interval", SHUFFLED, &[]),
    ("workload.generate<mixed>.arrivals", SHUFFLED, &[]),
    ("workload.generate<mixed>.streams", &[], &[r"{ a = { requests = 50 } }"]),
    ("workload.generate<hotcold>.warm_accesses", &["workload.generate.warm_space=0.2"], &["0.1"]),
    ("workload.generate<disksim>.size", &[], &["{ kind = \"uniform\", min = 4, max = 40 }"]),
    ("workload.generate<disksim>.gap", &[], &["{ kind = \"uniform\", min = 4, max = 40 }"]),
    ("workload.generate<disksim>.local_gap", &[], &["{ kind = \"uniform\", min = 4, max = 40 }"]),
    (
        "workload.generate<disksim>.sequential_gap",
        &[],
        &["{ kind = \"uniform\", min = 4, max = 40 }"],
    ),
    (
        "workload.generate<disksim>.local_distance",
        &[],
        &["{ kind = \"uniform\", min = -400, max = 400 }"],
    ),
    ("workload.generate<calibrated>.volume", &["workload.generate.volumes=2"], &[]),
    ("workload.generate<disksim>.local_distance<poisson>.base", &[], &["-42"]),
    ("workload.generate<disksim>.local_distance<poisson>.mean", &[], &["42"]),
    ("workload.generate<standin>.variant", &["workload.generate.name=hbm-financial"], &["ms"]),
    ("workload.generate<standin>.name", &[], &["hbm-msnfs"]),
    ("workload.generate<standin>.set", &[], &["{ requests = 50 }"]),
];

/// A buffer that is full of single pages before the threshold may move: each page that comes takes
/// the place of another.
const EXCHANGES: &[&str] =
    &[EVEN, "workload.generate.requests=2000", "buffer.scheme.alpha=0.1", "buffer.scheme.beta=0.2"];

/// A small buffer that is filled often, so that other schemes take the lead.
const LEADERS: &[&str] = &[
    SMALL,
    "buffer.size=256KiB",
    "ftl.mapping=fast",
    "buffer.scheme.patience=0.01",
    "buffer.scheme.window=4",
];

/// Streams that are laid on one clock.
const SHUFFLED: &[&str] = &["workload.generate.order=shuffle", "workload.generate.interval=20ms"];

/// A drive that is overwritten at random before the run.
const STEADY: &[&str] = &[
    "precondition.state=steady",
    "precondition.tolerance=0.0001",
    "precondition.max_drive_writes=3",
];

/// Blocks wear out so soon that it shows.
const WEAR_AWARE: &[&str] = &[
    SMALL,
    "workload.generate.requests=20000",
    "ftl.mapping.cleaning=wear-aware",
    "ftl.mapping.lifetime=40",
    "ftl.mapping.migrate_below=0.99",
    "ftl.mapping.ration_below=0.99",
];

/// The same, and blocks with much wear are passed over in place of migrating.
const RATIONED: &[&str] = &[
    SMALL,
    "workload.generate.requests=20000",
    "ftl.mapping.cleaning=wear-aware",
    "ftl.mapping.lifetime=40",
    "ftl.mapping.migrate_below=0",
    "ftl.mapping.ration_below=0.99",
];

/// Names of settings that no result depends on, and why.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("name", "what the run is called"),
    ("case", "what a case is called; its settings are drawn by themselves"),
    ("buffer.power_loss", "what a power cut leaves, and no experiment has one"),
    ("buffer.hold_up", "the same"),
    ("precondition.image", "the name of a file, of which others test that it decides"),
];

/// Settings that take one value: the others are refused with a reason.
pub const REFUSED: [&str; 1] = ["ftl.mapping<ssd-model>.elements_per_gang"];

/// Names in these tables that no setting has.
pub fn not_in(all: &[Setting]) -> Vec<&'static str> {
    let names: Vec<_> = all.iter().map(Setting::name).collect();
    let starts = EXERCISE
        .iter()
        .map(|(start, ..)| *start)
        .chain(WITHOUT_EFFECT.iter().map(|(name, _)| *name));
    starts.chain(REFUSED).filter(|start| !names.iter().any(|name| is_meant(start, name))).collect()
}

/// Whether a name in a table stands for this setting.
fn is_meant(start: &str, name: &str) -> bool {
    start.strip_suffix('$').map_or_else(|| name.starts_with(start), |whole| name == whole)
}

pub fn without_effect(setting: &Setting) -> Option<&'static str> {
    WITHOUT_EFFECT.iter().find(|(name, _)| *name == setting.name()).map(|(_, why)| *why)
}

/// The runs that a setting is tried in, in order.
pub fn of(setting: &Setting) -> Vec<Base> {
    let name = setting.name();
    let own = |sets: &[&str]| -> Vec<String> {
        let in_disksim = setting.kinds.first().is_some_and(|(_, kind)| kind == "disksim");
        let mut all: Vec<String> =
            setting.kinds.iter().map(|(path, kind)| chosen(path, kind, in_disksim)).collect();
        all.extend(required(setting));
        if name.starts_with("workload.generate<standin>") {
            all.push("workload.fit=wrap".to_owned());
        }
        all.extend(sets.iter().map(|&set| set.to_owned()));
        let has = |key: &str| all.iter().any(|set| set.starts_with(key));
        if !has("workload.path") && !has("workload.generate=") {
            all.insert(0, MIXED.to_owned());
        }
        all
    };
    let exercised = EXERCISE.iter().filter(|(start, ..)| is_meant(start, &name));
    let text = |values: &&[&str]| values.iter().map(|&value| value.to_owned()).collect();
    let mut bases: Vec<Base> =
        exercised.map(|(_, sets, values)| Base { sets: own(sets), values: text(values) }).collect();
    bases.push(Base { sets: own(&[]), values: Vec::new() });
    bases
}

/// The option that chooses `kind` at `path`, with what it requires.
fn chosen(path: &str, kind: &str, in_disksim: bool) -> String {
    let keys = match (path, kind) {
        ("workload.generate", "mixed") => {
            r#"streams = { a = { kind = "zipf", requests = 400, footprint = "4 MiB", interval = "3ms" }, b = { kind = "sequential", requests = 200, footprint = "2 MiB", size = "32 KiB", interval = "2ms" } }, "#
        }
        ("workload.generate", "disksim") => r#"requests = 800, capacity = "8 MiB", "#,
        ("workload.generate", "calibrated") => {
            r#"requests = 800, footprint = "3 MiB", span = "6 MiB", read_share = 0.4, sequential_share = 0.3, interval = "20ms", "#
        }
        ("workload.generate", "standin") => r#"name = "multibank-sysmark", requests = 800, "#,
        ("workload.generate", _) => {
            r#"requests = 800, footprint = "6 MiB", read_share = 0.3, size = "8 KiB", interval = "20ms", "#
        }
        (_, "lognormal") => r#"median = "8 KiB", sigma = 1.0, "#,
        // Requests go back as often as they go on.
        ("workload.generate.local_distance", "uniform") => "min = -100, max = 100, ",
        ("workload.generate.local_distance", "normal") => "mean = -20, deviation = 100, ",
        ("workload.generate.local_distance", "twovalue") => {
            "default = -20, second = 40, probability = 0.3, "
        }
        ("workload.generate.local_distance", "poisson" | "exponential") => {
            "base = -40, mean = 40, "
        }
        (_, "twovalue") => "default = 20, second = 40, probability = 0.3, ",
        (_, "normal") => "mean = 40, deviation = 10, ",
        (_, "poisson") => "mean = 40, ",
        (path, "exponential") if path.ends_with("size") && !in_disksim => r#"mean = "8 KiB", "#,
        (path, "uniform") if path.ends_with("size") && !in_disksim => {
            r#"min = "4 KiB", max = "32 KiB", "#
        }
        (_, "uniform") => "min = 10, max = 50, ",
        (path, "exponential") if !path.ends_with("arrivals") => "mean = 20, ",
        _ if path.starts_with("workload.") => "",
        _ => return format!("{path}={kind}"),
    };
    format!("{path}={{ {keys}kind = \"{kind}\" }}")
}

/// What a setting that is no scheme's requires.
fn required(setting: &Setting) -> Option<String> {
    let name = setting.name();
    if let Some(path) = setting.path.strip_suffix(".variance") {
        return Some(format!("{path}={{ variance = 2000, deviation = \"null\" }}"));
    }
    let path = name.strip_suffix(".mean").or_else(|| name.strip_suffix(".keep"))?;
    let plain = path.ends_with("size").then(|| path.rsplit('.').next())??;
    Some(format!(
        r#"workload.generate.{plain}={{ "4 KiB" = 50, "16 KiB" = 30, "64 KiB" = 5, mean = "12 KiB", keep = "4 KiB" }}"#
    ))
}

/// Traces for the options of readers.
pub fn write_traces(folder: &Path) {
    let write = |name: &str, content: &str| std::fs::write(folder.join(name), content).unwrap();
    let lines = |line: &dyn Fn(u64) -> String| (0..300).map(line).collect::<String>();
    let at = |n: u64| n * 7919 % 2000 * 8;
    let op = |n: u64| if n.is_multiple_of(3) { "r" } else { "w" };
    write(
        "two.spc",
        &lines(&|n| format!("{},{},4096,{},{:.6}\n", n % 2, at(n) / 2, op(n), n as f64 / 1e3)),
    );
    write(
        "late.spc",
        &lines(&|n| format!("0,{},4096,{},{:.6}\n", at(n), op(n), (n ^ 1) as f64 / 1e3)),
    );
    write("one.spc", &lines(&|n| format!("0,{},4096,{},{:.6}\n", at(n), op(n), n as f64 / 1e3)));
    let event = |n: u64, us: u64, action: &str| {
        format!(
            "  8,0    1  {n}  {:.9}  4021  {action}   W {} + 8 [made]\n",
            (n * 1000 + us) as f64 / 1e6,
            at(n)
        )
    };
    write(
        "three.blkparse",
        &lines(&|n| event(n, 0, "Q") + &event(n, 70 + n % 7 * 30, "D") + &event(n, 500, "C")),
    );
    // Events Q, D and C of writes, as blktrace writes them.
    let binary = |n: u64, us: u64, event: u32| {
        let mut bytes = Vec::new();
        for number in [0x6561_7407, n as u32] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [(n * 1000 + us) * 1000, at(n)] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [4096, (1 << 1) << 16 | event, 4021, 8 << 20, 1, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    };
    let three = (0..300)
        .flat_map(|n| [binary(n, 0, 1), binary(n, 70 + n % 7 * 30, 7), binary(n, 500, 8)].concat());
    std::fs::write(folder.join("three.blktrace"), three.collect::<Vec<u8>>()).unwrap();
    let bad = lines(&|n| if n % 50 == 7 { "8,0 nothing\n".to_owned() } else { event(n, 0, "D") });
    write("bad.blkparse", &bad);
    let head = "fio version 3 iolog\n0 /dev/sdb add\n1 /dev/sdb open\n";
    write(
        "three.fio",
        &(head.to_owned()
            + &lines(&|n| format!("{} /dev/sdb write {} 4096\n", n * 300, at(n) * 512))),
    );
    let head = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n";
    let wait =
        |n: u64| format!("/dev/sdb wait {} 0\n/dev/sdb write {} 4096\n", 200 + n, at(n) * 512);
    write("two.fio", &(head.to_owned() + &lines(&wait)));
    let zero = |n: u64| {
        let (call, trim) = if n.is_multiple_of(3) {
            ("Zero", format!(" trim={} fua=0 fast=0", n % 2))
        } else {
            ("Write", " fua=0".to_owned())
        };
        format!(
            "2024-01-02 00:00:{:09.6} connection=1 {call} id={n} offset={:#x} count=0x1000{trim} \
             ...\n",
            n as f64 / 1e3,
            at(n) * 512
        )
    };
    let head = "2024-01-02 00:00:00.000000 connection=1 Connect export=\"\" tls=0 size=0xa00000 \
        minsize=0x0\n";
    write("zeroes.nbdkit", &(head.to_owned() + &lines(&zero)));
    let record = |n: u64, operation: &[u8]| {
        let mut bytes = (n as u32).to_le_bytes().to_vec();
        bytes.extend(at(n).to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend(operation);
        bytes.extend((-1_i64).to_le_bytes());
        bytes
    };
    for (name, operation) in
        [("one.oracleGeneral", [].as_slice()), ("one.oracleGeneralOpNS", &[13, 0, 0])]
    {
        let records = (0..300).flat_map(|n| record(n, operation));
        std::fs::write(folder.join(name), records.collect::<Vec<u8>>()).unwrap();
    }
}
