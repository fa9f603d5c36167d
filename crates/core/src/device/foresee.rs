//! Tells a scheme that needs the future what the host is going to do.

use super::{Device, DeviceError};
use crate::buffer::{Foreseen, Span};
use crate::host::{Op, Request, split};

impl Device {
    /// Whether the buffer has to be told the future ([`Self::foresee`]) before the first request.
    pub fn needs_future(&self) -> bool {
        self.pipeline.buffer().needs_future()
    }

    /// Tells the buffer all requests that are going to be submitted, cut as they will be.
    ///
    /// # Errors
    /// The first error among `requests`; a request beyond the drive; more than the scheme can plan.
    pub fn foresee<E: From<DeviceError>>(
        &mut self,
        requests: impl Iterator<Item = Result<Request, E>>,
    ) -> Result<(), E> {
        for (number, request) in requests.enumerate() {
            let request = request?;
            self.check_request(number as u64, &request)?;
            self.foresee_one(number as u64, &request).map_err(DeviceError::Config)?;
        }
        self.offline = true;
        Ok(self.pipeline.buffer_mut().foresee(Foreseen::End).map_err(DeviceError::Config)?)
    }

    fn foresee_one(&mut self, number: u64, request: &Request) -> Result<(), String> {
        let pages = split::pages(request, self.geometry.by_page());
        match (request.op, pages) {
            (Op::Flush, _) => self.pipeline.buffer_mut().foresee(Foreseen::Flush),
            (_, None) => Ok(()),
            (Op::Trim, Some(pages)) => {
                self.pipeline.buffer_mut().foresee(Foreseen::Trim(pages.first, pages.count))
            }
            (Op::Read | Op::Write, Some(pages)) => {
                let write = request.op == Op::Write;
                pages.spans(&self.geometry).try_for_each(|(first, count)| {
                    self.pipeline.buffer_mut().foresee(Foreseen::Access(Span {
                        first,
                        count,
                        write,
                        request: number,
                    }))
                })
            }
        }
    }
}
