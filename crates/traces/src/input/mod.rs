//! Files as they lie on disk, turned into numbered lines of text or numbered binary records.

mod bytes;
mod records;
mod text;
mod unpack;
mod zstd;

pub(crate) use bytes::{ByteFile, hex};
pub(crate) use records::RecordFile;
pub(crate) use text::TextFile;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::error::{Fault, TraceError};

    const TEXT: &str = "one\r\n\ntwo\nthree";

    fn lines(content: &[u8]) -> Result<(Vec<String>, String), TraceError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let mut text = TextFile::new(ByteFile::open(file.path(), true)?);
        let mut all = Vec::new();
        loop {
            match text.next_line() {
                Ok(Some(line)) => all.push(line.to_owned()),
                Ok(None) => return Ok((all, text.bytes().sha256())),
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
        let error = lines(&vec![b'x'; 70_000]).unwrap_err().to_string();
        assert!(error.contains("a line of more than 65536 bytes"), "{error}");
        let error = lines(b"\xfd7zXZ\0rest").unwrap_err().to_string();
        assert!(error.contains("is packed with xz"), "{error}");
    }

    #[test]
    fn a_folder_is_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let error = ByteFile::open(folder.path(), false).err().unwrap().to_string();
        assert!(error.contains("is a folder"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(lines(b"\xef\xbb\xbf1 2\n").unwrap().0, ["1 2"]);
    }
}
