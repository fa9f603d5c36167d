//! The bytes of pages that are not stored yet: what the host wrote and is in the drive's buffer or
//! on its way to flash.
//!
//! A page has a newest version, and older ones that have left the buffer and are still being
//! programmed. They are kept until their own or a newer version is stored; one that was replaced in
//! the buffer before it left it is forgotten at the end of the request that replaced it, since that
//! request may still push it out.

use hashbrown::HashMap;

use eraseblock_core::support::ids::Lpn;

/// Pages in a piece of memory.
const PIECE: usize = 256;
/// Slices of the drive, as clients see it, of which it is counted how many pages are in RAM.
const SLICES: u32 = 256;

/// How many bytes of a page have to be written, and their checksum: none where all are zero.
pub type Sum = (u32, u32);

/// Where the bytes of a version are, until the next change.
#[derive(Debug, Clone, Copy)]
pub struct Slot(u32);

#[derive(Debug, Clone, Copy)]
struct Kept {
    version: u32,
    slot: u32,
    /// It has left the buffer: a program is going to need it.
    left: bool,
}

#[derive(Debug)]
struct Page {
    newest: Kept,
    before: Option<Kept>,
}

/// Pages in RAM.
#[derive(Debug)]
pub struct Ram {
    page_bytes: usize,
    pieces: Vec<Box<[u8]>>,
    /// Of the bytes of each slot: worked out while they are in the processor's cache.
    sums: Vec<Sum>,
    free: Vec<u32>,
    pages: HashMap<Lpn, Page>,
    /// More versions than two of a page, rarely.
    older: HashMap<Lpn, Vec<Kept>>,
    /// Logical pages of a slice.
    per_slice: u32,
    by_slice: Vec<u32>,
}

impl Ram {
    pub fn new(page_bytes: usize, logical_pages: u32) -> Self {
        let (pages, older) = (HashMap::new(), HashMap::new());
        let per_slice = logical_pages.div_ceil(SLICES).max(1);
        let by_slice = vec![0; logical_pages.div_ceil(per_slice) as usize];
        let (pieces, sums, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { page_bytes, pieces, sums, free, pages, older, per_slice, by_slice }
    }

    /// Logical pages of which the newest bytes are not stored.
    pub fn logical_pages(&self) -> usize {
        self.pages.len()
    }

    /// How many of them lie in each of at most 256 equal slices of the drive.
    pub fn by_slice(&self) -> &[u32] {
        &self.by_slice
    }

    /// Pages held.
    pub fn len(&self) -> usize {
        self.pieces.len() * PIECE - self.free.len()
    }

    /// The bytes that are kept there.
    #[inline]
    pub fn bytes(&self, Slot(slot): Slot) -> &[u8] {
        let at = slot as usize % PIECE * self.page_bytes;
        &self.pieces[slot as usize / PIECE][at..at + self.page_bytes]
    }

    /// What of them has to be written.
    #[inline]
    pub fn sum(&self, Slot(slot): Slot) -> Sum {
        self.sums[slot as usize]
    }

    fn take(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let first = (self.pieces.len() * PIECE) as u32;
        self.pieces.push(vec![0; PIECE * self.page_bytes].into_boxed_slice());
        self.sums.resize(self.pieces.len() * PIECE, (0, 0));
        self.free.extend((first + 1..first + PIECE as u32).rev());
        first
    }

    /// The host writes a page: its bytes are kept as this version. Whether it replaces another one.
    #[inline]
    pub fn write(&mut self, lpn: Lpn, version: u32, bytes: &[u8]) -> bool {
        let slot = self.take();
        let newest = Kept { version, slot, left: false };
        let mut replaces = false;
        match self.pages.get_mut(&lpn) {
            None => {
                self.pages.insert(lpn, Page { newest, before: None });
                self.by_slice[(lpn.0 / self.per_slice) as usize] += 1;
            }
            Some(page) => {
                replaces = true;
                let former = std::mem::replace(&mut page.newest, newest);
                if let Some(older) = page.before.replace(former) {
                    self.older.entry(lpn).or_default().push(older);
                }
            }
        }
        let at = slot as usize % PIECE * self.page_bytes;
        self.pieces[slot as usize / PIECE][at..at + self.page_bytes].copy_from_slice(bytes);
        let is_zero = bytes.iter().all(|&byte| byte == 0);
        let length = if is_zero { 0 } else { self.page_bytes as u32 };
        self.sums[slot as usize] = (length, crc32fast::hash(&bytes[..length as usize]));
        replaces
    }

    /// This version leaves the buffer.
    #[inline]
    pub fn leaves(&mut self, lpn: Lpn, version: u32) {
        let Some(page) = self.pages.get_mut(&lpn) else { return };
        let two = [Some(&mut page.newest), page.before.as_mut()].into_iter().flatten();
        let more = self.older.get_mut(&lpn).into_iter().flatten();
        for kept in two.chain(more).filter(|kept| kept.version == version) {
            kept.left = true;
        }
    }

    /// The request that wrote or trimmed a page is on its way: what it replaced in the buffer can
    /// be forgotten.
    #[inline]
    pub fn settle(&mut self, lpn: Lpn) {
        let Some(page) = self.pages.get_mut(&lpn) else { return };
        if let Some(before) = page.before.take_if(|before| !before.left) {
            self.free.push(before.slot);
        }
    }

    /// The host trims a page.
    pub fn trim(&mut self, lpn: Lpn) {
        let Some(page) = self.pages.get(&lpn) else { return };
        if !page.newest.left {
            // What is left of it is only being programmed.
            let page = self.pages.remove(&lpn);
            let Some(Page { newest, before }) = page else { return };
            self.free.push(newest.slot);
            let next = before.or_else(|| self.older.get_mut(&lpn).and_then(Vec::pop));
            match next {
                Some(newest) => _ = self.pages.insert(lpn, Page { newest, before: None }),
                None => self.by_slice[(lpn.0 / self.per_slice) as usize] -= 1,
            }
        }
    }

    /// This version, or a newer one, is stored.
    #[inline]
    pub fn stored(&mut self, lpn: Lpn, version: u32) {
        let Some(page) = self.pages.get_mut(&lpn) else { return };
        if let Some(before) = page.before.take_if(|before| before.version <= version) {
            self.free.push(before.slot);
        }
        let is_gone = page.newest.version <= version;
        if is_gone {
            self.free.push(page.newest.slot);
            if let Some(before) = page.before.take() {
                self.free.push(before.slot);
            }
            self.pages.remove(&lpn);
            self.by_slice[(lpn.0 / self.per_slice) as usize] -= 1;
        }
        if !self.older.is_empty()
            && let Some(older) = self.older.get_mut(&lpn)
        {
            let free = &mut self.free;
            older.retain(|kept| {
                let stays = kept.version > version && !is_gone;
                if !stays {
                    free.push(kept.slot);
                }
                stays
            });
            if older.is_empty() {
                self.older.remove(&lpn);
            }
        }
    }

    /// The newest bytes of a page, if they are not older than `version`.
    #[inline]
    pub fn newest(&self, lpn: Lpn, version: u32) -> Option<&[u8]> {
        let page = self.pages.get(&lpn)?;
        (page.newest.version >= version).then(|| self.bytes(Slot(page.newest.slot)))
    }

    /// Where the bytes of a version of a page are.
    #[inline]
    pub fn get(&self, lpn: Lpn, version: u32) -> Option<Slot> {
        let page = self.pages.get(&lpn)?;
        let two = [Some(&page.newest), page.before.as_ref()].into_iter().flatten();
        let more = self.older.get(&lpn).into_iter().flatten();
        let kept = two.chain(more).find(|kept| kept.version == version)?;
        Some(Slot(kept.slot))
    }
}
