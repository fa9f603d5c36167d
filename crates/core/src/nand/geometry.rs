//! Where pages lie: the numbers of a flash array and how they nest.
//!
//! A *unit* is a place with erase blocks of its own: a plane, or a whole die where its planes are
//! driven together. Units are numbered so that the channel varies fastest, then the chip, the die
//! and the plane (CWDP): consecutive units lie on different channels.

use serde::{Deserialize, Serialize};

use super::config::NandConfig;
use crate::support::divide::Divisor;
use crate::support::ids::{BlockId, DieId, LogicalBlock, Lpn, PlaneId, Ppn};

/// The numbers of a flash array, in mapped pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Channels.
    pub channels: u32,
    /// Buses: one for each channel, or for each chip.
    pub buses: u32,
    /// Chips on each bus.
    pub chips_per_channel: u32,
    /// Dies of each chip.
    pub dies_per_chip: u32,
    /// Dies in all.
    pub dies: u32,
    /// Places with erase blocks of their own.
    pub units: u32,
    /// Erase blocks of a unit.
    pub blocks_per_unit: u32,
    /// Mapped pages of an erase block.
    pub pages_per_block: u32,
    /// Mapped pages that one array read fetches.
    pub read_pages: u32,
    /// Mapped pages that one program writes.
    pub program_pages: u32,
    /// Bytes of a mapped page.
    pub page_bytes: u64,
    /// Divides by `pages_per_block`.
    by_block: Divisor,
    /// Divides by `page_bytes`.
    by_page: Divisor,
    /// Divides by `blocks_per_unit`.
    by_unit: Divisor,
    /// Divides by `dies`.
    by_dies: Divisor,
}

impl Geometry {
    /// Checks the configuration's numbers against one another.
    ///
    /// # Errors
    /// A sentence that names the key, what was found and what was expected.
    pub fn new(config: &NandConfig) -> Result<Self, String> {
        for (key, value) in [
            ("channels", config.channels),
            ("chips_per_channel", config.chips_per_channel),
            ("dies_per_chip", config.dies_per_chip),
            ("planes_per_die", config.planes_per_die),
            ("blocks_per_plane", config.blocks_per_plane),
            ("pages_per_block", config.pages_per_block),
            ("pages_per_program", config.pages_per_program),
        ] {
            if value == 0 {
                return Err(format!("nand.{key}: found 0, expected at least 1"));
            }
        }
        let flash_page = config.page_size.0;
        let page_bytes = config.mapping_unit.unwrap_or(config.page_size).0;
        if page_bytes == 0 || !page_bytes.is_multiple_of(512) {
            let (key, found) = match config.mapping_unit {
                Some(unit) => ("mapping_unit", unit),
                None => ("page_size", config.page_size),
            };
            return Err(format!("nand.{key}: found {found}, expected a multiple of 512 B"));
        }
        if !flash_page.is_multiple_of(page_bytes) {
            return Err(format!(
                "nand.mapping_unit: found {}, expected a divisor of page_size ({})",
                config.mapping_unit.unwrap_or(config.page_size),
                config.page_size
            ));
        }
        if !config.pages_per_block.is_multiple_of(config.pages_per_program) {
            return Err(format!(
                "nand.pages_per_program: found {}, expected a divisor of pages_per_block ({})",
                config.pages_per_program, config.pages_per_block
            ));
        }
        let too_large = || {
            "nand: the array is too large; at most 4294967294 mapped pages, 65535 dies, 65534 \
             pages in an erase unit"
                .to_owned()
        };
        let product = |parts: &[u64]| {
            parts.iter().try_fold(1u64, |a, &b| a.checked_mul(b)).ok_or_else(too_large)
        };
        let together = if config.multi_plane { u64::from(config.planes_per_die) } else { 1 };
        let read_pages = flash_page / page_bytes;
        let dies = product(&[
            config.channels.into(),
            config.chips_per_channel.into(),
            config.dies_per_chip.into(),
        ])?;
        let units = product(&[dies, u64::from(config.planes_per_die) / together])?;
        let pages_per_block = product(&[config.pages_per_block.into(), read_pages, together])?;
        let pages = product(&[units, config.blocks_per_plane.into(), pages_per_block])?;
        if pages >= u64::from(u32::MAX) || dies > 65_535 || pages_per_block >= 65_535 {
            return Err(too_large());
        }
        Ok(Self {
            channels: config.channels,
            buses: if config.shared_bus {
                config.channels
            } else {
                config.channels * config.chips_per_channel
            },
            chips_per_channel: config.chips_per_channel,
            dies_per_chip: config.dies_per_chip,
            dies: dies as u32,
            units: units as u32,
            blocks_per_unit: config.blocks_per_plane,
            pages_per_block: pages_per_block as u32,
            read_pages: read_pages as u32,
            program_pages: (u64::from(config.pages_per_program) * read_pages * together) as u32,
            page_bytes,
            by_block: Divisor::new(pages_per_block),
            by_page: Divisor::new(page_bytes),
            by_unit: Divisor::new(config.blocks_per_plane.into()),
            by_dies: Divisor::new(dies),
        })
    }

    /// Chips in all; unit `u` is on chip `u % chips`.
    pub fn chips(&self) -> u32 {
        self.channels * self.chips_per_channel
    }

    /// Erase blocks in all.
    pub fn blocks(&self) -> u32 {
        self.units * self.blocks_per_unit
    }

    /// Mapped pages in all.
    pub fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    /// `(block, page in it)` of a physical page.
    #[inline]
    pub fn split(&self, ppn: Ppn) -> (BlockId, u32) {
        let (block, page) = self.by_block.split(u64::from(ppn.0));
        (BlockId(block as u32), page as u32)
    }

    /// `(logical block, page in it)` of a logical page.
    #[inline]
    pub fn split_logical(&self, lpn: Lpn) -> (LogicalBlock, u32) {
        let (block, offset) = self.by_block.split(u64::from(lpn.0));
        (LogicalBlock(block as u32), offset as u32)
    }

    /// The physical page that is page `page` of `block`.
    #[inline]
    pub fn ppn(&self, block: BlockId, page: u32) -> Ppn {
        block.page(page, self.pages_per_block)
    }

    /// The unit that a physical page lies on.
    #[inline]
    pub fn unit_of_page(&self, ppn: Ppn) -> PlaneId {
        self.unit_of(self.split(ppn).0)
    }

    /// All erase blocks, in order.
    #[inline]
    pub fn all_blocks(
        &self,
    ) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + Clone + use<> {
        BlockId(0).run(self.blocks())
    }

    /// All pages, in order.
    #[inline]
    pub fn all_pages(
        &self,
    ) -> impl DoubleEndedIterator<Item = Ppn> + ExactSizeIterator + Clone + use<> {
        Ppn(0).run(self.pages())
    }

    /// Divides bytes into mapped pages.
    #[inline]
    pub fn by_page(&self) -> Divisor {
        self.by_page
    }

    /// The unit that erase block `block` belongs to.
    #[inline]
    pub fn unit_of(&self, block: BlockId) -> PlaneId {
        PlaneId(self.by_unit.split(block.0.into()).0 as u32)
    }

    /// The unit that erase block `block` belongs to, and which of its blocks it is.
    #[inline]
    pub fn place_of(&self, block: BlockId) -> (PlaneId, u32) {
        let (unit, place) = self.by_unit.split(block.0.into());
        (PlaneId(unit as u32), place as u32)
    }

    /// All units, in order.
    #[inline]
    pub fn all_units(
        &self,
    ) -> impl DoubleEndedIterator<Item = PlaneId> + ExactSizeIterator + Clone + use<> {
        PlaneId(0).run(self.units)
    }

    /// All dies, in order.
    #[inline]
    pub fn all_dies(
        &self,
    ) -> impl DoubleEndedIterator<Item = DieId> + ExactSizeIterator + Clone + use<> {
        DieId(0).run(self.dies)
    }

    /// The units of `channel`, in order.
    #[inline]
    pub fn units_of_channel(&self, channel: u32) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        PlaneId::every(channel, self.channels, self.units)
    }

    /// The unit whose turn it is the `n`-th time, where units take turns.
    #[inline]
    pub fn unit_in_turn(&self, n: u32) -> PlaneId {
        PlaneId(n % self.units)
    }

    /// The first erase block of `unit`; the others come after it.
    #[inline]
    pub fn first_block(&self, unit: PlaneId) -> BlockId {
        BlockId(unit.0 * self.blocks_per_unit)
    }

    /// The erase blocks of `unit`, in order.
    #[inline]
    pub fn blocks_of(
        &self,
        unit: PlaneId,
    ) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + Clone + use<> {
        self.first_block(unit).run(self.blocks_per_unit)
    }

    /// Which of its unit's erase blocks `block` is.
    #[inline]
    pub fn place_in_unit(&self, block: BlockId) -> u32 {
        self.by_unit.split(block.0.into()).1 as u32
    }

    /// The die that works on `unit`.
    #[inline]
    pub fn die_of(&self, unit: PlaneId) -> DieId {
        DieId(self.by_dies.split(unit.0.into()).1 as u32)
    }

    /// The bus that `die` hangs on.
    #[inline]
    pub fn bus_of(&self, die: DieId) -> u32 {
        die.0 % self.buses
    }

    /// The channel that `die` belongs to.
    #[inline]
    pub fn channel_of(&self, die: DieId) -> u32 {
        die.0 % self.channels
    }

    /// Programs that write `count` pages.
    #[inline]
    pub fn programs(&self, count: u32) -> u32 {
        if self.program_pages == 1 { count } else { count / self.program_pages }
    }

    /// Array reads that fetch pages `first..first + count` of a block.
    #[inline]
    pub fn array_reads(&self, first: u32, count: u32) -> u32 {
        if self.read_pages == 1 {
            count
        } else {
            (first + count - 1) / self.read_pages - first / self.read_pages + 1
        }
    }
}
