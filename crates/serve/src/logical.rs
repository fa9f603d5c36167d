//! Where each logical page is, by what the records say alone: no FTL is asked.

use eraseblock_core::nand::media::{Content, Media};
use eraseblock_core::support::chunks::Chunks;
use eraseblock_core::support::ids::{Lpn, Ppn};

/// The flash page that holds each logical page, or [`Ppn::NONE`]: of its records the one written
/// last, and of copies of that the one in the block opened last. What was trimmed later holds
/// nothing.
pub fn places(media: &Media, logical_pages: u32) -> Chunks<Ppn> {
    let mut places = Chunks::new(logical_pages as usize, Ppn::NONE);
    for (ppn, oob) in media.records().filter(|(_, oob)| oob.content == Content::Host) {
        let place = places[oob.lpn.index()];
        let order = |ppn: Ppn| media.oob(ppn).map(|oob| (oob.seq, oob.opened));
        if place.is_none() || order(place) <= order(ppn) {
            places.set(oob.lpn.index(), ppn);
        }
    }
    for (_, oob) in media.records().filter(|(_, oob)| oob.content == Content::Tombstone) {
        for &(first, count) in media.trims(oob.lpn.0) {
            for lpn in Lpn::indices(&(first..first + count)) {
                let place = places[lpn];
                if !place.is_none() && media.oob(place).is_some_and(|page| page.seq <= oob.seq) {
                    places.set(lpn, Ppn::NONE);
                }
            }
        }
    }
    places
}
