//! How the tests of readers read bytes in memory.

use std::io::Cursor;

use eraseblock_core::host::Request;

use super::content::Parser;
use super::{Content, Format, FormatOptions, Line, NamedFormat};
use crate::error::Fault;
use crate::input::ByteFile;

/// `bytes` as a file, which messages call `memory`.
pub(super) fn content(parser: Parser, bytes: &[u8]) -> Content {
    let file =
        ByteFile::over("memory".to_owned(), Box::new(Cursor::new(bytes.to_vec())), true).unwrap();
    Content::new(file, parser)
}

/// What `bytes` hold, up to the first error.
pub(super) fn read(format: &str, bytes: &[u8]) -> (Vec<Line>, Option<String>) {
    let format: &'static Format = format.parse().unwrap();
    read_by(NamedFormat::from(format).parser(), bytes)
}

/// The same with options of the format.
pub(super) fn read_with(bytes: &[u8], options: &impl FormatOptions) -> (Vec<Line>, Option<String>) {
    read_by(options.parser(), bytes)
}

fn read_by(parser: Parser, bytes: &[u8]) -> (Vec<Line>, Option<String>) {
    let mut content = content(parser, bytes);
    let mut lines = Vec::new();
    loop {
        let error = match content.next() {
            Ok(Some(line)) => {
                lines.push(line);
                continue;
            }
            Ok(None) => None,
            Err(Fault::Bad(unexpected) | Fault::Lost(unexpected)) => {
                Some(content.bad(0, unexpected))
            }
            Err(Fault::File(error)) => Some(error),
        };
        return (lines, error.map(|error| error.to_string()));
    }
}

/// The requests in `bytes`, all of which are right.
pub(super) fn requests(format: &str, bytes: &[u8]) -> Vec<Request> {
    let (lines, error) = read(format, bytes);
    assert_eq!(error, None);
    lines
        .into_iter()
        .filter_map(|line| match line {
            Line::Request(request) | Line::FlushThen(request) => Some(request),
            Line::Other(_) => None,
        })
        .collect()
}
