//! What operations have done to the flash by the time they end: each step is applied to the medium,
//! and the shadow, if there is one, compares.
//!
//! A drive has this only under `--verify` or where its power is cut. The first fault is kept, and
//! fails the run.

use super::cells::{Attached, Cells};
use super::geometry::Geometry;
use super::media::{Content, Media, Oob, PageState};
use super::op::{FlashOp, Kind};
use super::shadow::Shadow;
use crate::support::ids::{BlockId, Lpn, Ppn};

/// The medium and who compares it.
#[derive(Debug, Clone)]
pub struct Stored {
    /// What the flash holds.
    pub media: Media,
    /// What the host wrote, where what the flash holds is compared with it.
    pub shadow: Option<Shadow>,
    /// Who holds the bytes of the pages, on a drive that serves data.
    cells: Attached,
    /// Records of the step being applied.
    programmed: Vec<Oob>,
    fault: Option<String>,
    /// Steps that have ended, for power cuts at each of them.
    completions: u64,
    /// If wanted, the medium as it was before each completion that changed it.
    moments: Option<Vec<Media>>,
}

impl Stored {
    /// Bytes held, roughly: lists of trims and the map on flash are small.
    pub fn bytes(&self) -> usize {
        self.media.bytes() + self.shadow.as_ref().map_or(0, Shadow::bytes)
    }

    /// An erased medium that nobody compares.
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            media: Media::new(geometry),
            shadow: None,
            cells: Attached(None),
            programmed: Vec::new(),
            fault: None,
            completions: 0,
            moments: None,
        }
    }

    /// An erased medium, and a host of so many pages that has written nothing.
    pub fn compared(geometry: &Geometry, logical_pages: u32) -> Self {
        Self { shadow: Some(Shadow::new(logical_pages)), ..Self::new(geometry) }
    }

    /// The bytes of the pages are held by `cells` from now on.
    pub fn attach(&mut self, cells: Box<dyn Cells>) {
        self.cells = Attached(Some(cells));
    }

    /// Whoever holds the bytes of the pages, and what the host has written.
    #[inline]
    pub fn cells_and_shadow(&mut self) -> Option<(&mut dyn Cells, &Shadow)> {
        Some((self.cells.0.as_deref_mut()?, self.shadow.as_ref()?))
    }

    /// The first fault, if any.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Keeps the first fault.
    pub fn report(&mut self, fault: impl FnOnce() -> String) {
        if self.fault.is_none() {
            self.fault = Some(fault());
        }
    }

    #[inline]
    fn note(&mut self, result: Result<(), String>) {
        if let Err(fault) = result {
            self.report(|| fault);
        }
    }

    /// Steps of operations that have ended.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// What a page written now would be a version of. Host data that nobody compares have no
    /// versions.
    #[inline]
    pub fn version_of(&self, content: Content, number: u32) -> u32 {
        match content {
            Content::Host => self.shadow.as_ref().map_or(0, |shadow| shadow.expected(Lpn(number))),
            Content::Map => self.media.maps.newest(number),
            Content::Filler | Content::Tombstone => 0,
        }
    }

    /// The host reads page `lpn` from flash; `found` says whether the FTL knows a place for it.
    pub fn check_host_read(&mut self, lpn: Lpn, found: bool) {
        let Some(shadow) = &mut self.shadow else { return };
        let checked = shadow.check_host_read(lpn, found);
        self.note(checked);
    }

    /// Steps `first..last` (in pages) of an operation have ended.
    pub fn apply(&mut self, op: &FlashOp, first: u32, last: u32, payload: &[Oob]) {
        self.completions += 1;
        if op.kind != Kind::Read
            && let Some(moments) = &mut self.moments
        {
            moments.push(self.media.clone());
        }
        let base = self.media.first_page(op.block) + op.page;
        match op.kind {
            // A read without a payload fetches pages for a copy; their records are checked when
            // they are stored.
            Kind::Read if payload.is_empty() => {}
            Kind::Read => {
                for i in first..last {
                    self.read(base + i, payload.get(i as usize));
                }
            }
            Kind::Program | Kind::Copy => {
                for i in first..last {
                    let programmed = match payload.get(i as usize) {
                        Some(oob) => self.program(base + i, *oob),
                        None => {
                            Err(format!("program of physical page {} carries no data", base + i))
                        }
                    };
                    self.note(programmed);
                    // What a part of the map says is forgotten when a newer version is stored,
                    // which may be the next page.
                    if self.programmed.last().is_some_and(|oob| oob.content == Content::Map) {
                        self.tell_cells(base + i + 1);
                    }
                }
                self.tell_cells(base + last);
            }
            Kind::Erase => self.erase(op.block),
        }
    }

    /// Tells whoever holds the bytes of the pages programmed just now, which end before `end`.
    #[inline]
    fn tell_cells(&mut self, end: Ppn) {
        if let Some(cells) = self.cells.0.as_mut().filter(|_| !self.programmed.is_empty()) {
            let first = Ppn(end.0 - self.programmed.len() as u32);
            cells.programmed(first, &self.programmed, &self.media);
            self.programmed.clear();
        }
    }

    fn read(&mut self, ppn: Ppn, expected: Option<&Oob>) {
        let Some(shadow) = &self.shadow else { return };
        let read = shadow.check_read(ppn, self.media.page(ppn), expected);
        self.note(read);
    }

    fn program(&mut self, ppn: Ppn, oob: Oob) -> Result<(), String> {
        let stored = if oob.from.is_none() { oob } else { self.media.read_source(&oob)? };
        self.media.program(ppn, stored)?;
        if self.cells.0.is_some() {
            self.programmed.push(Oob { from: oob.from, ..stored });
        }
        if let Some(shadow) = self.shadow.as_mut().filter(|_| stored.content == Content::Host) {
            shadow.add_copy(stored.lpn, stored.version);
        }
        Ok(())
    }

    fn erase(&mut self, block: BlockId) {
        if let Some(shadow) = &mut self.shadow {
            let mut lost = None;
            for oob in self.media.block(block).iter().filter_map(PageState::oob) {
                if let Err(fault) = shadow.erased(block, oob) {
                    lost.get_or_insert(fault);
                }
            }
            self.note(lost.map_or(Ok(()), Err));
        }
        self.media.erase(block);
        if let Some(cells) = &mut self.cells.0 {
            cells.erased(block, self.media.erases()[block.index()]);
        }
    }

    /// Power fails in pages `first..last` of an operation, and leaves them unreadable.
    pub fn tear(&mut self, op: &FlashOp, first: u32, last: u32) {
        match op.kind {
            Kind::Read => {}
            Kind::Program | Kind::Copy => {
                let base = self.media.first_page(op.block) + op.page;
                for i in first..last {
                    self.media.tear_page(base + i);
                }
            }
            Kind::Erase => self.media.tear_block(op.block),
        }
    }

    /// Power is back, and this is what the flash holds. `trims` are the versions of the host's last
    /// trims.
    pub fn restart(&mut self, media: Media, trims: &[u32]) {
        self.completions = 0;
        self.media = media;
        if let Some(shadow) = &mut self.shadow {
            shadow.restart(&self.media, trims);
        }
    }

    /// From now on keeps a copy of the medium as it is before each completion that changes it: for
    /// small drives.
    pub fn keep_moments(&mut self) {
        self.moments = Some(Vec::new());
    }

    /// Those copies.
    pub fn moments(&mut self) -> Vec<Media> {
        self.moments.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::nand::Cause;

    /// Two blocks of four pages.
    fn geometry() -> Geometry {
        let nand = json!({
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
            "blocks_per_plane": 2, "pages_per_block": 4, "page_size": "4 KiB",
            "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "100 us"},
        });
        Geometry::new(&serde_json::from_value(nand).unwrap()).unwrap()
    }

    fn op(kind: Kind, block: BlockId, page: u32, count: u32) -> FlashOp {
        FlashOp::new(kind, Cause::Host, block, page, count)
    }

    fn record(lpn: Lpn, seq: u64, from: Ppn) -> Oob {
        Oob { lpn, version: 1, seq, from, ..Oob::default() }
    }

    /// Logical pages 5 and 6 in block 0; page 6 is copied to block 1.
    fn copied(mut stored: Stored) -> Stored {
        stored.apply(
            &op(Kind::Program, BlockId(0), 0, 2),
            0,
            2,
            &[record(Lpn(5), 1, Ppn::NONE), record(Lpn(6), 2, Ppn::NONE)],
        );
        stored.apply(&op(Kind::Copy, BlockId(1), 0, 1), 0, 1, &[record(Lpn(6), 3, Ppn(1))]);
        stored
    }

    #[test]
    fn a_medium_needs_nobody_who_compares_it() {
        let mut stored = copied(Stored::new(&geometry()));
        assert_eq!(
            stored.media.oob(Ppn(4)),
            stored.media.oob(Ppn(1)),
            "a copy keeps the record of its source"
        );
        stored.apply(&op(Kind::Erase, BlockId(0), 0, 0), 0, 0, &[]);
        assert_eq!(
            (stored.media.page(Ppn(0)), stored.media.erases()),
            (&PageState::Erased, &[1, 0][..])
        );
        assert_eq!((stored.fault(), stored.completions()), (None, 3));
        stored.tear(&op(Kind::Program, BlockId(1), 1, 2), 0, 2);
        assert_eq!(
            stored.media.block(BlockId(1))[1..],
            [PageState::Torn, PageState::Torn, PageState::Erased]
        );
        stored.apply(&op(Kind::Program, BlockId(1), 1, 1), 0, 1, &[record(Lpn(7), 9, Ppn::NONE)]);
        let fault = stored.fault().expect("the page is torn");
        assert!(fault.contains("physical page 5") && fault.contains("not erased"), "{fault}");
    }

    /// Page 5 is nowhere else; page 6 is.
    #[test]
    fn the_shadow_misses_the_only_copy() {
        let mut stored = copied(Stored::compared(&geometry(), 8));
        stored.apply(&op(Kind::Erase, BlockId(1), 0, 0), 0, 0, &[]);
        assert_eq!(stored.fault(), None);
        stored.apply(&op(Kind::Erase, BlockId(0), 0, 0), 0, 0, &[]);
        let fault = stored.fault().expect("the only copies");
        assert!(
            fault.contains("only stored copy of logical page 5"),
            "the first fault counts: {fault}"
        );
    }

    #[test]
    fn the_order_of_writes_goes_on_after_what_can_be_read() {
        let mut media = copied(Stored::new(&geometry())).media;
        let list = media.write_down_trims(vec![(Lpn(5), 2)]);
        let tombstone = Oob {
            lpn: Lpn(list),
            seq: 7,
            content: Content::Tombstone,
            ..record(Lpn(0), 0, Ppn::NONE)
        };
        media.program(Ppn(5), tombstone).unwrap();
        (0..20).for_each(|_| _ = media.next_seq());
        media.power_up();
        assert_eq!((media.next_seq(), media.trims(list)), (8, &[(Lpn(5), 2)][..]));
        media.program(Ppn(6), tombstone).unwrap();
        media.tear_page(Ppn(5));
        assert_eq!(media.trims(list), [(Lpn(5), 2)]);
        media.erase(BlockId(1));
        assert_eq!(media.trims(list), [], "no page holds the list any more");
        assert_eq!(media.write_down_trims(vec![(Lpn(1), 1)]), list, "its number is free");
        media.power_up();
        assert_eq!(media.next_seq(), 3);
    }
}
