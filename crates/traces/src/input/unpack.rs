//! Compression, told by a file's first bytes.

use std::fmt;
use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::zstd::ZstdFrames;
use crate::error::TraceError;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Packings that are known and not read.
const OTHERS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"\x04\x22\x4d\x18", "lz4"),
];

/// The unpacked bytes of `packed`.
pub(super) fn open(
    packed: Box<dyn Read + Send>,
    name: &str,
) -> Result<(Packing, Box<dyn Read + Send>), TraceError> {
    let mut reader = BufReader::with_capacity(1 << 16, packed);
    let head = reader.fill_buf().map_err(|error| TraceError::io(name, "cannot be read", error))?;
    if let Some((_, other)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        let problem =
            format!("is packed with {other}; gzip and zstd are read as they are, so unpack it first");
        return Err(TraceError::file(name, problem));
    }
    Ok(if head.starts_with(b"\x1f\x8b") {
        (Packing::Gzip, Box::new(MultiGzDecoder::new(reader)))
    } else if head.starts_with(b"\x28\xb5\x2f\xfd") || is_skippable_frame(head) {
        (Packing::Zstd, Box::new(ZstdFrames::new(reader)))
    } else {
        (Packing::Plain, Box::new(reader))
    })
}

/// A zstd file may begin with frames that hold no data.
fn is_skippable_frame(head: &[u8]) -> bool {
    matches!(head, [first, 0x2a, 0x4d, 0x18, ..] if first & 0xf0 == 0x50)
}
