//! One pass over the requests of a workload that are replayed.

use eraseblock_core::host::Request;

use super::Workload;
use super::selection::Selection;
use super::source::Records;
use crate::error::TraceError;

/// Gives the selected requests, and notices where the file is no longer the one that was counted.
pub(crate) struct Pass {
    name: String,
    records: Records,
    selection: Selection,
    expected: u64,
    count: u64,
}

impl Pass {
    pub fn new(workload: &Workload) -> Result<Self, TraceError> {
        Ok(Self {
            name: workload.identity().name.clone(),
            records: workload.source.open(false)?,
            selection: workload.selection.clone(),
            expected: workload.identity().requests,
            count: 0,
        })
    }

    #[inline]
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        while !self.selection.is_done()
            && let Some(request) = self.records.next_request()?
        {
            if let Some(request) = self.selection.take(&request) {
                self.count += 1;
                return Ok(Some(request));
            }
        }
        if self.count == self.expected { Ok(None) } else { Err(self.changed()) }
    }

    #[cold]
    pub fn changed(&self) -> TraceError {
        TraceError::file(
            &self.name,
            "changed between two passes over it; leave a trace alone while it is replayed",
        )
    }
}

/// Iterator over the requests of a [`Workload`] that are replayed, each at its address on its
/// volume.
pub struct SelectedRequests<'a> {
    workload: &'a Workload,
    /// Opened by the first call, so that failing to is an item like any other error.
    pass: Option<Pass>,
    done: bool,
}

impl Workload {
    /// The requests that are replayed, in order of time, each at its address on its volume.
    pub fn requests(&self) -> SelectedRequests<'_> {
        SelectedRequests { workload: self, pass: None, done: false }
    }
}

impl SelectedRequests<'_> {
    fn advance(&mut self) -> Result<Option<Request>, TraceError> {
        let pass = match &mut self.pass {
            Some(pass) => pass,
            none => none.insert(Pass::new(self.workload)?),
        };
        pass.next_request()
    }
}

impl Iterator for SelectedRequests<'_> {
    type Item = Result<Request, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.advance();
        self.done = !matches!(item, Ok(Some(_)));
        item.transpose()
    }
}
