//! What is found in an image: the medium that the drive's FTL rebuilds itself from.

use std::collections::HashMap;
use std::io;

use eraseblock_core::nand::media::{Content, Media, PageState};
use eraseblock_core::nand::{Geometry, Oob};
use eraseblock_core::support::ids::{Lpn, Ppn};

use crate::image::record::Record;
use crate::image::{Image, Page};

/// What was found, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Pages with a record that can be read.
    pub readable: u64,
    /// Pages that cannot be read: power went while they were programmed or erased.
    pub torn: u64,
    /// Of these, pages that are not marked so: their records make no sense, or their bytes are not
    /// those that were written.
    pub damaged: u64,
    /// Pages whose bytes were compared with their checksum.
    pub compared: u64,
    /// Steps that have been programmed over the whole life of the image.
    pub steps: u64,
}

/// Reads the records, and the bytes of all pages that were programmed after step `checked_after`.
/// What cannot be read is told apart: a record that is damaged, bytes that are not those that were
/// written, a program unit of which only a part was, a block whose erase was cut short.
///
/// # Errors
/// The file cannot be read, or a record is of another drive.
pub fn read(
    image: &Image,
    geometry: &Geometry,
    checked_after: Option<u64>,
    mut keep: impl FnMut(Ppn, &Record),
) -> io::Result<(Media, Found)> {
    let layout = *image.layout();
    let mut media = Media::new(geometry);
    let mut found = Found::default();
    let mut erasing = Vec::new();
    image.each_block(|block, erases, cut_short| {
        media.found_erases(block, erases);
        if cut_short {
            erasing.push(block);
        }
    })?;
    let mut records = Vec::new();
    image.each_page(|ppn, record| match record {
        Page::Readable(record) => records.push((ppn, record)),
        Page::Torn => media.tear_page(ppn),
        Page::Damaged => {
            found.damaged += 1;
            media.tear_page(ppn);
        }
    })?;
    let mut page = vec![0; layout.page_bytes as usize];
    let mut lists = HashMap::new();
    for (ppn, record) in records {
        let Record { mut oob, step, length, sum } = record;
        found.steps = found.steps.max(step);
        let is_host = oob.content == Content::Host;
        let bytes = &mut page[..(length as usize).min(layout.page_bytes as usize)];
        let own = matches!(oob.content, Content::Tombstone | Content::Map);
        let compared = length > 0 && (own || checked_after.is_some_and(|after| step > after));
        let intact = length <= layout.page_bytes
            && (!is_host || (length == 0 || length == layout.page_bytes))
            && (!is_host || oob.lpn.0 < layout.logical_pages)
            && (!compared || {
                found.compared += 1;
                image.read(ppn, bytes)?;
                crc32fast::hash(bytes) == sum
            });
        let said = intact && (!own || take_own(&mut media, &mut lists, &mut oob, bytes, &layout));
        if said {
            keep(ppn, &record);
            media.program(ppn, oob).map_err(io::Error::other)?;
        } else {
            found.damaged += 1;
            media.tear_page(ppn);
        }
    }
    for block in erasing {
        media.spoil(block);
    }
    tear_units(&mut media, geometry);
    for ppn in media.all_pages() {
        match media.page(ppn) {
            PageState::Done(_) => found.readable += 1,
            PageState::Torn => found.torn += 1,
            PageState::Erased => {}
        }
    }
    Ok((media, found))
}

/// Takes in what a page of the mapping's own says; whether that makes sense. The lists of
/// tombstones are numbered anew, all copies of one alike.
fn take_own(
    media: &mut Media,
    lists: &mut HashMap<(u32, u64), u32>,
    oob: &mut Oob,
    bytes: &[u8],
    layout: &crate::image::Layout,
) -> bool {
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    if oob.content == Content::Map {
        let entries = bytes.chunks_exact(4).map(|entry| Ppn(word(entry))).collect();
        media.maps.found(oob.lpn.0, oob.version, entries);
        return bytes.len().is_multiple_of(4);
    }
    let ranges: Vec<_> =
        bytes.chunks_exact(8).map(|range| (Lpn(word(range)), word(&range[4..]))).collect();
    let fits = |&(first, count): &(Lpn, u32)| {
        first.0.checked_add(count).is_some_and(|end| end <= layout.logical_pages)
    };
    if !bytes.len().is_multiple_of(8) || !ranges.iter().all(fits) {
        return false;
    }
    let number =
        lists.entry((oob.lpn.0, oob.seq)).or_insert_with(|| media.write_down_trims(ranges));
    oob.lpn = Lpn(*number);
    true
}

/// A program unit of which only a part was written cannot be read, and not be written before an
/// erase.
fn tear_units(media: &mut Media, geometry: &Geometry) {
    let unit = geometry.program_pages;
    if unit == 1 {
        return;
    }
    for first in (0..geometry.pages()).step_by(unit as usize) {
        let pages = || Ppn(first).run(unit);
        let erased = pages().filter(|&ppn| *media.page(ppn) == PageState::Erased).count();
        if erased > 0 && erased < unit as usize {
            pages().for_each(|ppn| media.tear_page(ppn));
        }
    }
}
