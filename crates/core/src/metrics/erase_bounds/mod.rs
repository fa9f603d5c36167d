//! How few erases any buffer of a size could have caused under a mapping of whole blocks, and how
//! few a schedule causes that could be carried out.
//!
//! Each bound is a file and a line in the list below. What they hold for is in `docs/bounds.md`,
//! with the proofs; what each assumes of the mapping is in its file.

pub mod batches;
pub mod dual;
pub mod history;
pub mod in_order;
pub mod logs;
pub mod schedule;

use batches::Batches;
use dual::{Prices, Stock, ascend};
use history::{History, Step};
use logs::Logs;
use schedule::Schedule;
use serde::{Deserialize, Serialize};

use super::Figures;
use super::observer::{
    About, Decision, Drive, Fault, Figure, Folding, Hears, Moment, Observer, Occasion,
};
use crate::buffer::Buffer;

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Bounds on erases",
    summary: "how few erases any buffer of this size could cause under a mapping of whole blocks",
    always: false,
    needs_time: false,
    left_out: true,
    figures: &[Figure {
        key: "erase_bound",
        below: ".{fewest,by,reachable}",
        what: "`fewest`: erases that no buffer of this size can avoid on this workload and \
               mapping, and as many merges; `by`: the bound that says so; `reachable`: erases of \
               a schedule that could be carried out, null where something is trimmed. All null \
               where nothing is known of the mapping, the drive is not filled first, or a warm-up is left out",
    }],
};

/// What is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseBound {
    /// Fewest erases, and merges.
    pub fewest: Option<u64>,
    /// Name of the bound that says so.
    pub by: Option<String>,
    /// Erases of a schedule.
    pub reachable: Option<u64>,
}

/// What the bounds depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages of the buffer.
    pub capacity: u64,
    /// The same, and those that may wait in program units.
    pub slots: u64,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// How blocks are written over.
    pub folding: Folding,
    /// Dirty pages are stored after the last request.
    pub flushed_at_end: bool,
}

/// What bounds are made of.
#[derive(Debug)]
struct Known<'a> {
    history: &'a History,
    limits: Limits,
    /// Fewest batches, and the prices that say so, if blocks are always written anew.
    anew: (u64, Prices),
    /// The same with log blocks, where there are any.
    logged: Option<(u64, Prices)>,
}

/// A bound: its name, and what it says.
type Lower = (&'static str, fn(&Known<'_>) -> u64);

/// All bounds from below.
const LOWER: &[Lower] = &[
    ("batches", |known| known.logged.as_ref().unwrap_or(&known.anew).0),
    ("logs", |known| {
        let stock = Stock { slots: known.limits.slots, logs: None };
        ascend(known.history, stock, &mut Logs::new(known.limits.pages_per_block)).0
    }),
];

/// Part of the buffer that is written in a window.
const WINDOW: u64 = 32;

/// The bounds for what the host did.
pub fn bounds(steps: &[Step], limits: Limits) -> EraseBound {
    found(steps, limits).map_or_else(EraseBound::default, |(bound, _)| bound)
}

/// The same with the schedule that is `reachable`; nothing where nothing is known of the mapping.
/// There is no schedule where something was trimmed: mappings store tombstones then, which break
/// the order of logs and cost erases of their own.
pub fn found(steps: &[Step], limits: Limits) -> Option<(EraseBound, Option<Schedule>)> {
    if limits.folding == Folding::Unknown {
        return None;
    }
    let pages = (limits.slots / WINDOW).clamp(1, u64::from(u32::MAX)) as u32;
    let history = History::new(steps, limits.pages_per_block, pages, limits.flushed_at_end);
    let stock = Stock { slots: limits.slots, logs: None };
    let anew = ascend(&history, stock, &mut Batches::default());
    let logged = limits.folding.logs().map(|count| {
        let stock = Stock { logs: Some(count.into()), ..stock };
        ascend(&history, stock, &mut Batches::default())
    });
    let known = Known { history: &history, limits, anew, logged };
    let lower = LOWER.iter().map(|(name, of)| (of(&known), *name));
    // Of equal ones the first.
    let best = lower.reduce(|best, one| if one.0 > best.0 { one } else { best });
    let trims = steps.iter().any(|step| matches!(step, Step::Trim { .. }));
    let schedule = (!trims).then(|| best_schedule(steps, &known, pages));
    let bound = EraseBound {
        fewest: best.map(|best| best.0),
        by: best.map(|best| best.1.to_owned()),
        reachable: schedule.as_ref().map(|schedule| schedule.erases),
    };
    Some((bound, schedule))
}

/// The best of some schedules, whose plans hold slots to be the dearer the more they are short.
fn best_schedule(steps: &[Step], known: &Known<'_>, pages: u32) -> Schedule {
    let (history, limits) = (known.history, known.limits);
    let keep = schedule::Limits {
        slots: limits.capacity,
        pages_per_block: limits.pages_per_block,
        pages,
        flushed_at_end: limits.flushed_at_end,
        logs: match limits.folding {
            Folding::Logs { count, in_order: true } => Some(count),
            _ => None,
        },
    };
    let prices = [Some(&known.anew), known.logged.as_ref()];
    let tries = prices.into_iter().flatten().flat_map(|(_, prices)| {
        [8, 9, 10, 12, 16].map(|eighths| {
            let mut rule = Batches::default();
            let mut dearer = prices.clone();
            dearer.slot.iter_mut().for_each(|sum| *sum = *sum / 8 * eighths);
            let plan: Vec<_> = (history.blocks.iter())
                .map(|block| rule.plan(block, &dearer, history.windows))
                .collect();
            schedule::carried_out(steps, history, &plan, keep)
        })
    });
    tries.min_by_key(|schedule| schedule.erases).unwrap_or_default()
}

/// Keeps what the host did.
#[derive(Debug, Clone)]
pub struct EraseBounds {
    limits: Limits,
    steps: Vec<Step>,
}

impl EraseBounds {
    /// Of a drive that no request has reached.
    pub fn new(drive: &Drive) -> Self {
        let waiting = u64::from(drive.units) * u64::from(drive.program_pages - 1);
        let limits = Limits {
            capacity: drive.capacity.into(),
            slots: u64::from(drive.capacity) + waiting,
            pages_per_block: drive.pages_per_block,
            folding: drive.folding,
            flushed_at_end: drive.flushed_at_end,
        };
        Self { limits, steps: Vec::new() }
    }
}

impl Observer for EraseBounds {
    fn on_access(&mut self, decision: &Decision<'_>, _: &dyn Buffer) -> Result<Hears, Fault> {
        if self.limits.folding == Folding::Unknown {
            return Ok(Hears::No);
        }
        match decision.occasion {
            Occasion::Access { first, count, write: true, forced } => {
                self.steps.push(Step::Write { first: first.0, count, forced });
            }
            Occasion::Trim { first, count, .. } => {
                self.steps.push(Step::Trim { first: first.0, count });
            }
            Occasion::Flush { battery: false } => self.steps.push(Step::Flush),
            _ => {}
        }
        Ok(Hears::Yes)
    }

    fn report(&self, moment: &Moment<'_>, figures: &mut Figures) {
        let known = (!moment.worn_out).then(|| bounds(&self.steps, self.limits));
        figures.set("erase_bound", known);
    }
}
