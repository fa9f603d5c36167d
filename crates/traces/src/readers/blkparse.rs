//! The text that blkparse writes from a recording of the Linux block layer.

use eraseblock_core::host::{Op, Request};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_layer::Action;
use super::fields::{TimeUnit, device_number, extent, time_ns, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, FormatOptions, Guess, Line, LineParser, Parser, Reads, Sample,
    Unexpected, mostly, quote,
};

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "blkparse",
        title: "Output of blkparse, default format",
        columns: "major,minor cpu sequence time pid action RWBS [sector + count] [process]",
        units: "time in s; sector and count in 512-byte sectors; requests are the events that the \
            option action names; RWBS: R, W, D (discard), F first (flush), F later (forced); \
            volume = major x 1048576 + minor, as in blktrace",
        recognised_by: "lines that begin with major,minor, cpu, sequence and a time with a fraction",
        reference: "blkparse(1), sections TRACE ACTIONS, OUTPUT DESCRIPTION AND FORMATTING and \
            DEFAULT OUTPUT",
        extensions: &["blkparse"],
        disorder: Disorder::Sorted,
        reads: Reads::by::<Options>(),
        sample: |requests| {
            lines("", requests, |request| {
                let time = TimeUnit::Seconds.text(request.arrival_ns);
                let (sector, sectors) = (request.offset / 512, request.len / 512);
                let kind = either(request, "R", "W");
                format!(
                    "  0,0    1       41 {time:>14}  4021  D {kind:>3} {sector} + {sectors} [made]"
                )
            })
        },
    }],
    recognise,
};

/// Letters of events and the names under which those are counted that are not the ones asked for.
const ACTIONS: &[(&str, &str)] = &[
    ("Q", "Q events"),
    ("D", "D events"),
    ("C", "C events"),
    ("I", "I events"),
    ("G", "G events"),
    ("M", "M events"),
    ("F", "F events"),
    ("P", "P events"),
    ("U", "U events"),
    ("UT", "UT events"),
    ("T", "T events"),
    ("S", "S events"),
    ("A", "A events"),
    ("X", "X events"),
    ("R", "R events"),
    ("B", "B events"),
    ("m", "messages"),
];

/// Options of blkparse's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// Which event of a request's life is taken as the request: `queue` (Q, as the file system
    /// asked), `issue` (D, as the drive was asked) or `complete` (C, as the drive answered).
    action: Action,
}

impl FormatOptions for Options {
    fn parser(&self) -> Parser {
        Parser::Lines(Box::new(Blkparse::new(self.action)))
    }
}

struct Blkparse {
    action: Action,
    /// The tables at the end have begun.
    in_summary: bool,
}

impl Blkparse {
    fn new(action: Action) -> Self {
        Self { action, in_summary: false }
    }

    fn letter(&self) -> &'static str {
        match self.action {
            Action::Queue => "Q",
            Action::Issue => "D",
            Action::Complete => "C",
        }
    }

    /// A line that does not begin with a device.
    fn beside(&mut self, line: &str) -> Result<Line, Unexpected> {
        self.in_summary |= begins_summary(line);
        if self.in_summary {
            return Ok(Line::Other("summary lines"));
        }
        if line.trim_start().starts_with("Input file ") {
            return Ok(Line::Other("session lines"));
        }
        Err(Unexpected::new(
            quote(line),
            "a line that begins with a device such as 8,16, or the summary",
        ))
    }
}

impl LineParser for Blkparse {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { return Ok(Line::Other("blank lines")) };
        if !first.as_bytes()[0].is_ascii_digit() || !first.contains(',') {
            return self.beside(line);
        }
        self.in_summary = false;
        let volume = device(first)?;
        let (Some(cpu), Some(sequence), Some(time), Some(pid), Some(action)) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return Err(cut(line));
        };
        whole::<u32>(cpu, "the cpu")?;
        whole::<u64>(sequence, "the sequence number")?;
        let arrival_ns = time_ns(time, TimeUnit::Seconds)?;
        whole::<u32>(pid, "the pid")?;
        if action != self.letter() {
            return match ACTIONS.iter().find(|(letters, _)| *letters == action) {
                Some((_, counted)) => Ok(Line::Other(counted)),
                None => Err(Unexpected::new(
                    format!("action {}", quote(action)),
                    "Q, D, C or another action",
                )),
            };
        }
        let Some(rwbs) = words.next() else { return Err(cut(line)) };
        let Some(kind) = Kind::of(rwbs) else {
            return Err(Unexpected::new(
                format!("RWBS {}", quote(rwbs)),
                "R, W, D, N or F, with flags F, A, S, M",
            ));
        };
        let flush = Request { arrival_ns, offset: 0, len: 0, volume, op: Op::Flush, fua: false };
        let no_data =
            if kind.flush { Line::Request(flush) } else { Line::Other("requests without data") };
        let sector = match words.next() {
            Some(word) if !word.starts_with(['[', '(']) => word,
            None if !kind.flush => return Err(cut(line)),
            _ => return Ok(no_data),
        };
        let sector = whole(sector, "the sector")?;
        let count = match (words.next(), words.next()) {
            (Some("+"), Some(count)) => whole(count, "the number of sectors")?,
            // A command that the kernel passes through: bytes, the command itself, a name.
            (Some(word), _) if word.starts_with(['[', '(']) => return Ok(no_data),
            _ => return Err(cut(line)),
        };
        let (offset, len) = extent(sector, 512, count, 512)?;
        let Some(op) = kind.op.filter(|_| len > 0 || !kind.flush) else { return Ok(no_data) };
        let request =
            Request { arrival_ns, offset, len, volume, op, fua: kind.forced && op == Op::Write };
        Ok(if kind.flush { Line::FlushThen(request) } else { Line::Request(request) })
    }

    fn missing(&self) -> &'static str {
        match self.action {
            Action::Queue => "lines of action Q, which action = \"queue\" asks for",
            Action::Issue => {
                "lines of action D, which action = \"issue\" asks for; a device made of others has \
                 Q and C alone"
            }
            Action::Complete => "lines of action C, which action = \"complete\" asks for",
        }
    }
}

fn cut(line: &str) -> Unexpected {
    Unexpected::new(
        format!("only {}", quote(line)),
        "major,minor cpu sequence time pid action RWBS sector + count [process]",
    )
}

fn device(text: &str) -> Result<u32, Unexpected> {
    let (major, minor) = text.split_once(',').unwrap_or((text, ""));
    device_number(major, minor)
}

/// What the letters of the RWBS column say.
#[derive(Debug, PartialEq)]
struct Kind {
    /// A flush comes first; it is all there is where the line has no sectors.
    flush: bool,
    /// What is done with the sectors.
    op: Option<Op>,
    forced: bool,
}

impl Kind {
    fn of(text: &str) -> Option<Self> {
        let (mut flush, rest) = match text.strip_prefix('F') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (op, flags) = match rest.as_bytes() {
            [b'R', flags @ ..] => (Some(Op::Read), flags),
            // A zone append is a write whose place the drive chooses.
            [b'W', flags @ ..] | [b'Z', b'A', flags @ ..] => (Some(Op::Write), flags),
            [b'D', b'E', flags @ ..] | [b'D', flags @ ..] => (Some(Op::Trim), flags),
            [b'N', flags @ ..] => (None, flags),
            flags if flush => (None, flags),
            _ => return None,
        };
        let mut forced = false;
        for flag in flags {
            match flag {
                b'A' | b'S' | b'M' | b'U' => {}
                b'F' => forced = true,
                // Barriers of kernels before 2.6.37: all before them is stored first, and they are
                // stored at once.
                b'B' => (flush, forced) = (true, true),
                _ => return None,
            }
        }
        Some(Self { flush, op, forced })
    }
}

fn begins_summary(line: &str) -> bool {
    ["CPU", "Total ("].iter().any(|start| line.trim_start().starts_with(start))
        && line.trim_end().ends_with("):")
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_event = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        words.next().is_some_and(|word| device(word).is_ok())
            && words.next().is_some_and(|word| whole::<u32>(word, "").is_ok())
            && words.next().is_some_and(|word| whole::<u64>(word, "").is_ok())
            && words
                .next()
                .is_some_and(|word| word.contains('.') && time_ns(word, TimeUnit::Seconds).is_ok())
    };
    mostly(sample, like_event).then(|| Guess::Settled {
        format: "blkparse",
        evidence: "lines `major,minor cpu sequence time ...` as blkparse writes them by default"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(action: Action, line: &str) -> Result<Line, Unexpected> {
        Blkparse::new(action).line(line)
    }

    const VOLUME: u32 = 8 << 20 | 16;

    fn request(op: Op, offset: u64, len: u64, fua: bool) -> Request {
        Request { arrival_ns: 1_000_002_500, offset, len, volume: VOLUME, op, fua }
    }

    fn issued(rest: &str) -> Result<Line, Unexpected> {
        read(Action::Issue, &format!("  8,16   3       41     1.000002500  4021  D {rest}"))
    }

    #[test]
    fn the_letters_of_rwbs_say_what_is_done() {
        let one = |op, fua| Line::Request(request(op, 4096, 8192, fua));
        for (letters, line) in [
            ("R", one(Op::Read, false)),
            ("RA", one(Op::Read, false)),
            ("RSM", one(Op::Read, false)),
            ("W", one(Op::Write, false)),
            ("WFS", one(Op::Write, true)),
            ("WSMU", one(Op::Write, false)),
            ("ZAS", one(Op::Write, false)),
            ("D", one(Op::Trim, false)),
            ("DS", one(Op::Trim, false)),
            ("DE", one(Op::Trim, false)),
            ("FWS", Line::FlushThen(request(Op::Write, 4096, 8192, false))),
            ("FWFSM", Line::FlushThen(request(Op::Write, 4096, 8192, true))),
            ("WB", Line::FlushThen(request(Op::Write, 4096, 8192, true))),
            ("N", Line::Other("requests without data")),
        ] {
            assert_eq!(issued(&format!("{letters} 8 + 16 [java]")), Ok(line), "{letters}");
        }
    }

    #[test]
    fn a_flush_has_no_sectors() {
        let flush = || Ok(Line::Request(request(Op::Flush, 0, 0, false)));
        for rest in [
            "FN [kworker/3:1H]",
            "FWS [jbd2/sda1-8]",
            "F",
            "FF 0 + 0 [0]",
            "FS 0 [0]",
            "FWS 0 + 0 [x]",
        ] {
            assert_eq!(issued(rest), flush(), "{rest}");
        }
        for rest in
            ["N [hdparm]", "R 36 (12 00 00 00 24 00 ..) [udevd]", "W 0 [x]", "R (12 00) [udevd]"]
        {
            assert_eq!(issued(rest), Ok(Line::Other("requests without data")), "{rest}");
        }
        assert_eq!(issued("R 8 + 0 [x]"), Ok(Line::Request(request(Op::Read, 4096, 0, false))));
    }

    #[test]
    fn one_event_of_each_request_counts() {
        let event = |letter| format!("8,16 3 41 1.000002500 4021 {letter} WS 8 + 16 [x]");
        let counted = Ok(Line::Request(request(Op::Write, 4096, 8192, false)));
        for (action, letter) in
            [(Action::Queue, "Q"), (Action::Issue, "D"), (Action::Complete, "C")]
        {
            assert_eq!(read(action, &event(letter)), counted);
        }
        assert_eq!(read(Action::Issue, &event("Q")), Ok(Line::Other("Q events")));
        assert_eq!(read(Action::Queue, &event("D")), Ok(Line::Other("D events")));
        let message = "8,16 1 0 1.000002500 0 m N cfq4021S / alloced";
        assert_eq!(read(Action::Issue, message), Ok(Line::Other("messages")));
        let unplug = "8,16 1 9 1.000002500 4021 U N [x] 2";
        assert_eq!(read(Action::Issue, unplug), Ok(Line::Other("U events")));
    }

    #[test]
    fn tables_at_the_end_are_passed_over() {
        let mut parser = Blkparse::new(Action::Issue);
        let mut other = |line: &str| match parser.line(line) {
            Ok(Line::Other(what)) => what,
            answer => panic!("{line}: {answer:?}"),
        };
        assert_eq!(other("Input file sdb.blktrace.0 added"), "session lines");
        assert_eq!(other("CPU0 (8,16):"), "summary lines");
        assert_eq!(
            other(" Reads Queued:           2,        8KiB\t Writes Queued:  0,   0KiB"),
            "summary lines"
        );
        assert_eq!(other(""), "blank lines");
        assert_eq!(other("Total (8,16):"), "summary lines");
        assert_eq!(other("Throughput (R/W): 12KiB/s / 7KiB/s"), "summary lines");
        assert_eq!(other("Skips: 0 forward (0 -   0.0%)"), "summary lines");
        assert!(parser.line("8,16 3 41 1.0 4021 D R 8 + 16 [x]").is_ok());
        assert!(parser.line("Skips: 0").is_err());
    }

    #[test]
    fn says_what_is_wrong() {
        let whole_line = "major,minor cpu sequence time pid action RWBS sector + count [process]";
        for (line, found, expected) in [
            ("8,16 3 41 1.5 4021", "only `8,16 3 41 1.5 4021`", whole_line),
            ("8,16 3 41 1.5 4021 D", "only `8,16 3 41 1.5 4021 D`", whole_line),
            ("8,16 3 41 1.5 4021 D W", "only `8,16 3 41 1.5 4021 D W`", whole_line),
            ("8,16 3 41 1.5 4021 D W 8 +", "only `8,16 3 41 1.5 4021 D W 8 +`", whole_line),
            ("8,16 3 41 1.5 4021 Y W 8 + 8 [x]", "action `Y`", "Q, D, C or another action"),
            (
                "8,16 3 41 1.5 4021 D Y 8 + 8 [x]",
                "RWBS `Y`",
                "R, W, D, N or F, with flags F, A, S, M",
            ),
            (
                "8,16 3 41 1.5 4021 D WY 8 + 8 [x]",
                "RWBS `WY`",
                "R, W, D, N or F, with flags F, A, S, M",
            ),
            ("8,16 3 41 -1.5 4021 D W 8 + 8 [x]", "time `-1.5`", "a time in s such as 12.5"),
            (
                "8,16 3 41 99999999999 1 D W 8 + 8 [x]",
                "time `99999999999`",
                "a time in s below 2^63 ns",
            ),
            ("8,16 3 41 1.5 4021 D W -8 + 8 [x]", "`-8`", "the sector, a whole number"),
            ("8,16 3 41 1.5 4021 D W 8 + x [x]", "`x`", "the number of sectors, a whole number"),
            ("8,x 3 41 1.5 4021 D W 8 + 8 [x]", "`x`", "the minor number, a whole number"),
            (
                "4096,1 3 41 1.5 4021 D W 8 + 8 [x]",
                "device `4096,1`",
                "a device below 4096,1048576",
            ),
            (
                "8,16 3 41 1.5 4021 D W 36028797018963968 + 8 [x]",
                "sector 36028797018963968 with length 8",
                "a request that ends below 1 EiB; is this another format?",
            ),
            ("noise", "`noise`", "a line that begins with a device such as 8,16, or the summary"),
        ] {
            assert_eq!(read(Action::Issue, line), Err(Unexpected::new(found, expected)), "{line}");
        }
    }
}
