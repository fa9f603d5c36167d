//! Where the bytes of a request lie on the drive.

use eraseblock_core::host::{Op, Request};

use super::DriveShape;
use super::runs::Run;

/// How addresses become those of the drive.
#[derive(Debug, Clone)]
pub(super) enum Mapping {
    /// They are the same.
    Same,
    /// Modulo the capacity.
    Wrap,
    /// What lies beyond is dropped.
    Clip,
    /// Pages are shrunk from the workload's number to the drive's.
    Scale { workload_pages: u64, drive_pages: u64 },
    /// Blocks go where these runs, in ascending order of `from`, say.
    Blocks(Vec<Run>),
}

/// What became of a request beside the pieces of it that reach the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// All its bytes reach the drive.
    Whole,
    /// A trim, of which this many bytes do not reach the drive.
    Shortened(u64),
    /// It lies beyond the drive.
    Beyond,
    /// A trim of blocks that are never read or written.
    Untouched,
    /// A read or write longer than the drive.
    TooLong,
}

impl Mapping {
    /// Appends the pieces of `request` on the drive to `out`.
    pub fn place(&self, drive: &DriveShape, request: &Request, out: &mut Vec<Request>) -> Fate {
        let capacity = drive.exported_bytes;
        if request.op == Op::Flush {
            out.push(*request);
            return Fate::Whole;
        }
        let piece = |offset, len| Request { offset, len, ..*request };
        if matches!(self, Self::Wrap | Self::Scale { .. }) && request.len > capacity {
            if request.op != Op::Trim {
                return Fate::TooLong;
            }
            out.push(piece(0, capacity));
            return Fate::Shortened(request.len - capacity);
        }
        match self {
            Self::Same => out.push(*request),
            Self::Clip => {
                if request.offset + request.len > capacity {
                    return Fate::Beyond;
                }
                out.push(*request);
            }
            Self::Wrap => {
                let offset = request.offset % capacity;
                let head = request.len.min(capacity - offset);
                out.push(piece(offset, head));
                if head < request.len {
                    out.push(piece(0, request.len - head));
                }
            }
            Self::Scale { workload_pages, drive_pages } => {
                let page = drive.page_bytes;
                let shrunk = u128::from(request.offset / page) * u128::from(*drive_pages)
                    / u128::from(*workload_pages);
                let offset = shrunk as u64 * page + request.offset % page;
                let over = (offset + request.len).saturating_sub(capacity).next_multiple_of(page);
                let Some(offset) = offset.checked_sub(over) else { return Fate::TooLong };
                out.push(piece(offset, request.len));
            }
            Self::Blocks(runs) => return by_blocks(runs, drive.block_bytes, request, out),
        }
        Fate::Whole
    }
}

/// Cuts a request along `runs` and moves each part; parts that stay neighbours stay together.
fn by_blocks(runs: &[Run], block: u64, request: &Request, out: &mut Vec<Request>) -> Fate {
    let (start, end) = (request.offset, request.offset + request.len);
    let first = runs.partition_point(|run| (run.from + run.len) * block <= start);
    let begin = out.len();
    let mut placed = 0;
    for run in runs[first..].iter().take_while(|run| run.from * block < end) {
        let from = start.max(run.from * block);
        let len = end.min((run.from + run.len) * block) - from;
        let offset = run.to * block + (from - run.from * block);
        placed += len;
        match out[begin..].last_mut() {
            Some(last) if last.offset + last.len == offset => last.len += len,
            _ => out.push(Request { offset, len, ..*request }),
        }
    }
    match request.len - placed {
        0 => Fate::Whole,
        all if all == request.len => Fate::Untouched,
        part => Fate::Shortened(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: DriveShape =
        DriveShape { exported_bytes: 10_000, page_bytes: 100, block_bytes: 1000 };

    fn place(mapping: &Mapping, op: Op, offset: u64, len: u64) -> (Vec<(u64, u64)>, Fate) {
        let mut out = Vec::new();
        let request = Request { arrival_ns: 7, offset, len, volume: 3, op, fua: true };
        let fate = mapping.place(&DRIVE, &request, &mut out);
        for piece in &out {
            assert_eq!(Request { offset, len, ..*piece }, request);
        }
        (out.iter().map(|piece| (piece.offset, piece.len)).collect(), fate)
    }

    #[test]
    fn wrap_goes_round_the_end() {
        let wrap = |op, offset, len| place(&Mapping::Wrap, op, offset, len);
        assert_eq!(wrap(Op::Write, 30_050, 100), (vec![(50, 100)], Fate::Whole));
        assert_eq!(wrap(Op::Write, 9_900, 300), (vec![(9_900, 100), (0, 200)], Fate::Whole));
        assert_eq!(wrap(Op::Read, 15_000, 10_000), (vec![(5_000, 5_000), (0, 5_000)], Fate::Whole));
        assert_eq!(wrap(Op::Read, 0, 10_001), (vec![], Fate::TooLong));
        assert_eq!(wrap(Op::Trim, 500, 12_000), (vec![(0, 10_000)], Fate::Shortened(2_000)));
        assert_eq!(wrap(Op::Flush, 0, 0), (vec![(0, 0)], Fate::Whole));
    }

    #[test]
    fn clip_keeps_what_lies_within() {
        let clip = |offset, len| place(&Mapping::Clip, Op::Write, offset, len);
        assert_eq!(clip(9_900, 100), (vec![(9_900, 100)], Fate::Whole));
        assert_eq!(clip(9_900, 101), (vec![], Fate::Beyond));
    }

    #[test]
    fn scale_shrinks_pages_and_keeps_offsets_in_them() {
        let scale = Mapping::Scale { workload_pages: 400, drive_pages: 100 };
        assert_eq!(place(&scale, Op::Write, 0, 100), (vec![(0, 100)], Fate::Whole));
        assert_eq!(place(&scale, Op::Write, 20_033, 50), (vec![(5_033, 50)], Fate::Whole));
        assert_eq!(place(&scale, Op::Write, 39_950, 50), (vec![(9_950, 50)], Fate::Whole));
        assert_eq!(place(&scale, Op::Write, 39_710, 290), (vec![(9_710, 290)], Fate::Whole));
        assert_eq!(place(&scale, Op::Write, 10, 10_000), (vec![], Fate::TooLong));
        assert_eq!(
            place(&scale, Op::Trim, 0, 40_000),
            (vec![(0, 10_000)], Fate::Shortened(30_000))
        );
    }

    #[test]
    fn blocks_go_where_their_runs_go() {
        let run = |from, len, to| Run { from, len, to };
        let blocks = Mapping::Blocks(vec![run(2, 2, 0), run(4, 1, 6), run(8, 3, 2)]);
        assert_eq!(place(&blocks, Op::Write, 2_010, 1_500), (vec![(10, 1_500)], Fate::Whole));
        assert_eq!(
            place(&blocks, Op::Write, 3_900, 200),
            (vec![(1_900, 100), (6_000, 100)], Fate::Whole)
        );
        assert_eq!(
            place(&blocks, Op::Trim, 0, 8_500),
            (vec![(0, 2_000), (6_000, 1_000), (2_000, 500)], Fate::Shortened(5_000))
        );
        assert_eq!(place(&blocks, Op::Trim, 5_000, 3_000), (vec![], Fate::Untouched));
        let joined = Mapping::Blocks(vec![run(2, 2, 0), run(8, 3, 2)]);
        assert_eq!(
            place(&joined, Op::Trim, 2_500, 7_000),
            (vec![(500, 3_000)], Fate::Shortened(4_000))
        );
    }
}
