//! How units are divided into pools, and which pool a page belongs to.

use serde::{Deserialize, Serialize};

use crate::support::divide::Divisor;
use crate::support::ids::{Lpn, PlaneId};

/// Groups of units. Each page has a pool; a unit belongs to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pools {
    /// Consecutive pages of one pool, and what divides by them and by the pools.
    stripe: u32,
    by_length: Divisor,
    by_count: Divisor,
    /// The pool of each stripe in turn; each pool comes once.
    turns: Vec<u32>,
    of_unit: Vec<u32>,
}

impl Pools {
    /// All `units` in one pool.
    pub fn one(units: u32) -> Self {
        Self::of(vec![0; units as usize], vec![0], 1)
    }

    /// Unit `u` is in pool `u % pools`; stripes of so many pages go to the pools in the order
    /// `turns`.
    pub fn new(units: u32, turns: Vec<u32>, stripe: u32) -> Self {
        let pools = turns.len() as u32;
        Self::of((0..units).map(|unit| unit % pools).collect(), turns, stripe)
    }

    fn of(of_unit: Vec<u32>, turns: Vec<u32>, stripe: u32) -> Self {
        let (by_length, by_count) = (Divisor::new(stripe.into()), Divisor::new(turns.len() as u64));
        Self { stripe, by_length, by_count, turns, of_unit }
    }

    /// Pools.
    #[inline]
    pub fn count(&self) -> u32 {
        self.turns.len() as u32
    }

    /// The pool of logical page `lpn`.
    #[inline]
    pub fn of_page(&self, lpn: Lpn) -> u32 {
        if self.turns.len() == 1 {
            0
        } else {
            let (stripe, _) = self.by_length.split(lpn.0.into());
            self.turns[self.by_count.split(stripe).1 as usize]
        }
    }

    /// The pool of a unit.
    #[inline]
    pub fn of_unit(&self, unit: PlaneId) -> u32 {
        self.of_unit[unit.index()]
    }

    /// Units in each pool.
    #[inline]
    pub fn units_each(&self) -> u32 {
        (self.of_unit.len() / self.turns.len()) as u32
    }

    /// Units of all pools.
    #[inline]
    pub fn units_in_all(&self) -> u32 {
        self.of_unit.len() as u32
    }

    /// The units of a pool, the lowest first.
    #[inline]
    pub fn units(&self, pool: u32) -> impl Iterator<Item = PlaneId> + use<> {
        PlaneId::every(pool, self.turns.len() as u32, self.of_unit.len() as u32)
    }

    /// The `n`th unit of a pool.
    #[inline]
    pub fn nth(&self, pool: u32, n: u32) -> PlaneId {
        PlaneId(pool + n * self.turns.len() as u32)
    }

    /// Which of its pool's units `unit` is: [`nth`](Self::nth) the other way round.
    pub fn place_of(&self, unit: PlaneId) -> u32 {
        unit.0 / self.count()
    }

    /// Most of `pages` logical pages that belong to one pool.
    pub fn most_pages(&self, pages: u32) -> u32 {
        let cycle = u64::from(self.stripe) * self.turns.len() as u64;
        let (cycles, rest) = (u64::from(pages) / cycle, u64::from(pages) % cycle);
        (cycles * u64::from(self.stripe) + rest.min(u64::from(self.stripe))) as u32
    }

    /// The only unit that a logical page can go to, if there is just one.
    pub fn home(&self, lpn: Lpn) -> Option<PlaneId> {
        (self.turns.len() == self.of_unit.len()).then(|| PlaneId(self.of_page(lpn)))
    }

    /// The only one of `chips` chips that a logical page can go to, if there is just one. Unit `u`
    /// is on chip `u % chips`.
    pub fn home_chip(&self, lpn: Lpn, chips: u32) -> Option<u32> {
        self.count().is_multiple_of(chips).then(|| self.of_page(lpn) % chips)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Counting pages pool by pool agrees with the formula.
        #[test]
        fn the_fullest_pool_is_known(pools in 1u32..9, each in 1u32..4, stripe in 1u32..20, pages in 1u32..2000) {
            let all = Pools::new(pools * each, (0..pools).rev().collect(), stripe);
            let mut counts = vec![0; pools as usize];
            (0..pages).for_each(|lpn| counts[all.of_page(Lpn(lpn)) as usize] += 1);
            prop_assert_eq!(counts.iter().copied().max(), Some(all.most_pages(pages)));
            prop_assert_eq!(all.units_each(), each);
            for pool in 0..pools {
                prop_assert!(all.units(pool).all(|unit| all.of_unit(unit) == pool));
                prop_assert_eq!(all.units(pool).count() as u32, each);
            }
        }
    }
}
