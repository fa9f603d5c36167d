//! How erases are spread over blocks and channels.

use serde::Serialize;

use crate::nand::Geometry;

/// Erases over blocks and channels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wear {
    /// Mean erases of a block during the run.
    pub erases_mean: f64,
    /// Most erases of a block.
    pub erases_max: u32,
    /// Coefficient of variation over blocks; null where nothing was erased.
    pub cv_block: Option<f64>,
    /// Coefficient of variation over channels.
    pub cv_channel: Option<f64>,
    /// Where the erases fell.
    pub map: WearMap,
}

/// Erases of neighbouring blocks taken together, for a picture of the array.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WearMap {
    /// Parallel units.
    pub units: u32,
    /// Cells of each unit.
    pub cells_per_unit: u32,
    /// Blocks of a cell; the last one of a unit may have fewer.
    pub blocks_per_cell: u32,
    /// Mean erases of a cell's blocks, by unit.
    pub mean: Vec<Vec<f64>>,
    /// Most erases of one of a cell's blocks, by unit.
    pub max: Vec<Vec<u32>>,
}

/// Cells of a map, unless there are more units than this.
const CELLS: u32 = 1024;

impl Wear {
    /// From the erases of each block.
    pub fn new(erases: &[u32], geometry: &Geometry) -> Self {
        let (erases_mean, cv_block) = spread(erases.iter().map(|&e| u64::from(e)));
        let mut channels = vec![0u64; geometry.channels as usize];
        let units = erases.chunks(geometry.blocks_per_unit as usize);
        for (unit, blocks) in geometry.all_units().zip(units) {
            channels[geometry.channel_of(geometry.die_of(unit)) as usize] += total(blocks);
        }
        let (_, cv_channel) = spread(channels.iter().copied());
        let erases_max = erases.iter().copied().max().unwrap_or(0);
        Self {
            erases_mean,
            erases_max,
            cv_block,
            cv_channel,
            map: WearMap::new(erases, geometry.units),
        }
    }
}

impl WearMap {
    fn new(erases: &[u32], units: u32) -> Self {
        let blocks_per_unit = erases.len() as u32 / units;
        let blocks_per_cell = blocks_per_unit.div_ceil((CELLS / units).max(1)).max(1);
        let cells = |of: fn(&[u32]) -> f64| {
            let unit = |blocks: &[u32]| blocks.chunks(blocks_per_cell as usize).map(of).collect();
            erases.chunks(blocks_per_unit as usize).map(unit).collect::<Vec<Vec<f64>>>()
        };
        let max = |blocks: &[u32]| blocks.chunks(blocks_per_cell as usize).map(most).collect();
        Self {
            units,
            cells_per_unit: blocks_per_unit.div_ceil(blocks_per_cell),
            blocks_per_cell,
            mean: cells(|blocks| total(blocks) as f64 / blocks.len() as f64),
            max: erases.chunks(blocks_per_unit as usize).map(max).collect(),
        }
    }
}

fn total(blocks: &[u32]) -> u64 {
    blocks.iter().map(|&erases| u64::from(erases)).sum()
}

fn most(blocks: &[u32]) -> u32 {
    blocks.iter().copied().max().unwrap_or(0)
}

/// Mean and coefficient of variation (none where the mean is 0).
fn spread(values: impl Iterator<Item = u64> + Clone) -> (f64, Option<f64>) {
    let (n, sum) = values.clone().fold((0u64, 0u128), |(n, sum), v| (n + 1, sum + u128::from(v)));
    if n == 0 || sum == 0 {
        return (0.0, None);
    }
    let mean = sum as f64 / n as f64;
    let variance = values.map(|v| (v as f64 - mean) * (v as f64 - mean)).sum::<f64>() / n as f64;
    (mean, Some(libm::sqrt(variance) / mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_every_block_once() {
        let erases: Vec<u32> = (0..3 * 700).map(|block| block % 7).collect();
        let map = WearMap::new(&erases, 3);
        assert_eq!((map.units, map.blocks_per_cell, map.cells_per_unit), (3, 3, 234));
        let blocks_of = |cell: usize| if cell == 233 { 1.0 } else { 3.0 };
        let sum: f64 = map
            .mean
            .iter()
            .flat_map(|unit| unit.iter().enumerate().map(|(i, m)| m * blocks_of(i)))
            .sum();
        let expected: u32 = erases.iter().sum();
        assert!((sum - f64::from(expected)).abs() < 1e-6, "{sum} {expected}");
        assert!(map.max.iter().all(|unit| unit.len() == 234 && unit.iter().all(|&max| max <= 6)));
    }

    #[test]
    fn many_units_have_a_cell_each() {
        let map = WearMap::new(&vec![2; 4096], 2048);
        assert_eq!((map.cells_per_unit, map.blocks_per_cell, map.mean[7][0]), (1, 2, 2.0));
    }
}
