//! The beginning of a file, by which its format is told.

use eraseblock_core::host::{Op, Request};

use super::quote;
use crate::error::TraceError;
use crate::input::ByteFile;

/// Bytes of unpacked content that detection looks at.
const SAMPLE_BYTES: usize = 64 << 10;

/// The first bytes of a file, and the lines they make if they are text.
pub(crate) struct Sample {
    bytes: Vec<u8>,
    lines: Vec<String>,
    /// The file holds more than the sample.
    goes_on: bool,
}

impl Sample {
    /// Reads the beginning of `file`.
    pub fn read(file: &mut ByteFile) -> Result<Self, TraceError> {
        let whole = !file.reach(SAMPLE_BYTES + 1, || "at its beginning".to_owned())?;
        let ahead = file.ahead();
        if whole {
            return Ok(Self::new(ahead));
        }
        // The last line is cut off where the sample ends.
        let mut sample = Self::new(&ahead[..SAMPLE_BYTES]);
        sample.lines.pop();
        sample.goes_on = true;
        Ok(sample)
    }

    /// `bytes` are all that a file holds. Lines end before the first one that is no text.
    pub fn new(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let lines = text
            .split(|&byte| byte == b'\n')
            .map_while(|line| std::str::from_utf8(line).ok())
            .take_while(|line| !line.contains('\0'))
            .map(str::to_owned)
            .collect();
        Self { bytes: bytes.to_vec(), lines, goes_on: false }
    }

    /// A text file.
    #[cfg(test)]
    pub fn of_text(text: &str) -> Self {
        Self::new(text.as_bytes())
    }

    /// The first bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True if the file holds more bytes than these.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// True if the file holds nothing, or nothing but blank lines.
    pub fn is_empty(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// What the file is, and what to do with it, where it holds a trace in a wrapping that people
    /// meet.
    pub fn wrapping(&self) -> Option<&'static str> {
        if [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| self.bytes.starts_with(*mark)) {
            return Some(
                "is UTF-16 text, as Windows PowerShell writes it; turn it into UTF-8 first, as \
                 with `iconv -f UTF-16 -t UTF-8`",
            );
        }
        // Where the header of the first file in an archive says what it is.
        let is_tar = self.bytes.get(257..262) == Some(b"ustar");
        is_tar.then_some("is a tar archive; take the trace out of it first, as with `tar -xf`")
    }

    /// The first line, or the first bytes of a binary file, for a message.
    pub fn beginning(&self) -> String {
        match self.filled().next() {
            Some(line) => format!("its lines (the first is {})", quote(line)),
            None => format!(
                "its bytes (the first are {})",
                spaced(&self.bytes[..self.bytes.len().min(16)])
            ),
        }
    }

    /// Lines that are not blank.
    pub fn filled(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty())
    }
}

/// True if at least half of the lines, and one at least, satisfies `test`: a single bad line is
/// then reported by its number, not as an unknown format.
pub(super) fn mostly(sample: &Sample, test: impl Fn(&str) -> bool) -> bool {
    let (mut good, mut all) = (0, 0);
    for line in sample.filled() {
        all += 1;
        good += u64::from(test(line));
    }
    good > 0 && 2 * good >= all
}

/// The lines of a sample file: a header, if there is one, and one for each request.
pub(super) fn lines(
    header: &str,
    requests: &[Request],
    line: impl Fn(&Request) -> String,
) -> Vec<u8> {
    let header = (!header.is_empty()).then(|| header.to_owned());
    let mut text = Vec::new();
    for line in header.into_iter().chain(requests.iter().map(line)) {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    text
}

/// The word for a read or that for a write.
pub(super) fn either<'a>(request: &Request, read: &'a str, write: &'a str) -> &'a str {
    if request.op == Op::Read { read } else { write }
}

/// Bytes in hexadecimal, with blanks between them.
fn spaced(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// What a family makes of a sample that looks like one of its own.
pub(super) enum Guess {
    /// One format, and why.
    Settled { format: &'static str, evidence: String },
    /// Several that would read different requests from the same content, and why that cannot be
    /// told.
    Open { formats: Vec<&'static str>, why: String },
}
