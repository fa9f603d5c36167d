//! Files as they lie on disk, turned into numbered lines of text.

mod unpack;
mod zstd;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::TraceError;
use unpack::Packing;

/// Longest line that is read; a trace has lines of 30 to 200 bytes.
const MAX_LINE: usize = 64 << 10;

/// A text file, unpacked as it is read: constant memory, whatever its length.
pub(crate) struct TextFile {
    name: String,
    packing: Packing,
    reader: BufReader<Hashing>,
    number: u64,
    line: Vec<u8>,
}

impl TextFile {
    /// Opens `path`; with `hash`, the sha256 of the unpacked content is known at the end.
    pub fn open(path: &Path, hash: bool) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| TraceError::open(path, &error))?;
        let meta = file.metadata().map_err(|error| TraceError::io(&name, "cannot be looked at", error))?;
        if meta.is_dir() {
            return Err(TraceError::file(&name, "is a folder, not a trace file"));
        }
        if !meta.is_file() {
            return Err(TraceError::file(
                &name,
                "is not a regular file; a trace is read more than once, so save it to a file first",
            ));
        }
        let (packing, reader) = unpack::open(file, &name)?;
        let hashing = Hashing { inner: reader, digest: hash.then(Sha256::new) };
        Ok(Self {
            name,
            packing,
            reader: BufReader::with_capacity(1 << 16, hashing),
            number: 0,
            line: Vec::new(),
        })
    }

    /// The next line without its end, or `None` after the last.
    pub fn next_line(&mut self) -> Result<Option<&str>, TraceError> {
        self.line.clear();
        let mut limited = (&mut self.reader).take(MAX_LINE as u64 + 1);
        if let Err(error) = limited.read_until(b'\n', &mut self.line) {
            let after = format!("after line {}", self.number);
            return Err(match self.packing {
                Packing::Plain => TraceError::io(&self.name, format!("cannot be read {after}"), error),
                packed => TraceError::file(
                    &self.name,
                    format!("its {packed} data are damaged or cut off {after}: {error}"),
                ),
            });
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if self.line.len() > MAX_LINE {
            return Err(self.not_text(format!("a line of more than {MAX_LINE} bytes")));
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        }
        if self.line.contains(&0) {
            return Err(self.not_text("a zero byte".to_owned()));
        }
        let bom = if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        match std::str::from_utf8(&self.line[bom..]) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                Err(self.not_text(format!("bytes that are not UTF-8 text (at byte {})", error.valid_up_to())))
            }
        }
    }

    fn not_text(&self, found: String) -> TraceError {
        TraceError::line(&self.name, self.number, found, "a text trace; is this a binary file?".to_owned())
    }

    /// Number of the line read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Path as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The sha256 of the unpacked content, in hexadecimal; meaningful once `next_line` has answered `None`.
    pub fn sha256(&self) -> String {
        self.reader.get_ref().digest.clone().map(|digest| hex(&digest.finalize())).unwrap_or_default()
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

/// Hashes what passes through.
struct Hashing {
    inner: Box<dyn Read + Send>,
    digest: Option<Sha256>,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(digest) = &mut self.digest {
            digest.update(&buffer[..count]);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const TEXT: &str = "one\r\n\ntwo\nthree";

    fn lines(content: &[u8]) -> Result<(Vec<String>, String), TraceError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let mut text = TextFile::open(file.path(), true)?;
        let mut all = Vec::new();
        while let Some(line) = text.next_line()? {
            all.push(line.to_owned());
        }
        Ok((all, text.sha256()))
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn plain_gzip_and_zstd_give_the_same_lines_and_hash() {
        let plain = lines(TEXT.as_bytes()).unwrap();
        assert_eq!(plain.0, ["one", "", "two", "three"]);
        assert_eq!(plain.1, hex(&Sha256::digest(TEXT)));
        assert_eq!(lines(&gzip(TEXT.as_bytes())).unwrap(), plain);
        assert_eq!(lines(&zstd(TEXT.as_bytes())).unwrap(), plain);
    }

    #[test]
    fn files_of_several_members_are_read_whole() {
        let (head, tail) = TEXT.as_bytes().split_at(6);
        let plain = lines(TEXT.as_bytes()).unwrap();
        assert_eq!(lines(&[gzip(head), gzip(tail)].concat()).unwrap(), plain);
        let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"xyz"].concat();
        assert_eq!(lines(&[zstd(head), skippable.clone(), zstd(tail)].concat()).unwrap(), plain);
        assert_eq!(lines(&[skippable, zstd(TEXT.as_bytes())].concat()).unwrap(), plain);
    }

    #[test]
    fn damage_is_reported() {
        let long = (0..20_000).map(|i| format!("{i} {}", i * 7919 % 1000)).collect::<Vec<_>>().join("\n");
        for packed in [gzip(long.as_bytes()), zstd(long.as_bytes())] {
            let error = lines(&packed[..packed.len() / 2]).unwrap_err();
            assert!(error.to_string().contains("damaged or cut off after line"), "{error}");
            let error = lines(&packed[..packed.len() - 2]).unwrap_err();
            assert!(error.to_string().contains("damaged or cut off after line"), "{error}");
            assert!(error.is_input());
        }
        let mut garbage = zstd(TEXT.as_bytes());
        garbage.extend_from_slice(b"garbage");
        assert!(lines(&garbage).unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn what_is_not_text_is_refused() {
        let error = lines(b"fine\nab\0cd\n").unwrap_err().to_string();
        assert!(error.contains(":2: found a zero byte, expected a text trace"), "{error}");
        let error = lines(b"ab\xff\n").unwrap_err().to_string();
        assert!(error.contains(":1: found bytes that are not UTF-8 text (at byte 2)"), "{error}");
        let error = lines(&vec![b'x'; MAX_LINE + 5]).unwrap_err().to_string();
        assert!(error.contains("a line of more than 65536 bytes"), "{error}");
        let error = lines(b"\xfd7zXZ\0rest").unwrap_err().to_string();
        assert!(error.contains("is packed with xz"), "{error}");
    }

    #[test]
    fn a_folder_is_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let error = TextFile::open(folder.path(), false).err().unwrap().to_string();
        assert!(error.contains("is a folder"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(lines(b"\xef\xbb\xbf1 2\n").unwrap().0, ["1 2"]);
    }
}
