//! Counts of a generated workload what was published of the one it stands in for.

use std::collections::BTreeMap;

use eraseblock_core::config::Bytes;
use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use super::buffer::Buffer;
use super::statistic::{Comparison, Measure, Of, Statistic};
use super::{Config, StandIn};
use crate::error::TraceError;
use crate::generate::Given;
use crate::watch::{Pace, Watch};

/// A published statistic beside the generated one.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredStatistic {
    /// What is counted, in words.
    pub title: String,
    /// What was published.
    #[serde(flatten)]
    pub statistic: Statistic,
    /// What was generated, in the same unit.
    pub generated: f64,
    /// How they compare.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// Makes the requests of a stand-in and compares them with what was published; of a shortened one,
/// only what part of a workload can have.
///
/// # Errors
///
/// The configuration is wrong, or `watch` ends the pass.
pub fn measure_stand_in(
    config: &Config,
    watch: Watch<'_>,
) -> Result<Vec<MeasuredStatistic>, TraceError> {
    let wrong = |problem: String| TraceError::key("generate", problem);
    let stand_in = config.entry().map_err(wrong)?;
    let mut statistics = stand_in.statistics.clone();
    if let Some(variant) = config.variant(stand_in).map_err(wrong)? {
        for replaced in &variant.statistics {
            statistics.retain(|statistic| !statistic.counts_the_same(replaced));
            statistics.push(replaced.clone());
        }
    }
    let generator = config.build(&Given::default()).map_err(wrong)?;
    let is_whole = generator.requests() == whole(config, stand_in).map_err(wrong)?;
    statistics.retain(|statistic| is_whole || !statistic.whole_only);
    let co_hits = statistics.iter().any(|statistic| statistic.measure == Measure::CoHits);
    let mut counts = Counts { buffer: co_hits.then(Buffer::default), ..Counts::default() };
    let mut pace = Pace::new(watch);
    for request in generator {
        pace.step()?;
        counts.add(&request);
    }
    Ok(statistics
        .into_iter()
        .map(|statistic| {
            let value = counts.value(&statistic);
            MeasuredStatistic {
                title: statistic.title(),
                generated: value / statistic.unit.scale(),
                comparison: statistic.compare(value),
                statistic,
            }
        })
        .collect())
}

/// Requests of the whole workload.
fn whole(config: &Config, stand_in: &StandIn) -> Result<u64, String> {
    let whole = Config { requests: None, name: stand_in.name.clone(), ..config.clone() };
    Ok(whole.build(&Given::default())?.requests())
}

/// Pages of one chunk of address space, a bit each.
type Chunk = [u64; 64];

const PAGE: u64 = 4096;
const CHUNK_PAGES: u64 = 64 * 64;

/// Counts of one pass.
#[derive(Default)]
struct Counts {
    /// Requests of each length, of reads and of writes.
    sizes: [BTreeMap<u64, u64>; 2],
    pages: [u64; 2],
    sequential: u64,
    volumes: BTreeMap<u32, Volume>,
    /// Places of 1 MiB, and the requests that start there; on the first volume.
    places: BTreeMap<u64, u64>,
    touched: BTreeMap<(u32, u64), Box<Chunk>>,
    last_ns: u64,
    /// Present if it is asked for, because it takes most of the time.
    buffer: Option<Buffer>,
}

#[derive(Default)]
struct Volume {
    requests: u64,
    next: Option<u64>,
    end: u64,
}

impl Counts {
    fn add(&mut self, request: &Request) {
        self.last_ns = request.arrival_ns;
        let index = match request.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush => return,
        };
        if let Some(buffer) = &mut self.buffer {
            buffer.serve(request);
        }
        *self.sizes[index].entry(request.len).or_default() += 1;
        let end = request.offset + request.len;
        let volume = self.volumes.entry(request.volume).or_default();
        volume.requests += 1;
        self.sequential += u64::from(volume.next == Some(request.offset));
        volume.next = Some(end);
        volume.end = volume.end.max(end);
        *self.places.entry(request.offset >> 20).or_default() += 1;
        let pages = request.offset / PAGE..end.div_ceil(PAGE);
        self.pages[index] += pages.end - pages.start;
        for page in pages {
            let chunk = self
                .touched
                .entry((request.volume, page / CHUNK_PAGES))
                .or_insert_with(|| Box::new([0; 64]));
            chunk[(page % CHUNK_PAGES / 64) as usize] |= 1 << (page % 64);
        }
    }

    /// Requests of each length among these operations.
    fn of(&self, of: Of) -> impl Iterator<Item = (u64, u64)> + '_ {
        let of = match of {
            Of::All => &self.sizes[..],
            Of::Reads => &self.sizes[..1],
            Of::Writes => &self.sizes[1..],
        };
        of.iter().flat_map(|sizes| sizes.iter().map(|(&size, &count)| (size, count)))
    }

    fn requests(&self, of: Of) -> f64 {
        self.of(of).map(|(_, count)| count).sum::<u64>() as f64
    }

    fn bytes(&self, of: Of) -> f64 {
        self.of(of).map(|(size, count)| size * count).sum::<u64>() as f64
    }

    fn touched_pages(&self) -> f64 {
        self.touched
            .values()
            .flat_map(|chunk| chunk.iter())
            .map(|bits| u64::from(bits.count_ones()))
            .sum::<u64>() as f64
    }

    fn value(&self, statistic: &Statistic) -> f64 {
        let all = self.requests(Of::All);
        let between = |value: u64| {
            statistic.from.is_none_or(|Bytes(from)| value >= from)
                && statistic.to.is_none_or(|Bytes(to)| value <= to)
        };
        let count = self.requests(statistic.of);
        match statistic.measure {
            Measure::Requests => count,
            Measure::RequestShare => count / all,
            Measure::Bytes => self.bytes(statistic.of),
            Measure::ByteShare => self.bytes(statistic.of) / self.bytes(Of::All),
            Measure::MeanSize if count > 0.0 => self.bytes(statistic.of) / count,
            Measure::MeanSize => 0.0,
            Measure::MaxSize => {
                self.of(statistic.of).map(|(size, _)| size).max().unwrap_or(0) as f64
            }
            Measure::SizeShare => {
                let inside = self
                    .of(statistic.of)
                    .filter(|&(size, _)| between(size))
                    .map(|(_, count)| count);
                inside.sum::<u64>() as f64 / count
            }
            Measure::SequentialShare => self.sequential as f64 / all,
            Measure::Runs => all - self.sequential as f64,
            Measure::MeanRun => self.bytes(Of::All) / (all - self.sequential as f64),
            Measure::Interval => self.last_ns as f64 / (all - 1.0),
            Measure::Rate => (all - 1.0) / self.last_ns as f64 * 1e9,
            Measure::Duration => self.last_ns as f64,
            Measure::Touched => self.touched_pages() * PAGE as f64,
            Measure::TouchedPages => self.touched_pages(),
            Measure::Pages => match statistic.of {
                Of::All => (self.pages[0] + self.pages[1]) as f64,
                Of::Reads => self.pages[0] as f64,
                Of::Writes => self.pages[1] as f64,
            },
            Measure::End => self.volumes.values().map(|volume| volume.end).sum::<u64>() as f64,
            Measure::Volumes => self.volumes.len() as f64,
            Measure::CoHits => {
                let writes = statistic.of == Of::Writes;
                self.buffer.as_ref().map_or(f64::NAN, |buffer| buffer.crossing_share(writes))
            }
            Measure::OnVolume => {
                let number = statistic.from.unwrap_or_default().0 as u32;
                self.volumes.get(&number).map_or(0.0, |volume| volume.requests as f64)
            }
            Measure::PlaceShare => {
                let (from, to) =
                    (statistic.from.unwrap_or_default().0 >> 20, statistic.to.map(|to| to.0 >> 20));
                let inside =
                    self.places.range(from..to.unwrap_or(u64::MAX)).map(|(_, count)| count);
                inside.sum::<u64>() as f64 / all
            }
        }
    }
}
