//! blkreplay's `.load` files.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, extent, time_ns, trimmed, whole};
use super::{Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, quote};
use crate::write::in_memory;

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "blkreplay",
        title: "blkreplay load file",
        columns: "start ; sector ; length ; op ; replay_delay ; replay_duration",
        units: "start in s, sector and length in 512-byte sectors, op R, W or D (discard) with \
            blktrace's flags A, F, M, S",
        recognised_by: "the line `start ; sector; length ; op ; ...` that ends the text header",
        reference: "blkreplay's documentation; the header text of each file",
        extensions: &["load"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::<Blkreplay>::default()),
        sample: |requests| in_memory("blkreplay", requests),
    }],
    recognise,
};

const ROW: &str = "a row `start ; sector ; length ; op`";

#[derive(Default)]
struct Blkreplay {
    /// The header is free text; rows begin after the line that names the columns, or with the first
    /// row itself.
    in_rows: bool,
    /// First line of the header. Files that were put together have it again, and the rest of a
    /// header below it.
    head: Option<String>,
}

impl LineParser for Blkreplay {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        let header = if self.in_rows { self.begins_again(line) } else { !looks_like_row(line) };
        if header {
            self.in_rows = names_columns(line);
            if self.head.is_none() && !self.in_rows {
                self.head = Some(trimmed(line).to_owned());
            }
            return Ok(Line::Other("header lines"));
        }
        self.in_rows = true;
        row(line).map(Line::Request)
    }

    fn missing(&self) -> &'static str {
        if self.in_rows {
            "rows `start ; sector ; length ; op`"
        } else {
            "the line `start ; sector ; length ; op` and rows"
        }
    }
}

impl Blkreplay {
    /// Whether a line among rows begins, or ends, a further header.
    #[inline]
    fn begins_again(&self, line: &str) -> bool {
        let text = trimmed(line);
        !text.starts_with(|c: char| c.is_ascii_digit())
            && (self.head.as_deref() == Some(text) || names_columns(text))
    }
}

fn names_columns(line: &str) -> bool {
    line.split(';').map(str::trim).take(4).eq(["start", "sector", "length", "op"])
}

fn looks_like_row(line: &str) -> bool {
    let mut fields = line.split(';').map(str::trim);
    fields.next().is_some_and(|start| start.starts_with(|c: char| c.is_ascii_digit()))
        && fields.count() >= 2
}

fn row(line: &str) -> Result<Request, Unexpected> {
    let mut fields = line.split(';').map(str::trim);
    let (Some(start), Some(sector), Some(length), Some(op)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(Unexpected::new(
            format!("{} of the 4 fields in {}", line.split(';').count(), quote(line)),
            ROW,
        ));
    };
    let arrival_ns = time_ns(start, TimeUnit::Seconds)?;
    let (offset, len) =
        extent(whole(sector, "the sector")?, 512, whole(length, "the length in sectors")?, 512)?;
    let (op, fua) = operation(op).ok_or_else(|| {
        Unexpected::new(format!("operation {}", quote(op)), "R, W or D, with flags A, F, M, S")
    })?;
    Ok(Request { arrival_ns, offset, len, volume: 0, op, fua })
}

/// The operation and whether it is forced to the medium; read-ahead is a read.
fn operation(text: &str) -> Option<(Op, bool)> {
    let mut letters = text.chars();
    let op = match letters.next()? {
        'R' => Op::Read,
        'W' => Op::Write,
        'D' => Op::Trim,
        _ => return None,
    };
    let mut fua = false;
    for flag in letters {
        match flag {
            'A' | 'M' | 'S' => {}
            'F' => fua = op == Op::Write,
            _ => return None,
        }
    }
    Some((op, fua))
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let settled = |evidence: String| Some(Guess::Settled { format: "blkreplay", evidence });
    if let Some(line) = sample.filled().find(|line| names_columns(line)) {
        return settled(format!("the header ends with {}", quote(line)));
    }
    super::mostly(sample, |line| row(line).is_ok())
        .then(|| settled("rows `start ; sector ; length ; op` without a header".to_owned()))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Vec<Request>, Unexpected> {
        let mut parser = Blkreplay::default();
        let mut requests = Vec::new();
        for line in lines {
            if let Line::Request(request) = parser.line(line)? {
                requests.push(request);
            }
        }
        Ok(requests)
    }

    #[test]
    fn reads_rows_after_the_header() {
        let requests = read(&[
            "Some notice; with 2012 years; in it",
            "",
            "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0",
            "   0.250000001 ;     8 ;   2 ; W ; 0.0 ; 0.0",
            "   1.0 ; 16 ; 8 ;RA ; 0.0 ; 0.0",
            "2 ; 16 ; 8 ; WFS",
            "3 ; 0 ; 1024 ; D",
        ])
        .unwrap();
        let request = |arrival_ns, offset, len, op, fua| Request {
            arrival_ns,
            offset,
            len,
            volume: 0,
            op,
            fua,
        };
        assert_eq!(
            requests,
            [
                request(250_000_001, 4096, 1024, Op::Write, false),
                request(1_000_000_000, 8192, 4096, Op::Read, false),
                request(2_000_000_000, 8192, 4096, Op::Write, true),
                request(3_000_000_000, 0, 524_288, Op::Trim, false),
            ]
        );
    }

    #[test]
    fn rows_may_begin_without_a_header() {
        assert_eq!(read(&["0.5 ; 8 ; 8 ; R ; 0.0 ; 0.0"]).unwrap().len(), 1);
        assert!(read(&["0.5 ; 8 ; 8 ; R", "notes"]).is_err());
    }

    #[test]
    fn a_header_may_come_again() {
        let names = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0";
        let (row, head) = ("0.5 ; 8 ; 8 ; R ; 0.0 ; 0.0", ["Copyright", "", "made of a; b; c"]);
        let again = [
            &head[..],
            &[names],
            &head[..1],
            &["another text"],
            &[names, row],
            &head[..],
            &[names, row, names, row],
        ];
        assert_eq!(read(&again.concat()).unwrap().len(), 3);
        // What no header begins with is damage.
        assert!(read(&[&head[..], &[names, row, "another text"]].concat()).is_err());
        assert_eq!(read(&[row, names, row]).unwrap().len(), 2);
    }

    #[test]
    fn says_what_is_wrong() {
        let header = "start ; sector ; length ; op";
        for (row, found) in [
            ("0.5 ; 8 ; 8", "3 of the 4 fields in `0.5 ; 8 ; 8`"),
            ("0.5 ; 8 ; 8 ; X", "operation `X`"),
            ("0.5 ; 8 ; 8 ; RQ", "operation `RQ`"),
            ("0.5 ; 8 ; 8 ;", "operation ``"),
            ("soon ; 8 ; 8 ; R", "time `soon`"),
            ("0.5 ; 8.5 ; 8 ; R", "`8.5`"),
        ] {
            assert_eq!(read(&[header, row]).unwrap_err().found, found);
        }
    }
}
