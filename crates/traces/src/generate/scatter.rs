//! A fixed permutation that scatters neighbouring ranks over the footprint, in O(1) memory.

/// A one-to-one map of 0..n onto itself. It does not depend on the seed: hot places stay hot from
/// seed to seed.
#[derive(Debug, Clone)]
pub(super) struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
}

impl Scatter {
    /// The permutation of 0..n; n is at least 1.
    pub fn new(n: u64) -> Self {
        let bits = u64::BITS - (n - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        Self { n, mask, shift: (bits / 2).max(1) }
    }

    /// Where `index` goes.
    ///
    /// Multiplying by an odd number and xoring the upper half into the lower are one-to-one on the
    /// numbers below a power of two. Walking on until the result is below n keeps that on 0..n; n
    /// is more than half of the power, so that this takes less than two steps on average.
    #[inline]
    pub fn place(&self, index: u64) -> u64 {
        let mut x = index;
        loop {
            for odd in [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0xA5A3_5625_9A27_B2D3_u64] {
                x = x.wrapping_add(odd >> 7).wrapping_mul(odd) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for n in (1..=70).chain([1000, 4096, 5000]) {
            let scatter = Scatter::new(n);
            let mut places: Vec<u64> = (0..n).map(|index| scatter.place(index)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..n).collect::<Vec<_>>(), "n = {n}");
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let n = 1 << 20;
        let scatter = Scatter::new(n);
        let mut quarters = [0; 4];
        let mut near = 0;
        for index in 0..1000 {
            quarters[(scatter.place(index) * 4 / n) as usize] += 1;
            near += u32::from(scatter.place(index).abs_diff(scatter.place(index + 1)) < n / 100);
        }
        assert!(quarters.iter().all(|&count| (180..320).contains(&count)), "{quarters:?}");
        assert!(near < 60, "{near}");
    }
}
