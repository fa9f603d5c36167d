//! A value for each volume, in the order in which they come up.

/// Finds the value of a volume quickly where the same one is asked for again.
#[derive(Debug, Default)]
pub(super) struct PerVolume<T> {
    /// In ascending order.
    numbers: Vec<(u32, usize)>,
    values: Vec<T>,
    recent: Option<(u32, usize)>,
}

impl<T: Default> PerVolume<T> {
    /// Place of a volume: 0 for the first that came up, and so on.
    #[inline]
    pub fn place(&mut self, volume: u32) -> usize {
        if let Some((recent, place)) = self.recent
            && recent == volume
        {
            return place;
        }
        let place = match self.numbers.binary_search_by_key(&volume, |&(number, _)| number) {
            Ok(at) => self.numbers[at].1,
            Err(at) => {
                self.numbers.insert(at, (volume, self.values.len()));
                self.values.push(T::default());
                self.values.len() - 1
            }
        };
        self.recent = Some((volume, place));
        place
    }

    /// The value of a volume.
    #[inline]
    pub fn get(&mut self, volume: u32) -> &mut T {
        let place = self.place(volume);
        &mut self.values[place]
    }

    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.values.into_iter()
    }
}
