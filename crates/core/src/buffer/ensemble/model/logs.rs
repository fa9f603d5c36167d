//! Log blocks that belong to one cluster of logical blocks each: BAST, MNK, S-FTL; and FTLs without
//! logs, which write the whole block anew.

use super::Units;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::list::{Links, List};

/// The logs of a cluster.
#[derive(Debug, Clone, Copy, Default)]
struct Log {
    /// Pages in them.
    used: u32,
    /// These are the first of the cluster, in order.
    ordered: bool,
}

/// Which clusters have logs, and what is in them.
#[derive(Debug)]
pub struct OwnLogs {
    /// Pages of a cluster.
    pages: u32,
    width: u32,
    /// Logs of a cluster at most, and those that can still be had.
    each: u32,
    spare: u32,
    whole: u32,
    logs: Vec<Log>,
    /// Clusters with logs, the one written longest ago last.
    order: List,
    links: Links,
}

impl OwnLogs {
    /// None are in use.
    pub fn new(blocks: u32, ppb: u32, logs: u32, each: u32, width: u32, whole: u32) -> Self {
        let clusters = blocks.div_ceil(width);
        Self {
            pages: ppb * width,
            width,
            each: each.max(1),
            spare: (logs / width).max(1),
            whole,
            logs: vec![Log::default(); clusters as usize],
            order: List::default(),
            links: Links::new(clusters as usize),
        }
    }

    /// Writes pages of one logical block.
    pub fn write(
        &mut self,
        units: &mut Units,
        unit: u32,
        block: LogicalBlock,
        pages: impl ExactSizeIterator<Item = Lpn> + Clone,
        mut stored: impl FnMut(u64),
    ) {
        let cluster = block.0 / self.width;
        let count = pages.len() as u32;
        if count >= self.whole {
            self.fold(units, unit, cluster);
            pages.clone().for_each(|lpn| stored(units.program(self.unit(units, unit, lpn), 1)));
            let rest = (self.pages / self.width).saturating_sub(count);
            units.copy(unit, rest);
            units.erase(unit, 1);
            return;
        }
        for lpn in pages {
            let Log { used, .. } = self.logs[cluster as usize];
            if used.is_multiple_of(self.pages) {
                self.take(units, unit, cluster);
            }
            let log = &mut self.logs[cluster as usize];
            log.ordered = (log.ordered || log.used == 0) && lpn.0 % self.pages == log.used;
            log.used += 1;
            stored(units.program(self.unit(units, unit, lpn), 1));
        }
        if self.logs[cluster as usize].used > 0 {
            self.order.touch(&mut self.links, cluster);
        }
    }

    /// A cluster's page lies here, if its first block lies on `unit`.
    fn unit(&self, units: &Units, unit: u32, lpn: Lpn) -> u32 {
        if self.width == 1 { unit } else { (unit + lpn.0 % self.width) % units.count() }
    }

    /// A cluster gets a log, with a merge where there is none for it.
    fn take(&mut self, units: &mut Units, unit: u32, cluster: u32) {
        if self.logs[cluster as usize].used == self.each * self.pages {
            self.fold(units, unit, cluster);
        }
        while self.spare == 0 {
            let victim = self.order.back();
            let home = if victim == cluster { unit } else { victim * self.width % units.count() };
            self.fold(units, home, victim);
        }
        self.spare -= 1;
        if self.logs[cluster as usize].used == 0 {
            self.order.push_front(&mut self.links, cluster);
        }
    }

    /// Merges the logs of a cluster, if there are any.
    fn fold(&mut self, units: &mut Units, unit: u32, cluster: u32) {
        let Log { used, ordered } = std::mem::take(&mut self.logs[cluster as usize]);
        if used == 0 {
            return;
        }
        self.order.remove(&mut self.links, cluster);
        let logs = used.div_ceil(self.pages);
        self.spare += logs;
        let in_place = ordered && logs == 1;
        let copies = if in_place { self.pages - used } else { self.pages };
        let erases = if in_place { 1 } else { logs + 1 };
        for part in 0..self.width {
            let unit = (unit + part) % units.count();
            units.copy(unit, copies / self.width);
            units.erase(unit, erases);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.logs.len() * size_of::<Log>() + self.links.bytes()
    }
}
