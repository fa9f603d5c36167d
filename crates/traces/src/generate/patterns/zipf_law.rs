//! Zipf's law by rejection-inversion: each draw takes constant time, whatever the number of ranks.
//!
//! W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM Transactions on Modeling and Computer Simulation 6(3), 1996. The hat is h(x)
//! = x^-theta; its integral H is inverted at a uniform point, and the rank nearest to the result is
//! accepted where the point lies under the histogram's bar.

/// Draws ranks 1..=n with probabilities proportional to rank^-theta.
#[derive(Debug, Clone)]
pub(super) struct ZipfLaw {
    ranks: f64,
    theta: f64,
    /// H at the two ends of the hat.
    low: f64,
    high: f64,
    /// A rank this close above its point is accepted without a look at the bar.
    quick: f64,
}

impl ZipfLaw {
    pub fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Self { ranks: ranks as f64, theta, low: 0.0, high: 0.0, quick: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.ranks + 0.5);
        zipf.quick = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.bar(2.0));
        zipf
    }

    /// The next rank, from numbers in [0, 1).
    #[inline]
    pub fn draw(&self, mut unit: impl FnMut() -> f64) -> u64 {
        loop {
            // Runs downwards from `high`, which is reached, to `low`, which is not.
            let point = self.high + unit() * (self.low - self.high);
            let x = self.inverse(point);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.ranks);
            if rank - x <= self.quick || point >= self.integral(rank + 0.5) - self.bar(rank) {
                return rank as u64;
            }
        }
    }

    fn bar(&self, rank: f64) -> f64 {
        libm::exp(-self.theta * libm::log(rank))
    }

    /// H(x), the integral of the hat from 1 to x: (x^(1 - theta) - 1) / (1 - theta), or ln x for
    /// theta = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.theta) * log;
        if t.abs() < NEAR_ZERO { log * (1.0 + t / 2.0) } else { log * (libm::expm1(t) / t) }
    }

    #[inline]
    fn inverse(&self, h: f64) -> f64 {
        // Rounding may push the argument of the logarithm below its pole.
        let t = ((1.0 - self.theta) * h).max(-1.0);
        let log = if t.abs() < NEAR_ZERO { h * (1.0 - t / 2.0) } else { h * (libm::log1p(t) / t) };
        libm::exp(log)
    }
}

/// Below this the quotients lose digits, and the first terms of their series are exact.
const NEAR_ZERO: f64 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes_the_integral() {
        for theta in [0.1, 0.99, 1.0, 1.0 + 1e-12, 2.0, 10.0] {
            let zipf = ZipfLaw::new(1000, theta);
            for x in [0.6, 1.0, 1.5, 3.0] {
                let back = zipf.inverse(zipf.integral(x));
                assert!((back / x - 1.0).abs() < 1e-9, "theta {theta}: {x} became {back}");
            }
        }
    }

    #[test]
    fn ranks_stay_in_range_at_the_ends() {
        for ranks in [1, 2, 1 << 48] {
            for theta in [1e-9, 1.0, 10.0] {
                let zipf = ZipfLaw::new(ranks, theta);
                for end in [0.0, 0.5, 1.0 - f64::EPSILON / 2.0] {
                    let mut numbers = [end, 0.25, 0.75, 0.999, 0.001].into_iter().cycle();
                    let rank = zipf.draw(|| numbers.next().unwrap());
                    assert!((1..=ranks).contains(&rank), "{ranks} {theta} {end}: {rank}");
                }
            }
        }
    }
}
