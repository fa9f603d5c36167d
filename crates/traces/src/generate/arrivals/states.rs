//! A Poisson process whose rate switches between two values, as a Markov chain does.

use rand_pcg::Pcg64;

use crate::generate::random::{exponential, gamma, unit};

/// Two states of exponential length, each with its own rate of arrivals.
#[derive(Debug)]
pub struct States {
    random: Pcg64,
    /// Mean time in the busy and the calm state, in ns.
    stay: [f64; 2],
    /// Mean arrivals in a ns.
    rate: [f64; 2],
    /// Index of the present state.
    now: usize,
    /// Time left in it, in ns.
    left: f64,
    /// The states change thousands of times from one arrival to the next.
    skips: bool,
}

/// Mean cycles of the two states from one arrival to the next above which whole cycles are skipped.
const MANY_CYCLES: f64 = 1000.0;

impl States {
    /// Stays of mean `busy` and `calm` ns; arrivals come `ratio` times as fast while it is busy,
    /// and `mean` ns apart over all. An infinite ratio lets none come while it is calm.
    pub fn new(mut random: Pcg64, busy: f64, calm: f64, ratio: f64, mean: f64) -> Self {
        let busy_share = busy / (busy + calm);
        let calm_rate = 1.0 / (mean * (busy_share * ratio + (1.0 - busy_share)));
        let rates = if ratio.is_finite() {
            [calm_rate * ratio, calm_rate]
        } else {
            [1.0 / (mean * busy_share), 0.0]
        };
        // The first request is the first of a busy state.
        let left = exponential(&mut random) * busy;
        let skips = mean > MANY_CYCLES * (busy + calm);
        Self { random, stay: [busy, calm], rate: rates, now: 0, left, skips }
    }

    /// Time to the next arrival, in ns.
    pub fn next_gap(&mut self) -> f64 {
        if self.rate[0].is_infinite() {
            return 0.0;
        }
        if self.skips {
            return self.next_after_cycles();
        }
        // Exponential work, done at the rate of each state in turn.
        let mut work = exponential(&mut self.random);
        let mut gap = 0.0;
        loop {
            let rate = self.rate[self.now];
            if work <= rate * self.left {
                let time = work / rate;
                self.left -= time;
                return gap + time;
            }
            work -= rate * self.left;
            gap += self.left;
            self.now = 1 - self.now;
            self.left = exponential(&mut self.random) * self.stay[self.now];
        }
    }
    /// The same in a fixed number of steps. Exponential times forget how long they have lasted: a
    /// state ends in an arrival, or in a change, with the same chance whenever it is looked at, and
    /// the number of whole cycles without an arrival is geometric.
    fn next_after_cycles(&mut self) -> f64 {
        let (first, second) = (self.now, 1 - self.now);
        // How often a state is left, in either way, in a ns; and the chance that it is for an
        // arrival.
        let leaves = [0, 1].map(|state| 1.0 / self.stay[state] + self.rate[state]);
        let arrives = [0, 1].map(|state| self.rate[state] / leaves[state]);
        let any = arrives[first] + arrives[second] - arrives[first] * arrives[second];
        let cycles = libm::floor(exponential(&mut self.random) / -libm::log1p(-any));
        let mut gap = gamma(&mut self.random, cycles) / leaves[first]
            + gamma(&mut self.random, cycles) / leaves[second];
        gap += exponential(&mut self.random) / leaves[first];
        if unit(&mut self.random) * any >= arrives[first] {
            gap += exponential(&mut self.random) / leaves[second];
            self.now = second;
        }
        self.left = exponential(&mut self.random) * self.stay[self.now];
        gap
    }
}
