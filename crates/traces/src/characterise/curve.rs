//! Re-use distances, and the miss ratio of an LRU buffer of any size that follows from them.
//!
//! A page that is used again after d other pages hits in every LRU buffer of more than d pages. Two
//! buffers are told apart: one that serves reads and writes, and a write buffer that reads go past.
//! Flushes move nothing; trims make room.
//!
//! From a sample (one page in 1/R), distances and counts are scaled by 1/R, and the difference
//! between the accesses that there were and those that the sample stands for goes to the shortest
//! distance (SHARDS-adj). The error has two parts. *Which pages*: a page is in the sample with all
//! its accesses. Where m of them miss, the misses of the sample have a standard deviation of
//! sqrt((1 - R) * sum of m^2). In a buffer of c pages a page misses at most once for every c
//! accesses, and never more often than it is used, which bounds each m. *How far*: of d pages, a
//! sample holds R * d with a standard deviation of sqrt(R * (1 - R) * d), so that a point of the
//! curve at d pages may belong sqrt(d * (1 - R) / R) pages away; how much that matters is read off
//! the curve. [`MissRatio::expected_error`] is the mean of their sum over the points of the curve.

use serde::Serialize;

use super::distribution::Distribution;

/// Counts of re-use distances.
#[derive(Debug, Clone, Default)]
struct Counts {
    /// Of distance `index << shift`, in pages.
    by_distance: Vec<u64>,
    /// Accesses of pages that were not used before, or trimmed since.
    first_uses: u64,
}

impl Counts {
    #[inline]
    fn add(&mut self, depth: Option<u32>, weight: u64) {
        let Some(depth) = depth else {
            self.first_uses += weight;
            return;
        };
        let depth = depth as usize;
        if depth >= self.by_distance.len() {
            self.by_distance.resize((depth + 1).next_power_of_two(), 0);
        }
        self.by_distance[depth] += weight;
    }

    fn thin(&mut self) {
        self.by_distance = self.by_distance.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    fn join(&self, other: &Self) -> Self {
        let (long, short) = if self.by_distance.len() < other.by_distance.len() {
            (other, self)
        } else {
            (self, other)
        };
        let mut joined = long.clone();
        joined.first_uses += short.first_uses;
        for (all, more) in joined.by_distance.iter_mut().zip(&short.by_distance) {
            *all += more;
        }
        joined
    }

    fn reuse(&self, shift: u32, time_ns: Option<Distribution>) -> Reuse {
        let distances = (0u64..).zip(&self.by_distance).filter(|&(_, &count)| count > 0);
        Reuse {
            first_uses: self.first_uses,
            distance_pages: Distribution::exact(
                &distances.map(|(index, &count)| (index << shift, count)),
            ),
            time_ns,
        }
    }

    /// Hits at each size, in units of `1 << shift` pages from 0 on.
    fn hits(mut self, shift: u32, accesses: u64) -> Hits {
        let mut hits = vec![0];
        let sum: u64 = self.by_distance.iter().sum::<u64>() + self.first_uses;
        // What the sample missed or has too much, at the shortest distance.
        let mut missing = accesses as i128 - i128::from(sum);
        let mut below: i128 = 0;
        while self.by_distance.last() == Some(&0) {
            self.by_distance.pop();
        }
        for count in &self.by_distance {
            below += i128::from(*count) + std::mem::take(&mut missing);
            hits.push(below.clamp(0, accesses.into()) as u64);
        }
        Hits { accesses, shift, by_size: hits }
    }
}

/// Re-use of one kind of access.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reuse {
    /// Page accesses without a re-use distance: the page was not used before, or trimmed since.
    pub first_uses: u64,
    /// Different pages used between two uses of a page.
    pub distance_pages: Distribution,
    /// Time between two uses of a page; null where only distances are kept.
    pub time_ns: Option<Distribution>,
}

/// Which buffer, and which of its accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accesses {
    /// Reads and writes of a buffer that serves both.
    All,
    /// Reads of that buffer.
    Read,
    /// Writes of that buffer.
    Write,
    /// Writes of a write buffer, that reads go past.
    WriteOnly,
}

/// Hits of an LRU buffer at every size.
#[derive(Debug, Clone, Default, PartialEq)]
struct Hits {
    accesses: u64,
    shift: u32,
    by_size: Vec<u64>,
}

impl Hits {
    fn at(&self, pages: u64) -> u64 {
        // A buffer of `pages` holds the distances below `pages`.
        let index = pages.div_ceil(1 << self.shift) as usize;
        self.by_size[index.min(self.by_size.len() - 1)]
    }

    fn miss_ratio(&self, pages: u64) -> Option<f64> {
        (self.accesses > 0).then(|| (self.accesses - self.at(pages)) as f64 / self.accesses as f64)
    }
}

/// The pages of a sample, from the least used one on.
struct Sample {
    uses: Vec<u64>,
    /// Sum of the squares of the uses up to and with each.
    squares: Vec<f64>,
    accesses: f64,
    all_accesses: u64,
    unknown: f64,
}

impl Sample {
    fn new(mut uses: Vec<u64>, all_accesses: u64, sample_rate: f64) -> Self {
        uses.sort_unstable();
        let mut sum = 0.0;
        let squares = uses.iter().map(|&count| {
            sum += count as f64 * count as f64;
            sum
        });
        let squares = squares.collect();
        let accesses = uses.iter().sum::<u64>() as f64;
        Self { uses, squares, accesses, all_accesses, unknown: 1.0 - sample_rate }
    }

    /// Standard error of the miss ratio of a buffer, because other pages could have come into the
    /// sample.
    fn error_of_pages(&self, buffer_pages: u64, miss_ratio: f64) -> f64 {
        let Some(&most) = self.uses.last() else { return 1.0 };
        let limit = (self.all_accesses / buffer_pages + 1).min(most);
        let below = self.uses.partition_point(|&count| count <= limit);
        let above = (self.uses.len() - below) as f64;
        let limit = limit as f64;
        let by_page =
            below.checked_sub(1).map_or(0.0, |last| self.squares[last]) + above * limit * limit;
        let by_sum = limit * miss_ratio * self.accesses;
        (self.unknown * by_page.min(by_sum)).sqrt() / self.accesses
    }
}

impl Hits {
    /// Half the change of the ratio between the sizes that a sample may take for this one.
    fn error_of_distance(&self, pages: u64, sample_rate: f64) -> f64 {
        let deviation = (pages as f64 * (1.0 - sample_rate) / sample_rate).sqrt().ceil() as u64;
        let change = self.at(pages + deviation) - self.at(pages.saturating_sub(deviation));
        0.5 * change as f64 / self.accesses.max(1) as f64
    }
}

/// The miss-ratio curve of LRU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissRatio {
    /// `exact`, or `sampled`.
    pub method: &'static str,
    /// Share of the pages that were followed; 1 where exact.
    pub sample_rate: f64,
    /// Pages that were followed.
    pub sampled_pages: u64,
    /// Mean absolute error to be expected of the ratios below; 0 where exact, 1 where the sample
    /// holds no page.
    pub expected_error: f64,
    /// From one page to all.
    pub points: Vec<MissRatioPoint>,
    /// All, read, write, write-only.
    #[serde(skip)]
    hits: [Hits; 4],
}

/// Page accesses that do not find their page in the buffer / page accesses, by kind; null where
/// there are none of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MissRatioPoint {
    /// Size of the buffer, in pages.
    pub buffer_pages: u64,
    /// Size of the buffer, in bytes.
    pub buffer_bytes: u64,
    /// Reads and writes.
    pub all: Option<f64>,
    /// Reads.
    pub read: Option<f64>,
    /// Writes.
    pub write: Option<f64>,
    /// Writes of a write buffer, that reads go past.
    pub write_only: Option<f64>,
}

impl MissRatio {
    /// Page accesses that hit in a buffer of so many pages.
    pub fn hits(&self, accesses: Accesses, pages: u64) -> u64 {
        self.hits[accesses as usize].at(pages)
    }

    /// Miss ratio of a buffer of so many pages; `None` where there are no such accesses.
    pub fn at(&self, accesses: Accesses, pages: u64) -> Option<f64> {
        self.hits[accesses as usize].miss_ratio(pages)
    }
}

/// Collects distances.
#[derive(Debug, Default)]
pub(super) struct Distances {
    read: Counts,
    write: Counts,
    write_only: Counts,
    pub read_accesses: u64,
    pub write_accesses: u64,
}

/// What is known of the pages that were followed.
#[derive(Debug)]
pub(super) struct Followed {
    pub page_bytes: u64,
    pub shift: u32,
    /// Pages in all, exactly or as the sample has it.
    pub footprint_pages: u64,
    /// Pages that were followed.
    pub pages: u64,
    /// Accesses of each of them, where they are a sample.
    pub uses: Vec<u64>,
}

impl Distances {
    /// So many page accesses happen, whether followed or not.
    #[inline]
    pub fn count(&mut self, write: bool, pages: u64) {
        let accesses = if write { &mut self.write_accesses } else { &mut self.read_accesses };
        *accesses += pages;
    }

    /// A page is used, in a buffer that serves reads and writes.
    #[inline]
    pub fn mixed(&mut self, write: bool, depth: Option<u32>, weight: u64) {
        let counts = if write { &mut self.write } else { &mut self.read };
        counts.add(depth, weight);
    }

    /// A page is written, in a write buffer.
    #[inline]
    pub fn write_only(&mut self, depth: Option<u32>, weight: u64) {
        self.write_only.add(depth, weight);
    }

    /// From now on distances count twice as many pages.
    pub fn thin(&mut self) {
        for counts in [&mut self.read, &mut self.write, &mut self.write_only] {
            counts.thin();
        }
    }

    /// Re-use of all accesses, reads, writes, and writes among themselves; times belong to the
    /// first three.
    pub fn reuse(&self, shift: u32, times: [Distribution; 3]) -> [Reuse; 4] {
        let [all, read, write] = times;
        [
            self.read.join(&self.write).reuse(shift, Some(all)),
            self.read.reuse(shift, Some(read)),
            self.write.reuse(shift, Some(write)),
            self.write_only.reuse(shift, None),
        ]
    }

    pub fn miss_ratio(self, followed: Followed) -> MissRatio {
        let Followed { page_bytes, shift, footprint_pages, pages, uses } = followed;
        let (reads, writes) = (self.read_accesses, self.write_accesses);
        let all = self.read.join(&self.write);
        let hits = [
            all.hits(shift, reads + writes),
            self.read.hits(shift, reads),
            self.write.hits(shift, writes),
            self.write_only.hits(shift, writes),
        ];
        let sample_rate = 1.0 / (1u64 << shift) as f64;
        let points: Vec<_> = sizes_up_to(footprint_pages)
            .map(|buffer_pages| MissRatioPoint {
                buffer_pages,
                buffer_bytes: buffer_pages * page_bytes,
                all: hits[0].miss_ratio(buffer_pages),
                read: hits[1].miss_ratio(buffer_pages),
                write: hits[2].miss_ratio(buffer_pages),
                write_only: hits[3].miss_ratio(buffer_pages),
            })
            .collect();
        let expected_error = if shift == 0 {
            0.0
        } else {
            let sample = Sample::new(uses, reads + writes, sample_rate);
            let errors = points.iter().map(|point| {
                let miss_ratio = point.all.unwrap_or(1.0);
                sample.error_of_pages(point.buffer_pages, miss_ratio)
                    + hits[0].error_of_distance(point.buffer_pages, sample_rate)
            });
            // A sample without a page says nothing.
            if points.is_empty() {
                1.0
            } else {
                (errors.sum::<f64>() / points.len() as f64).min(1.0)
            }
        };
        MissRatio {
            method: if shift == 0 { "exact" } else { "sampled" },
            sample_rate,
            sampled_pages: pages,
            expected_error,
            points,
            hits,
        }
    }
}

/// Sizes from 1 to `last`, four to each doubling: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, and
/// so on, then `last`.
fn sizes_up_to(last: u64) -> impl Iterator<Item = u64> {
    let steps = (0u32..).flat_map(|octave| (4..8u64).map(move |step| step << octave));
    (1..4).chain(steps).take_while(move |&size| size < last).chain((last > 0).then_some(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_spaced_evenly_and_end_with_all() {
        assert_eq!(
            sizes_up_to(21).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 21]
        );
        assert_eq!(sizes_up_to(2).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(sizes_up_to(0).count(), 0);
    }

    #[test]
    fn hits_add_up_with_size() {
        let mut distances = Distances::default();
        distances.count(false, 3);
        distances.count(true, 1);
        distances.mixed(false, None, 1);
        distances.mixed(false, Some(0), 1);
        distances.mixed(false, Some(4), 1);
        distances.mixed(true, Some(2), 1);
        distances.write_only(None, 1);
        let followed =
            Followed { page_bytes: 512, shift: 0, footprint_pages: 6, pages: 6, uses: Vec::new() };
        let found = distances.miss_ratio(followed);
        let all: Vec<_> = (0..8).map(|pages| found.hits(Accesses::All, pages)).collect();
        assert_eq!(all, [0, 1, 1, 2, 2, 3, 3, 3]);
        assert_eq!(found.at(Accesses::Read, 4), Some(2.0 / 3.0));
        assert_eq!(found.at(Accesses::Write, 3), Some(0.0));
        assert_eq!(found.at(Accesses::WriteOnly, 100), Some(1.0));
        assert_eq!((found.method, found.expected_error), ("exact", 0.0));
        assert_eq!(found.points.last().unwrap().buffer_bytes, 3072);
    }

    #[test]
    fn a_sample_without_a_page_says_nothing() {
        let mut distances = Distances::default();
        distances.count(true, 5);
        let followed =
            Followed { page_bytes: 512, shift: 7, footprint_pages: 0, pages: 0, uses: Vec::new() };
        let found = distances.miss_ratio(followed);
        assert_eq!((found.method, found.points.len(), found.expected_error), ("sampled", 0, 1.0));
    }
}
