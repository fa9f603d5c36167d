//! Which format a file is, with the evidence for it.

use std::path::Path;

use super::{FAMILIES, Format, Guess, Sample, formats};
use crate::error::TraceError;
use crate::input::TextFile;

/// Bytes of unpacked text that detection looks at.
const SAMPLE_BYTES: usize = 64 << 10;

/// A format and why the file is taken to be it.
#[derive(Debug)]
pub(crate) struct Detected {
    pub format: &'static Format,
    pub evidence: String,
}

/// Tells the format of the file at `path` from its first lines, and where these leave a choice, from its name.
pub(crate) fn detect(path: &Path) -> Result<Detected, TraceError> {
    let sample = sample(path)?;
    let file = path.display().to_string();
    if sample.filled().next().is_none() {
        return Err(TraceError::file(&file, "is empty; a trace holds at least one request"));
    }
    let named = format_of_name(path);
    let guess = FAMILIES.iter().find_map(|family| (family.recognise)(&sample));
    match (guess, named) {
        (Some(Guess::Settled { format, evidence }), None) => {
            Ok(Detected { format: by_name(format), evidence })
        }
        (Some(Guess::Settled { format, evidence }), Some((extension, named))) => {
            let settled = by_name(format);
            if named == settled {
                return Ok(Detected {
                    format: named,
                    evidence: format!("the file name ends in .{extension}; {evidence}"),
                });
            }
            // A name that points to another member of the same family wins over a convention.
            if same_family(named, settled) {
                return Ok(Detected { format: named, evidence: said_by_name(extension, named) });
            }
            let evidence = format!("{evidence} (although the file name ends in .{extension})");
            Ok(Detected { format: settled, evidence })
        }
        (Some(Guess::Open { formats, why }), named) => match named {
            Some((extension, named)) if formats.contains(&named.name) => {
                Ok(Detected { format: named, evidence: said_by_name(extension, named) })
            }
            _ => Err(TraceError::file(
                &file,
                format!(
                    "its lines fit several formats: {why}; name the right one as the format (--format): {}",
                    formats.join(", ")
                ),
            )),
        },
        (None, Some((extension, named))) => {
            Ok(Detected { format: named, evidence: said_by_name(extension, named) })
        }
        (None, None) => {
            let first = sample.filled().next().unwrap_or_default();
            let known: Vec<_> = formats().map(|format| format.name).collect();
            Err(TraceError::file(
                &file,
                format!(
                    "no known format fits its lines (the first is {}); name the format (--format) if it is one of {}",
                    super::quote(first),
                    known.join(", ")
                ),
            ))
        }
    }
}

fn said_by_name(extension: &str, format: &Format) -> String {
    format!("the file name ends in .{extension}, which says {}: {}", format.name, format.units)
}

fn same_family(a: &Format, b: &Format) -> bool {
    FAMILIES.iter().any(|family| family.formats.contains(a) && family.formats.contains(b))
}

fn by_name(name: &str) -> &'static Format {
    formats().find(|format| format.name == name).expect("recognisers name registered formats")
}

/// The format that the extension stands for, without the packing's.
fn format_of_name(path: &Path) -> Option<(&'static str, &'static Format)> {
    let name = path.file_name()?.to_str()?;
    let name = [".gz", ".zst"].iter().find_map(|packing| name.strip_suffix(packing)).unwrap_or(name);
    let (_, extension) = name.rsplit_once('.')?;
    formats().find_map(|format| {
        format
            .extensions
            .iter()
            .find(|known| known.eq_ignore_ascii_case(extension))
            .map(|known| (*known, format))
    })
}

fn sample(path: &Path) -> Result<Sample, TraceError> {
    let mut file = TextFile::open(path, false)?;
    let (mut lines, mut bytes) = (Vec::new(), 0);
    while bytes < SAMPLE_BYTES
        && let Some(line) = file.next_line()?
    {
        bytes += line.len() + 1;
        lines.push(line.to_owned());
    }
    Ok(Sample { lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(name: &str, content: &str) -> Result<Detected, TraceError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        detect(&path)
    }

    const WHOLE: &str = "0 0 8 16 1\n7000 0 24 16 0\n20000000 1 24 9 0\n";

    #[test]
    fn content_settles_it() {
        for (content, format) in [
            ("0,303567,3584,w,0.000000\n", "spc"),
            ("Notice\n\nstart ; sector; length ; op ; replay_delay=0\n 0.0 ; 1 ; 8 ; W\n", "blkreplay"),
            (WHOLE, "ssdsim"),
            ("0.0 0 8 16 1\n7.5 0 24 16 0\n", "disksim"),
            ("2020-08-06 02:07:23.080415 Ready thread_model=3\n", "nbdkit-log"),
        ] {
            let found = detected("trace", content).unwrap();
            assert_eq!(found.format.name, format, "{}", found.evidence);
            assert!(!found.evidence.is_empty());
        }
    }

    #[test]
    fn a_bad_line_does_not_hide_the_format() {
        let found = detected("trace", "0,1,512,w,0.0\nbroken\n0,1,512,r,0.1\n").unwrap();
        assert_eq!(found.format.name, "spc");
    }

    #[test]
    fn the_name_settles_what_lines_leave_open() {
        let found = detected("a.mqsim", WHOLE).unwrap();
        assert_eq!((found.format.name, found.evidence.contains(".mqsim")), ("mqsim", true));
        let found = detected("a.ascii-us", WHOLE).unwrap();
        assert_eq!(found.format.name, "ascii-us");
        let found = detected("a.ascii-ms-bytes", "0.0 0 1024 512 1\n7.5 0 0 512 0\n").unwrap();
        assert_eq!(found.format.name, "ascii-ms-bytes");
        let found = detected("a.spc", "zero\n").unwrap();
        assert_eq!(found.format.name, "spc");
        let found = detected("a.spc", WHOLE).unwrap();
        assert_eq!(found.format.name, "ssdsim");
        assert!(found.evidence.contains("although the file name ends in .spc"), "{}", found.evidence);
    }

    #[test]
    fn a_choice_left_open_is_an_error_that_names_it() {
        let error = detected("a.txt", "0.0 0 1024 512 1\n7.5 0 0 512 0\n").unwrap_err().to_string();
        assert!(error.contains("several formats") && error.contains("disksim, ascii-s"), "{error}");
        assert!(error.contains("ascii-ms-bytes"), "{error}");
    }

    #[test]
    fn nothing_known_is_an_error_that_lists_all() {
        let error = detected("a.txt", "timestamp,host\n1,2\n").unwrap_err().to_string();
        assert!(error.contains("no known format fits its lines (the first is `timestamp,host`)"), "{error}");
        assert!(error.contains("spc, blkreplay"), "{error}");
        let error = detected("a.load", " \n\n").unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
    }
}
