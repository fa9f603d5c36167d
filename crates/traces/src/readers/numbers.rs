//! Numbers at their places in a binary record.

/// Order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// The bytes of a record; what lies at each place, its format says.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> Numbers<'a> {
    pub fn little(bytes: &'a [u8]) -> Self {
        Self { bytes, order: ByteOrder::Little }
    }

    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { bytes, order }
    }

    #[inline]
    pub fn u16(self, at: usize) -> u16 {
        let bytes = self.array(at);
        if self.order == ByteOrder::Little {
            u16::from_le_bytes(bytes)
        } else {
            u16::from_be_bytes(bytes)
        }
    }

    #[inline]
    pub fn u32(self, at: usize) -> u32 {
        let bytes = self.array(at);
        if self.order == ByteOrder::Little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        }
    }

    #[inline]
    pub fn u64(self, at: usize) -> u64 {
        let bytes = self.array(at);
        if self.order == ByteOrder::Little {
            u64::from_le_bytes(bytes)
        } else {
            u64::from_be_bytes(bytes)
        }
    }

    #[inline]
    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        *self.bytes[at..].first_chunk().expect("a field inside the record")
    }
}
