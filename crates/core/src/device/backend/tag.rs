//! Whom the end of a join, or of an operation, is for: a kind and a number in 30 bits.

use crate::nand::JoinId;
use crate::support::ids::{PlaneId, RequestId};

const READS: u32 = 1 << 28;
const JOB: u32 = 1 << 29;
const KIND: u32 = READS | JOB;

/// Who is told that a join has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::device) enum Tag {
    /// A request, of its flash writes.
    Request(RequestId),
    /// A group of flash reads.
    Reads(u32),
    /// A write of what leaves the buffer.
    Eviction(u32),
    /// Collection of a unit.
    Job(PlaneId),
}

impl Tag {
    /// As the engine keeps it.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Self::Request(id) => id.0,
            Self::Reads(group) => READS | group,
            Self::Eviction(place) => KIND | place,
            Self::Job(unit) => JOB | unit.0,
        }
    }

    /// As the waiter of one operation, whose end it is told: no join is needed for that.
    #[inline]
    pub fn waiter(self) -> JoinId {
        JoinId::of_tag(self.bits())
    }

    /// What the engine has kept.
    #[inline]
    pub fn of(bits: u32) -> Self {
        // One look for the likeliest.
        if bits & KIND == 0 {
            return Self::Request(RequestId(bits));
        }
        let number = bits & !KIND;
        match bits & KIND {
            READS => Self::Reads(number),
            JOB => Self::Job(PlaneId(number)),
            _ => Self::Eviction(number),
        }
    }
}
