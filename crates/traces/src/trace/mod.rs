//! A trace file as a stream of requests in order of time.

mod bad;
mod limits;
mod order;

use std::path::PathBuf;

use eraseblock_core::host::{Op, Request};

use crate::error::{Fault, TraceError, Unexpected};
use crate::input::ByteFile;
use crate::readers::{Content, Line, NamedFormat};
pub use bad::BadLines;
pub(crate) use limits::Limits;
use order::Order;
pub use order::{Moved, OutOfOrder};

/// What to do about a bad line, as it is typed.
const SKIP: &str = "--skip-bad-lines, or workload.skip_bad_lines = true, passes over such lines";

/// How to read a trace file; cheap to copy, so that each pass opens the file anew.
#[derive(Debug, Clone)]
pub(crate) struct TraceFile {
    pub path: PathBuf,
    pub format: NamedFormat,
    pub out_of_order: OutOfOrder,
    pub skip_bad_lines: bool,
    pub limits: Limits,
}

/// What reading a file, or making its requests, showed beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Lines or records without a request, by what they are.
    pub other_lines: Vec<(&'static str, u64)>,
    pub moved: Moved,
    pub bad_lines: BadLines,
    /// What the file does not say and the reader has assumed, or the user told it.
    pub assumed: Option<String>,
    /// What a generator was asked for and could not meet.
    pub missed: Vec<String>,
}

/// One pass over a trace file.
pub(crate) struct TraceReader {
    content: Content,
    /// Name of the format.
    format: &'static str,
    /// The second request of a line that holds two.
    second: Option<Request>,
    /// Requests that were read together, the next one first.
    few: Vec<Request>,
    next_of_few: usize,
    order: Order,
    any: bool,
    other_lines: Vec<(&'static str, u64)>,
    /// Where bad lines are counted; without it the first one is an error.
    bad_lines: Option<BadLines>,
    limits: Limits,
}

impl TraceReader {
    pub fn open(file: &TraceFile, hash: bool) -> Result<Self, TraceError> {
        Ok(Self::over(ByteFile::open(&file.path, hash)?, file))
    }

    /// Reads `bytes` in the way that `file` says.
    pub fn over(bytes: ByteFile, file: &TraceFile) -> Self {
        let format = file.format.format();
        Self {
            content: Content::new(bytes, file.format.parser()),
            format: format.name,
            second: None,
            few: Vec::new(),
            next_of_few: 0,
            order: Order::new(file.out_of_order, format.disorder),
            any: false,
            other_lines: Vec::new(),
            bad_lines: file.skip_bad_lines.then(BadLines::default),
            limits: file.limits,
        }
    }

    /// The next request in order of time, its arrival counted from the file's first request; `None`
    /// after the last.
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

    /// The next requests in order of time, in place of what is in `into`: those that were read
    /// together. Says whether there are such, and nothing is to be said of any of them; if not,
    /// [`Self::next_request`] goes on.
    #[inline]
    pub fn next_few(&mut self, into: &mut Vec<Request>) -> bool {
        let some = self.content.has_records()
            && self.second.is_none()
            && self.behind() == 0
            && self.read_few()
            && self.few.iter().all(|request| self.limits.check(request).is_ok())
            && self.order.take_all(&mut self.few);
        if some {
            into.clear();
            std::mem::swap(&mut self.few, into);
        }
        some
    }

    /// The next request of the file as it stands there.
    fn read(&mut self) -> Result<Option<Request>, TraceError> {
        if let Some(second) = self.second.take() {
            return Ok(Some(second));
        }
        loop {
            if let Some(request) = self.few.get(self.next_of_few) {
                self.next_of_few += 1;
                match self.limits.check(request) {
                    Ok(()) => return Ok(Some(*request)),
                    Err(unexpected) => self.pass_over(Fault::Bad(unexpected))?,
                }
                continue;
            }
            if self.read_few() {
                continue;
            }
            match self.next_line() {
                Ok(Some(Line::Request(request))) => {
                    self.any = true;
                    return Ok(Some(request));
                }
                Ok(Some(Line::FlushThen(request))) => {
                    self.any = true;
                    self.second = Some(request);
                    return Ok(Some(Request {
                        offset: 0,
                        len: 0,
                        op: Op::Flush,
                        fua: false,
                        ..request
                    }));
                }
                Ok(Some(Line::Other(what))) => self.count_other(what),
                Ok(None) if self.any => return Ok(None),
                Ok(None) => return Err(self.no_request()),
                Err(fault) => self.pass_over(fault)?,
            }
        }
    }

    /// Reads the next few requests together, if the format can; not before one has been read by
    /// itself.
    #[inline]
    fn read_few(&mut self) -> bool {
        self.few.clear();
        self.next_of_few = 0;
        if self.any {
            self.content.next_few(&mut self.few);
        }
        !self.few.is_empty()
    }

    /// Of the requests that were read together, those not handed out yet.
    fn behind(&self) -> usize {
        self.few.len() - self.next_of_few
    }

    /// What the next line or record holds, if it can be believed.
    #[inline]
    fn next_line(&mut self) -> Result<Option<Line>, Fault> {
        let line = self.content.next()?;
        if let Some(Line::Request(request) | Line::FlushThen(request)) = &line {
            self.limits.check(request)?;
        }
        Ok(line)
    }

    /// Passes over a bad line or record if the user said so; what follows a record that does not
    /// show where it ends cannot be read.
    #[cold]
    fn pass_over(&mut self, fault: Fault) -> Result<(), TraceError> {
        let (unexpected, lost) = match fault {
            Fault::Bad(unexpected) => (unexpected, false),
            Fault::Lost(unexpected) => (unexpected, true),
            Fault::File(error) => return Err(error),
        };
        let Some(bad_lines) = &mut self.bad_lines else {
            let Unexpected { found, expected } = unexpected;
            let expected = format!("{expected} ({SKIP})");
            return Err(self.content.bad(self.behind(), Unexpected { found, expected }));
        };
        bad_lines.add(&self.content.place(self.few.len() - self.next_of_few), unexpected);
        if lost {
            bad_lines.unread_bytes += self.content.skip_rest()?;
        }
        Ok(())
    }

    #[cold]
    fn no_request(&self) -> TraceError {
        let bad = self.bad_lines.as_ref().and_then(BadLines::sentence);
        let problem = format!(
            "holds no request; expected {} ({}){}",
            self.content.missing(),
            self.format,
            bad.map_or_else(String::new, |bad| format!("; {bad}"))
        );
        TraceError::file(self.content.bytes().name(), problem)
    }

    fn count_other(&mut self, what: &'static str) {
        let counts = &mut self.other_lines;
        match counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += 1,
            None => counts.push((what, 1)),
        }
    }

    /// An error about the request behind which so many were handed out last; sorted requests have
    /// left their lines behind.
    pub fn bad_request(&self, behind: usize, found: String, expected: &str) -> TraceError {
        if self.order.sorts() {
            let problem = format!("found {found}, expected {expected}");
            return TraceError::file(self.content.bytes().name(), problem);
        }
        let expected = expected.to_owned();
        self.content.bad(self.behind() + behind, Unexpected { found, expected })
    }

    /// An error about the line or record read last.
    fn bad_line(&self, found: String, expected: String) -> TraceError {
        self.content.bad(self.behind(), Unexpected { found, expected })
    }

    /// What the whole file showed, and its sha256; after the last request.
    pub fn finish(mut self) -> (Reading, String) {
        let reading = Reading {
            other_lines: self.other_lines,
            moved: self.order.moved(),
            bad_lines: self.bad_lines.unwrap_or_default(),
            assumed: self.content.assumes(),
            missed: Vec::new(),
        };
        (reading, self.content.bytes_mut().sha256())
    }
}
