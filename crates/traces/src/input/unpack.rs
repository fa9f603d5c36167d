//! Compression, told by a file's first bytes.

use std::fmt;
use std::io::{BufRead, BufReader, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::zstd::ZstdFrames;
use crate::error::TraceError;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        })
    }
}

/// File name extensions of packings that are read.
pub(crate) const PACKED_EXTENSIONS: [&str; 4] = [".gz", ".zst", ".bz2", ".xz"];

/// First bytes of packings; a file of several members begins with that of its first.
const PACKINGS: &[(&[u8], Packing)] = &[
    (b"\x1f\x8b", Packing::Gzip),
    (b"\x28\xb5\x2f\xfd", Packing::Zstd),
    (b"BZh", Packing::Bzip2),
    (b"\xfd7zXZ\0", Packing::Xz),
];

/// Packings that are known and not read.
const OTHERS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"LZIP", "lzip"),
];

/// Memory for the window of an xz file, in KiB; `xz -9` takes 64 MiB, and no more is taken than the
/// content needs.
const XZ_MEMORY_KIB: u32 = 1 << 20;

/// The unpacked bytes of `packed`.
pub(super) fn open(
    packed: Box<dyn Read + Send>,
    name: &str,
) -> Result<(Packing, Box<dyn Read + Send>), TraceError> {
    let mut reader = BufReader::with_capacity(1 << 16, packed);
    let head = reader.fill_buf().map_err(|error| TraceError::io(name, "cannot be read", error))?;
    if let Some((_, other)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        let problem = format!(
            "is packed with {other}; gzip, zstd, bzip2 and xz are read as they are, so unpack it \
             first, or pack it with one of these"
        );
        return Err(TraceError::file(name, problem));
    }
    let packing = packing_of(head);
    Ok((
        packing,
        match packing {
            Packing::Plain => Box::new(reader),
            Packing::Gzip => Box::new(MultiGzDecoder::new(reader)),
            Packing::Zstd => Box::new(ZstdFrames::new(reader)),
            Packing::Bzip2 => Box::new(MultiBzDecoder::new(reader)),
            Packing::Xz => Box::new(XzReader::new_mem_limit(reader, true, XZ_MEMORY_KIB)),
        },
    ))
}

fn packing_of(head: &[u8]) -> Packing {
    // A zstd file may begin with frames that hold no data.
    if matches!(head, [first, 0x2a, 0x4d, 0x18, ..] if first & 0xf0 == 0x50) {
        return Packing::Zstd;
    }
    let known = PACKINGS.iter().find(|(magic, _)| head.starts_with(magic));
    known.map_or(Packing::Plain, |(_, packing)| *packing)
}
