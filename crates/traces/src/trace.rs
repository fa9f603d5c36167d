//! A trace file as a stream of requests in order of time.

use std::path::PathBuf;

use eraseblock_core::host::{Op, Request};

use crate::config::OutOfOrder;
use crate::error::TraceError;
use crate::input::TextFile;
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
    /// Requests whose time lay before that of an earlier one, and the largest such step in ns.
    pub clamped: u64,
    pub clamped_max_ns: u64,
}

/// One pass over a trace file.
pub(crate) struct TraceReader {
    text: TextFile,
    parser: Box<dyn LineParser>,
    format: &'static Format,
    out_of_order: OutOfOrder,
    /// Times of the first request and of the latest one, as the file counts them.
    first_ns: Option<u64>,
    latest_ns: u64,
    /// The second request of a line that holds two.
    second: Option<Request>,
    reading: Reading,
}

impl TraceReader {
    pub fn open(file: &TraceFile, hash: bool) -> Result<Self, TraceError> {
        Ok(Self {
            text: TextFile::open(&file.path, hash)?,
            parser: file.format.parser(file.options),
            format: file.format,
            out_of_order: file.out_of_order,
            first_ns: None,
            latest_ns: 0,
            second: None,
            reading: Reading::default(),
        })
    }

    /// The next request, its arrival counted from the file's first request; `None` after the last.
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        if let Some(second) = self.second.take() {
            return self.in_order(second).map(Some);
        }
        loop {
            let Some(line) = self.text.next_line()? else {
                if self.first_ns.is_some() {
                    return Ok(None);
                }
                let problem =
                    format!("holds no request; expected {} ({})", self.parser.missing(), self.format.name);
                return Err(TraceError::file(self.text.name(), problem));
            };
            match self.parser.line(line) {
                Ok(Line::Request(request)) => return self.in_order(request).map(Some),
                Ok(Line::FlushThen(request)) => {
                    let flush = Request { offset: 0, len: 0, op: Op::Flush, fua: false, ..request };
                    self.second = Some(request);
                    return self.in_order(flush).map(Some);
                }
                Ok(Line::Other(what)) => self.count_other(what),
                Err(unexpected) => return Err(self.bad_line(unexpected.found, unexpected.expected)),
            }
        }
    }

    fn in_order(&mut self, mut request: Request) -> Result<Request, TraceError> {
        let written_ns = request.arrival_ns;
        let first_ns = *self.first_ns.get_or_insert(written_ns);
        if written_ns < self.latest_ns {
            let back_ns = self.latest_ns - written_ns;
            if self.out_of_order == OutOfOrder::Error && back_ns > self.format.disorder_ns {
                return Err(self.bad_line(
                    format!("a time {back_ns} ns before that of an earlier request"),
                    "times in order; sort the trace, or let out_of_order = \"clamp\" make such requests arrive late"
                        .to_owned(),
                ));
            }
            self.reading.clamped += 1;
            self.reading.clamped_max_ns = self.reading.clamped_max_ns.max(back_ns);
        }
        self.latest_ns = self.latest_ns.max(written_ns);
        request.arrival_ns = self.latest_ns - first_ns;
        Ok(request)
    }

    fn count_other(&mut self, what: &'static str) {
        let counts = &mut self.reading.other_lines;
        match counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += 1,
            None => counts.push((what, 1)),
        }
    }

    /// An error about the line read last.
    pub fn bad_line(&self, found: String, expected: String) -> TraceError {
        TraceError::line(self.text.name(), self.text.number(), found, expected)
    }

    /// What the whole file showed, and its sha256; after the last request.
    pub fn finish(self) -> (Reading, String) {
        let sha256 = self.text.sha256();
        (self.reading, sha256)
    }
}
