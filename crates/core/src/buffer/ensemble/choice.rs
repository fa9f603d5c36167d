//! Which expert leads: the one that would have cost least so far, each with a handicap that was
//! drawn once.
//!
//! Follow the perturbed leader (Kalai and Vempala, "Efficient algorithms for online decision
//! problems", 2005): the handicaps are exponential, so that work that happens now rarely changes
//! the leader.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// What experts have cost, and who leads.
#[derive(Debug)]
pub struct Choice {
    /// Of each expert, beyond what the best one has cost, in ns.
    beyond: Vec<f64>,
    /// Total of each at the last turn.
    told: Vec<u64>,
    /// Handicap of each, in ns; may be below zero.
    handicaps: Vec<f64>,
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
        let handicap = |n: usize| {
            let drawn = -libm::log(1.0 - draws.random::<f64>());
            patience * price * if n == 0 { -drawn } else { HEAD_START - drawn }
        };
        let handicaps = (0..experts).map(handicap).collect();
        let mut choice = Self {
            beyond: vec![0.0; experts],
            told: vec![0; experts],
            handicaps,
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
        let experts = self.beyond.iter_mut().zip(&mut self.told).zip(totals).enumerate();
        for (n, ((beyond, told), total)) in experts {
            if total == *told {
                continue;
            }
            let cost = (total - *told) as f64;
            *beyond += if n == 0 { cost } else { cost * (1.0 + self.caution) };
            *told = total;
            changed = true;
        }
        if !changed {
            return self.leader;
        }
        let least = self.beyond.iter().copied().fold(f64::INFINITY, f64::min);
        if least > 0.0 {
            self.best += least;
            self.beyond.iter_mut().for_each(|beyond| *beyond -= least);
            if self.best >= self.halved {
                self.halved = self.best + self.window;
                self.beyond.iter_mut().for_each(|beyond| *beyond /= 2.0);
            }
        }
        self.leader = self.least();
        self.leader
    }

    fn least(&self) -> usize {
        let score = |n: usize| self.beyond[n] + self.handicaps[n];
        (0..self.beyond.len()).fold(0, |best, n| if score(n) < score(best) { n } else { best })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.beyond.capacity() * 8 + self.told.capacity() * 8 + self.handicaps.capacity() * 8
    }
}

/// Margins that all but the first expert have to make up first.
const HEAD_START: f64 = 3.0;
