//! What a workload is made of: counts, sizes, duration and addresses.

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

/// Figures of a stream of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Requests of all kinds.
    pub requests: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Trim (discard) requests.
    pub trims: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Requests with force unit access, counted among the above.
    pub fua: u64,
    /// Reads, writes and trims of no bytes, counted among the above; they are never replayed.
    pub zero_length: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// Mean length of reads and writes, in bytes.
    pub mean_bytes: Option<f64>,
    /// Mean length of reads, in bytes.
    pub mean_read_bytes: Option<f64>,
    /// Mean length of writes, in bytes.
    pub mean_write_bytes: Option<f64>,
    /// Share of reads and writes that start at the byte where the read or write before them on the
    /// same volume ended.
    pub sequential_share: Option<f64>,
    /// From the first request to the last, in ns.
    pub duration_ns: u64,
    /// Lowest byte address of any volume; null for a workload of flushes only.
    pub lowest_byte: Option<u64>,
    /// End (last byte + 1) of the highest request of any volume.
    pub highest_end: Option<u64>,
    /// Volumes, in ascending order.
    pub volumes: Vec<VolumeFigures>,
}

/// One volume of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VolumeFigures {
    /// Number of the disk, ASU or LUN.
    pub volume: u32,
    /// Reads, writes and trims on it.
    pub requests: u64,
    /// Lowest byte address.
    pub lowest_byte: u64,
    /// End (last byte + 1) of the highest request.
    pub highest_end: u64,
}

/// More volumes than this are a sign that the column is not the volume.
pub(crate) const MAX_VOLUMES: usize = 1 << 16;

/// Adds up requests, in memory that grows with the number of volumes alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    figures: Figures,
    volumes: Vec<VolumeTally>,
    /// Index of the volume used last.
    recent: usize,
    sequential: u64,
    first_ns: Option<u64>,
}

#[derive(Debug, Clone)]
struct VolumeTally {
    figures: VolumeFigures,
    /// Where the next read or write would go on.
    next_byte: Option<u64>,
}

impl Tally {
    /// Adds `request`; false if it is on one volume too many.
    #[inline]
    #[must_use]
    pub fn add(&mut self, request: &Request) -> bool {
        let figures = &mut self.figures;
        figures.requests += 1;
        figures.fua += u64::from(request.fua);
        let first_ns = *self.first_ns.get_or_insert(request.arrival_ns);
        figures.duration_ns = request.arrival_ns - first_ns;
        let bytes = match request.op {
            Op::Flush => {
                figures.flushes += 1;
                return true;
            }
            Op::Read => {
                figures.reads += 1;
                &mut figures.read_bytes
            }
            Op::Write => {
                figures.writes += 1;
                &mut figures.write_bytes
            }
            Op::Trim => {
                figures.trims += 1;
                &mut figures.trim_bytes
            }
        };
        *bytes = bytes.saturating_add(request.len);
        figures.zero_length += u64::from(request.len == 0);
        let Some(index) = self.volume(request) else { return false };
        let tally = &mut self.volumes[index];
        let end = request.offset + request.len;
        tally.figures.requests += 1;
        tally.figures.lowest_byte = tally.figures.lowest_byte.min(request.offset);
        tally.figures.highest_end = tally.figures.highest_end.max(end);
        if request.op != Op::Trim {
            self.sequential += u64::from(tally.next_byte == Some(request.offset));
            tally.next_byte = Some(end);
        }
        true
    }

    /// Adds all of these; the place of the first that is on one volume too many, if one is.
    #[inline]
    pub fn add_all(&mut self, requests: &[Request]) -> Result<(), usize> {
        let rest = if requests.len() > 1 { self.add_alike(requests) } else { 0 };
        for (at, request) in requests.iter().enumerate().skip(rest) {
            if !self.add(request) {
                return Err(at);
            }
        }
        Ok(())
    }

    /// Adds the first of these and those that follow it as long as they read or write the same
    /// volume, as most do; how many. None where the volume is a new one.
    fn add_alike(&mut self, requests: &[Request]) -> usize {
        let Some(tally) = self.volumes.get_mut(self.recent) else { return 0 };
        let VolumeFigures { volume, mut lowest_byte, mut highest_end, .. } = tally.figures;
        let (mut bytes, mut counts, mut fua, mut empty) = ([0_u64; 2], [0_u64; 2], 0, 0);
        let (mut next_byte, mut sequential, mut last_ns) = (tally.next_byte, 0, None);
        for request in requests {
            let kind = request.op as usize;
            if kind > 1 || request.volume != volume {
                break;
            }
            let end = request.offset + request.len;
            counts[kind] += 1;
            bytes[kind] = bytes[kind].saturating_add(request.len);
            fua += u64::from(request.fua);
            empty += u64::from(request.len == 0);
            lowest_byte = lowest_byte.min(request.offset);
            highest_end = highest_end.max(end);
            sequential += u64::from(next_byte == Some(request.offset));
            next_byte = Some(end);
            last_ns = Some(request.arrival_ns);
        }
        let Some(last_ns) = last_ns else { return 0 };
        let [reads, writes] = counts;
        tally.next_byte = next_byte;
        (tally.figures.lowest_byte, tally.figures.highest_end) = (lowest_byte, highest_end);
        tally.figures.requests += reads + writes;
        self.sequential += sequential;
        let figures = &mut self.figures;
        figures.requests += reads + writes;
        figures.reads += reads;
        figures.writes += writes;
        figures.read_bytes = figures.read_bytes.saturating_add(bytes[0]);
        figures.write_bytes = figures.write_bytes.saturating_add(bytes[1]);
        figures.fua += fua;
        figures.zero_length += empty;
        figures.duration_ns = last_ns - *self.first_ns.get_or_insert(requests[0].arrival_ns);
        (reads + writes) as usize
    }

    #[inline]
    fn volume(&mut self, request: &Request) -> Option<usize> {
        if self
            .volumes
            .get(self.recent)
            .is_some_and(|recent| recent.figures.volume == request.volume)
        {
            return Some(self.recent);
        }
        self.recent = match self
            .volumes
            .binary_search_by_key(&request.volume, |known| known.figures.volume)
        {
            Ok(index) => index,
            Err(_) if self.volumes.len() == MAX_VOLUMES => return None,
            Err(index) => {
                let figures = VolumeFigures {
                    volume: request.volume,
                    requests: 0,
                    lowest_byte: request.offset,
                    highest_end: 0,
                };
                self.volumes.insert(index, VolumeTally { figures, next_byte: None });
                index
            }
        };
        Some(self.recent)
    }

    /// The figures of all requests added.
    pub fn finish(self) -> Figures {
        let mut figures = self.figures;
        let mean = |bytes: u64, count: u64| (count > 0).then(|| bytes as f64 / count as f64);
        let moved = figures.reads + figures.writes;
        figures.mean_bytes = mean(figures.read_bytes.saturating_add(figures.write_bytes), moved);
        figures.mean_read_bytes = mean(figures.read_bytes, figures.reads);
        figures.mean_write_bytes = mean(figures.write_bytes, figures.writes);
        figures.sequential_share = mean(self.sequential, moved);
        figures.volumes = self.volumes.into_iter().map(|volume| volume.figures).collect();
        figures.lowest_byte = figures.volumes.iter().map(|volume| volume.lowest_byte).min();
        figures.highest_end = figures.volumes.iter().map(|volume| volume.highest_end).max();
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arrival_ns: u64, op: Op, volume: u32, offset: u64, len: u64) -> Request {
        Request { arrival_ns, offset, len, volume, op, fua: op == Op::Write }
    }

    #[test]
    fn adds_up() {
        let mut tally = Tally::default();
        for request in [
            request(10, Op::Write, 2, 4096, 4096),
            request(20, Op::Read, 2, 8192, 512),
            request(30, Op::Read, 0, 8704, 1024),
            request(40, Op::Trim, 2, 0, 8192),
            request(50, Op::Flush, 0, 0, 0),
            request(60, Op::Write, 2, 8704, 0),
        ] {
            assert!(tally.add(&request));
        }
        let figures = tally.finish();
        let expected = Figures {
            requests: 6,
            reads: 2,
            writes: 2,
            trims: 1,
            flushes: 1,
            fua: 2,
            zero_length: 1,
            read_bytes: 1536,
            write_bytes: 4096,
            trim_bytes: 8192,
            mean_bytes: Some(1408.0),
            mean_read_bytes: Some(768.0),
            mean_write_bytes: Some(2048.0),
            sequential_share: Some(0.5),
            duration_ns: 50,
            lowest_byte: Some(0),
            highest_end: Some(9728),
            volumes: vec![
                VolumeFigures { volume: 0, requests: 1, lowest_byte: 8704, highest_end: 9728 },
                VolumeFigures { volume: 2, requests: 4, lowest_byte: 0, highest_end: 8704 },
            ],
        };
        assert_eq!(figures, expected);
    }

    #[test]
    fn many_add_up_as_one_by_one() {
        let kinds = [Op::Read, Op::Write, Op::Write, Op::Trim, Op::Read, Op::Flush];
        let all: Vec<Request> = (0..300_u64)
            .map(|n| {
                let (op, volume) = (kinds[(n * n / 7 % 6) as usize], (n / 40 % 2) as u32);
                request(10 + n, op, volume, n * n % 11 * 512, n % 3 * 512)
            })
            .collect();
        for length in [1, 2, 7, 64, 300] {
            let (mut one_by_one, mut together) = (Tally::default(), Tally::default());
            for few in all.chunks(length) {
                assert!(few.iter().all(|request| one_by_one.add(request)));
                assert_eq!(together.add_all(few), Ok(()));
            }
            assert_eq!(together.finish(), one_by_one.finish(), "{length} together");
        }
    }

    #[test]
    fn volumes_are_bounded() {
        let mut tally = Tally::default();
        for volume in 0..MAX_VOLUMES as u32 {
            assert!(tally.add(&request(0, Op::Read, volume, 0, 512)));
        }
        assert!(!tally.add(&request(0, Op::Read, u32::MAX, 0, 512)));
        let few = [7, 7, u32::MAX, 7].map(|volume| request(0, Op::Read, volume, 0, 512));
        assert_eq!(tally.add_all(&few), Err(2));
        assert!(tally.add(&request(0, Op::Read, 7, 0, 512)));
    }
}
