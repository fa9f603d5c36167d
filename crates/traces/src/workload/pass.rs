//! One pass over the requests of a workload that are replayed.

use eraseblock_core::host::Request;

use super::Workload;
use super::kept::Kept;
use super::selection::Selection;
use super::source::Records;
use crate::error::TraceError;

/// Gives the selected requests, and notices where the file is no longer the one that was counted.
pub(crate) struct Pass {
    name: String,
    expected: u64,
    count: u64,
    requests: From,
}

/// Where they come from.
enum From {
    Memory(Kept),
    Source { records: Records, selection: Box<Selection> },
}

impl Pass {
    pub fn new(workload: &Workload) -> Result<Self, TraceError> {
        let requests = match &workload.kept {
            Some(kept) => From::Memory(kept.clone()),
            None => From::Source {
                records: workload.source.open(false)?,
                selection: Box::new(workload.selection.clone()),
            },
        };
        let (name, expected) = (workload.identity().name.clone(), workload.identity().requests);
        Ok(Self { name, expected, count: 0, requests })
    }

    #[inline]
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        let next = match &mut self.requests {
            From::Memory(kept) => kept.get(self.count as usize),
            From::Source { records, selection } => next_selected(records, selection)?,
        };
        if next.is_some() {
            self.count += 1;
        } else if self.count != self.expected {
            return Err(self.changed());
        }
        Ok(next)
    }

    #[cold]
    pub fn changed(&self) -> TraceError {
        TraceError::file(
            &self.name,
            "changed between two passes over it; leave a trace alone while it is replayed",
        )
    }
}

fn next_selected(
    records: &mut Records,
    selection: &mut Selection,
) -> Result<Option<Request>, TraceError> {
    while !selection.is_done()
        && let Some(request) = records.next_request()?
    {
        if let Some(request) = selection.take(&request) {
            return Ok(Some(request));
        }
    }
    Ok(None)
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
