//! Which request of a client's each of the drive's belongs to. The drive counts its requests on, so that
//! what is under way lies close together.

use std::collections::VecDeque;

/// Nobody's any more.
const NOBODY: u32 = u32::MAX;

/// From numbers of the drive's requests to places.
#[derive(Debug, Default)]
pub struct Numbers {
    /// The number of the first one that is kept.
    first: u64,
    places: VecDeque<u32>,
}

impl Numbers {
    /// Request `number`, which comes after all others, belongs to `place`.
    #[inline]
    pub fn insert(&mut self, number: u64, place: u32) {
        if self.places.is_empty() {
            self.first = number;
        }
        let at = (number - self.first) as usize;
        self.places.resize(at, NOBODY);
        self.places.push_back(place);
    }

    /// Where request `number` belongs, which is forgotten.
    #[inline]
    pub fn remove(&mut self, number: u64) -> Option<u32> {
        let at = number.checked_sub(self.first)?;
        let place = std::mem::replace(self.places.get_mut(at as usize)?, NOBODY);
        while self.places.front() == Some(&NOBODY) {
            self.places.pop_front();
            self.first += 1;
        }
        Some(place).filter(|&place| place != NOBODY)
    }

    /// No request belongs to `place` any more.
    pub fn forget(&mut self, place: u32) {
        for one in &mut self.places {
            if *one == place {
                *one = NOBODY;
            }
        }
    }

    /// All are forgotten.
    pub fn clear(&mut self) {
        self.places.clear();
    }
}
