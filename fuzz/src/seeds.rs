//! Files to begin with: samples of the formats, as they are and packed; what clients say.

use std::io::{self, Write as _};
use std::path::Path;

use eraseblock_nbd::fuzzing::{BEGINNINGS, WITH_TLS};
use eraseblock_traces::{Format, formats};

/// Writes seeds into `folder`: of one format, or, packed in every way, of all.
pub fn write(folder: &Path, format: Option<&'static Format>) -> io::Result<()> {
    let put = |name: String, content: &[u8]| std::fs::write(folder.join(name), content);
    for format in formats().filter(|known| format.is_none_or(|wanted| wanted == *known)) {
        for count in [1, 3, 40] {
            put(format!("{}-{count}", format.name), &format.sample(count))?;
        }
    }
    if format.is_none() {
        let text = "0,303567,3584,w,0.000000\n".repeat(50);
        for (name, packed) in [
            ("gzip", gzip(text.as_bytes())?),
            ("bzip2", bzip2(text.as_bytes())?),
            ("xz", xz(text.as_bytes())?),
            ("zstd", zstd(text.as_bytes())),
        ] {
            put(name.to_owned(), &packed)?;
            put(format!("{name}-twice"), &[packed.clone(), packed].concat())?;
        }
    }
    Ok(())
}

/// Writes whole conversations: one in each style, in the clear and with TLS, with a request of each
/// kind.
pub fn write_conversations(folder: &Path) -> io::Result<()> {
    for (style, beginning) in BEGINNINGS.iter().enumerate() {
        let extended = style % WITH_TLS == 3;
        let nothing_said = style / WITH_TLS * WITH_TLS;
        let mut bytes = [&[nothing_said as u8, 9][..], beginning].concat();
        for command in 0..8 {
            let magic: u32 = if extended { 0x21e4_1c71 } else { 0x2560_9513 };
            bytes.extend(magic.to_be_bytes());
            bytes.extend([0, if extended && command == 1 { 0x20 } else { 0 }, 0, command]);
            bytes.extend([command; 8]);
            bytes.extend(4096u64.to_be_bytes());
            bytes.extend(if extended { &[0; 4][..] } else { &[] });
            bytes.extend(512u32.to_be_bytes());
            bytes.extend(if command == 1 { &[3; 512][..] } else { &[] });
        }
        std::fs::write(folder.join(format!("conversation-{style}")), bytes)?;
    }
    Ok(())
}

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

fn bzip2(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

fn xz(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1))?;
    encoder.write_all(text)?;
    encoder.finish()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}
