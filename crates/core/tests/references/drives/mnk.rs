//! MNK: blocks striped over M units, N of them in a group with at most K log blocks.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "mnk")],
        from: "its page; schemes.md, section 2.7; merges of N = 1 as in BAST",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let logs: u32 = random.random_range(1..=3);
    let striping = *[None, Some(1), Some(2)].get(random.random_range(0..3)).unwrap();
    // A fold of a clustered block needs erased ones for all of it, beside those of the logs.
    let channels = random.random_range(striping.unwrap_or(1)..=2);
    let shape = Shape::with_channels(random, channels, (logs + 1) * 2);
    let width = striping.unwrap_or(shape.channels);
    let options = Options {
        group: random.random_range(1..=3),
        group_logs: random.random_range(1..=3),
        logs: logs as usize,
        is_fifo: random.random(),
        completes: random.random(),
        recycles: random.random(),
    };
    let balance = random.random::<bool>().then(|| random.random_range(1..=3));
    let mut flash = Flash::new(&shape);
    let clusters = (0..shape.exported.div_ceil(width)).map(|number| {
        let width = width.min(shape.exported - number * width);
        vec![None; width as usize]
    });
    let mut clusters: Vec<Vec<Option<u32>>> = clusters.collect();
    if shape.full {
        for (number, cluster) in clusters.iter_mut().enumerate() {
            let (lanes, first) = (cluster.len() as u32, number as u32 * width * shape.pages);
            for (lane, data) in cluster.iter_mut().enumerate() {
                let block = flash.take();
                (0..shape.pages).for_each(|slot| flash.store(first + lane as u32 + slot * lanes, block, slot));
                *data = Some(block);
            }
        }
        flash.counts = Counts::default();
    }
    let mut mapping = json!({
        "kind": "mnk", "group_blocks": options.group, "group_logs": options.group_logs, "log_blocks": logs,
        "victim": if options.is_fifo { "fifo" } else { "lru" },
        "partial_merge": options.completes, "recycling": options.recycles,
    });
    if let Some(striping) = striping {
        mapping["striping"] = striping.into();
    }
    if let Some(balance) = balance {
        mapping["balance"] = balance.into();
    }
    let drive = Mapping { flash, clusters, width, logs: Vec::new(), options, clock: 0, buried: BTreeSet::new() };
    (shape.config(mapping), Box::new(drive))
}

struct Options {
    /// N, K, and logs in all.
    group: u32,
    group_logs: usize,
    logs: usize,
    is_fifo: bool,
    completes: bool,
    recycles: bool,
}

/// A clustered log block.
struct Log {
    group: u32,
    lanes: Vec<u32>,
    last_write: u64,
}

struct Mapping {
    flash: Flash,
    /// Flash blocks of each clustered block.
    clusters: Vec<Vec<Option<u32>>>,
    /// M.
    width: u32,
    /// In the order in which they were attached.
    logs: Vec<Log>,
    options: Options,
    clock: u64,
    /// Pages with a tombstone that still counts.
    buried: BTreeSet<u32>,
}

impl Mapping {
    /// The clustered block of a page, its lane there and its offset in the lane.
    fn place(&self, page: u32) -> (usize, usize, u32) {
        let cluster = page / (self.width * self.flash.pages);
        let lanes = self.clusters[cluster as usize].len() as u32;
        let inside = page - cluster * self.width * self.flash.pages;
        (cluster as usize, (inside % lanes) as usize, inside / lanes)
    }

    /// The pages of one lane of a clustered block, in order.
    fn pages_of(&self, cluster: usize, lane: usize) -> Vec<u32> {
        let lanes = self.clusters[cluster].len() as u32;
        let first = cluster as u32 * self.width * self.flash.pages + lane as u32;
        (0..self.flash.pages).map(|slot| first + slot * lanes).collect()
    }

    fn logs_of(&self, group: u32) -> Vec<usize> {
        (0..self.logs.len()).filter(|&log| self.logs[log].group == group).collect()
    }

    fn append(&mut self, page: u32, tombstone: bool) {
        let (cluster, lane, _) = self.place(page);
        let group = cluster as u32 / self.options.group;
        let newest = self.logs_of(group).last().copied();
        if newest.is_none_or(|log| self.flash.is_full(self.logs[log].lanes[lane])) {
            if self.logs_of(group).len() == self.options.group_logs {
                self.merge(self.logs_of(group)[0]);
            }
            if self.logs.len() == self.options.logs {
                let all = 0..self.logs.len();
                self.merge(if self.options.is_fifo {
                    0
                } else {
                    all.min_by_key(|&log| self.logs[log].last_write).unwrap()
                });
            }
            let width = self.clusters[(group * self.options.group) as usize].len();
            let lanes = (0..width).map(|_| self.flash.take()).collect();
            self.logs.push(Log { group, lanes, last_write: 0 });
        }
        self.clock += 1;
        let log = *self.logs_of(group).last().unwrap();
        self.logs[log].last_write = self.clock;
        let block = self.logs[log].lanes[lane];
        let slot = self.flash.top(block);
        if tombstone {
            self.buried.insert(page);
            self.flash.bury(page, block, slot);
        } else {
            self.buried.remove(&page);
            self.flash.store(page, block, slot);
        }
        self.recycle();
    }

    /// Pages in a log that are still the newest, and tombstones.
    fn needed(&self, log: usize) -> Vec<u32> {
        let mut needed = Vec::new();
        for &block in &self.logs[log].lanes {
            for (slot, page) in self.flash.slots(block).iter().enumerate() {
                let Some(page) = *page else { continue };
                let newest = self.flash.newest(page).unwrap();
                let counts = self.flash.find(page).is_some() || newest.tombstone && self.buried.contains(&page);
                if counts && newest.block == block && newest.slot == slot as u32 {
                    needed.push(page);
                }
            }
        }
        needed
    }

    /// Logs but the newest of their groups that hold nothing any more are erased.
    fn recycle(&mut self) {
        while self.options.recycles
            && let Some(log) = (0..self.logs.len()).find(|&log| self.is_idle(log))
        {
            self.drop_log(log);
        }
    }

    fn is_idle(&self, log: usize) -> bool {
        self.logs_of(self.logs[log].group).last() != Some(&log) && self.needed(log).is_empty()
    }

    fn drop_log(&mut self, log: usize) {
        for block in self.logs.remove(log).lanes {
            self.flash.erase(block);
        }
    }

    fn merge(&mut self, log: usize) {
        let group = self.logs[log].group;
        if self.options.group == 1 {
            return self.fold_all(group);
        }
        let clusters: BTreeSet<usize> = self.needed(log).iter().map(|&page| self.place(page).0).collect();
        for cluster in clusters {
            for lane in 0..self.clusters[cluster].len() {
                self.fold_lane(cluster, lane);
            }
        }
        self.drop_log(log);
    }

    /// The newest pages of one flash block of a clustered block go to an erased one.
    fn fold_lane(&mut self, cluster: usize, lane: usize) {
        let pages = self.pages_of(cluster, lane);
        let old = self.clusters[cluster][lane].take();
        let valid = self.flash.valid(pages.iter().copied());
        if !valid.is_empty() {
            let fresh = self.flash.take();
            for page in valid {
                self.flash.copy(page, fresh, self.place(page).2);
            }
            self.clusters[cluster][lane] = Some(fresh);
        }
        self.flash.counts.full_merges += 1;
        if let Some(old) = old {
            self.flash.erase(old);
        }
        self.buried.retain(|page| !pages.contains(page));
    }

    /// N = 1: the clustered block and all its logs become one, flash block by flash block.
    fn fold_all(&mut self, group: u32) {
        let cluster = group as usize;
        let logs: Vec<Vec<u32>> = self.logs.extract_if(.., |log| log.group == group).map(|log| log.lanes).collect();
        for lane in 0..self.clusters[cluster].len() {
            let newest = logs.last().unwrap()[lane];
            let others: Vec<u32> = logs[..logs.len() - 1].iter().map(|lanes| lanes[lane]).collect();
            let pages = self.pages_of(cluster, lane);
            let is_used = |&block: &u32| self.flash.top(block) > 0;
            if !is_used(&newest) && !others.iter().any(is_used) {
                others.iter().chain([&newest]).for_each(|&block| self.flash.erase(block));
                continue;
            }
            let mut rest = self.flash.valid(pages.iter().copied());
            rest.retain(|&page| self.flash.find(page).unwrap().block != newest);
            let programmed = &self.flash.slots(newest)[..self.flash.top(newest) as usize];
            let in_place = programmed.iter().zip(&pages).all(|(found, &page)| *found == Some(page));
            if in_place && (rest.is_empty() || self.options.completes) {
                if rest.is_empty() {
                    self.flash.counts.switch_merges += 1;
                } else {
                    self.flash.counts.partial_merges += 1;
                }
                rest.iter().for_each(|&page| self.flash.copy(page, newest, self.place(page).2));
                if let Some(old) = self.clusters[cluster][lane].replace(newest) {
                    self.flash.erase(old);
                }
            } else {
                self.fold_lane(cluster, lane);
                self.flash.erase(newest);
            }
            others.iter().for_each(|&block| self.flash.erase(block));
            self.buried.retain(|page| !pages.contains(page));
        }
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        (first..first + count).for_each(|page| self.append(page, false));
    }

    fn read(&mut self, first: u32, count: u32) {
        self.flash.read(first, count);
    }

    fn trim(&mut self, first: u32, count: u32) {
        self.flash.trim(first, count);
        self.recycle();
    }

    fn flush(&mut self) {
        for page in self.flash.owed() {
            if self.flash.is_owed(page) {
                self.append(page, true);
            }
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
