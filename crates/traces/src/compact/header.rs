//! The header: magic, version, and where the requests come from.

use super::{CHECKSUM, VERSION, u32_at};

/// First bytes of a file: none of them survives a transfer that takes it for text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89EBT\r\n\x1a\n";

/// Bytes before the provenance: magic, version, length of the provenance.
pub(crate) const HEADER_HEAD: usize = 16;

/// Longest provenance that is believed.
pub(crate) const MAX_PROVENANCE: usize = 1 << 20;

/// A header with what `provenance` says; pairs that no longer find room are left out.
pub(super) fn encode(provenance: &[(String, String)]) -> Vec<u8> {
    let mut pairs = Vec::new();
    for (key, value) in provenance {
        if pairs.len() + key.len() + value.len() + 8 > MAX_PROVENANCE {
            break;
        }
        for text in [key, value] {
            pairs.extend_from_slice(&(text.len() as u32).to_le_bytes());
            pairs.extend_from_slice(text.as_bytes());
        }
    }
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&(pairs.len() as u32).to_le_bytes());
    header.extend_from_slice(&pairs);
    let checksum = crc32fast::hash(&header);
    header.extend_from_slice(&checksum.to_le_bytes());
    header
}

/// What a whole header says about where the requests come from; `None` where no writer makes such a
/// header.
pub(crate) fn provenance(header: &[u8]) -> Option<Vec<(String, String)>> {
    let mut rest = header.get(HEADER_HEAD..header.len().checked_sub(CHECKSUM)?)?;
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        let key = text(&mut rest)?;
        pairs.push((key, text(&mut rest)?));
    }
    Some(pairs)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let length = u32_at(rest, 0)? as usize;
    let (text, after) = rest[4..].split_at_checked(length)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}
