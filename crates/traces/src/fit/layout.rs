//! The volumes of a workload, laid one after another.

use serde::Serialize;

use crate::workload::VolumeFigures;

/// Where a volume's addresses begin, before they are fitted to the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VolumePlace {
    /// Number of the disk, ASU or LUN.
    pub volume: u32,
    /// Its byte 0 lies here.
    pub base: u64,
    /// End (last byte + 1) of its highest request.
    pub end: u64,
}

/// All volumes in ascending order, each from a multiple of a logical block on.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub places: Vec<VolumePlace>,
}

impl Layout {
    /// Lays the volumes one after another; `None` where their sum is not an address any more.
    pub fn new(volumes: &[VolumeFigures], block_bytes: u64) -> Option<Self> {
        let mut places: Vec<VolumePlace> = Vec::with_capacity(volumes.len());
        for figures in volumes {
            let base = match places.last() {
                Some(before) => before.end.checked_next_multiple_of(block_bytes)?,
                None => 0,
            };
            let end = base.checked_add(figures.highest_end).filter(|&end| end <= MAX_END)?;
            places.push(VolumePlace { volume: figures.volume, base, end });
        }
        Some(Self { places })
    }

    /// End of the last volume.
    pub fn end(&self) -> u64 {
        self.places.last().map_or(0, |last| last.end)
    }

    /// Where byte 0 of `volume` lies.
    #[inline]
    pub fn base(&self, volume: u32) -> u64 {
        if self.places.len() <= 1 {
            return 0;
        }
        let index = self.places.binary_search_by_key(&volume, |place| place.volume);
        index.map_or(0, |index| self.places[index].base)
    }
}

/// Sums up to this stay clear of overflow.
const MAX_END: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(volume: u32, highest_end: u64) -> VolumeFigures {
        VolumeFigures { volume, requests: 1, lowest_byte: 0, highest_end }
    }

    #[test]
    fn volumes_begin_with_whole_blocks() {
        let layout =
            Layout::new(&[figures(1, 1500), figures(4, 2000), figures(9, 1)], 1000).unwrap();
        let bases: Vec<_> = layout.places.iter().map(|place| place.base).collect();
        assert_eq!(bases, [0, 2000, 4000]);
        assert_eq!((layout.base(4), layout.base(9), layout.end()), (2000, 4000, 4001));
    }

    #[test]
    fn sums_do_not_overflow() {
        let volumes: Vec<_> = (0..5).map(|volume| figures(volume, 1 << 60)).collect();
        assert!(Layout::new(&volumes, 4096).is_none());
        assert!(Layout::new(&volumes[..4], 4096).is_some());
    }
}
