//! Small drives, and what has to be read from them.

#![allow(dead_code, reason = "not every test uses all of it")]

pub mod bytes;
pub mod client;

use std::path::Path;
use std::sync::Arc;

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::Op;
use eraseblock_core::metrics::Report;
use eraseblock_core::{buffer, ftl};
use eraseblock_serve::{Drive, Failure};
use eraseblock_traces::{DriveShape, WorkloadConfig};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

const PAGE: usize = 4096;

/// A folder where waiting for the disk takes no time, if this machine has one.
pub fn fast_folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Whether the tests run for long, as in `make soak`.
pub fn is_soak() -> bool {
    std::env::var_os("ERASEBLOCK_SOAK").is_some()
}

/// One in so many, or each in a soak.
pub fn apart(many: usize) -> usize {
    if is_soak() { 1 } else { many }
}

/// A seed that is always the same, or in a soak another one for each `ERASEBLOCK_SEED`.
pub fn seed(number: u64) -> u64 {
    let Ok(text) = std::env::var("ERASEBLOCK_SEED") else { return number };
    number + text.parse::<u64>().expect("ERASEBLOCK_SEED: a whole number")
}

/// 2 MiB of flash, 1 MiB for the host.
pub fn config(mapping: &Value, buffer: Value) -> DeviceConfig {
    let mut config = json!({
        "nand": {
            "channels": 2, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
            "blocks_per_plane": 32, "pages_per_block": 8, "page_size": "4 KiB",
            "program_order": "ascending",
            "timing": {"read": "25us", "program": "200us", "erase": "1500us", "transfer": "40us"},
        },
        "ftl": {"exported": "1 MiB", "mapping": mapping},
        "host": {"max_outstanding": 8},
        "precondition": {"state": "empty"},
    });
    config["buffer"] = buffer;
    DeviceConfig::from_json(config).unwrap()
}

/// The same drive on flash that programs three pages of 8 KiB at once: six pages of the drive's.
pub fn one_shot(config: DeviceConfig) -> DeviceConfig {
    let mut config = serde_json::to_value(config).unwrap();
    let nand = &mut config["nand"];
    (nand["page_size"], nand["mapping_unit"]) = ("8 KiB".into(), "4 KiB".into());
    (nand["pages_per_program"], nand["pages_per_block"]) = (3.into(), 6.into());
    DeviceConfig::from_json(config).unwrap()
}

/// All mappings, with so many log blocks or as small a cache that both are used.
pub fn ftls() -> Vec<(String, Value)> {
    let small = |name: &str| {
        let mut mapping = serde_json::to_value(MappingConfig::by_name(name).unwrap()).unwrap();
        for (option, value) in [("log_blocks", 4), ("cache", 8), ("entries_per_page", 8)] {
            if let Some(found) = mapping.get_mut(option) {
                *found = value.into();
            }
        }
        mapping
    };
    ftl::registry().iter().map(|entry| (entry.name.to_owned(), small(entry.name))).collect()
}

/// All buffers that can be served: those that do not know the future.
pub fn buffers() -> Vec<String> {
    let served = buffer::registry().iter().filter(|entry| !entry.about.bound);
    served.map(|entry| entry.name.to_owned()).collect()
}

/// What the simulation says of the requests in a trace.
pub fn simulated(config: &DeviceConfig, trace: &Path) -> Report {
    simulated_from(Device::new(config, Options::default()).unwrap(), trace)
}

/// The same of a drive that holds something.
pub fn simulated_from(mut device: Device, trace: &Path) -> Report {
    let (exported_bytes, page_bytes) = (device.exported_bytes(), device.page_bytes());
    let block_bytes = device.logical_block_bytes();
    let workload = WorkloadConfig::trace(trace.to_str().unwrap());
    let workload = workload.prepare(Path::new(".")).unwrap();
    let fitted = workload.fit(DriveShape { exported_bytes, page_bytes, block_bytes }).unwrap();
    for request in fitted.requests() {
        device.submit(&request.unwrap()).unwrap();
    }
    device.finish().unwrap()
}

/// What a host does to a drive, wherever that is. An error says that it is gone.
pub trait Host {
    /// Bytes of the drive.
    fn size(&mut self) -> u64;
    fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> Result<(), String>;
    fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), String>;
    fn trim(&mut self, offset: u64, len: u64) -> Result<(), String>;
    fn flush(&mut self) -> Result<(), String>;
}

impl Host for Drive {
    fn size(&mut self) -> u64 {
        Self::size(self)
    }

    fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> Result<(), String> {
        put(self, Op::Write, (offset, data.len() as u64), data, fua).map_err(|e| e.to_string())
    }

    fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), String> {
        if self.failure().is_none() {
            put(self, Op::Read, (offset, data.len() as u64), &[], false)
                .map_err(|e| e.to_string())?;
        }
        Self::read(self, offset, data).map_err(|e| e.to_string())
    }

    fn trim(&mut self, offset: u64, len: u64) -> Result<(), String> {
        put(self, Op::Trim, (offset, len), &[], false).map_err(|e| e.to_string())
    }

    fn flush(&mut self) -> Result<(), String> {
        put(self, Op::Flush, (0, 0), &[], false).map_err(|e| e.to_string())
    }
}

/// Puts a request to a drive, and lets it answer everything.
fn put(
    drive: &mut Drive,
    op: Op,
    range: (u64, u64),
    data: &[u8],
    fua: bool,
) -> Result<(), Failure> {
    let now = drive.now();
    let number = drive.put(op, range, data, fua, now)?;
    let mut answers = Vec::new();
    loop {
        drive.take_answers(&mut answers);
        if answers.contains(&number) {
            return Ok(());
        }
        drive.wait()?;
    }
}

/// What each page may hold. Copies share the pages that are alike in both: many tests keep one of
/// each moment.
#[derive(Clone)]
pub struct Model {
    /// The pages as the host has written them.
    now: Vec<Arc<[u8]>>,
    /// What each page held when it was last known to be durable, and all that it has held since.
    past: Vec<Vec<Arc<[u8]>>>,
    tag: u64,
}

impl Model {
    /// Of a drive that reads as zeroes.
    pub fn new(drive: &mut impl Host) -> Self {
        let now = vec![Arc::from([0; PAGE]); drive.size() as usize / PAGE];
        let past = now.iter().map(|page| vec![Arc::clone(page)]).collect();
        Self { now, past, tag: 0 }
    }

    /// What a drive holds now is what it is to hold.
    pub fn learn(&mut self, drive: &mut impl Host) {
        self.now = self.read(drive).unwrap().chunks(PAGE).map(Arc::from).collect();
        self.flushed();
    }

    /// The whole drive.
    fn read(&self, drive: &mut impl Host) -> Result<Vec<u8>, String> {
        let mut data = vec![1; self.now.len() * PAGE];
        drive.read(0, &mut data)?;
        Ok(data)
    }

    /// The host has written bytes from `at` on.
    fn changed(&mut self, mut at: usize, mut data: &[u8]) {
        while !data.is_empty() {
            let (page, from) = (at / PAGE, at % PAGE);
            let (here, rest) = data.split_at(data.len().min(PAGE - from));
            let mut new = self.now[page].to_vec();
            new[from..from + here.len()].copy_from_slice(here);
            self.now[page] = new.into();
            self.past[page].push(Arc::clone(&self.now[page]));
            (at, data) = (at + here.len(), rest);
        }
    }

    /// All that has been written is durable.
    pub fn flushed(&mut self) {
        self.durable(0, self.past.len());
    }

    /// Pages have been written for good.
    fn durable(&mut self, from: usize, to: usize) {
        for page in from..to {
            self.past[page] = vec![Arc::clone(&self.now[page])];
        }
    }

    /// One random request, whose answer is no promise.
    pub fn step_unpromised(
        &mut self,
        drive: &mut impl Host,
        rng: &mut Pcg64Mcg,
    ) -> Result<(), String> {
        let mut past = self.past.clone();
        self.step(drive, rng)?;
        for (past, now) in past.iter_mut().zip(&self.past) {
            past.extend(now.iter().filter(|now| !past.contains(now)).cloned().collect::<Vec<_>>());
        }
        self.past = past;
        Ok(())
    }

    /// One random request; where the drive fails, what it was asked for may have happened or not.
    pub fn step(&mut self, drive: &mut impl Host, rng: &mut Pcg64Mcg) -> Result<(), String> {
        let pages = self.now.len();
        // Half of the accesses to an eighth of the drive.
        let near = if rng.random_bool(0.5) { pages / 8 } else { pages };
        let page = rng.random_range(0..near);
        let (offset, len) = if rng.random_bool(0.6) {
            (page * PAGE, PAGE * rng.random_range(1..=6))
        } else {
            (page * PAGE + 512 * rng.random_range(0..8), 512 * rng.random_range(1..=20))
        };
        let len = len.min(pages * PAGE - offset);
        match rng.random_range(0..20) {
            0..10 => {
                self.tag += 1;
                let mut data: Vec<u8> = (0..len / 8)
                    .flat_map(|word| (self.tag << 16 | word as u64).to_le_bytes())
                    .collect();
                if rng.random_bool(0.1) {
                    data.fill(0);
                }
                let fua = rng.random_bool(0.1);
                self.changed(offset, &data);
                drive.write(offset as u64, &data, fua)?;
                if fua {
                    self.durable(offset / PAGE, (offset + len).div_ceil(PAGE));
                }
            }
            10..17 => {
                let mut data = vec![1; len];
                drive.read(offset as u64, &mut data)?;
                let pages = &self.now[offset / PAGE..(offset + len).div_ceil(PAGE)];
                let from = offset % PAGE;
                assert!(data == pages.concat()[from..from + len], "bytes {offset} + {len}");
            }
            17 => {
                drive.flush()?;
                self.flushed();
            }
            _ => {
                let (first, end) = (offset.div_ceil(PAGE), (offset + len) / PAGE);
                if first < end {
                    self.changed(first * PAGE, &vec![0; (end - first) * PAGE]);
                }
                drive.trim(offset as u64, len as u64)?;
            }
        }
        Ok(())
    }

    /// The whole drive holds what was written.
    pub fn compare_all(&self, drive: &mut impl Host) {
        let data = self.read(drive).unwrap();
        for (page, (found, wanted)) in data.chunks(PAGE).zip(&self.now).enumerate() {
            assert!(found == &**wanted, "page {page}");
        }
    }

    /// The drive holds what was written; where the last request failed, what was there `before` it
    /// or what it brought.
    pub fn compare_either(&self, before: &Self, drive: &mut impl Host) {
        let data = self.read(drive).unwrap();
        for (page, found) in data.chunks(PAGE).enumerate() {
            assert!(
                [self, before].iter().any(|one| &*one.now[page] == found),
                "page {page} holds {:?}",
                &found[..16]
            );
        }
    }

    /// Power has been gone: each page holds what was durable, or something that came after it.
    pub fn power_was_cut(&mut self, drive: &mut impl Host) {
        self.check_after_cut(drive).unwrap();
    }

    /// The same; what does not is an error.
    pub fn check_after_cut(&mut self, drive: &mut impl Host) -> Result<(), String> {
        let data = self.read(drive)?;
        for (page, found) in data.chunks(PAGE).enumerate() {
            let Some(held) = self.past[page].iter().find(|past| &***past == found) else {
                return Err(format!(
                    "page {page} holds {:?}, none of the {} versions that it may hold",
                    &found[..16],
                    self.past[page].len()
                ));
            };
            self.now[page] = Arc::clone(held);
        }
        self.flushed();
        Ok(())
    }

    /// Each page holds what it may hold here, or there.
    pub fn or(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (past, more) in both.past.iter_mut().zip(&other.past) {
            let new: Vec<_> = more.iter().filter(|page| !past.contains(page)).cloned().collect();
            past.extend(new);
        }
        both
    }
}
