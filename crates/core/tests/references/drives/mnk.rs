//! MNK: blocks striped over M units, N of them in a group with at most K log blocks.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Merge, Shape};
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
    let shape = Shape::with_channels(random, channels, (logs + 2) * 2 + 1);
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
                (0..shape.pages)
                    .for_each(|slot| flash.store(first + lane as u32 + slot * lanes, block, slot));
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
    let drive = Mapping { flash, clusters, width, logs: Vec::new(), options, clock: 0 };
    (shape.config(&mapping), Box::new(drive))
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

    /// The log that takes a page, and its flash block.
    fn open(&mut self, page: u32) -> (usize, u32) {
        let (cluster, lane, _) = self.place(page);
        let group = cluster as u32 / self.options.group;
        let newest = self.logs_of(group).last().copied();
        if newest.is_none_or(|log| self.flash.is_full(self.logs[log].lanes[lane])) {
            if self.logs_of(group).len() == self.options.group_logs {
                self.merge(self.logs_of(group)[0]);
            } else if self.logs.len() == self.options.logs {
                let all = 0..self.logs.len();
                self.merge(if self.options.is_fifo {
                    0
                } else {
                    all.min_by_key(|&log| self.logs[log].last_write).unwrap()
                });
            }
            let width = self.clusters[(group * self.options.group) as usize].len();
            let lanes = (0..width).map(|_| self.flash.take()).collect();
            self.clock += 1;
            self.logs.push(Log { group, lanes, last_write: self.clock });
        }
        let log = *self.logs_of(group).last().unwrap();
        (log, self.logs[log].lanes[lane])
    }

    fn written(&mut self, log: usize) {
        self.clock += 1;
        self.logs[log].last_write = self.clock;
        self.recycle();
    }

    /// The clustered blocks with a last word in a log.
    fn clusters_in(&self, log: usize) -> BTreeSet<usize> {
        let holds = |cluster: &usize| {
            (0..self.clusters[*cluster].len()).any(|lane| {
                let lanes = &self.logs[log].lanes;
                let is_in = |page| lanes.iter().any(|&block| self.flash.is_in(page, block));
                self.pages_of(*cluster, lane).into_iter().any(is_in)
            })
        };
        (0..self.clusters.len()).filter(holds).collect()
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
        self.logs_of(self.logs[log].group).last() != Some(&log) && self.clusters_in(log).is_empty()
    }

    fn drop_log(&mut self, log: usize) {
        let lanes = self.logs.remove(log).lanes;
        for block in lanes {
            self.give_up(block);
        }
    }

    fn give_up(&mut self, block: u32) {
        if self.flash.top(block) > 0 {
            self.flash.erase(block);
        } else {
            self.flash.release(block);
        }
    }

    fn merge(&mut self, log: usize) {
        if self.options.group == 1 {
            return self.fold_with_logs(self.logs[log].group);
        }
        for cluster in self.clusters_in(log) {
            for lane in 0..self.clusters[cluster].len() {
                if self.pages_of(cluster, lane).iter().any(|&page| self.flash.word(page).is_some())
                {
                    self.fold(cluster, lane, None, Merge::Full);
                }
            }
        }
        self.drop_log(log);
    }

    /// A flash block of a clustered block becomes one: this one of its logs, or an erased one.
    fn fold(&mut self, cluster: usize, lane: usize, block: Option<u32>, way: Merge) {
        let block = block.unwrap_or_else(|| self.flash.take());
        self.flash.count(way);
        self.flash.gather(&self.pages_of(cluster, lane), block, &[]);
        if let Some(old) = self.clusters[cluster][lane].replace(block) {
            self.flash.erase(old);
        }
    }

    /// N = 1: the clustered block and all its logs become one, all flash blocks in the same way.
    fn fold_with_logs(&mut self, group: u32) {
        let cluster = group as usize;
        let logs: Vec<Vec<u32>> =
            self.logs.extract_if(.., |log| log.group == group).map(|log| log.lanes).collect();
        let newest = logs.last().unwrap();
        let lanes = 0..self.clusters[cluster].len();
        let ways = lanes.clone().map(|lane| {
            self.flash.way(&self.pages_of(cluster, lane), newest[lane], self.options.completes)
        });
        let ways: Vec<Merge> = ways.collect();
        let way = if ways.contains(&Merge::Full) {
            Merge::Full
        } else if ways.contains(&Merge::Partial) {
            Merge::Partial
        } else {
            Merge::Switch
        };
        for lane in lanes {
            let is_written =
                self.pages_of(cluster, lane).iter().any(|&page| self.flash.word(page).is_some());
            let target = (way != Merge::Full && is_written).then_some(newest[lane]);
            if is_written {
                self.fold(cluster, lane, target, way);
            }
            let logs = logs.iter().map(|log| log[lane]).filter(|&block| Some(block) != target);
            logs.for_each(|block| self.give_up(block));
        }
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            let (log, block) = self.open(page);
            self.flash.store(page, block, self.flash.top(block));
            self.written(log);
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        self.flash.read(first, count);
    }

    fn trim(&mut self, first: u32, count: u32) {
        self.flash.trim(first, count);
    }

    fn flush(&mut self) {
        // One tombstone for each flash block.
        let mut owed: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
        for page in self.flash.owed() {
            let (cluster, lane, _) = self.place(page);
            owed.entry((cluster, lane)).or_default().push(page);
        }
        for pages in owed.values() {
            let (_, block) = self.open(pages[0]);
            self.flash.bury(pages, block, self.flash.top(block));
            self.recycle();
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
