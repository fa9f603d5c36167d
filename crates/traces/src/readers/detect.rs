//! Which format a file is, with the evidence for it.

use std::path::Path;

use super::{FAMILIES, Format, Guess, Sample, formats};
use crate::error::TraceError;
use crate::input::{ByteFile, PACKED_EXTENSIONS};

/// A format and why the file is taken to be it.
#[derive(Debug)]
pub(crate) struct Detected {
    pub format: &'static Format,
    pub evidence: String,
}

/// Tells the format of the file at `path` from its first bytes, and where these leave a choice,
/// from its name.
pub(crate) fn detect(path: &Path) -> Result<Detected, TraceError> {
    detect_in(&mut ByteFile::open(path, false)?, format_of_name(path))
}

/// The same for a file at its beginning; `named` is the extension of its name, and the format that
/// it stands for.
pub(crate) fn detect_in(
    file: &mut ByteFile,
    named: Option<(&'static str, &'static Format)>,
) -> Result<Detected, TraceError> {
    let sample = Sample::read(file)?;
    let file = file.name();
    if sample.is_empty() {
        return Err(TraceError::file(file, "is empty; a trace holds at least one request"));
    }
    let guess =
        one_guess(FAMILIES.iter().filter_map(|family| (family.recognise)(&sample)).collect());
    if guess.is_none()
        && let Some(problem) = sample.wrapping()
    {
        return Err(TraceError::file(file, problem));
    }
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
                file,
                format!(
                    "its content fits several formats: {why}; name the right one as the format \
                     (--format): {}",
                    formats.join(", ")
                ),
            )),
        },
        (None, Some((extension, named))) => {
            Ok(Detected { format: named, evidence: said_by_name(extension, named) })
        }
        (None, None) if Path::new(file).extension().is_some_and(|one| one == "toml") => {
            Err(TraceError::file(
                file,
                format!("is no trace; an experiment is run by `eraseblock run {file}`"),
            ))
        }
        (None, None) => {
            let known: Vec<_> = formats().map(|format| format.name).collect();
            Err(TraceError::file(
                file,
                format!(
                    "no known format fits {}; name the format (--format) if it is one of {}",
                    sample.beginning(),
                    known.join(", ")
                ),
            ))
        }
    }
}

/// What all families say together: where more than one knows the lines, that is an open question
/// too.
fn one_guess(mut guesses: Vec<Guess>) -> Option<Guess> {
    if guesses.len() < 2 {
        return guesses.pop();
    }
    let mut all = Vec::new();
    let reasons: Vec<_> = guesses
        .into_iter()
        .map(|guess| match guess {
            Guess::Settled { format, evidence } => {
                all.push(format);
                format!("{format} ({evidence})")
            }
            Guess::Open { formats, why } => {
                let reason = format!("{} ({why})", formats.join(" or "));
                all.extend(formats);
                reason
            }
        })
        .collect();
    Some(Guess::Open {
        formats: all,
        why: format!("they look like {}", reasons.join(", and like ")),
    })
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
    let name =
        PACKED_EXTENSIONS.iter().find_map(|packing| name.strip_suffix(packing)).unwrap_or(name);
    let (_, extension) = name.rsplit_once('.')?;
    formats().find_map(|format| {
        format
            .extensions
            .iter()
            .find(|known| known.eq_ignore_ascii_case(extension))
            .map(|known| (*known, format))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(name: &str, content: impl AsRef<[u8]>) -> Result<Detected, TraceError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        detect(&path)
    }

    const WHOLE: &str = "0 0 8 16 1\n7000 0 24 16 0\n20000000 1 24 9 0\n";

    #[test]
    fn wrappings_are_named_with_what_to_do() {
        let utf16 =
            [0xff_u8, 0xfe].into_iter().chain("0,8,512,w,0.5\n".bytes().flat_map(|byte| [byte, 0]));
        let mut tar = vec![0; 1024];
        tar[..5].copy_from_slice(b"a.spc");
        tar[257..262].copy_from_slice(b"ustar");
        for (content, said) in [(utf16.collect(), "is UTF-16 text"), (tar, "is a tar archive")] {
            for name in ["trace", "trace.spc"] {
                let error = detected(name, &content).unwrap_err().to_string();
                assert!(error.contains(said), "{error}");
            }
        }
    }

    #[test]
    fn content_settles_it() {
        for (content, format) in [
            ("0,303567,3584,w,0.000000\n", "spc"),
            (
                "Notice\n\nstart ; sector; length ; op ; replay_delay=0\n 0.0 ; 1 ; 8 ; W\n",
                "blkreplay",
            ),
            (WHOLE, "ssdsim"),
            ("0.0 0 8 16 1\n7.5 0 24 16 0\n", "disksim"),
            ("2020-08-06 02:07:23.080415 Ready thread_model=3\n", "nbdkit-log"),
        ] {
            let found = detected("trace", content).unwrap();
            assert_eq!(found.format.name, format, "{}", found.evidence);
            assert!(!found.evidence.is_empty());
        }
    }

    /// A few lines of each format, without header and with, as files of these formats begin. The
    /// units of time of the blank-separated family differ by convention; here are lines whose rate
    /// shows that the convention does not hold.
    const SAMPLES: &[(&str, &str)] = &[
        ("spc", "3,83712,4096,W,0.011413\n0,83720,8192,r,0.026214\n"),
        ("spc", "0,1,512,r,0.5,7,extra\n1,2,1024,W,0.7,7,extra\n"),
        (
            "msr",
            "128166372000000017,web,2,Read,7014609920,24576,41286\n128166372000000042,web,2,Write,0,512,9\n",
        ),
        (
            "msr",
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n5,usr,0,Write,8192,4096,77\n",
        ),
        (
            "msr",
            "0 128166372000000017,hm,0,Read,512,512,9\n1 128166372000000042,hm,1,Write,0,512,9\n",
        ),
        (
            "systor",
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456135201.250317000,0.000812,R,3,8192,4096\n",
        ),
        ("systor", "1456135201.250317000,0.000812,R,3,8192,4096\n1456135201.3,,,3,8192,4096\n"),
        ("alibaba", "81,W,64424509440,16384,1577808000000317\n0,R,0,512,1577808000000320\n"),
        ("tencent", "1538323207,2048,16,0,1283\n1538323207,8,1,1,1283\n"),
        ("cloudphysics", "version,time,op,size,lbn\n1,731,28,65536,2048\n"),
        ("cloudphysics", "1,731,2a,512,2048\n1,731,28,512,8\n1,731,28,512,1\n"),
        ("blkreplay", "Notice\n\nstart ; sector; length ; op ; replay_delay=0\n 0.0 ; 1 ; 8 ; W\n"),
        ("blkreplay", "0.5 ; 8 ; 8 ; R ; 0.0 ; 0.0\n"),
        (
            "blkparse",
            "  8,16   0        4     0.000017985  5314  D   R 2048 + 256 [java]\n  8,0 1 2 0.5 1 P \
             N [x]\n",
        ),
        (
            "blkparse",
            "  8,16   1  1  0.000000001  0  m   N cfq5314S / alloced\n  8,16 1 2 0.1 3 Q WS 8 + 8 \
             [x]\n",
        ),
        ("fiu", "71000000000019 313 cron 2048 8 R 6 3 0123456789abcdef0123456789abcdef\n"),
        ("fiu", "71000000000019 313 a b 2048 8 W 6 3\n71000000000020 313 c 2048 8 R 6 3\n"),
        (
            "diskmon",
            "0\t0.011413\t0.00036621\t0\tWrite\t3478976\t16\n1\t0.026214\t0.00012207\t0\tRead\t8\t8\n",
        ),
        ("diskmon", "0\t11:59:59 PM\t0,00036621\t0\tWrite\t3.478.976\t16\n"),
        (
            "etw",
            "BeginHeader\n DiskRead, TimeStamp, ByteOffset, IOSize, DiskNum\nEndHeader\nDiskRead, \
             5, 0x0, 0x200, 0\n",
        ),
        (
            "etw",
            "   DiskRead,       5417, mail.exe (1204), 992, 0xfffffa80, 0x00c8000000, 0x00002000, \
             1834, 2, 0x060043\n",
        ),
        ("fio", "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 0 4096\n"),
        ("fio", "fio version 3 iolog\n0 /dev/sdb add\n1 /dev/sdb open\n2 /dev/sdb read 0 4096\n"),
        (
            "nbdkit-log",
            "2020-08-06 02:07:23.080415 connection=1 Read id=1 offset=0x0 count=0x1000 ...\n",
        ),
        ("disksim", "0.0 0 8 16 1\n7.5 0 24 16 0\n"),
        ("disksim", "0 0 8 16 81\n7 0 24 16 0\n"),
        ("ssdsim", WHOLE),
        ("heimdall", "0.000 0 3242508288 4096 0\n22.810 0 2205343744 4096 1\n"),
        ("mqsim-ps", "5000 0 8 16 1\n6000 0 24 16 0\n"),
        ("ascii-us", "5 0 8 16 1\n1005 0 24 16 0\n"),
        ("ascii-ms", "5 0 8 16 1\n9 0 24 16 0\n"),
        ("ascii-s", "5 0 8 16 1\n7 0 24 16 0\n"),
        ("ascii-s", "0.000001 0 8 16 1\n0.000002 0 24 16 0\n"),
    ];

    #[test]
    fn no_format_is_taken_for_another() {
        for (format, content) in SAMPLES {
            match detected("trace", content) {
                Ok(found) => {
                    assert_eq!(found.format.name, *format, "{content}{}", found.evidence);
                    assert!(!found.evidence.is_empty());
                }
                Err(error) => {
                    let error = error.to_string();
                    let (_, asked) = error.split_once("(--format): ").expect(&error);
                    assert!(asked.split(", ").any(|name| name == *format), "{content}{error}");
                }
            }
        }
    }

    #[test]
    fn samples_are_taken_for_their_family() {
        for format in formats() {
            for count in [1, 5000] {
                match detected("trace", format.sample(count)) {
                    Ok(found) => {
                        assert!(
                            same_family(found.format, format),
                            "{}: {}",
                            format.name,
                            found.evidence
                        );
                    }
                    Err(error) => {
                        let error = error.to_string();
                        let (_, asked) = error.split_once("(--format): ").expect(&error);
                        assert!(
                            asked.split(", ").all(|name| same_family(by_name(name), format)),
                            "{error}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn only_what_lines_leave_open_is_asked() {
        let asked: Vec<_> = SAMPLES
            .iter()
            .filter(|(_, content)| detected("trace", content).is_err())
            .map(|(format, _)| *format)
            .collect();
        assert_eq!(asked, ["heimdall", "mqsim-ps", "ascii-us", "ascii-ms", "ascii-s", "ascii-s"]);
    }

    #[test]
    fn lines_that_two_families_know_are_asked_about() {
        let settled =
            |format, evidence: &str| Guess::Settled { format, evidence: evidence.to_owned() };
        let both = one_guess(vec![settled("spc", "a"), settled("msr", "b")]);
        let Some(Guess::Open { formats, why }) = both else { panic!("not open") };
        assert_eq!(
            (formats, why.as_str()),
            (vec!["spc", "msr"], "they look like spc (a), and like msr (b)")
        );
        assert!(one_guess(Vec::new()).is_none());
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
        for name in ["a.ascii-ms-bytes", "a.heimdall"] {
            let found = detected(name, "0.0 0 1024 512 1\n7.5 0 0 512 0\n").unwrap();
            assert_eq!(found.format.name, "heimdall");
        }
        let found = detected("a.spc", "zero\n").unwrap();
        assert_eq!(found.format.name, "spc");
        let found = detected("a.spc", WHOLE).unwrap();
        assert_eq!(found.format.name, "ssdsim");
        assert!(
            found.evidence.contains("although the file name ends in .spc"),
            "{}",
            found.evidence
        );
    }

    #[test]
    fn a_choice_left_open_is_an_error_that_names_it() {
        let error = detected("a.txt", "0.0 0 1024 512 1\n7.5 0 0 512 0\n").unwrap_err().to_string();
        assert!(
            error.contains("several formats") && error.contains("disksim, heimdall, ascii-s"),
            "{error}"
        );
    }

    #[test]
    fn nothing_known_is_an_error_that_lists_all() {
        let error = detected("a.txt", "timestamp,host\n1,2\n").unwrap_err().to_string();
        assert!(
            error.contains("no known format fits its lines (the first is `timestamp,host`)"),
            "{error}"
        );
        assert!(error.contains("spc, msr"), "{error}");
        let error = detected("a.toml", "preset = \"x\"\n").unwrap_err().to_string();
        assert!(error.contains("is no trace; an experiment is run by"), "{error}");
        let error = detected("a.load", " \n\n").unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
    }
}
