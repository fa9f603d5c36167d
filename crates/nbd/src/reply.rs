//! Answers to requests, in each of the three styles.

use crate::request::{Command, Request};
use crate::style::{Errno, Style};
use crate::wire::{
    ALLOCATION_ID, EXTENDED_REPLY_MAGIC, Put, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk,
};

/// Bytes that are of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How many.
    pub length: u64,
    /// Nothing is stored of them, and they read as zeroes.
    pub hole: bool,
}

impl Extent {
    /// As `base:allocation` says it: bit 0 is a hole, bit 1 zeroes.
    fn status(self) -> u32 {
        if self.hole { 3 } else { 0 }
    }
}

impl Style {
    /// The head of a piece of an answer with `length` bytes after it, the last piece.
    #[inline]
    fn head(self, out: &mut Vec<u8>, request: (u64, u64), kind: u16, length: u32) {
        let (cookie, offset) = request;
        out.u32(if self == Self::Extended { EXTENDED_REPLY_MAGIC } else { STRUCTURED_REPLY_MAGIC });
        out.u16(chunk::DONE);
        out.u16(kind);
        out.u64(cookie);
        if self == Self::Extended {
            out.u64(offset);
            out.u64(u64::from(length));
        } else {
            out.u32(length);
        }
    }

    /// It has been done, and there is nothing to say about it.
    #[inline]
    pub(crate) fn done(self, out: &mut Vec<u8>, cookie: u64, offset: u64) {
        if self == Self::Extended {
            self.head(out, (cookie, offset), chunk::NONE, 0);
        } else {
            // Clients have to understand both where there are no data.
            simple(out, cookie, 0);
        }
    }

    /// It has not been done.
    pub(crate) fn failed(self, out: &mut Vec<u8>, (cookie, offset): (u64, u64), why: Errno) {
        if self == Self::Simple {
            return simple(out, cookie, why as u32);
        }
        self.head(out, (cookie, offset), chunk::ERROR, 6);
        out.u32(why as u32);
        out.u16(0);
    }

    /// The bytes of a read, which `fill` puts there.
    #[inline]
    pub(crate) fn data<E>(
        self,
        out: &mut Vec<u8>,
        request: &Request,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = out.len();
        self.data_head(out, request);
        let from = out.len();
        out.resize(from + request.length as usize, 0);
        fill(&mut out[from..]).inspect_err(|_| out.truncate(before))
    }

    /// The same with bytes that are at hand.
    #[inline]
    pub(crate) fn found(self, out: &mut Vec<u8>, request: &Request, bytes: &[u8]) {
        debug_assert_eq!(bytes.len() as u64, request.length);
        self.data_head(out, request);
        out.extend_from_slice(bytes);
    }

    #[inline]
    fn data_head(self, out: &mut Vec<u8>, request: &Request) {
        let length = request.length as u32;
        match self {
            Self::Simple => simple(out, request.cookie, 0),
            _ if length == 0 => {
                self.head(out, (request.cookie, request.offset), chunk::NONE, 0);
            }
            _ => {
                self.head(out, (request.cookie, request.offset), chunk::DATA, length + 8);
                out.u64(request.offset);
            }
        }
    }

    /// Which bytes are allocated, from the request's first one on. As the protocol wants it, what
    /// is told of may end before the request does; only the last extent may reach beyond it, and
    /// not where one was asked for.
    pub(crate) fn extents(self, out: &mut Vec<u8>, request: &Request, extents: &[Extent]) {
        let one = request.command == Command::BlockStatus { one: true };
        let longest = if self == Self::Extended { u64::MAX } else { u64::from(u32::MAX - 0xffff) };
        let mut told: Vec<Extent> = Vec::with_capacity(extents.len());
        let mut left = request.length;
        for &Extent { length, hole } in extents {
            let cut = length.min(left).min(longest);
            if cut > 0 {
                told.push(Extent { length: cut, hole });
            }
            left -= cut;
            if left == 0 || cut < length || one {
                break;
            }
        }
        if told.is_empty() {
            return self.failed(out, (request.cookie, request.offset), Errno::Invalid);
        }
        let (id, count) = ((request.cookie, request.offset), told.len() as u32);
        if self == Self::Extended {
            self.head(out, id, chunk::BLOCK_STATUS_EXTENDED, 8 + 16 * count);
            out.u32(ALLOCATION_ID);
            out.u32(count);
            for extent in told {
                out.u64(extent.length);
                out.u64(u64::from(extent.status()));
            }
        } else {
            self.head(out, id, chunk::BLOCK_STATUS, 4 + 8 * count);
            out.u32(ALLOCATION_ID);
            for extent in told {
                out.u32(extent.length as u32);
                out.u32(extent.status());
            }
        }
    }
}

#[inline]
fn simple(out: &mut Vec<u8>, cookie: u64, errno: u32) {
    out.u32(SIMPLE_REPLY_MAGIC);
    out.u32(errno);
    out.u64(cookie);
}
