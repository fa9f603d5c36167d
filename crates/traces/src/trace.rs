//! A trace file as a stream of requests in order of time.

use std::path::PathBuf;

use eraseblock_core::host::{Op, Request};

use crate::config::OutOfOrder;
use crate::error::TraceError;
use crate::input::TextFile;
use crate::order::{Moved, Order};
use crate::readers::{Format, Line, LineParser, ReadOptions};

/// How to read a trace file; cheap to copy, so that each pass opens the file anew.
#[derive(Debug, Clone)]
pub(crate) struct TraceFile {
    pub path: PathBuf,
    pub format: &'static Format,
    pub options: ReadOptions,
    pub out_of_order: OutOfOrder,
}

/// What reading a file showed beside its requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Lines without a request, by what they are.
    pub other_lines: Vec<(&'static str, u64)>,
    pub moved: Moved,
}

/// One pass over a trace file.
pub(crate) struct TraceReader {
    text: TextFile,
    parser: Box<dyn LineParser>,
    format: &'static Format,
    /// The second request of a line that holds two.
    second: Option<Request>,
    order: Order,
    any: bool,
    other_lines: Vec<(&'static str, u64)>,
}

impl TraceReader {
    pub fn open(file: &TraceFile, hash: bool) -> Result<Self, TraceError> {
        Ok(Self {
            text: TextFile::open(&file.path, hash)?,
            parser: file.format.parser(file.options),
            format: file.format,
            second: None,
            order: Order::new(file.out_of_order, file.format.disorder),
            any: false,
            other_lines: Vec::new(),
        })
    }

    /// The next request in order of time, its arrival counted from the file's first request; `None` after the last.
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        while let Some(request) = self.read()? {
            match self.order.take(request) {
                Ok(Some(request)) => return Ok(Some(request)),
                Ok(None) => {}
                Err(late) => return Err(self.bad_line(late.found, late.expected)),
            }
        }
        Ok(self.order.rest())
    }

    /// The next request of the file as it stands there.
    fn read(&mut self) -> Result<Option<Request>, TraceError> {
        if let Some(second) = self.second.take() {
            return Ok(Some(second));
        }
        loop {
            let Some(line) = self.text.next_line()? else {
                if self.any {
                    return Ok(None);
                }
                let problem =
                    format!("holds no request; expected {} ({})", self.parser.missing(), self.format.name);
                return Err(TraceError::file(self.text.name(), problem));
            };
            match self.parser.line(line) {
                Ok(Line::Request(request)) => {
                    self.any = true;
                    return Ok(Some(request));
                }
                Ok(Line::FlushThen(request)) => {
                    self.any = true;
                    self.second = Some(request);
                    return Ok(Some(Request { offset: 0, len: 0, op: Op::Flush, fua: false, ..request }));
                }
                Ok(Line::Other(what)) => self.count_other(what),
                Err(unexpected) => return Err(self.bad_line(unexpected.found, unexpected.expected)),
            }
        }
    }

    fn count_other(&mut self, what: &'static str) {
        let counts = &mut self.other_lines;
        match counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += 1,
            None => counts.push((what, 1)),
        }
    }

    /// An error about the request handed out last; sorted requests have left their lines behind.
    pub fn bad_request(&self, found: String, expected: &str) -> TraceError {
        if self.order.sorts() {
            return TraceError::file(self.text.name(), format!("found {found}, expected {expected}"));
        }
        self.bad_line(found, expected.to_owned())
    }

    fn bad_line(&self, found: String, expected: String) -> TraceError {
        TraceError::line(self.text.name(), self.text.number(), found, expected)
    }

    /// What the whole file showed, and its sha256; after the last request.
    pub fn finish(self) -> (Reading, String) {
        let sha256 = self.text.sha256();
        (Reading { other_lines: self.other_lines, moved: self.order.moved() }, sha256)
    }
}
