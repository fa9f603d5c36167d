//! Files as they lie on disk, turned into numbered lines of text or numbered binary records.

mod bytes;
mod digest;
mod records;
mod text;
mod unpack;
mod zstd;

pub(crate) use bytes::ByteFile;
pub(crate) use digest::hex;
pub(crate) use records::RecordFile;
pub(crate) use text::TextFile;
pub(crate) use unpack::PACKED_EXTENSIONS;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::TraceError;

/// The content of a file, unpacked if it is packed.
///
/// # Errors
/// The file cannot be opened, or is packed in a way that is not read.
pub fn unpacked(path: &Path) -> Result<Box<dyn Read + Send>, TraceError> {
    let file = File::open(path).map_err(|error| TraceError::open(path, &error))?;
    unpack::open(Box::new(file), &path.display().to_string()).map(|(_, content)| content)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use bzip2::write::BzEncoder;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use lzma_rust2::{XzOptions, XzWriter};
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::error::Fault;

    const TEXT: &str = "one\r\n\ntwo\nthree";

    fn lines(content: &[u8]) -> Result<(Vec<String>, String), TraceError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let mut text = TextFile::new(ByteFile::open(file.path(), true)?);
        let mut all = Vec::new();
        loop {
            match text.next_line() {
                Ok(Some(line)) => all.push(line.to_owned()),
                Ok(None) => return Ok((all, text.bytes_mut().sha256())),
                Err(Fault::File(error)) => return Err(error),
                Err(Fault::Bad(unexpected) | Fault::Lost(unexpected)) => {
                    return Err(text.bad_line(unexpected));
                }
            }
        }
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(text: &[u8]) -> Vec<u8> {
        let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    type Pack = fn(&[u8]) -> Vec<u8>;
    const PACKERS: [Pack; 4] = [gzip, zstd, bzip2, xz];

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn every_packing_gives_the_same_lines_and_hash() {
        let plain = lines(TEXT.as_bytes()).unwrap();
        assert_eq!(plain.0, ["one", "", "two", "three"]);
        assert_eq!(plain.1, hex(&Sha256::digest(TEXT)));
        for pack in PACKERS {
            assert_eq!(lines(&pack(TEXT.as_bytes())).unwrap(), plain);
        }
    }

    #[test]
    fn files_of_several_members_are_read_whole() {
        let (head, tail) = TEXT.as_bytes().split_at(6);
        let plain = lines(TEXT.as_bytes()).unwrap();
        for pack in PACKERS {
            assert_eq!(lines(&[pack(head), pack(tail)].concat()).unwrap(), plain);
        }
        let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"xyz"].concat();
        assert_eq!(lines(&[zstd(head), skippable.clone(), zstd(tail)].concat()).unwrap(), plain);
        assert_eq!(lines(&[skippable, zstd(TEXT.as_bytes())].concat()).unwrap(), plain);
    }

    #[test]
    fn damage_is_reported() {
        let long =
            (0..20_000).map(|i| format!("{i} {}", i * 7919 % 1000)).collect::<Vec<_>>().join("\n");
        for pack in PACKERS {
            let packed = pack(long.as_bytes());
            let mut flipped = packed.clone();
            flipped[packed.len() / 2] ^= 0x10;
            for damaged in [&packed[..packed.len() / 2], &packed[..packed.len() - 2], &flipped] {
                let error = lines(damaged).unwrap_err();
                assert!(error.to_string().contains("damaged or cut off after line"), "{error}");
                assert!(error.is_input());
            }
            let error = lines(&[packed, b"garbage".to_vec()].concat()).unwrap_err();
            assert!(error.to_string().contains("damaged or cut off after line"), "{error}");
        }
    }

    /// No decoder's own words for it: `Debug` forms and names of its types tell nobody anything.
    #[test]
    fn what_is_wrong_with_packed_data_is_told_in_words() {
        let long =
            (0..20_000).map(|i| format!("{i} {}", i * 7919 % 1000)).collect::<Vec<_>>().join("\n");
        for pack in PACKERS {
            let packed = pack(long.as_bytes());
            for end in
                [7, 9, 14, packed.len() / 3, packed.len() / 2, packed.len() - 5, packed.len() - 2]
            {
                let error = lines(&packed[..end]).unwrap_err().to_string();
                assert!(error.ends_with(": the file ends in the middle of them"), "{end}: {error}");
            }
            for place in (6..packed.len()).step_by(packed.len() / 29) {
                let mut flipped = packed.clone();
                flipped[place] ^= 0x11;
                let Err(error) = lines(&flipped) else { continue };
                let error = error.to_string();
                assert!(
                    !error.contains("Error") && !error.contains(['{', '(']),
                    "{place}: {error}"
                );
            }
        }
        let garbage = lines(&[zstd(b"1\n"), b"garbage".to_vec()].concat()).unwrap_err().to_string();
        assert!(garbage.contains("after line 1: what stands there is no zstd frame"), "{garbage}");
    }

    #[test]
    fn an_xz_file_does_not_take_all_memory() {
        // The block's header follows the stream's: its length, flags, a filter and the size of its
        // window, a checksum.
        let mut packed = xz(b"1\n");
        let (header, checksum) = (12, 12 + 4 * usize::from(packed[12]));
        packed[header + 4] = 40;
        let sum = crc32fast::hash(&packed[header..checksum]);
        packed[checksum..checksum + 4].copy_from_slice(&sum.to_le_bytes());
        let error = lines(&packed).unwrap_err().to_string();
        assert!(error.contains("too big for mem_limit"), "{error}");
    }

    #[test]
    fn what_is_not_text_is_refused() {
        let error = lines(b"fine\nab\0cd\n").unwrap_err().to_string();
        assert!(error.contains(":2: found a zero byte, expected a text trace"), "{error}");
        let error = lines(b"ab\xff\n").unwrap_err().to_string();
        assert!(error.contains(":1: found bytes that are not UTF-8 text (at byte 2)"), "{error}");
        let error = lines(&vec![b'x'; 70_000]).unwrap_err().to_string();
        assert!(error.contains("a line of more than 65536 bytes"), "{error}");
        let error = lines(b"PK\x03\x04rest").unwrap_err().to_string();
        assert!(
            error.contains("is packed with zip; gzip, zstd, bzip2 and xz are read as they are"),
            "{error}"
        );
    }

    #[test]
    fn a_folder_is_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let error = ByteFile::open(folder.path(), false).err().unwrap().to_string();
        assert!(error.contains("is a folder"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_named_pipe_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(ByteFile::open(&path, false).err().unwrap().to_string()));
        let error = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(error.contains("is not a regular file"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(lines(b"\xef\xbb\xbf1 2\n").unwrap().0, ["1 2"]);
    }
}
