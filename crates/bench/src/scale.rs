//! Whether a flash operation costs the same on small drives and on large ones: instructions, time
//! and memory, from one chip to 64, and from 32 GiB to 4 TiB.
//!
//! Every drive is filled, has the same amount of spare flash and takes the same kind of requests,
//! 32 at a time: half of them read a page anywhere, half write one of the same 4 GiB, so that
//! garbage collection has as much to do on each.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

use eraseblock_core::config::{Bytes, DeviceConfig, Precondition, Replay};
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::host::{Op, Request};
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::drive::{self, PAGE, Scale};

/// How much dearer, in instructions, the dearest drive may be than the cheapest.
const LIMIT: f64 = 1.3;
/// Bytes that the whole simulation may hold for each physical page.
const BYTES_LIMIT: f64 = 10.0;

const PAGES_PER_BLOCK: u32 = 256;
/// Blocks beyond those that the host can fill: 1 GiB.
const SPARE_BLOCKS: u64 = 1024;
/// Pages that take the writes: 4 GiB.
const HOT_PAGES: u64 = 1 << 20;
/// Requests before anything is counted: the writes among them use up the spare flash several times.
const WARM_UP: u64 = 4 * HOT_PAGES;

/// A drive to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Chips, up to eight on a channel.
    pub chips: u32,
    /// What the host can fill.
    pub exported: Bytes,
}

const fn size(chips: u32, exported: u64) -> Size {
    Size { chips, exported: Bytes(exported) }
}

/// The drives that are compared.
pub const SIZES: [Size; 5] = [
    size(1, 32 << 30),
    size(8, 32 << 30),
    size(64, 32 << 30),
    size(64, 256 << 30),
    size(64, 4 << 40),
];
/// The same in seconds, for tests.
pub const QUICK: [Size; 3] = [size(1, 8 << 30), size(8, 8 << 30), size(64, 16 << 30)];

/// What a flash operation costs on a drive.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// The drive.
    pub size: Size,
    /// Instructions for a flash operation; null without valgrind.
    pub instructions: Option<f64>,
    /// Time for one, in ns.
    pub ns: f64,
    /// Bytes held for each physical page.
    pub bytes_per_page: f64,
    /// Time to build and fill the drive, in s.
    pub fill_s: f64,
    /// Pages programmed for each page written.
    pub waf: f64,
}

/// What one run of a child did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, serde::Deserialize)]
pub struct Done {
    /// Flash operations.
    pub flash_ops: u64,
    /// Time for them, in s.
    pub serve_s: f64,
    /// Building and filling, in s.
    pub fill_s: f64,
    /// Bytes held for each physical page.
    pub bytes_per_page: f64,
    /// Pages programmed for each page written.
    pub waf: f64,
}

fn config(size: Size) -> DeviceConfig {
    let mut config = drive::drive(Scale { pages_per_block: PAGES_PER_BLOCK, ..Scale::FULL });
    let nand = &mut config.nand;
    nand.channels = size.chips.min(8);
    nand.chips_per_channel = size.chips / nand.channels;
    (nand.dies_per_chip, nand.planes_per_die) = (1, 1);
    let blocks = size.exported.0 / PAGE / u64::from(PAGES_PER_BLOCK) + SPARE_BLOCKS;
    nand.blocks_per_plane = (blocks / u64::from(size.chips)) as u32;
    config.ftl.exported = Some(size.exported);
    config.precondition.state = Precondition::Full;
    config.host.replay = Replay::Closed;
    config
}

const BEGIN: &str = "begin";
const END: &str = "end";

/// Half of the requests read anywhere, half write the first pages.
struct Load {
    rng: Pcg64Mcg,
    pages: u64,
}

impl Load {
    fn request(&mut self) -> Request {
        let random = self.rng.next_u64();
        let (op, among) =
            if random & 1 == 0 { (Op::Read, self.pages) } else { (Op::Write, HOT_PAGES) };
        let page = ((random >> 32) * among) >> 32;
        Request { arrival_ns: 0, offset: page * PAGE, len: PAGE, volume: 0, op, fua: false }
    }
}

/// Fills a drive and uses up its spare flash, then serves `requests`. Says through `stage` when
/// these begin and when they have been served.
///
/// # Errors
/// As the drive's, or `stage`'s.
pub fn run(
    size: Size,
    requests: u64,
    mut stage: impl FnMut(&'static str) -> Result<(), String>,
) -> Result<Done, String> {
    let told = |error: DeviceError| error.to_string();
    let start = Instant::now();
    let mut device = Device::new(&config(size), Options::default()).map_err(told)?;
    device.precondition().map_err(told)?;
    let mut load = Load { rng: Pcg64Mcg::seed_from_u64(1), pages: size.exported.0 / PAGE };
    for _ in 0..WARM_UP {
        device.submit(&load.request()).map_err(told)?;
    }
    let (before, filled) = (device.flash_ops(), Instant::now());
    stage(BEGIN)?;
    let go = Instant::now();
    for _ in 0..requests {
        device.submit(&load.request()).map_err(told)?;
    }
    let serve_s = go.elapsed().as_secs_f64();
    stage(END)?;
    let flash_ops = device.flash_ops() - before;
    let report = device.finish().map_err(told)?;
    if report.flash.erases.gc == 0 {
        return Err("no garbage was collected, though the bench is about that".into());
    }
    Ok(Done {
        flash_ops,
        serve_s,
        fill_s: (filled - start).as_secs_f64(),
        bytes_per_page: report.bytes_per_page,
        waf: report.waf.unwrap_or_default(),
    })
}

/// [`run`] in a child process that waits at each stage for a line; its last line is what it did.
///
/// # Errors
/// As [`run`]'s, or nobody answers.
pub fn run_in_stages(size: Size, requests: u64) -> Result<(), String> {
    let say = |text: &str| {
        writeln!(std::io::stdout(), "{text}").map_err(|e| format!("telling of a stage: {e}"))?;
        std::io::stdout().flush().map_err(|e| format!("telling of a stage: {e}"))
    };
    let done = run(size, requests, |stage| {
        say(stage)?;
        std::io::stdin()
            .read_line(&mut String::new())
            .map(|_| ())
            .map_err(|e| format!("waiting: {e}"))
    })?;
    say(&serde_json::to_string(&done).map_err(|e| e.to_string())?)
}

/// Measures drives with so many `requests` each; instructions where valgrind is installed.
///
/// # Errors
/// A child fails, or says something unexpected.
pub fn costs(
    sizes: &[Size],
    requests: u64,
    mut tell: impl FnMut(&str),
) -> Result<Vec<Cost>, String> {
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    let mut cost = |&size: &Size| {
        tell(&format!("{} chips, {}: timing", size.chips, size.exported));
        let done = child(size, requests, false)?.0;
        let mut instructions = None;
        if valgrind {
            tell(&format!("{} chips, {}: counting instructions", size.chips, size.exported));
            let (counted, all) = child(size, requests, true)?;
            instructions = all.map(|all| all as f64 / counted.flash_ops as f64);
        }
        let Done { flash_ops, serve_s, fill_s, bytes_per_page, waf } = done;
        Ok(Cost {
            size,
            instructions,
            ns: serve_s * 1e9 / flash_ops as f64,
            bytes_per_page,
            fill_s,
            waf,
        })
    };
    sizes.iter().map(&mut cost).collect()
}

/// Dearest to cheapest, in instructions; and whether all limits are kept.
pub fn verdict(costs: &[Cost]) -> (Option<f64>, bool) {
    let counted = || costs.iter().filter_map(|cost| cost.instructions);
    let ratio =
        counted().reduce(f64::max).zip(counted().reduce(f64::min)).map(|(high, low)| high / low);
    let small = costs.iter().all(|cost| cost.bytes_per_page <= BYTES_LIMIT);
    (ratio, small && ratio.is_none_or(|ratio| ratio <= LIMIT))
}

/// Runs a drive in a process of its own; with the instructions between its two stages, if they are
/// to be `counted`.
fn child(size: Size, requests: u64, counted: bool) -> Result<(Done, Option<u64>), String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        format!("{what} the drive of {size:?}: {error}")
    };
    let program = std::env::current_exe().map_err(|e| format!("finding this program: {e}"))?;
    let out = std::env::temp_dir().join(format!("eraseblock-scale-{}", std::process::id()));
    let mut command = if counted {
        let mut command = Command::new("valgrind");
        // Filling goes on uncounted, at many times the speed.
        command.args(["--tool=callgrind", "--instr-atstart=no", "--quiet"]);
        command.arg(format!("--callgrind-out-file={}", out.display())).arg(&program);
        command
    } else {
        Command::new(&program)
    };
    command.args([
        "drive",
        &size.chips.to_string(),
        &size.exported.0.to_string(),
        &requests.to_string(),
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failed("starting", &e))?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        unreachable!("both are pipes")
    };
    let mut last = String::new();
    for line in BufReader::new(output).lines() {
        last = line.map_err(|e| failed("hearing from", &e))?;
        if let Some(switch) = [(BEGIN, "on"), (END, "off")].iter().find(|(stage, _)| *stage == last)
        {
            if counted {
                count(child.id(), switch.1)?;
            }
            writeln!(input).map_err(|e| failed("answering", &e))?;
        }
    }
    let status = child.wait().map_err(|e| failed("waiting for", &e))?;
    if !status.success() {
        return Err(failed("running", &format!("it ended with {status}")));
    }
    let done = serde_json::from_str(&last).map_err(|e| failed("understanding", &e))?;
    if !counted {
        return Ok((done, None));
    }
    let text = std::fs::read_to_string(&out).map_err(|e| failed("reading the counts of", &e))?;
    std::fs::remove_file(&out).map_err(|e| failed("removing the counts of", &e))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.map_or_else(
        || Err(failed("counting", &"no total was written")),
        |total| Ok((done, Some(total))),
    )
}

/// Switches the counting of instructions in a process under valgrind.
fn count(process: u32, switch: &str) -> Result<(), String> {
    let ran = Command::new("callgrind_control")
        .args(["-i", switch, &process.to_string()])
        .output()
        .map_err(|e| format!("starting callgrind_control: {e}"))?;
    let text = String::from_utf8_lossy(&ran.stdout);
    if ran.status.success() && text.contains("OK") {
        Ok(())
    } else {
        Err(format!("callgrind_control ended with {}: {text}", ran.status))
    }
}
