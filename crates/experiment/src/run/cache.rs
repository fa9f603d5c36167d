//! Filled drives that are kept in a folder, for other commands to start from.
//!
//! One file holds one drive. It says which one, by a hash of all that decides how that is filled
//! and of the engine's source, how long it is, and its checksum; whatever does not agree is taken
//! for no file at all. Files are written elsewhere and then renamed, so that several processes can
//! share the folder. Nothing that goes wrong with the folder fails a run: then the drive is filled.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crc32fast::Hasher;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Filled, Options};
use eraseblock_core::support::units::{Bytes, Nanos};
use sha2::{Digest, Sha256};

use super::{ENGINE, RunError};

const MAGIC: &[u8; 8] = b"EBFILLED";
const VERSION: u32 = 1;
/// Magic, version, which drive, length of what follows, its checksum.
const HEADER: usize = 8 + 4 + 32 + 8 + 4;

/// Bytes that the folder holds unless `ERASEBLOCK_CACHE_SIZE` says otherwise.
const SIZE: u64 = 4 << 30;
/// Filling takes at least so long where the drive is kept, unless `ERASEBLOCK_CACHE_LEAST` says
/// otherwise.
const LEAST: Duration = Duration::from_secs(1);
/// What a process that was ended has left behind is removed after so long.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);

const KEPT: &str = ".filled";
const UNFINISHED: &str = ".part";

/// A folder of filled drives.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    size: u64,
    least: Duration,
}

impl Cache {
    /// Drives in `folder`, the least recently used of which go when they take more than `size`
    /// bytes.
    pub fn new(folder: impl Into<PathBuf>, size: u64) -> Self {
        Self { folder: folder.into(), size, least: LEAST }
    }

    /// Keeps also those that are filled faster than in a second.
    #[must_use]
    pub fn of_all(self) -> Self {
        Self { least: Duration::ZERO, ..self }
    }

    /// The user's: in the folder `$ERASEBLOCK_CACHE`, else `$XDG_CACHE_HOME/eraseblock`, else
    /// `~/.cache/eraseblock`, of `$ERASEBLOCK_CACHE_SIZE` or 4 GiB; none where there is no such
    /// folder, or that size is 0. Drives are kept whose filling took `$ERASEBLOCK_CACHE_LEAST`
    /// (as `100ms`), or a second.
    ///
    /// # Errors
    /// The size or the time is none.
    pub fn of_user() -> Result<Option<Self>, RunError> {
        let given = |name| env::var_os(name).filter(|value| !value.is_empty());
        let size = match given("ERASEBLOCK_CACHE_SIZE") {
            None => SIZE,
            Some(text) if text == "0" => 0,
            Some(text) => {
                let parsed: Result<Bytes, _> = text.to_string_lossy().parse();
                parsed.map_err(|e| RunError::Option(format!("ERASEBLOCK_CACHE_SIZE: {e}")))?.0
            }
        };
        let least = match given("ERASEBLOCK_CACHE_LEAST") {
            None => LEAST,
            Some(text) => {
                let parsed: Result<Nanos, _> = text.to_string_lossy().parse();
                let time =
                    parsed.map_err(|e| RunError::Option(format!("ERASEBLOCK_CACHE_LEAST: {e}")))?;
                Duration::from_nanos(time.0)
            }
        };
        let folder = given("ERASEBLOCK_CACHE").map(PathBuf::from).or_else(|| {
            let of_all =
                given("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
            let of_all = of_all.or_else(|| Some(env::home_dir()?.join(".cache")));
            Some(of_all?.join("eraseblock"))
        });
        let cache = |folder| Self { least, ..Self::new(folder, size) };
        Ok(folder.filter(|_| size > 0).map(cache))
    }

    /// Brings an empty drive into the state of a kept one, if that is there and whole.
    pub(super) fn load(
        &self,
        device: &mut Device,
        (config, options): (&DeviceConfig, Options),
    ) -> Result<bool, RunError> {
        let Some(bytes) = self.find(config, options) else { return Ok(false) };
        let loaded = device.load_filled(&bytes);
        if !loaded {
            *device = Device::new(config, options)?;
        }
        Ok(loaded)
    }

    /// What the file of such a drive holds.
    fn find(&self, config: &DeviceConfig, options: Options) -> Option<Vec<u8>> {
        if options.verify || self.size == 0 {
            return None;
        }
        let id = id(config, options);
        let path = self.path(&id);
        // What is no file is not opened: a pipe would wait for ever.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let file = File::open(&path).ok()?;
        let bytes = content(&file, &id).ok()?;
        // It has been used. Where that cannot be noted, it goes sooner.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Keeps a drive that it `took` so long to fill, if that was long enough.
    pub(super) fn keep(
        &self,
        device: &Device,
        (config, options): (&DeviceConfig, Options),
        took: Duration,
    ) {
        if options.verify || took < self.least || device.bytes_below_buffer() as u64 > self.size {
            return;
        }
        // The next command fills the drive again.
        let _ = self.write(device, &id(config, options));
    }

    fn write(&self, device: &Device, id: &[u8; 32]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::Builder::new().suffix(UNFINISHED).tempfile_in(&self.folder)?;
        file.write_all(&[0; HEADER])?;
        let mut out = Checked { out: file.as_file_mut(), length: 0, sum: Hasher::new() };
        device.save_filled(&mut out)?;
        let (length, sum) = (out.length, out.sum.finalize());
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header(id, length, sum))?;
        if length > self.size {
            return Ok(());
        }
        file.persist(self.path(id))?;
        self.make_room()
    }

    /// Removes those that were used longest ago until the others fit.
    fn make_room(&self) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(facts) = entry.metadata() else { continue };
            let Ok(used) = facts.modified() else { continue };
            if !facts.is_file() {
                continue;
            }
            if name.ends_with(KEPT) {
                kept.push((used, facts.len(), entry.path()));
            } else if name.ends_with(UNFINISHED)
                && used.elapsed().is_ok_and(|age| age > LEFT_BEHIND)
            {
                let _ = fs::remove_file(entry.path());
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in kept {
            if total <= self.size {
                break;
            }
            // Another process may have removed it.
            let _ = fs::remove_file(path);
            total -= length;
        }
        Ok(())
    }

    fn path(&self, id: &[u8; 32]) -> PathBuf {
        let mut name = [0; 16];
        name.copy_from_slice(&id[..16]);
        self.folder.join(format!("{:032x}{KEPT}", u128::from_be_bytes(name)))
    }
}

/// Which drive it is, and of which engine.
fn id(config: &DeviceConfig, options: Options) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(ENGINE);
    hash.update([0]);
    hash.update(Filled::key(config, options));
    hash.finalize().into()
}

fn header(id: &[u8; 32], length: u64, sum: u32) -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes(), id, &length.to_le_bytes(), &sum.to_le_bytes()].concat()
}

/// What a whole file of that drive holds.
fn content(file: &File, id: &[u8; 32]) -> io::Result<Vec<u8>> {
    let bad = || io::Error::from(io::ErrorKind::InvalidData);
    let length = file.metadata()?.len().checked_sub(HEADER as u64).ok_or_else(bad)?;
    let mut input = BufReader::new(file);
    let mut start = [0; HEADER];
    input.read_exact(&mut start)?;
    let (said, sum) = start.split_at(HEADER - 4);
    let sum = u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]);
    if header(id, length, sum)[..HEADER - 4] != *said {
        return Err(bad());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).map_err(|_| bad())?).map_err(|_| bad())?;
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length || crc32fast::hash(&bytes) != sum {
        return Err(bad());
    }
    Ok(bytes)
}

/// Counts what is written, and sums it up.
struct Checked<'a> {
    out: &'a mut File,
    length: u64,
    sum: Hasher,
}

impl Write for Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.length += written as u64;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
