//! A file and the parser that turns its lines or records into requests.

use eraseblock_core::host::Request;

use crate::error::{Fault, TraceError, Unexpected};
use crate::input::{ByteFile, RecordFile, TextFile};

/// The parser for one file.
pub(crate) enum Parser {
    /// Of a text format.
    Lines(Box<dyn LineParser>),
    /// Of a binary format.
    Records(Box<dyn RecordParser>),
}

/// Turns the lines of one file into requests; it may remember what earlier lines said.
pub(crate) trait LineParser: Send {
    /// Reads one line. Times are those written in the file, from any origin.
    fn line(&mut self, line: &str) -> Result<Line, Unexpected>;

    /// What the file should have held, where it ended before the first request could be read.
    fn missing(&self) -> &'static str {
        "at least one request"
    }
}

/// Turns the records of one binary file into requests; it may remember what earlier records said.
pub(crate) trait RecordParser: Send {
    /// Reads what stands before the first record.
    fn header(&mut self, _file: &mut RecordFile) -> Result<(), Fault> {
        Ok(())
    }

    /// Takes the next record from `file`, which `RecordFile::begin` begins; `None` after the last.
    /// Times are those written in the file, from any origin. A record that is wrong is `Fault::Bad`
    /// if all of it was taken (an `Unexpected` becomes that through `?`) and `Fault::Lost` if it
    /// does not show where the next one begins.
    fn record(&mut self, file: &mut RecordFile) -> Result<Option<Line>, Fault>;

    /// The same for the next few that are at hand and have nothing wrong: their requests go to
    /// `into`. For speed alone, and none by default; [`Self::record`] goes on from there.
    fn records(&mut self, _file: &mut RecordFile, _into: &mut Vec<Request>) {}

    /// What the file does not say and the reader has assumed, or the user told it; known after the
    /// last record.
    fn assumes(&self) -> Option<String> {
        None
    }

    /// What the file should have held, where it ended before the first request could be read.
    fn missing(&self) -> &'static str {
        "at least one request"
    }
}

/// What a line or record holds.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Request(Request),
    /// A flush of the request's volume and then, at the same time, the request.
    FlushThen(Request),
    /// No request; counted under this name.
    Other(&'static str),
}

/// The lines or records of one file.
pub(crate) struct Content(Kind);

enum Kind {
    Lines { file: TextFile, parser: Box<dyn LineParser> },
    Records { file: RecordFile, parser: Box<dyn RecordParser>, header_read: bool },
}

impl Content {
    pub fn new(bytes: ByteFile, parser: Parser) -> Self {
        Self(match parser {
            Parser::Lines(parser) => Kind::Lines { file: TextFile::new(bytes), parser },
            Parser::Records(parser) => {
                Kind::Records { file: RecordFile::new(bytes), parser, header_read: false }
            }
        })
    }

    /// What the next line or record holds; `None` at the end of the file.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Line>, Fault> {
        match &mut self.0 {
            Kind::Lines { file, parser } => match file.next_line()? {
                Some(line) => Ok(Some(parser.line(line)?)),
                None => Ok(None),
            },
            Kind::Records { file, parser, header_read } => {
                if !*header_read {
                    *header_read = true;
                    parser.header(file)?;
                }
                parser.record(file)
            }
        }
    }

    /// Whether there are records, of which some can be read together.
    #[inline]
    pub fn has_records(&self) -> bool {
        matches!(self.0, Kind::Records { .. })
    }

    /// The requests of the next few records, where there is nothing else to them.
    #[inline]
    pub fn next_few(&mut self, into: &mut Vec<Request>) {
        if let Kind::Records { file, parser, header_read: true } = &mut self.0 {
            parser.records(file, into);
        }
    }

    /// An error about the line or record read last, or about the one with so many behind it.
    pub fn bad(&self, behind: usize, unexpected: Unexpected) -> TraceError {
        match &self.0 {
            Kind::Lines { file, .. } => file.bad_line(unexpected),
            Kind::Records { file, .. } => file.bad_record(behind, unexpected),
        }
    }

    /// That line or record, for a message about this file.
    pub fn place(&self, behind: usize) -> String {
        match &self.0 {
            Kind::Lines { file, .. } => file.place(),
            Kind::Records { file, .. } => file.place(behind),
        }
    }

    /// Passes over all that follows; the number of bytes.
    pub fn skip_rest(&mut self) -> Result<u64, TraceError> {
        match &mut self.0 {
            Kind::Lines { file, .. } => file.skip_rest(),
            Kind::Records { file, .. } => file.skip_rest(),
        }
    }

    /// What the file should have held, where it ended before the first request could be read.
    pub fn missing(&self) -> &'static str {
        match &self.0 {
            Kind::Lines { parser, .. } => parser.missing(),
            Kind::Records { parser, .. } => parser.missing(),
        }
    }

    /// What the file does not say and the reader has assumed, or the user told it; known at the end
    /// of the file.
    pub fn assumes(&self) -> Option<String> {
        match &self.0 {
            Kind::Lines { .. } => None,
            Kind::Records { parser, .. } => parser.assumes(),
        }
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &ByteFile {
        match &self.0 {
            Kind::Lines { file, .. } => file.bytes(),
            Kind::Records { file, .. } => file.bytes(),
        }
    }

    /// The same, to take their hash.
    pub fn bytes_mut(&mut self) -> &mut ByteFile {
        match &mut self.0 {
            Kind::Lines { file, .. } => file.bytes_mut(),
            Kind::Records { file, .. } => file.bytes_mut(),
        }
    }
}
