//! The goals for speed and memory, and what is measured for each.

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::DeviceError;
use serde::Serialize;

use crate::baseline;
use crate::drive::{self, PAGE, Scale};
use crate::load::Uniform;
use crate::measure::{Run, best, run};
use crate::readers;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

/// One figure beside its goal.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Short name.
    pub name: &'static str,
    /// What was run.
    pub what: String,
    /// What was measured, in `unit`.
    pub value: f64,
    /// Unit of value and goal.
    pub unit: &'static str,
    /// What is asked for.
    pub goal: f64,
    /// Which way is better.
    pub better: Better,
    /// How many times better than the goal.
    pub ratio: f64,
    /// How many times better than the committed baseline; at full scale alone.
    pub before: Option<f64>,
    /// Hash of what was simulated.
    pub hash: String,
}

impl Figure {
    fn new(
        name: &'static str,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        (better, goal): (Better, f64),
        hash: String,
    ) -> Self {
        let over = |other: f64| if better == Better::More { value / other } else { other / value };
        let (ratio, before) = (over(goal), baseline::of(name).map(over));
        Self { name, what: what.into(), value, unit, goal, better, ratio, before, hash }
    }
}

const MILLION: f64 = 1e6;
/// Time between requests of open-loop runs, in ns.
const GAP_NS: u64 = 50_000;

fn serve_s(run: &Run) -> f64 {
    run.serve_s
}

/// A name, a goal and a way to measure it.
pub struct Goal {
    /// Short name.
    pub name: &'static str,
    /// Measures it.
    pub measure: fn(Scale) -> Result<Vec<Figure>, String>,
}

/// All goals, in order.
pub const GOALS: &[Goal] = &[
    Goal { name: "a", measure: writes },
    Goal { name: "b", measure: collecting },
    Goal { name: "c", measure: buffered },
    Goal { name: "e", measure: merging },
    Goal { name: "f", measure: reading },
    Goal { name: "g", measure: merging_shared },
];

/// (a) and (d): an empty drive takes uniform writes.
fn writes(scale: Scale) -> Result<Vec<Figure>, String> {
    let config = drive::drive(scale);
    let load = || Uniform::new(scale.exported_pages(), PAGE, 0, GAP_NS);
    let total = |run: &Run| run.build_s + run.fill_s + run.serve_s;
    let run = best(scale.runs, || run(&config, load(), scale.requests), total)?;
    let hash = run.hash();
    Ok(vec![
        Figure::new(
            "a",
            "uniform 4 KiB writes, 50 us apart, page mapping",
            total(&run),
            "s",
            (Better::Less, 0.25 * scale.requests as f64 / MILLION),
            hash.clone(),
        ),
        Figure::new(
            "d",
            "state of map, array and engine, each flash page",
            run.report.bytes_per_page,
            "B",
            (Better::Less, 10.0),
            hash,
        ),
    ])
}

/// (b): a filled drive collects garbage. Counted without the filling, which takes no simulated
/// time, and with it.
fn collecting(scale: Scale) -> Result<Vec<Figure>, String> {
    let config = drive::filled(scale);
    let load = || Uniform::new(scale.exported_pages(), PAGE, 0, GAP_NS);
    let run = best(scale.runs, || run(&config, load(), scale.requests), serve_s)?;
    if run.report.flash.erases.gc == 0 {
        return Err("no garbage was collected, though the bench is about that".into());
    }
    let (served, filled) =
        (run.report.flash_ops as f64, run.report.precondition.pages_written as f64);
    let goal = (Better::More, 6.0);
    let what = "uniform overwrites of a filled drive, GC active";
    Ok(vec![
        Figure::new("b", what, served / run.serve_s / MILLION, "M ops/s", goal, run.hash()),
        Figure::new(
            "b+",
            "the same, the untimed fill counted too",
            (served + filled) / (run.serve_s + run.fill_s) / MILLION,
            "M ops/s",
            goal,
            run.hash(),
        ),
    ])
}

/// (c): a full page-LRU buffer over page mapping, half reads, twice as many pages in use as it
/// holds.
fn buffered(scale: Scale) -> Result<Vec<Figure>, String> {
    let run = best(scale.runs, || buffered_run("lru", scale), serve_s)?;
    let rate = scale.accesses as f64 / run.serve_s / MILLION;
    let what = "page accesses through lru, untimed, half reads";
    Ok(vec![Figure::new("c", what, rate, "M pages/s", (Better::More, 15.0), run.hash())])
}

/// Untimed accesses through a buffer of a 64th of the drive (64 MiB), with a footprint of twice the
/// buffer.
///
/// # Errors
/// As the drive's.
pub fn buffered_run(name: &str, scale: Scale) -> Result<Run, DeviceError> {
    let pages = scale.exported_pages() / 64;
    let mut config = drive::untimed(scale);
    config.buffer = drive::buffer(name, pages * PAGE);
    run(&config, Uniform::new(pages * 2, PAGE, 128, 0), scale.accesses)
}

/// (e): BAST merges at nearly every write.
fn merging(scale: Scale) -> Result<Vec<Figure>, String> {
    merges(
        scale,
        "bast",
        &[("e", 32, false), ("e1", 1, false), ("e-cb", 32, true), ("e1-cb", 1, true)],
    )
}

/// (g): FAST merges the logical blocks of all pages in a log block when it needs a new one.
fn merging_shared(scale: Scale) -> Result<Vec<Figure>, String> {
    merges(scale, "fast", &[("g", 32, false), ("g-cb", 32, true)])
}

/// Uniform writes over 128 log blocks; each run has a name, a queue depth, and copy-back or not.
fn merges(
    scale: Scale,
    mapping: &'static str,
    runs: &[(&'static str, u32, bool)],
) -> Result<Vec<Figure>, String> {
    let measure = |&(name, queue_depth, copy_back)| {
        let config: DeviceConfig = drive::merging(mapping, scale, queue_depth, copy_back);
        let load = || Uniform::new(scale.exported_pages(), PAGE, 0, 0);
        let run = best(scale.runs, || run(&config, load(), scale.requests), serve_s)?;
        let rate = run.report.flash_ops as f64 / run.serve_s / MILLION;
        let how = if copy_back { "copy-back" } else { "over the bus" };
        let what = format!(
            "uniform writes, {}, 128 logs, QD {queue_depth}, {how}",
            mapping.to_uppercase()
        );
        Ok::<_, String>(Figure::new(name, what, rate, "M ops/s", (Better::More, 25.0), run.hash()))
    };
    runs.iter().map(measure).collect()
}

/// (f): a trace in SPC text, from a file that is not packed.
fn reading(scale: Scale) -> Result<Vec<Figure>, String> {
    let rate = readers::rate("spc".parse()?, scale)?;
    let goal = (Better::More, 5.0);
    Ok(vec![
        Figure::new(
            "f",
            "SPC text read for replay",
            rate.rate,
            "M reqs/s",
            goal,
            rate.hash.clone(),
        ),
        Figure::new(
            "f+",
            "the same, hashed and counted: the first pass",
            rate.first_pass_rate,
            "M reqs/s",
            goal,
            rate.hash,
        ),
    ])
}
