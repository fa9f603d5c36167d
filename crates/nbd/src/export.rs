//! What is exported.

use crate::wire::transmission as can;

/// The largest payload that no server should refuse.
const LEAST_PAYLOAD: u32 = 1 << 20;

/// Sizes that a client has to keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Offsets and lengths are multiples of this power of two.
    pub minimum: u32,
    /// Multiples of this are served best; a power of two from 512.
    pub preferred: u32,
    /// Bytes of a read or a write.
    pub most: u32,
}

/// A drive, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name; the empty name is it, too.
    pub name: String,
    /// What it is, in a sentence.
    pub description: String,
    /// Its bytes.
    pub size: u64,
    /// Nothing can be written.
    pub read_only: bool,
    /// Sizes of requests.
    pub sizes: Sizes,
}

impl Export {
    /// Longest name and description: the protocol's limit on strings.
    pub const LONGEST_TEXT: usize = 4096;

    /// Whether the export is one that can be announced.
    ///
    /// # Errors
    /// Says what about it is impossible.
    pub fn check(&self) -> Result<(), String> {
        let Sizes { minimum, preferred, most } = self.sizes;
        if !minimum.is_power_of_two() || minimum > 1 << 16 {
            return Err(format!("minimum block size {minimum}: not a power of two up to 65536"));
        }
        if !preferred.is_power_of_two() || preferred < minimum.max(512) {
            return Err(format!(
                "preferred block size {preferred}: not a power of two of at least 512 and {minimum}"
            ));
        }
        if most < LEAST_PAYLOAD.max(preferred) || !most.is_multiple_of(minimum) {
            return Err(format!(
                "largest payload {most}: less than {LEAST_PAYLOAD} or {preferred}"
            ));
        }
        if !self.size.is_multiple_of(u64::from(minimum)) || i64::try_from(self.size).is_err() {
            return Err(format!("size {}: not a multiple of {minimum} below 2^63", self.size));
        }
        if self.name.len() > Self::LONGEST_TEXT || self.description.len() > Self::LONGEST_TEXT {
            return Err(format!("its name or description has more than {} B", Self::LONGEST_TEXT));
        }
        Ok(())
    }

    /// Whether a client means this export.
    pub(crate) fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// What it can do. Reads in one piece are for clients that know pieces.
    pub(crate) fn flags(&self, pieces: bool) -> u16 {
        let mut flags = can::HAS_FLAGS | can::FLUSH | can::FUA | can::CACHE | can::MULTI_CONN;
        flags |= if self.read_only {
            can::READ_ONLY
        } else {
            can::TRIM | can::WRITE_ZEROES | can::FAST_ZERO
        };
        if pieces { flags | can::DF } else { flags }
    }
}
