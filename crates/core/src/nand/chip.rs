//! What a chip's commands take, and what it can do at the same time: the configuration, settled and
//! checked.

use serde::{Deserialize, Serialize};

use super::config::{
    NandConfig, PageTimes, PageTypes, PlaneGroups, Scheduling, SuspendConfig, TwoPlaneConfig,
};
use super::geometry::Geometry;
use super::op::{FlashOp, Kind};
use crate::support::units::Bytes;

/// Planes that one operation can take along beside its own.
pub const COMPANIONS: usize = 3;

/// Times in ns and abilities of the chips.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chip {
    pub(super) command: u64,
    pub(super) transfer: u64,
    erase: u64,
    read: Vec<u64>,
    program: Vec<u64>,
    /// Type of each flash page of a block; empty where all take the same.
    types: Vec<u8>,
    /// Mapped pages of a flash page, over all planes of a unit.
    flash_page: u32,
    program_pages: u32,
    single_reads: bool,
    pub(super) read_first: bool,
    pub(super) two_plane: Option<TwoPlaneConfig>,
    /// From the cache register to the data register.
    pub(super) cache_program: Option<u64>,
    pub(super) suspend: Option<SuspendConfig>,
    /// Planes that work together at most.
    pub(super) group: u32,
}

impl Chip {
    /// Settles the configuration.
    ///
    /// # Errors
    /// Abilities that do not go together; the key and what to do.
    pub fn new(config: &NandConfig, geometry: &Geometry) -> Result<Self, String> {
        let t = &config.timing;
        let each = |times: &PageTimes| times.each().iter().map(|time| time.0).collect::<Vec<_>>();
        let (read, program) = (each(&t.read), each(&t.program));
        let kinds = read.len().max(program.len());
        for (key, times) in [("read", &read), ("program", &program)] {
            if times.len() > 1 && times.len() != kinds {
                return Err(format!(
                    "nand.timing.{key}: found {} times where the other has {kinds}; give one, or \
                     one for each type of page",
                    times.len()
                ));
            }
        }
        if program.len() > 1 && config.pages_per_program > 1 {
            return Err(format!(
                "nand.timing.program: found {} times, but one program writes {} pages at once \
                 (nand.pages_per_program); give one time",
                program.len(),
                config.pages_per_program
            ));
        }
        if kinds > usize::from(u8::MAX) {
            return Err(format!("nand.timing: found {kinds} types of pages, expected at most 255"));
        }
        if config.suspend.is_some() && config.scheduling != Scheduling::ReadFirst {
            return Err(
                "nand.suspend: needs nand.scheduling = \"read-first\", or nothing would go before \
                 a program"
                    .into(),
            );
        }
        if config.cache_program.is_some()
            && (config.suspend.is_some() || config.two_plane.is_some())
        {
            let other = if config.suspend.is_some() { "suspend" } else { "two_plane" };
            return Err(format!(
                "nand.cache_program: does not go together with nand.{other}; leave out one of them"
            ));
        }
        if config.two_plane.is_some() && (config.multi_plane || config.planes_per_die < 2) {
            let why = if config.multi_plane {
                "nand.multi_plane drives all planes together anyway"
            } else {
                "a die has one plane"
            };
            return Err(format!("nand.two_plane: {why}; leave it out"));
        }
        if config.two_plane.as_ref().is_some_and(|rules| rules.lookahead == 0) {
            return Err(
                "nand.two_plane.lookahead: found 0, expected at least 1, or no operation would \
                 find a companion"
                    .into(),
            );
        }
        let group = match &config.two_plane {
            None => 1,
            Some(TwoPlaneConfig { planes: PlaneGroups::Pairs, .. }) => 2,
            Some(_) => config.planes_per_die.min(COMPANIONS as u32 + 1),
        };
        let together = if config.multi_plane { config.planes_per_die } else { 1 };
        Ok(Self {
            command: t.command.0,
            transfer: transfer_ns(config, geometry)?,
            erase: t.erase.0,
            read,
            program,
            types: if kinds == 1 {
                Vec::new()
            } else {
                types(config.page_types, config.pages_per_block, kinds as u32)
            },
            flash_page: geometry.read_pages * together,
            program_pages: geometry.program_pages,
            single_reads: geometry.read_pages == 1,
            read_first: config.scheduling == Scheduling::ReadFirst,
            two_plane: config.two_plane.clone(),
            cache_program: config.cache_program.map(|time| time.0),
            suspend: config.suspend.clone(),
            group,
        })
    }

    /// What less time a program takes on the bus that carries `bytes` of a page of `page_bytes`.
    pub fn saved_ns(&self, page_bytes: u64, bytes: u64) -> u64 {
        self.transfer - self.transfer * bytes.min(page_bytes) / page_bytes
    }

    /// Time in which each die ends the step that is under way on it, and so many pages get from RAM
    /// to erased flash, spread over all dies: no less than it takes, since no die is thought to work
    /// while another one's data are on their bus.
    pub fn storing_ns(&self, geometry: &Geometry, pages: u64) -> u64 {
        let unit = u64::from(self.program_pages);
        let (dies, buses) = (u64::from(geometry.dies), u64::from(geometry.buses));
        let rounds = pages.div_ceil(unit).div_ceil(dies);
        let transfers = dies.div_ceil(buses) * (self.command + self.transfer * unit);
        let most = |times: &[u64]| times.iter().max().copied().unwrap_or(0);
        let program = transfers + most(&self.program);
        let read = transfers + most(&self.read);
        let under_way = program.max(read).max(self.command + self.erase);
        rounds.saturating_mul(program).saturating_add(under_way)
    }

    /// Whether pages of a block take different times.
    #[inline]
    pub fn is_typed(&self) -> bool {
        !self.types.is_empty()
    }

    /// The chips do one thing at a time, to its end, and every step of an operation takes the same:
    /// several steps may be one event. Where the array takes no time, those of one moment would
    /// have no order.
    pub(super) fn is_plain(&self) -> bool {
        let takes_time =
            self.erase > 0 && self.read.iter().chain(&self.program).all(|&time| time > 0);
        takes_time
            && !self.is_typed()
            && self.two_plane.is_none()
            && self.cache_program.is_none()
            && self.suspend.is_none()
    }

    /// Planes go together: a die waits for all that comes at the same time before it begins.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.two_plane.is_some()
    }

    fn of_page(&self, times: &[u64], page: u32) -> u64 {
        let kind = self.types.get((page / self.flash_page) as usize).copied().unwrap_or(0);
        times.get(usize::from(kind)).copied().unwrap_or(times[0])
    }

    /// Number of the flash page that holds mapped page `page` of a block.
    pub(super) fn flash_page_of(&self, page: u32) -> u32 {
        page / self.flash_page
    }

    /// Time to fetch the flash page that holds mapped page `page` of a block.
    pub fn read_ns(&self, page: u32) -> u64 {
        self.of_page(&self.read, page)
    }

    /// Time to program what begins with mapped page `page` of a block.
    #[inline(always)]
    fn program_ns(&self, page: u32) -> u64 {
        if self.is_typed() { self.of_page(&self.program, page) } else { self.program[0] }
    }

    /// Bus, array, bus, array of the next step of an operation of which `done` steps are done.
    #[inline(always)]
    pub(super) fn step(&self, op: &FlashOp, done: u32) -> [u64; 4] {
        match op.kind {
            Kind::Read => {
                let (reads, pages) =
                    if self.single_reads { (1, 1) } else { (op.array_reads, op.count) };
                let read =
                    if self.is_typed() { self.read_ns(op.page + done) } else { self.read[0] };
                [self.command, read * u64::from(reads), self.transfer * u64::from(pages), 0]
            }
            Kind::Program => {
                let array = self.program_ns(op.page + done * self.program_pages);
                let transfer = self.transfer * u64::from(self.program_pages) - op.own_ns;
                [self.command + transfer, array, 0, 0]
            }
            Kind::Erase => [self.command, self.erase, 0, 0],
            Kind::Copy => {
                let single = self.program_pages == 1;
                let reads = if single { 1 } else { u64::from(op.array_reads) };
                let read = if self.is_typed() { op.own_ns } else { self.read[0] * reads };
                let array = self.program_ns(op.page + done * self.program_pages);
                if op.copy_back && self.command == 0 {
                    return [0, read + array, 0, 0];
                }
                let out = if single { 1 } else { u64::from(op.count) };
                let transfers = if op.copy_back { 0 } else { out + u64::from(self.program_pages) };
                [self.command, read, self.command + self.transfer * transfers, array]
            }
        }
    }

    /// How long that step takes where nothing is in the way.
    pub(super) fn step_ns(&self, op: &FlashOp, done: u32) -> u64 {
        self.step(op, done).iter().sum()
    }

    /// A step that another plane does its own together with: commands and data one after the other,
    /// as much as each has of them, the array once.
    pub(super) fn together(&self, kind: Kind, step: [u64; 4], other: [u64; 4]) -> [u64; 4] {
        let delay = self.two_plane.as_ref().map_or(0, |rules| rules.delay.0);
        let between = if kind == Kind::Program { delay } else { 0 };
        let [bus, array, bus2, array2] = step;
        [bus + between + other[0], array.max(other[1]), bus2 + other[2], array2.max(other[3])]
    }
}

/// Time of a mapped page on the bus.
fn transfer_ns(config: &NandConfig, geometry: &Geometry) -> Result<u64, String> {
    let (time, page) = (config.timing.transfer.0, geometry.page_bytes);
    match config.timing.transfer_per {
        None => Ok(time),
        Some(per) if per.0 > 0 && page.is_multiple_of(per.0) => Ok(time * (page / per.0)),
        Some(per) => Err(format!(
            "nand.timing.transfer_per: found {per}, expected a size that divides a mapped page ({})",
            Bytes(page)
        )),
    }
}

/// Types of the flash pages of a block.
fn types(order: PageTypes, pages: u32, kinds: u32) -> Vec<u8> {
    match order {
        PageTypes::Cycle => (0..pages).map(|page| (page % kinds) as u8).collect(),
        PageTypes::Shadow => {
            // Step by step: the first page of the next wordline, the second of the one before it,
            // and so on.
            let wordlines = pages.div_ceil(kinds);
            let steps = (0..wordlines + kinds).flat_map(|step| {
                (0..kinds).filter(move |&kind| step >= kind && step - kind < wordlines)
            });
            steps.take(pages as usize).map(|kind| kind as u8).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_neighbouring_wordlines_alternate() {
        assert_eq!(types(PageTypes::Cycle, 6, 3), [0, 1, 2, 0, 1, 2]);
        // As on two-bit chips: 0, 1, 3, 5 ... are first pages, 2, 4, 6 ... and the last one second
        // ones.
        assert_eq!(types(PageTypes::Shadow, 8, 2), [0, 0, 1, 0, 1, 0, 1, 1]);
        assert_eq!(types(PageTypes::Shadow, 9, 3), [0, 0, 1, 0, 1, 2, 1, 2, 2]);
    }
}
