//! Victim policies of page-level mappings, from their pages: scans over the blocks of one unit. No
//! reference of its own.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

use super::page_store::Unit;

/// A victim policy with its options.
#[derive(Debug, Clone)]
pub enum Policy {
    Greedy,
    Fifo,
    /// Blocks in the window: their number, or below 1 their share.
    Windowed(f64),
    CostBenefit {
        lfs: bool,
    },
    Cat {
        steps: bool,
    },
    /// k, the steepness.
    LevelingDegree(f64),
    LocalityGathering,
    /// The share of a block's pages that have to be invalid, in percent.
    Random(usize),
    /// Blocks that are drawn; the binary logarithm of a unit's blocks where not given.
    DChoices(Option<u32>),
}

impl Policy {
    /// The block to collect next: closed, and with a page at least that is not valid.
    pub fn choose(
        &self,
        unit: &Unit,
        pages: usize,
        clock: u64,
        draws: &mut Pcg64Mcg,
    ) -> Option<usize> {
        let blocks = &unit.blocks;
        let valid = |b: &usize| blocks[*b].valid();
        let closed: Vec<usize> =
            (0..blocks.len()).filter(|&b| blocks[b].closed.is_some()).collect();
        let mut by_closing = closed.clone();
        by_closing.sort_by_key(|&b| blocks[b].closed);
        let gains = |b: &usize| blocks[*b].valid() < pages;
        let some: Vec<usize> = closed.into_iter().filter(gains).collect();
        let oldest = || by_closing.iter().copied().find(gains);
        let age = |b: &usize| clock - blocks[*b].changed;
        let least = |value: &dyn Fn(&usize) -> f64| {
            some.iter().copied().min_by(|a, b| value(a).total_cmp(&value(b)).then(a.cmp(b)))
        };
        match *self {
            Self::Greedy => some.iter().copied().min_by_key(|b| (valid(b), *b)),
            Self::Fifo => oldest(),
            Self::Windowed(window) => {
                let size =
                    if window < 1.0 { window * blocks.len() as f64 } else { window } as usize;
                let inside = by_closing.iter().copied().take(size.max(1)).filter(gains);
                // The first of the least ones is the oldest.
                inside.min_by_key(valid).or_else(oldest)
            }
            Self::CostBenefit { lfs } => least(&|b| {
                let (v, all, age) = (valid(b) as f64, pages as f64, age(b) as f64);
                match (lfs, v == 0.0) {
                    (true, _) => -(age * (1.0 - v / all) / (1.0 + v / all)),
                    // Nothing is copied.
                    (false, true) => f64::NEG_INFINITY,
                    (false, false) => -(age * (1.0 - v / all) / (2.0 * v / all)),
                }
            }),
            Self::Cat { steps } => least(&|b| {
                let (v, all, times) =
                    (valid(b) as f64, pages as f64, blocks[*b].erases.max(1) as f64);
                let mut age = age(b).max(1) as f64;
                if steps {
                    age = age.log2().floor() + 1.0;
                }
                v / (all - v) / age * times
            }),
            Self::LevelingDegree(k) => {
                let most = blocks.iter().map(|b| b.erases).max()?;
                let fewest = blocks.iter().map(|b| b.erases).min()?;
                let d = f64::from(most - fewest);
                let l = if d == 0.0 { 0.0 } else { 2.0 / (1.0 + (k / d).exp()) };
                least(&|b| {
                    let u = valid(b) as f64 / pages as f64;
                    (1.0 - l) * u + l * f64::from(blocks[*b].erases) / f64::from(most + 1)
                })
            }
            Self::Random(percent) => {
                let invalid = |b: &&usize| (pages - valid(b)) * 100 >= percent * pages;
                let enough: Vec<usize> = some.iter().filter(invalid).copied().collect();
                let from = if enough.is_empty() { &some } else { &enough };
                (!from.is_empty()).then(|| from[draws.random_range(0..from.len())])
            }
            Self::DChoices(d) => {
                let emptiest = some.iter().copied().min_by_key(|b| (valid(b), *b))?;
                let d = d.unwrap_or_else(|| (blocks.len() as f64).log2().floor().max(1.0) as u32);
                let mut drawn: Vec<usize> = Vec::new();
                for _ in 0..1000 {
                    let block = draws.random_range(0..blocks.len() as u32) as usize;
                    if blocks[block].closed.is_none() {
                        continue;
                    }
                    drawn.push(block);
                    // The first of the least ones is the one that was drawn first.
                    let best = drawn.iter().copied().min_by_key(valid).filter(gains);
                    if drawn.len() >= d as usize && best.is_some() {
                        return best;
                    }
                }
                Some(emptiest)
            }
            Self::LocalityGathering => {
                let next = |region| {
                    by_closing.iter().copied().find(|b| blocks[*b].region == region && gains(b))
                };
                let product = |region: usize, b: usize| {
                    let number = by_closing.iter().filter(|&&b| blocks[b].region == region).count();
                    // u / (1 - u) without rounding, so that equals are equal.
                    let (valid, invalid) = (valid(&b) as f64, (pages - valid(&b)) as f64);
                    (unit.erased_of_late[region] + 1.0) / number as f64 * valid / invalid
                };
                let all = (0..unit.erased_of_late.len())
                    .filter_map(|r| next(r).map(|b| (product(r, b), b)));
                all.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, b)| b)
            }
        }
    }
}
