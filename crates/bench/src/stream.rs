//! A stream of page accesses in a file, and how fast a buffer alone takes it: what other cache
//! simulators are compared on.
//!
//! The format is libCacheSim's oracleGeneral: time u32, object u64, size u32, next access i64,
//! little-endian. An object is a page.

use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Instant;

use eraseblock_core::buffer::{Answer, BufferConfig, Foreseen, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use eraseblock_traces::GenerateConfig;
use serde::Serialize;
use serde_json::json;

use crate::drive::PAGE;

/// Bytes of a record.
const RECORD: usize = 24;
/// Records that are read at a time.
const CHUNK: usize = 1 << 15;
/// Pages of the Zipf stream.
pub const PAGES: u64 = 800_000;
const PAGES_PER_BLOCK: u32 = 64;

/// What a buffer did with a stream.
#[derive(Debug, Clone, Serialize)]
pub struct Pass {
    /// Page accesses.
    pub accesses: u64,
    /// Accesses that found their page.
    pub hits: u64,
    /// Reading the file and serving what it says, in s.
    pub seconds: f64,
}

/// Writes `accesses` reads of single pages, Zipf-distributed over [`PAGES`] pages, from seed 1.
///
/// # Errors
/// The file cannot be written.
pub fn write_zipf(path: &Path, accesses: u64) -> Result<(), String> {
    let config: GenerateConfig = serde_json::from_value(json!({
        "kind": "zipf", "requests": accesses, "footprint": format!("{} B", PAGES * PAGE), "size": "4 KiB", "read_share": 1.0,
        "interval": "1 us", "seed": 1,
    }))
    .map_err(|e| format!("zipf: {e}"))?;
    let failed = |e: std::io::Error| format!("writing {}: {e}", path.display());
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    for request in config.generator().map_err(|e| format!("zipf: {e}"))? {
        let mut record = [0; RECORD];
        record[4..12].copy_from_slice(&(request.offset / PAGE).to_le_bytes());
        record[12..16].copy_from_slice(&1u32.to_le_bytes());
        record[16..].copy_from_slice(&(-1i64).to_le_bytes());
        file.write_all(&record).map_err(failed)?;
    }
    file.flush().map_err(failed)
}

/// Reads a stream through a buffer of `pages` pages, in a drive that is as large as the stream
/// needs.
///
/// # Errors
/// There is no such scheme, it refuses the size, or the file cannot be read.
pub fn pass(path: &Path, name: &str, pages: u32) -> Result<Pass, String> {
    let failed = |e: std::io::Error| format!("reading {}: {e}", path.display());
    let mut file = File::open(path).map_err(failed)?;
    let mut last = 0;
    each_page(path, &mut file, |page| last = last.max(page))?;
    let logical_pages = u32::try_from(last + 1).map_err(|_| {
        format!("{}: page {last}, expected numbers below {}", path.display(), u32::MAX)
    })?;
    let config = BufferConfig::by_name(name).ok_or_else(|| {
        format!("no buffer is called `{name}`, expected one of {}", BufferConfig::NAMES.join(", "))
    })?;
    let mut scheme =
        config.build(Shape { capacity: pages, pages_per_block: PAGES_PER_BLOCK, logical_pages })?;
    let span =
        |page: u64, request| Span { first: Lpn(page as u32), count: 1, write: false, request };
    if scheme.needs_future() {
        file.rewind().map_err(failed)?;
        let mut told = Ok(());
        each_page(path, &mut file, |page| {
            if told.is_ok() {
                told = scheme.foresee(Foreseen::Access(span(page, 0)));
            }
        })?;
        told.and_then(|()| scheme.foresee(Foreseen::End))?;
    }
    let (mut out, mut accesses, mut hits) = (Outcome::default(), 0, 0);
    file.rewind().map_err(failed)?;
    let start = Instant::now();
    each_page(path, &mut file, |page| {
        out.clear();
        scheme.access(&span(page, accesses), &Idle, &mut out);
        accesses += 1;
        hits += u64::from(out.answers[0] == Answer::Hit);
    })?;
    Ok(Pass { accesses, hits, seconds: start.elapsed().as_secs_f64() })
}

/// Calls for the page of every record.
fn each_page(path: &Path, file: &mut File, mut call: impl FnMut(u64)) -> Result<(), String> {
    let mut chunk = vec![0; CHUNK * RECORD];
    loop {
        let mut filled = 0;
        while filled < chunk.len() {
            match file
                .read(&mut chunk[filled..])
                .map_err(|e| format!("reading {}: {e}", path.display()))?
            {
                0 => break,
                more => filled += more,
            }
        }
        let (records, rest) = chunk[..filled].as_chunks::<RECORD>();
        if !rest.is_empty() {
            let at =
                file.stream_position().map_err(|e| format!("reading {}: {e}", path.display()))?;
            return Err(format!(
                "{}: ends within a record, at byte {at}; a record has {RECORD} bytes",
                path.display()
            ));
        }
        for record in records {
            let Some(object) = record[4..].first_chunk() else {
                unreachable!("a record has {RECORD} bytes")
            };
            call(u64::from_le_bytes(*object));
        }
        if filled < chunk.len() {
            return Ok(());
        }
    }
}
