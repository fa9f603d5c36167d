//! How an image was left. Byte by byte in docs/image-format.md.

use super::layout::{is_sealed, seal, u32_at, u64_at};
use super::record::MOST;

/// First bytes of the state.
const MAGIC: [u8; 8] = *b"EBSTATE1";
/// Bytes of the state: they lie in one sector of any disk.
pub const STATE_BYTES: usize = 64;

/// How an image was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// Its server ended as it should: everything is stored, and nothing was under way.
    pub clean: bool,
    /// Steps whose pages are known to be on the host's disk, over the whole life of the image.
    pub steps: u64,
    /// The drive's time in all, in ns.
    pub time_ns: u64,
    /// How often it has been opened.
    pub opened: u64,
}

impl State {
    /// The bytes of the area.
    pub fn encode(&self) -> [u8; STATE_BYTES] {
        let mut bytes = [0; STATE_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&u32::from(self.clean).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.steps.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.opened.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// `None` where it cannot be read.
    pub fn decode(bytes: &[u8; STATE_BYTES]) -> Option<Self> {
        let state = Self {
            clean: u32_at(bytes, 8) == 1,
            steps: u64_at(bytes, 16),
            time_ns: u64_at(bytes, 24),
            opened: u64_at(bytes, 32),
        };
        let counted = state.steps.max(state.time_ns).max(state.opened) < MOST;
        (bytes[..8] == MAGIC && is_sealed(bytes) && counted).then_some(state)
    }
}
