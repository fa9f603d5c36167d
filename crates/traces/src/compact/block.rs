//! The payload of one block: requests as columns of kinds, times, addresses, lengths and volumes.

use eraseblock_core::host::{Op, Request};

use super::columns::{put_nibbles, put_numbers, take_nibbles, take_numbers};
use super::{MAX_END, MAX_TIME_NS, u64_at};

/// Bytes before the columns: first time, unit of time, shift of addresses.
const FIXED: usize = 17;

/// A kind's bits: operation, force unit access, and whether its volume is another than that of the
/// request before.
const OP: u8 = 3;
const FUA: u8 = 4;
const OTHER_VOLUME: u8 = 8;

/// Operations in the order of their numbers.
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// Appends the payload that holds `requests`, at least one, in order of time.
pub(super) fn encode(requests: &[Request], out: &mut Vec<u8>) {
    let first_ns = requests[0].arrival_ns;
    let gaps = requests.windows(2).map(|pair| pair[1].arrival_ns - pair[0].arrival_ns);
    let mut gaps: Vec<u64> = std::iter::once(0).chain(gaps).collect();
    let unit_ns = gaps.iter().copied().fold(0, greatest_common_divisor).max(1);
    for gap in &mut gaps {
        *gap /= unit_ns;
    }
    let bits = requests.iter().fold(0, |bits, request| bits | request.offset | request.len);
    let shift = if bits == 0 { 0 } else { bits.trailing_zeros() };

    let mut kinds = Vec::with_capacity(requests.len());
    let mut steps = Vec::with_capacity(requests.len());
    let mut volumes = Vec::new();
    let (mut last_end, mut last_volume) = (0, None);
    for request in requests {
        let op = OPS.iter().position(|&op| op == request.op).unwrap_or_default() as u8;
        let moved = last_volume != Some(request.volume);
        kinds.push(op | if request.fua { FUA } else { 0 } | if moved { OTHER_VOLUME } else { 0 });
        if moved {
            volumes.push(u64::from(request.volume));
            last_volume = Some(request.volume);
        }
        if request.op == Op::Flush {
            steps.push(request.offset >> shift);
        } else {
            let step = (request.offset as i64 - last_end as i64) >> shift;
            steps.push(((step << 1) ^ (step >> 63)) as u64);
            last_end = request.offset + request.len;
        }
    }
    let lengths: Vec<u64> = requests.iter().map(|request| request.len >> shift).collect();

    out.extend_from_slice(&first_ns.to_le_bytes());
    out.extend_from_slice(&unit_ns.to_le_bytes());
    out.push(shift as u8);
    put_nibbles(&kinds, out);
    put_numbers(&gaps, out);
    put_numbers(&steps, out);
    put_numbers(&lengths, out);
    put_numbers(&volumes, out);
}

/// Room for the columns, kept from block to block.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    gaps: Vec<u64>,
    steps: Vec<u64>,
    lengths: Vec<u64>,
    volumes: Vec<u64>,
}

impl Columns {
    /// Reads the `count` requests that `payload` holds into `out`, which it empties first; `None`
    /// where no writer makes such a payload.
    pub fn decode(&mut self, payload: &[u8], count: usize, out: &mut Vec<Request>) -> Option<()> {
        let mut time_ns = u64_at(payload, 0)?;
        let unit_ns = u64_at(payload, 8)?;
        let shift = u32::from(*payload.get(16)?);
        if time_ns > MAX_TIME_NS || unit_ns == 0 || shift > 60 {
            return None;
        }
        let mut rest = &payload[FIXED..];
        let kinds = take_nibbles(&mut rest, count)?;
        take_numbers(&mut rest, count, &mut self.gaps)?;
        take_numbers(&mut rest, count, &mut self.steps)?;
        take_numbers(&mut rest, count, &mut self.lengths)?;
        let changes: u32 = kinds.iter().map(|pair| (pair & 0x88).count_ones()).sum();
        take_numbers(&mut rest, changes as usize, &mut self.volumes)?;
        if !rest.is_empty() || kinds.first()? & OTHER_VOLUME == 0 {
            return None;
        }

        out.clear();
        out.reserve(count);
        let mut volumes = self.volumes.iter();
        let (mut volume, mut last_end) = (0_u64, 0_u64);
        // Collected without a branch, and looked at once.
        let mut wrong = false;
        let columns = self.gaps.iter().zip(&self.steps).zip(&self.lengths);
        for (number, ((&gap, &step), &length)) in columns.enumerate() {
            let kind = kinds[number / 2] >> (number % 2 * 4);
            if kind & OTHER_VOLUME != 0 {
                volume = *volumes.next()?;
                wrong |= volume > u64::from(u32::MAX);
            }
            time_ns = time_ns.saturating_add(gap.saturating_mul(unit_ns));
            let op = OPS[usize::from(kind & OP)];
            let offset =
                if op == Op::Flush { step << shift } else { stepped(last_end, step, shift) };
            let len = length << shift;
            wrong |=
                length > MAX_END >> shift || offset > MAX_END || offset.wrapping_add(len) > MAX_END;
            if op != Op::Flush {
                last_end = offset.wrapping_add(len);
            }
            let fua = kind & FUA != 0;
            out.push(Request { arrival_ns: time_ns, offset, len, volume: volume as u32, op, fua });
        }
        (time_ns <= MAX_TIME_NS && !wrong).then_some(())
    }
}

/// The address `step` (zigzag) units of 2^shift bytes from `from`.
#[inline]
fn stepped(from: u64, step: u64, shift: u32) -> u64 {
    let signed = (step >> 1) ^ (step & 1).wrapping_neg();
    from.wrapping_add(signed << shift)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
