//! Cuts a request's bytes into pages and spans.

use super::{Op, Request};

/// Whole logical pages, and whether the first and the last one are covered only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    /// First page.
    pub first: u32,
    /// Pages.
    pub count: u32,
    /// The request covers only part of the first page.
    pub partial_first: bool,
    /// The request covers only part of the last page.
    pub partial_last: bool,
}

/// The pages that a request touches; for a trim those that it covers completely. `None` where there are none.
pub fn pages(request: &Request, page_bytes: u64) -> Option<Pages> {
    let end = request.offset + request.len;
    let (first, last) = if request.op == Op::Trim {
        (request.offset.div_ceil(page_bytes), end / page_bytes)
    } else {
        (request.offset / page_bytes, end.div_ceil(page_bytes))
    };
    (request.len > 0 && last > first).then(|| Pages {
        first: first as u32,
        count: (last - first) as u32,
        partial_first: !request.offset.is_multiple_of(page_bytes)
            || (last - first == 1 && !end.is_multiple_of(page_bytes)),
        partial_last: !end.is_multiple_of(page_bytes),
    })
}

impl Pages {
    /// Whether the request covers only part of page `lpn`.
    #[inline]
    pub fn is_partial(&self, lpn: u32) -> bool {
        (self.partial_first && lpn == self.first) || (self.partial_last && lpn == self.first + self.count - 1)
    }

    /// `(first, count)` of each span: consecutive pages inside one logical block.
    pub fn spans(self, pages_per_block: u32) -> impl Iterator<Item = (u32, u32)> {
        let (mut at, end) = (self.first, self.first + self.count);
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let first = at;
                at = end.min((first / pages_per_block + 1) * pages_per_block);
                (first, at - first)
            })
        })
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
        let write = pages(&request(Op::Write, 1000, 8000), 4096).unwrap();
        assert_eq!(write, Pages { first: 0, count: 3, partial_first: true, partial_last: true });
        let trim = pages(&request(Op::Trim, 1000, 8000), 4096).unwrap();
        assert_eq!((trim.first, trim.count), (1, 1));
        assert_eq!(pages(&request(Op::Trim, 1000, 4000), 4096), None);
        let small = pages(&request(Op::Read, 4096, 512), 4096).unwrap();
        assert!(small.is_partial(1) && small.count == 1);
        let whole = pages(&request(Op::Write, 4096, 8192), 4096).unwrap();
        assert!(!whole.is_partial(1) && !whole.is_partial(2));
    }

    #[test]
    fn spans_end_at_block_boundaries() {
        let pages = Pages { first: 6, count: 11, partial_first: false, partial_last: false };
        assert_eq!(pages.spans(8).collect::<Vec<_>>(), [(6, 2), (8, 8), (16, 1)]);
    }
}
