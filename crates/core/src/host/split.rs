//! Cuts a request's bytes into pages and spans.

use super::{Op, Request};
use crate::nand::Geometry;
use crate::support::divide::Divisor;
use crate::support::ids::Lpn;

/// Whole logical pages, and whether the first and the last one are covered only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    /// First page.
    pub first: Lpn,
    /// Pages.
    pub count: u32,
    /// The request covers only part of the first page.
    pub partial_first: bool,
    /// The request covers only part of the last page.
    pub partial_last: bool,
}

/// The pages that a request touches; for a trim those that it covers completely. `None` where there
/// are none.
#[inline]
pub fn pages(request: &Request, page: Divisor) -> Option<Pages> {
    let (before, lead) = page.split(request.offset);
    let (after, rest) = page.split(request.offset + request.len);
    let (first, last) = if request.op == Op::Trim {
        (before + u64::from(lead > 0), after)
    } else {
        (before, after + u64::from(rest > 0))
    };
    (request.len > 0 && last > first).then(|| Pages {
        first: Lpn(first as u32),
        count: (last - first) as u32,
        partial_first: lead > 0 || (last - first == 1 && rest > 0),
        partial_last: rest > 0,
    })
}

impl Pages {
    /// Whether the request covers only part of page `lpn`.
    #[inline]
    pub fn is_partial(&self, lpn: Lpn) -> bool {
        (self.partial_first && lpn == self.first)
            || (self.partial_last && lpn + 1 == self.first + self.count)
    }

    /// `(first, count)` of each span: consecutive pages inside one logical block.
    #[inline]
    pub fn spans(self, geometry: &Geometry) -> impl Iterator<Item = (Lpn, u32)> + use<> {
        let ppb = geometry.pages_per_block;
        std::iter::successors(Some(self.first_span(geometry)), move |&span| {
            self.next_span(span, ppb)
        })
    }

    /// The first of the spans.
    #[inline]
    pub fn first_span(&self, geometry: &Geometry) -> (Lpn, u32) {
        let room = geometry.pages_per_block - geometry.split_logical(self.first).1;
        (self.first, self.count.min(room))
    }

    /// The one after a span, in blocks of so many pages.
    #[inline]
    pub fn next_span(&self, (first, count): (Lpn, u32), ppb: u32) -> Option<(Lpn, u32)> {
        let (at, end) = (first + count, self.first + self.count);
        (at < end).then(|| (at, (end - at).min(ppb)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, offset: u64, len: u64) -> Request {
        Request { arrival_ns: 0, offset, len, volume: 0, op, fua: false }
    }

    #[test]
    fn writes_cover_the_pages_that_they_touch_and_trims_the_whole_ones() {
        let write = pages(&request(Op::Write, 1000, 8000), Divisor::new(4096)).unwrap();
        assert_eq!(
            write,
            Pages { first: Lpn(0), count: 3, partial_first: true, partial_last: true }
        );
        let trim = pages(&request(Op::Trim, 1000, 8000), Divisor::new(4096)).unwrap();
        assert_eq!((trim.first, trim.count), (Lpn(1), 1));
        assert_eq!(pages(&request(Op::Trim, 1000, 4000), Divisor::new(4096)), None);
        let small = pages(&request(Op::Read, 4096, 512), Divisor::new(4096)).unwrap();
        assert!(small.is_partial(Lpn(1)) && small.count == 1);
        let whole = pages(&request(Op::Write, 4096, 8192), Divisor::new(4096)).unwrap();
        assert!(!whole.is_partial(Lpn(1)) && !whole.is_partial(Lpn(2)));
    }

    #[test]
    fn spans_end_at_block_boundaries() {
        let nand = serde_json::json!({
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 4,
            "pages_per_block": 8, "page_size": "4 KiB",
            "timing": {"read": "1us", "program": "1us", "erase": "1us", "transfer": "1us"},
        });
        let geometry = Geometry::new(&serde_json::from_value(nand).unwrap()).unwrap();
        let pages = Pages { first: Lpn(6), count: 11, partial_first: false, partial_last: false };
        assert_eq!(
            pages.spans(&geometry).collect::<Vec<_>>(),
            [(Lpn(6), 2), (Lpn(8), 8), (Lpn(16), 1)]
        );
    }
}
