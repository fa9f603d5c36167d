//! A step of a program has ended: its pages' bytes and records go to the image.

use std::io::{self, IoSlice};

use eraseblock_core::nand::Oob;
use eraseblock_core::nand::media::{Content, Media};
use eraseblock_core::support::ids::Ppn;

use super::Store;
use crate::image::RECORD;
use crate::image::record::Record;
use crate::ram::{Slot, Sum};

/// Where bytes are that go to the image.
#[derive(Debug)]
pub(super) enum Part {
    /// A page in RAM.
    Ram(Slot),
    /// So many of those that have been gathered.
    Gathered(usize),
}

/// Where a page's bytes are.
enum Source {
    Ram(Slot),
    At(Ppn),
    /// Nowhere: they are zero.
    Nowhere,
}

impl Store {
    /// Where the bytes of a page are that is being programmed.
    fn source(&self, oob: &Oob, media: &Media) -> Source {
        if !oob.from.is_none() {
            return if self.known.kept[oob.from.index()].0 == 0 {
                Source::Nowhere
            } else {
                Source::At(oob.from)
            };
        }
        if let Some(slot) = self.ram.get(oob.lpn, oob.version) {
            return Source::Ram(slot);
        }
        // Written again as it is, to complete a block. Where a newer version is stored by now,
        // nobody will ever read this one; where none is, the host has written nothing, or trimmed
        // it.
        let place = self.places[oob.lpn.index()];
        let same = |found: &&Oob| (found.lpn, found.version) == (oob.lpn, oob.version);
        let found = if place.is_none() { None } else { media.oob(place).filter(same) };
        match found {
            Some(_) if self.known.kept[place.index()].0 > 0 => Source::At(place),
            _ => Source::Nowhere,
        }
    }

    pub(super) fn program(&mut self, first: Ppn, records: &[Oob], media: &Media) -> io::Result<()> {
        let block = first.block(self.image.layout().pages_per_block);
        self.touch(block)?;
        // Else what was there before could have its record, and the bytes of these pages; or these
        // records could be there, and the entry of a block that has not been changed.
        if self.unsure.as_ref().is_some_and(|unsure| unsure.contains_key(&block)) {
            self.sync()?;
        }
        let life = self.known.entries[block.index()].life;
        self.steps += 1;
        self.known.last_steps[block.index()] = self.steps;
        self.records.clear();
        // Pages that follow one another are written at once.
        self.bytes.clear();
        self.parts.clear();
        let mut from = first;
        // Copies that have been read with one before them.
        let mut read = 0;
        for (at, (ppn, oob)) in first.onwards().zip(records).enumerate() {
            if read == 0 {
                read = self.read_copies(&records[at..])?;
            }
            let (length, sum) = if read > 0 {
                read -= 1;
                self.known.kept[oob.from.index()]
            } else {
                self.take_bytes(oob, media)?
            };
            if length < self.image.layout().page_bytes {
                self.write_parts(from)?;
                from = ppn + 1;
            }
            let mut bytes = [0; RECORD];
            Record { oob: *oob, step: self.steps, length, sum, life }.encode(ppn, &mut bytes);
            self.records.extend_from_slice(&bytes);
            self.known.kept.set(ppn.index(), (length, sum));
        }
        self.write_parts(from)?;
        self.image.write_records(first, &self.records)?;
        // What these pages replace lies anywhere in memory: it is fetched together.
        let hosts = records.iter().filter(|oob| oob.content == Content::Host);
        let places = hosts.map(|oob| self.places[oob.lpn.index()]).filter(|place| !place.is_none());
        let seen = places.fold(0, |all, place| all ^ media.oob(place).map_or(0, |oob| oob.version));
        std::hint::black_box(seen);
        for (ppn, oob) in first.onwards().zip(records) {
            self.note_stored(ppn, oob, media);
            if oob.content == Content::Host {
                self.ram.stored(oob.lpn, oob.version);
            }
        }
        let now = (self.unsure.is_some(), self.steps);
        let whole = (&self.image, &self.known, media);
        if let Some(steps) = self.checkpoints.programmed(records.len(), whole, now)? {
            self.state.steps = self.state.steps.max(steps);
            self.image.write_state(&self.state)?;
        }
        Ok(())
    }

    /// Adds the bytes of as many pages as are copies of whole pages that follow one another in the
    /// image, in one piece; how many those are.
    fn read_copies(&mut self, records: &[Oob]) -> io::Result<usize> {
        let page_bytes = self.image.layout().page_bytes;
        let Some(first) = records.first().map(|oob| oob.from) else { return Ok(0) };
        let follows = |(from, oob): &(Ppn, &Oob)| {
            oob.from == *from && self.known.kept[from.index()].0 == page_bytes
        };
        if first.is_none() {
            return Ok(0);
        }
        let count = first.onwards().zip(records).take_while(follows).count();
        if count == 0 {
            return Ok(0);
        }
        let before = self.bytes.len();
        self.bytes.resize(before + count * page_bytes as usize, 0);
        self.image.read(first, &mut self.bytes[before..])?;
        self.parts.push(Part::Gathered(self.bytes.len() - before));
        Ok(count)
    }

    /// Writes what has been gathered to pages from `from` on, in one piece.
    fn write_parts(&mut self, from: Ppn) -> io::Result<()> {
        let mut rest = &self.bytes[..];
        let slice = |part: &Part| match *part {
            Part::Ram(slot) => IoSlice::new(self.ram.bytes(slot)),
            Part::Gathered(count) => {
                let (now, after) = rest.split_at(count);
                rest = after;
                IoSlice::new(now)
            }
        };
        let mut slices: Vec<_> = self.parts.iter().map(slice).collect();
        self.image.write(from, &mut slices)?;
        self.parts.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Adds the bytes of a page that is being programmed to those of the step; how many those are,
    /// and their checksum. None are added of a page of zeroes. A copy comes with its checksum:
    /// damage is carried along, and not made good.
    fn take_bytes(&mut self, oob: &Oob, media: &Media) -> io::Result<Sum> {
        let mut copied = None;
        let before = self.bytes.len();
        match oob.content {
            Content::Filler => {}
            Content::Tombstone if oob.from.is_none() => {
                for (lpn, count) in media.trims(oob.lpn.0) {
                    self.bytes.extend(lpn.0.to_le_bytes());
                    self.bytes.extend(count.to_le_bytes());
                }
            }
            Content::Map if oob.from.is_none() => {
                for ppn in media.maps.version(oob.lpn.0, oob.version).unwrap_or_default() {
                    self.bytes.extend(ppn.0.to_le_bytes());
                }
            }
            _ => match self.source(oob, media) {
                Source::Nowhere => {}
                Source::At(from) => {
                    let (length, sum) = self.known.kept[from.index()];
                    self.bytes.resize(before + length as usize, 0);
                    self.image.read(from, &mut self.bytes[before..])?;
                    copied = Some(sum);
                }
                Source::Ram(slot) => {
                    let sum = self.ram.sum(slot);
                    if sum.0 > 0 {
                        self.parts.push(Part::Ram(slot));
                    }
                    return Ok(sum);
                }
            },
        }
        let (added, most) = (self.bytes.len() - before, self.image.layout().page_bytes as usize);
        if added > most {
            let why = format!("{added} bytes of the mapping's own do not fit a page of {most}");
            return Err(io::Error::other(why));
        }
        if added > 0 {
            self.parts.push(Part::Gathered(added));
        }
        let sum = copied.unwrap_or_else(|| crc32fast::hash(&self.bytes[before..]));
        Ok((added as u32, sum))
    }
}
