//! Tells a scheme that needs the future what the host is going to do.

use super::Device;
use crate::buffer::{Foreseen, Span};
use crate::host::{Op, Request, split};

impl Device {
    /// Whether the buffer has to be told the future ([`Self::foresee`]) before the first request.
    pub fn needs_future(&self) -> bool {
        self.buffer.needs_future()
    }

    /// Tells the buffer all requests that are going to be submitted, cut as they will be.
    ///
    /// # Errors
    /// The first error among `requests`.
    pub fn foresee<E>(&mut self, requests: impl Iterator<Item = Result<Request, E>>) -> Result<(), E> {
        for (number, request) in requests.enumerate() {
            let request = request?;
            let pages = split::pages(&request, self.geometry.by_page());
            match (request.op, pages) {
                (Op::Flush, _) => self.buffer.foresee(Foreseen::Flush),
                (_, None) => {}
                (Op::Trim, Some(pages)) => self.buffer.foresee(Foreseen::Trim(pages.first, pages.count)),
                (Op::Read | Op::Write, Some(pages)) => {
                    let write = request.op == Op::Write;
                    for (first, count) in pages.spans(&self.geometry) {
                        let span = Span { first, count, write, request: number as u64 };
                        self.buffer.foresee(Foreseen::Access(span));
                    }
                }
            }
        }
        self.buffer.foresee(Foreseen::End);
        Ok(())
    }
}
