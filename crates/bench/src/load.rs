//! The workload of every bench: uniform pages, from a generator so cheap that it does not show.

use eraseblock_core::host::{Op, Request};
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// Uniform single-page requests, without end.
#[derive(Debug, Clone)]
pub struct Uniform {
    rng: Pcg64Mcg,
    pages: u64,
    page_bytes: u64,
    reads_of_256: u64,
    arrival_ns: u64,
    gap_ns: u64,
}

impl Uniform {
    /// Requests of one page each, over the first `pages` pages of the drive, `gap_ns` apart;
    /// `reads_of_256` of 256 are reads.
    pub fn new(pages: u64, page_bytes: u64, reads_of_256: u64, gap_ns: u64) -> Self {
        Self {
            rng: Pcg64Mcg::seed_from_u64(1),
            pages,
            page_bytes,
            reads_of_256,
            arrival_ns: 0,
            gap_ns,
        }
    }

    /// A uniform page number, and whether it is read.
    #[inline]
    pub fn page(&mut self) -> (u64, bool) {
        let random = self.rng.next_u64();
        // The upper bits choose the page by multiplication, the lowest eight the operation.
        (((random >> 32) * self.pages) >> 32, random & 255 < self.reads_of_256)
    }

    /// The next request.
    #[inline]
    pub fn request(&mut self) -> Request {
        let (page, read) = self.page();
        let arrival_ns = self.arrival_ns;
        self.arrival_ns += self.gap_ns;
        Request {
            arrival_ns,
            offset: page * self.page_bytes,
            len: self.page_bytes,
            volume: 0,
            op: if read { Op::Read } else { Op::Write },
            fua: false,
        }
    }
}
