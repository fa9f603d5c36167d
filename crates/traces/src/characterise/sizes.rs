//! What is asked for: how many requests of each kind, how long they are, and how they are aligned.

use std::collections::BTreeMap;

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use super::distribution::Distribution;

/// One kind of request among all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Part {
    /// Requests.
    pub requests: u64,
    /// Share of all requests.
    pub requests_share: f64,
    /// Bytes.
    pub bytes: u64,
    /// Share of the bytes read and written; null for trims and flushes.
    pub bytes_share: Option<f64>,
}

/// Requests by kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mix {
    /// Reads.
    pub read: Part,
    /// Writes.
    pub write: Part,
    /// Trims.
    pub trim: Part,
    /// Flushes.
    pub flush: Part,
    /// Share of the writes with force unit access; null where there are no writes.
    pub fua_share: Option<f64>,
}

/// One figure for reads and writes together, and for each.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ByKind<T> {
    /// Reads and writes.
    pub all: T,
    /// Reads.
    pub read: T,
    /// Writes.
    pub write: T,
}

/// `[bytes, share]`: share of the requests whose start and length are both multiples of so many
/// bytes.
pub type Alignment = Vec<(u64, f64)>;

/// Alignments that are reported: from a sector to 64 KiB.
const ALIGNMENTS: std::ops::RangeInclusive<u32> = 9..=16;

/// Requests of one kind.
#[derive(Debug, Clone, Default)]
struct Counts {
    requests: u64,
    bytes: u64,
    by_size: BTreeMap<u64, u64>,
    /// By the largest power of two that divides start and length; the last one and above together.
    by_alignment: [u64; 32],
}

impl Counts {
    fn add(&mut self, request: &Request) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(request.len);
        if request.op != Op::Flush {
            *self.by_size.entry(request.len).or_default() += 1;
            let power = (request.offset | request.len).trailing_zeros() as usize;
            self.by_alignment[power.min(31)] += 1;
        }
    }

    fn join(mut self, other: &Self) -> Self {
        self.requests += other.requests;
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (&size, &count) in &other.by_size {
            *self.by_size.entry(size).or_default() += count;
        }
        for (all, more) in self.by_alignment.iter_mut().zip(other.by_alignment) {
            *all += more;
        }
        self
    }

    fn sizes(&self) -> Distribution {
        Distribution::exact(&self.by_size.iter().map(|(&size, &count)| (size, count)))
    }

    fn alignment(&self) -> Alignment {
        let aligned = |power: u32| self.by_alignment[power as usize..].iter().sum::<u64>();
        let share = |power| (1u64 << power, aligned(power) as f64 / self.requests as f64);
        if self.requests == 0 { Vec::new() } else { ALIGNMENTS.map(share).collect() }
    }
}

/// Counts requests by kind, size and alignment.
#[derive(Debug, Default)]
pub(super) struct SizeCounts {
    read: Counts,
    write: Counts,
    trim: Counts,
    flush: Counts,
    fua_writes: u64,
}

impl SizeCounts {
    pub fn add(&mut self, request: &Request) {
        let counts = match request.op {
            Op::Read => &mut self.read,
            Op::Write => &mut self.write,
            Op::Trim => &mut self.trim,
            Op::Flush => &mut self.flush,
        };
        counts.add(request);
        self.fua_writes += u64::from(request.fua && request.op == Op::Write);
    }

    pub fn finish(self) -> (Mix, ByKind<Distribution>, ByKind<Alignment>) {
        let Self { read, write, trim, flush, fua_writes } = self;
        let all = read.clone().join(&write);
        let requests = (all.requests + trim.requests + flush.requests).max(1) as f64;
        let part = |counts: &Counts, moves: bool| Part {
            requests: counts.requests,
            requests_share: counts.requests as f64 / requests,
            bytes: counts.bytes,
            bytes_share: (moves && all.bytes > 0).then(|| counts.bytes as f64 / all.bytes as f64),
        };
        let mix = Mix {
            read: part(&read, true),
            write: part(&write, true),
            trim: part(&trim, false),
            flush: part(&flush, false),
            fua_share: (write.requests > 0).then(|| fua_writes as f64 / write.requests as f64),
        };
        let sizes = ByKind { all: all.sizes(), read: read.sizes(), write: write.sizes() };
        let alignment =
            ByKind { all: all.alignment(), read: read.alignment(), write: write.alignment() };
        (mix, sizes, alignment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_apart() {
        let mut counts = SizeCounts::default();
        let request = |op, offset, len| Request {
            arrival_ns: 0,
            offset,
            len,
            volume: 0,
            op,
            fua: len == 512,
        };
        for one in [
            request(Op::Read, 4096, 4096),
            request(Op::Read, 512, 1024),
            request(Op::Write, 0, 512),
            request(Op::Write, 65_536, 131_072),
            request(Op::Trim, 0, 1 << 30),
            request(Op::Flush, 0, 0),
        ] {
            counts.add(&one);
        }
        let (mix, sizes, alignment) = counts.finish();
        assert_eq!((mix.read.requests, mix.write.bytes, mix.trim.bytes), (2, 131_584, 1 << 30));
        assert_eq!((mix.read.requests_share, mix.flush.requests_share), (2.0 / 6.0, 1.0 / 6.0));
        assert_eq!((mix.read.bytes_share, mix.trim.bytes_share), (Some(5120.0 / 136_704.0), None));
        assert_eq!(mix.fua_share, Some(0.5));
        assert_eq!(sizes.all.histogram, [(512, 1), (1024, 1), (4096, 1), (131_072, 1)]);
        assert_eq!(sizes.read.max, Some(4096));
        assert_eq!(alignment.all[0], (512, 1.0));
        assert_eq!(alignment.all[3], (4096, 0.5));
        assert_eq!(alignment.write[7], (65_536, 0.5));
    }
}
