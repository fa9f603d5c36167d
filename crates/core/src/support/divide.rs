//! Division by a number that stays the same and is mostly a power of two.

use serde::{Deserialize, Serialize};

/// A divisor above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divisor {
    by: u64,
    /// Shift that does the same, or 64 where there is none.
    shift: u32,
    /// 2^64 / divisor, rounded up: to multiply by it and drop 64 bits divides what has 32 (Lemire
    /// et al., "Faster remainder by direct computation", 2019).
    inverse: u64,
}

impl Divisor {
    /// Division by `divisor`, which is above 0.
    pub fn new(divisor: u64) -> Self {
        let shift = if divisor.is_power_of_two() { divisor.trailing_zeros() } else { 64 };
        Self { by: divisor, shift, inverse: (u64::MAX / divisor).wrapping_add(1) }
    }

    /// `(value / divisor, value % divisor)`.
    #[inline(always)]
    pub fn split(self, value: u64) -> (u64, u64) {
        if self.shift < 64 {
            (value >> self.shift, value & (self.by - 1))
        } else if u32::try_from(value).is_ok() {
            let quotient = ((u128::from(self.inverse) * u128::from(value)) >> 64) as u64;
            (quotient, value - quotient * self.by)
        } else {
            (value / self.by, value % self.by)
        }
    }

    /// `value / divisor`, rounded up.
    #[inline]
    pub fn ceil(self, value: u64) -> u64 {
        let (quotient, rest) = self.split(value);
        quotient + u64::from(rest > 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn divides(
            value in prop_oneof![any::<u64>(), any::<u32>().prop_map(u64::from)],
            divisor in prop_oneof![
                1u64..100,
                (0u32..64).prop_map(|s| 1 << s),
                any::<u64>().prop_map(|d| d.max(1)),
                any::<u32>().prop_map(|d| u64::from(d.max(1))),
            ],
        ) {
            let by = Divisor::new(divisor);
            prop_assert_eq!(by.split(value), (value / divisor, value % divisor));
            prop_assert_eq!(by.ceil(value), value.div_ceil(divisor));
        }
    }
}
