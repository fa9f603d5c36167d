//! The workload of the golden runs: reads, writes, trims, flush commands and forced writes, hot and
//! cold, short and long.

use std::path::Path;

use eraseblock_core::host::{Op, Request};
use eraseblock_traces::{WriteOptions, write_trace};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// Its file in the folder of the runs.
pub const FILE: &str = "golden.ebt";
/// Bytes that it reaches.
const SPAN: u64 = 4 << 20;
const SECTOR: u64 = 512;
const REQUESTS: u32 = 700;

/// Its requests.
pub fn requests() -> Vec<Request> {
    let mut random = Pcg64Mcg::seed_from_u64(2027);
    let mut arrival_ns = 0;
    let mut all = Vec::new();
    for _ in 0..REQUESTS {
        arrival_ns +=
            if random.random_range(0..4) == 0 { 0 } else { random.random_range(0..1_200_000) };
        let kind = random.random_range(0..100);
        let op = match kind {
            0..2 => Op::Flush,
            2..6 => Op::Trim,
            6..34 => Op::Read,
            _ => Op::Write,
        };
        let sectors = match random.random_range(0..12) {
            0 => random.random_range(1..8),
            1 => random.random_range(64..400),
            _ => 8 * random.random_range(1..5),
        };
        // Most of the work goes to an eighth of the drive.
        let span = if random.random_range(0..3) > 0 { SPAN / 8 } else { SPAN };
        let align = if sectors % 8 == 0 { 8 } else { 1 };
        let first = random.random_range(0..(span / SECTOR - sectors) / align) * align;
        let (offset, len) =
            if op == Op::Flush { (0, 0) } else { (first * SECTOR, sectors * SECTOR) };
        all.push(Request {
            arrival_ns,
            op,
            offset,
            len,
            volume: 0,
            fua: op == Op::Write && kind > 95,
        });
    }
    all
}

/// The file of made-up requests that each format writes of itself.
pub fn sample_name(format: &eraseblock_traces::Format) -> String {
    format!("sample.{}", format.name)
}

/// Writes the files.
pub fn write(folder: &Path) {
    for format in eraseblock_traces::formats() {
        std::fs::write(folder.join(sample_name(format)), format.sample(200))
            .expect("a folder that can be written");
    }
    let all = requests().into_iter().map(Ok);
    write_trace(all, &folder.join(FILE), &WriteOptions::default())
        .expect("a folder that can be written");
}
