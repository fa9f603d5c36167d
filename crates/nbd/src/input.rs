//! Bytes that have come and have not been used.

/// A buffer that is filled at its end and used from its front.
#[derive(Debug, Default)]
pub struct Input {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

/// Room for many small requests at once.
const USUAL: usize = 256 << 10;

impl Input {
    /// What has come and has not been used.
    #[inline]
    pub fn unused(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// The first `count` bytes have been used.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.from += count;
        debug_assert!(self.from <= self.to);
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        }
    }

    /// Takes `count` bytes from the front.
    #[inline]
    pub fn take(&mut self, count: usize) -> &[u8] {
        let from = self.from;
        self.from += count;
        debug_assert!(self.from <= self.to);
        &self.bytes[from..from + count]
    }

    /// Room for more of the `wanted` bytes that come next, which need not fit at once: it grows
    /// with what has really come, so that nobody takes memory by announcing much. It is as large as
    /// usual again when a large payload has been used.
    pub fn space(&mut self, wanted: usize) -> &mut [u8] {
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        }
        let size = wanted.min(2 * (self.to - self.from)).max(USUAL);
        if self.from + size > self.bytes.len() || self.to == self.bytes.len() {
            self.bytes.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        let size = size.max(self.to + 1);
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        } else if self.bytes.len() > size && size == USUAL {
            self.bytes.truncate(size);
            self.bytes.shrink_to_fit();
        }
        &mut self.bytes[self.to..]
    }

    /// So many bytes have come into the room.
    pub fn filled(&mut self, count: usize) {
        self.to += count;
        assert!(self.to <= self.bytes.len(), "more has come than there was room for");
    }

    /// Bytes of memory.
    pub fn held(&self) -> usize {
        self.bytes.capacity()
    }
}
