//! Prices for slots of the buffer and for log blocks, and the bound that they give.
//!
//! At the end of each window a page in the buffer pays the price of its slot, and a log block its
//! own. Each block then seeks by itself what costs it least, in merges and prices. What all blocks
//! pay, less what all slots and log blocks could take in, is at most what any buffer can do with:
//! a real buffer's pages never need more slots than there are. So any prices give a bound; the
//! ascent only looks for good ones. Prices are integers, so that nothing is rounded.

use super::history::{Block, History};

/// What a merge costs, in prices.
pub const MERGE: i64 = 1 << 32;

/// Most changes of the prices.
const ROUNDS: u32 = 60;
/// Changes after which nothing better is looked for, if none was found.
const PATIENCE: u32 = 12;
/// Stretches of windows that have a price of their own.
const STRETCHES: u32 = 256;

/// Prices, added up: entry `w` is that of all windows before `w`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    /// Of a slot of the buffer.
    pub slot: Vec<i64>,
    /// Of a log block, where there are any.
    pub log: Option<Vec<i64>>,
}

impl Prices {
    /// What a slot costs from window `from` up to window `to`, which is not counted.
    pub fn held(&self, from: u32, to: u32) -> i64 {
        self.slot[to as usize] - self.slot[from as usize]
    }

    /// The same of a log block; none where there are none.
    pub fn logged(&self, from: u32, to: u32) -> Option<i64> {
        self.log.as_ref().map(|log| log[to as usize] - log[from as usize])
    }
}

/// How many slots and log blocks are in use at the end of each window, as differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    slots: Vec<i64>,
    logs: Vec<i64>,
}

impl Demand {
    fn new(windows: u32) -> Self {
        Self { slots: vec![0; windows as usize + 1], logs: vec![0; windows as usize + 1] }
    }

    /// A page is held from one window to another.
    pub fn hold(&mut self, from: u32, to: u32) {
        self.slots[from as usize] += 1;
        self.slots[to as usize] -= 1;
    }

    /// A log block is in use from one window to another.
    pub fn log(&mut self, from: u32, to: u32) {
        self.logs[from as usize] += 1;
        self.logs[to as usize] -= 1;
    }
}

/// What a block does under prices: the rule of one bound.
pub trait Rule {
    /// The least that a block pays for merges, slots and log blocks, and what it then uses.
    fn pay(&mut self, block: &Block, prices: &Prices, windows: u32, demand: &mut Demand) -> i64;
}

/// What there is of slots and log blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stock {
    /// Pages of the buffer.
    pub slots: u64,
    /// Log blocks; none: as many as there are blocks, or nothing is known of them.
    pub logs: Option<u64>,
}

/// Prices of the stretches.
#[derive(Debug, Clone)]
struct Level {
    slot: Vec<f64>,
    log: Vec<f64>,
}

/// The best bound found under a rule, in whole merges, and its prices.
pub fn ascend(history: &History, stock: Stock, rule: &mut dyn Rule) -> (u64, Prices) {
    let windows = history.windows;
    let width = windows.div_ceil(STRETCHES).max(1);
    let stretches = windows.div_ceil(width) as usize;
    let entries: usize = history.blocks.iter().map(|block| block.entries.len()).sum();
    // As if each entry were a merge, and slots the reason of a few of them.
    let start = entries as f64 / 8.0 / (stock.slots.max(1) as f64) / f64::from(windows);
    let start = (start * MERGE as f64).max(1.0);
    let logs = stock.logs.map_or(0.0, |_| start);
    let mut level = Level { slot: vec![start; stretches], log: vec![logs; stretches] };
    let (mut best, mut chosen) = (i64::MIN, prices_of(&level, width, windows, stock));
    let mut found = 0;
    for round in 0..ROUNDS {
        let prices = prices_of(&level, width, windows, stock);
        let mut demand = Demand::new(windows);
        let paid: i64 = (history.blocks.iter())
            .map(|block| rule.pay(block, &prices, windows, &mut demand))
            .sum();
        let value = paid
            - worth(&prices.slot, stock.slots)
            - prices.log.as_ref().map_or(0, |log| worth(log, stock.logs.unwrap_or(0)));
        if value > best {
            (best, chosen, found) = (value, prices, round);
        }
        if round > found + PATIENCE {
            break;
        }
        // At first all prices move together, then each by itself, in ever smaller steps.
        let together = round < ROUNDS / 4;
        let step = 1.0 / (1.0 + f64::from(round % (ROUNDS / 4 * 3)) / 6.0);
        adjust(&mut level.slot, &demand.slots, stock.slots, width, together, step);
        if let Some(logs) = stock.logs {
            adjust(&mut level.log, &demand.logs, logs, width, together, step);
        }
    }
    let whole = best.max(0) as u64;
    (whole.div_ceil(MERGE as u64), chosen)
}

fn worth(sums: &[i64], stock: u64) -> i64 {
    sums.last().copied().unwrap_or(0).saturating_mul(i64::try_from(stock).unwrap_or(i64::MAX))
}

/// Dearer where more is asked for than there is, cheaper where less is.
fn adjust(prices: &mut [f64], changes: &[i64], stock: u64, width: u32, together: bool, step: f64) {
    let stock = stock.max(1) as f64;
    let mut now = 0;
    let mut means: Vec<f64> = changes[..changes.len() - 1]
        .chunks(width as usize)
        .map(|stretch| {
            let sum: i64 = stretch
                .iter()
                .map(|change| {
                    now += change;
                    now
                })
                .sum();
            sum as f64 / stretch.len() as f64 / stock
        })
        .collect();
    if together {
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        means.fill(mean);
    }
    for (price, mean) in prices.iter_mut().zip(means) {
        let towards = if mean > 1.0 {
            1.0 + step * (mean - 1.0).min(2.0)
        } else {
            1.0 / (1.0 + step * (1.0 / mean.max(0.25) - 1.0))
        };
        *price = (*price * towards).clamp(1e-3, MERGE as f64);
    }
}

fn prices_of(level: &Level, width: u32, windows: u32, stock: Stock) -> Prices {
    let sums = |prices: &[f64]| {
        let each = (0..windows).map(|window| prices[(window / width) as usize].round() as i64);
        let mut sum = 0;
        let mut sums = vec![0];
        sums.extend(each.map(|price| {
            sum += price;
            sum
        }));
        sums
    };
    Prices { slot: sums(&level.slot), log: stock.logs.map(|_| sums(&level.log)) }
}
