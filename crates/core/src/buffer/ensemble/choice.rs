//! Which expert leads: the one that would have cost least so far, each with a handicap that was
//! drawn once.
//!
//! Follow the perturbed leader (Kalai and Vempala, "Efficient algorithms for online decision
//! problems", 2005): the handicaps are exponential, so that work that happens now rarely changes
//! the leader.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// What an expert has cost.
#[derive(Debug)]
struct Tally {
    /// Beyond what the best one has cost, in ns.
    beyond: f64,
    /// In all at the last turn.
    told: u64,
    /// In ns; may be below zero.
    handicap: f64,
}

/// What experts have cost, and who leads.
#[derive(Debug)]
pub struct Choice {
    experts: Vec<Tally>,
    /// What the best has cost.
    best: f64,
    /// When what is beyond the best is halved next, by that.
    halved: f64,
    window: f64,
    caution: f64,
    leader: usize,
}

impl Choice {
    /// Between so many experts, the first of which is the one to begin with. `price` is what a
    /// change of leader costs, in ns; handicaps count in `patience` prices, halves are taken after
    /// each `window` prices, and what the others cost is raised by the share `caution`.
    pub fn new(
        experts: usize,
        price: f64,
        (patience, window, caution): (f64, f64, f64),
        seed: u64,
    ) -> Self {
        let mut draws = Pcg64Mcg::seed_from_u64(seed);
        let mut handicap = |n: usize| {
            let drawn = -libm::log(1.0 - draws.random::<f64>());
            patience * price * if n == 0 { -drawn } else { HEAD_START - drawn }
        };
        let tally = |n| Tally { beyond: 0.0, told: 0, handicap: handicap(n) };
        let mut choice = Self {
            experts: (0..experts).map(tally).collect(),
            best: 0.0,
            halved: window * price,
            window: window * price,
            caution,
            leader: 0,
        };
        choice.leader = choice.least();
        choice
    }

    /// Who leads.
    pub fn leader(&self) -> usize {
        self.leader
    }

    /// What each expert has cost in all by now; who leads from now on.
    pub fn turn(&mut self, totals: impl Iterator<Item = u64>) -> usize {
        let mut changed = false;
        let mut least = f64::INFINITY;
        for (n, (one, total)) in self.experts.iter_mut().zip(totals).enumerate() {
            if total != one.told {
                let cost = (total - one.told) as f64;
                one.beyond += if n == 0 { cost } else { cost * (1.0 + self.caution) };
                one.told = total;
                changed = true;
            }
            least = least.min(one.beyond);
        }
        if !changed {
            return self.leader;
        }
        if least > 0.0 {
            self.best += least;
            self.experts.iter_mut().for_each(|one| one.beyond -= least);
            if self.best >= self.halved {
                self.halved = self.best + self.window;
                self.experts.iter_mut().for_each(|one| one.beyond /= 2.0);
            }
        }
        self.leader = self.least();
        self.leader
    }

    fn least(&self) -> usize {
        let scores = self.experts.iter().map(|one| one.beyond + one.handicap).enumerate();
        let lower = |best: (usize, f64), one: (usize, f64)| if one.1 < best.1 { one } else { best };
        scores.reduce(lower).map_or(0, |(n, _)| n)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.experts.capacity() * size_of::<Tally>()
    }
}

/// Margins that all but the first expert have to make up first.
const HEAD_START: f64 = 3.0;
