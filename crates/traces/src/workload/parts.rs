//! The requests of each volume of a trace apart from the others, in bounded memory and one file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use eraseblock_core::host::{Op, Request};
use hashbrown::HashMap;

use crate::compact::{put_nibbles, put_numbers, take_nibbles, take_numbers};
use crate::error::TraceError;

/// Requests that are kept in memory, of all volumes together (32 MiB).
const IN_MEMORY: usize = 1 << 20;

/// Operations in the order of their numbers, and the bit beside them.
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];
const FUA: u8 = 4;

/// The requests of a trace by volume.
#[derive(Debug)]
pub(super) struct Parts {
    /// What the trace is called in messages.
    name: String,
    volumes: HashMap<u32, Part>,
    in_memory: usize,
    most: usize,
    /// Holds what there was no room for in memory; it has no name, so that nothing is left of it
    /// when the process ends, however it does.
    file: Option<Mutex<File>>,
    end: u64,
}

/// The requests of one volume: those in chunks of the file, then those in memory.
#[derive(Debug, Default)]
struct Part {
    chunks: Vec<Chunk>,
    rest: Vec<Request>,
}

/// Where some requests lie in the file.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    at: u64,
    bytes: u32,
    requests: u32,
}

impl Parts {
    /// No requests yet of the trace with this name.
    pub fn new(name: &str) -> Self {
        Self::with_memory(name, IN_MEMORY)
    }

    fn with_memory(name: &str, most: usize) -> Self {
        let name = name.to_owned();
        Self { name, volumes: HashMap::new(), in_memory: 0, most, file: None, end: 0 }
    }

    /// Adds a request to its volume.
    #[inline]
    pub fn add(&mut self, request: &Request) -> Result<(), TraceError> {
        self.volumes.entry(request.volume).or_default().rest.push(*request);
        self.in_memory += 1;
        if self.in_memory < self.most {
            return Ok(());
        }
        self.make_room().map_err(|error| self.failed("written", error))
    }

    /// Moves to the file what volumes hold that hold much of it: at least half of all, in chunks
    /// that are not small beside the mean.
    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Mutex::new(tempfile::tempfile()?)),
        };
        let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let least = (self.in_memory / self.volumes.len() / 2).max(1);
        let mut written = Vec::new();
        file.seek(SeekFrom::Start(self.end))?;
        for part in self.volumes.values_mut().filter(|part| part.rest.len() >= least) {
            let from = written.len();
            encode(&part.rest, &mut written);
            part.chunks.push(Chunk {
                at: self.end + from as u64,
                bytes: (written.len() - from) as u32,
                requests: part.rest.len() as u32,
            });
            self.in_memory -= part.rest.len();
            part.rest = Vec::new();
        }
        file.write_all(&written)?;
        self.end += written.len() as u64;
        Ok(())
    }

    fn chunk(&self, chunk: Chunk, out: &mut Vec<Request>, volume: u32) -> io::Result<()> {
        let mut bytes = vec![0; chunk.bytes as usize];
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(chunk.at))?;
            file.read_exact(&mut bytes)?;
        }
        decode(&bytes, chunk.requests as usize, volume, out)
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn failed(&self, doing: &str, error: io::Error) -> TraceError {
        let folder = std::env::temp_dir().display().to_string();
        let doing = format!(
            "the volumes of {}, kept apart in a temporary file, cannot be {doing} (TMPDIR names \
             another folder)",
            self.name
        );
        TraceError::io(&folder, doing, error)
    }
}

/// One pass over the requests of a volume.
#[derive(Debug)]
pub(super) struct PartReader {
    parts: Arc<Parts>,
    volume: u32,
    /// The chunk that comes next.
    chunk: usize,
    loaded: Vec<Request>,
    next: usize,
}

impl PartReader {
    pub fn new(parts: Arc<Parts>, volume: u32) -> Self {
        Self { parts, volume, chunk: 0, loaded: Vec::new(), next: 0 }
    }

    /// The next request; a volume that is not there has none.
    #[inline]
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        if self.next == self.loaded.len() && !self.load()? {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(self.loaded[self.next - 1]))
    }

    /// Loads the next chunk; at last, what was kept in memory. False where nothing is left.
    #[cold]
    fn load(&mut self) -> Result<bool, TraceError> {
        let Some(part) = self.parts.volumes.get(&self.volume) else { return Ok(false) };
        (self.next, self.chunk) = (0, self.chunk + 1);
        match part.chunks.get(self.chunk - 1) {
            Some(&chunk) => self
                .parts
                .chunk(chunk, &mut self.loaded, self.volume)
                .map_err(|error| self.parts.failed("read", error))?,
            None if self.chunk - 1 == part.chunks.len() => self.loaded.clone_from(&part.rest),
            None => self.loaded.clear(),
        }
        Ok(!self.loaded.is_empty())
    }
}

/// Appends `requests` of one volume as columns, whatever their figures are.
fn encode(requests: &[Request], out: &mut Vec<u8>) {
    let kind = |request: &Request| {
        let op = OPS.iter().position(|&op| op == request.op).unwrap_or_default() as u8;
        op | if request.fua { FUA } else { 0 }
    };
    let (mut time_ns, mut end) = (0, 0);
    let mut gaps = Vec::with_capacity(requests.len());
    let mut steps = Vec::with_capacity(requests.len());
    for request in requests {
        gaps.push(request.arrival_ns.wrapping_sub(time_ns));
        time_ns = request.arrival_ns;
        let step = request.offset.wrapping_sub(end) as i64;
        steps.push(((step << 1) ^ (step >> 63)) as u64);
        end = request.offset.wrapping_add(request.len);
    }
    put_nibbles(&requests.iter().map(kind).collect::<Vec<_>>(), out);
    put_numbers(&gaps, out);
    put_numbers(&steps, out);
    put_numbers(&requests.iter().map(|request| request.len).collect::<Vec<_>>(), out);
}

/// Reads `count` requests into `out`, which it empties first; `None` where the file has changed.
fn decode(mut bytes: &[u8], count: usize, volume: u32, out: &mut Vec<Request>) -> Option<()> {
    let rest = &mut bytes;
    let kinds = take_nibbles(rest, count)?;
    let (mut gaps, mut steps, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    take_numbers(rest, count, &mut gaps)?;
    take_numbers(rest, count, &mut steps)?;
    take_numbers(rest, count, &mut lengths)?;
    let (mut arrival_ns, mut end) = (0_u64, 0_u64);
    out.clear();
    for number in 0..count {
        let kind = kinds[number / 2] >> (number % 2 * 4) & 15;
        arrival_ns = arrival_ns.wrapping_add(gaps[number]);
        let (step, len) = (steps[number], lengths[number]);
        let offset = end.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg());
        end = offset.wrapping_add(len);
        let op = *OPS.get(usize::from(kind & 3))?;
        out.push(Request { arrival_ns, offset, len, volume, op, fua: kind & FUA != 0 });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(requests: &[Request], most: usize) -> Arc<Parts> {
        let mut parts = Parts::with_memory("t.csv", most);
        for request in requests {
            parts.add(request).unwrap();
            assert!(parts.in_memory < most);
        }
        Arc::new(parts)
    }

    proptest! {
        /// Each volume gives back what was added to it, through the file and without it.
        #[test]
        fn volumes_are_kept_apart(
            rows in prop::collection::vec(
                (0..5_u32, any::<u64>(), any::<u64>(), any::<u64>(), 0..4_usize, any::<bool>()),
                0..200,
            ),
            most in 1..64_usize,
        ) {
            let requests: Vec<_> = rows
                .into_iter()
                .map(|(volume, arrival_ns, offset, len, op, fua)| {
                    Request { arrival_ns, offset, len, volume: volume * 7, op: OPS[op], fua }
                })
                .collect();
            let parts = parts(&requests, most);
            prop_assert_eq!(parts.file.is_some(), requests.len() >= most);
            for volume in 0..36 {
                let mut reader = PartReader::new(parts.clone(), volume);
                let mut found = Vec::new();
                while let Some(request) = reader.next_request().unwrap() {
                    found.push(request);
                }
                let expected: Vec<_> =
                    requests.iter().copied().filter(|one| one.volume == volume).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
