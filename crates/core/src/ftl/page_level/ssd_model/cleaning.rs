//! Which block is cleaned next: greedy with the tie rule of planes that have their own active
//! blocks, and the same aware of wear.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::{Cleaning, Config};
use crate::ftl::victim::{Candidates, Looks, VictimPolicy};

/// The policy that the options name.
pub(super) fn build(config: &Config) -> Box<dyn VictimPolicy> {
    match config.cleaning {
        Cleaning::Greedy => Box::new(Emptiest),
        Cleaning::WearAware => Box::new(WearAware::new(config)),
    }
}

/// Whether a block of an element that has come to its turn is cleaned, as the options say.
pub(super) fn turns(config: &Config) -> Turns {
    match config.cleaning {
        Cleaning::Greedy => Turns::All,
        Cleaning::WearAware => Turns::Rationed(WearAware::new(config)),
    }
}

/// Whether a block that has come to its turn is cleaned, or passed over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Turns {
    /// It always is.
    All,
    /// The less often, the less life it has left.
    Rationed(WearAware),
}

impl Turns {
    /// The average of the erases that are left of blocks which were erased so often, for
    /// [`Self::accepts`]. Asked once, when blocks that are cleaned one after the other are put in
    /// order.
    pub fn average_left(&self, erases: &mut dyn Iterator<Item = u32>) -> f64 {
        match self {
            Self::All => 0.0,
            Self::Rationed(policy) => policy.average_left(erases),
        }
    }

    /// Whether a block that has come to its turn and was erased so often is cleaned.
    pub fn accepts(&mut self, erases: u32, average_left: f64) -> bool {
        match self {
            Self::All => true,
            Self::Rationed(policy) => policy.fate(erases, average_left, false) != Fate::Skip,
        }
    }
}

/// The sealed block with the fewest valid pages, the highest number among equals.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Emptiest;

impl VictimPolicy for Emptiest {
    #[inline]
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        blocks.emptiest_last()
    }
}

/// What becomes of a block that has come to its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is cleaned and gets cold data, whose block is erased.
    Migrate,
    /// It is cleaned.
    Clean,
    /// The next one has its turn.
    Skip,
}

/// The sealed blocks with no more valid pages than any that comes before them, by number, the last
/// one first: [`Emptiest`] takes that.
fn candidates(sealed: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let (mut least, mut found) = (u32::MAX, Vec::new());
    for (block, valid) in sealed {
        if valid <= least {
            least = valid;
            found.push(block);
        }
    }
    found.reverse();
    found
}

/// Goes through those blocks, and looks at the erases that each has left. The last one is cleaned
/// as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WearAware {
    lifetime: u32,
    migrate_below: f64,
    ration_below: f64,
    draws: Pcg64Mcg,
    cold: Option<u32>,
}

impl WearAware {
    fn new(config: &Config) -> Self {
        Self {
            lifetime: config.lifetime,
            migrate_below: config.migrate_below,
            ration_below: config.ration_below,
            draws: Pcg64Mcg::seed_from_u64(config.seed),
            cold: None,
        }
    }

    /// A block that was erased so often, where `average` erases are left to blocks; `migrates`
    /// where cold data can move.
    fn fate(&mut self, erases: u32, average: f64, migrates: bool) -> Fate {
        let life = f64::from(self.lifetime.saturating_sub(erases));
        if migrates && life < self.migrate_below * average {
            Fate::Migrate
        } else if life < self.ration_below * average
            && self.draws.random::<f64>() >= life / (self.ration_below * average)
        {
            Fate::Skip
        } else {
            Fate::Clean
        }
    }

    /// The average of the erases that are left of blocks which were erased so often. One that
    /// outlives its life has nothing left, and not less.
    fn average_left(&self, erases: &mut dyn Iterator<Item = u32>) -> f64 {
        let (mut left, mut blocks) = (0, 0u32);
        for erases in erases {
            left += u64::from(self.lifetime.saturating_sub(erases));
            blocks += 1;
        }
        left as f64 / f64::from(blocks.max(1))
    }
}

impl VictimPolicy for WearAware {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        self.cold = None;
        let sealed = (0..blocks.count()).filter_map(|block| Some((block, blocks.closed(block)?)));
        let order = candidates(sealed);
        let gains = |block: &u32| blocks.gains(blocks.valid(*block));
        let (emptiest, last) = (*order.first().filter(|block| gains(block))?, *order.last()?);
        let average = self.average_left(&mut (0..blocks.count()).map(|block| blocks.erases(block)));
        for &block in order.iter().filter(|&block| *block != last && gains(block)) {
            match self.fate(blocks.erases(block), average, true) {
                Fate::Skip => {}
                Fate::Clean => return Some(block),
                Fate::Migrate => {
                    // A block without any valid page holds nothing cold.
                    let holds = |&other: &u32| blocks.closed(other).is_some_and(|valid| valid > 0);
                    let others =
                        (0..blocks.count()).filter(|other| *other != block && holds(other));
                    self.cold = others.min_by_key(|&other| blocks.erased_at(other));
                    return Some(block);
                }
            }
        }
        Some(if gains(&last) { last } else { emptiest })
    }

    fn cold(&mut self) -> Option<u32> {
        self.cold.take()
    }

    fn looks_at(&self) -> Looks {
        Looks { erased: true, ..Looks::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(migrate_below: f64, ration_below: f64) -> WearAware {
        let draws = Pcg64Mcg::seed_from_u64(1);
        WearAware { lifetime: 50, migrate_below, ration_below, draws, cold: None }
    }

    #[test]
    fn blocks_have_their_turns_as_long_as_they_hold_no_more_than_those_before() {
        let valid = [3, 2, 3, 2, 1, 2];
        assert_eq!(candidates((0..).zip(valid)), [4, 3, 1, 0]);
        assert_eq!(candidates((0..).zip([1, 2, 3])), [0]);
    }

    #[test]
    fn a_block_with_little_life_left_gets_cold_data() {
        let mut policy = policy(0.85, 0.80);
        // On average 40 erases are left: below 34 is too few.
        assert_eq!(
            [16, 17].map(|erases| policy.fate(erases, 40.0, true)),
            [Fate::Clean, Fate::Migrate]
        );
    }

    #[test]
    fn erases_are_averaged_only_for_those_who_look_at_wear() {
        let mut looked_at = 0;
        let mut erases = [40, 60].into_iter().inspect(|_| looked_at += 1);
        assert!(Turns::All.average_left(&mut erases) == 0.0);
        assert!(Turns::All.accepts(49, 0.0));
        // The second has outlived its life by ten erases: it has none left.
        assert!((policy(0.85, 0.80).average_left(&mut erases) - 5.0).abs() < 1e-9);
        assert_eq!(looked_at, 2);
    }

    #[test]
    fn a_block_is_passed_over_as_often_as_its_life_is_short() {
        let mut policy = policy(0.0, 0.80);
        // 8 of 40 left, where 32 are asked for: one time in four.
        let cleaned = (0..10_000).filter(|_| policy.fate(42, 40.0, false) == Fate::Clean).count();
        assert!((2_400..2_600).contains(&cleaned), "{cleaned}");
        assert!((0..100).all(|_| policy.fate(18, 40.0, false) == Fate::Clean));
    }
}
