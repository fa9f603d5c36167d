//! What can be done about a damaged image, and how its contents get out of one.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;

use eraseblock_core::nand::media::Content;
use eraseblock_core::support::ids::{Lpn, Ppn};
use serde_json::json;

use super::Drive;
use super::files::{HOW_LEFT, damaged, describe};
use crate::error::Error;
use crate::found::{self, Compare, Contents, Damage, Found};
use crate::image::unseen::new_file;
use crate::image::{Image, RECORD, State};
use crate::logical;
use crate::store::check;

/// What a scrub has found and done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// In numbers, as it was before.
    pub found: Found,
    /// What is as it was written again.
    pub repaired: Vec<Damage>,
    /// Flash pages that were damaged and that nobody needs: they are given up.
    pub unneeded: Vec<Ppn>,
    /// Logical pages that cannot be read until they are written again.
    pub unreadable: Vec<Lpn>,
    /// Flash pages that held nobody knows what: they are given up, and an older version of what
    /// they held may be read in its place.
    pub given_up: Vec<Ppn>,
    /// What the image said of how it was left could not be read; it counts as never closed.
    pub how_left: bool,
}

impl Scrubbed {
    /// The same for those who read JSON.
    pub fn to_json(&self) -> String {
        let numbers = |pages: &[Ppn]| pages.iter().map(|ppn| ppn.0).collect::<Vec<_>>();
        let repaired: Vec<_> = self.repaired.iter().map(Damage::describe).collect();
        json!({
            "pages": self.found.readable, "torn": self.found.torn, "damaged": self.found.damaged,
            "compared": self.found.compared, "repaired": repaired,
            "unneeded": numbers(&self.unneeded), "given_up": numbers(&self.given_up),
            "unreadable": self.unreadable.iter().map(|lpn| lpn.0).collect::<Vec<_>>(),
            "how_left": self.how_left,
        })
        .to_string()
    }
}

impl Drive {
    /// Reads all of an image, mends what can be mended, and gives up what cannot, so that it can be
    /// opened. Bytes come back from another copy of the page, where collection has left one, and
    /// records from the checkpoint that counts.
    ///
    /// # Errors
    /// The image cannot be used, or the host's disk does not take what is mended.
    pub fn scrub(path: &Path) -> Result<Scrubbed, Error> {
        let failed = |source| Error::file(path, source);
        let (image, _, geometry) = Image::open(path, true)?;
        let state = image.state().map_err(failed)?;
        let contents = found::read(&image, &geometry, state, Compare::All).map_err(failed)?;
        image.drop_checkpoints().map_err(failed)?;
        mend(&image, state, &contents).map_err(failed)
    }

    /// Writes what the host sees of an image to a new file, byte by byte; what is zero takes no
    /// room there. Changes nothing in the image.
    ///
    /// # Errors
    /// The image cannot be used or is damaged, a page cannot be read, or there is such a file.
    pub fn export(path: &Path, to: &Path) -> Result<(), Error> {
        let failed = |source| Error::file(path, source);
        let (image, _, geometry) = Image::open(path, false)?;
        let layout = *image.layout();
        let state = image.state().map_err(failed)?.ok_or_else(|| damaged(path, HOW_LEFT))?;
        let contents = found::read(&image, &geometry, Some(state), Compare::New).map_err(failed)?;
        if !contents.damage.is_empty() {
            return Err(damaged(path, &describe(&contents.damage)));
        }
        let written = |source| Error::file(to, source);
        let (out, new) = new_file(to).map_err(written)?;
        let bytes = u64::from(layout.page_bytes);
        out.set_len(bytes * u64::from(layout.logical_pages)).map_err(written)?;
        let mut page = vec![0; layout.page_bytes as usize];
        let places = logical::places(&contents.media, layout.logical_pages);
        for (lpn, &place) in (0..).zip(places.iter()) {
            if place.is_none() || contents.kept[place.index()].0 == 0 {
                continue;
            }
            let read = image.read(place, &mut page);
            read.and_then(|()| check(place, &page, contents.kept[place.index()].1))
                .map_err(|why| Error::image(path, format!("logical page {lpn}: {why}")))?;
            out.write_all_at(&page, lpn * bytes).map_err(written)?;
        }
        out.sync_all().map_err(written)?;
        new.publish().map_err(written)
    }
}

fn mend(image: &Image, state: Option<State>, contents: &Contents) -> io::Result<Scrubbed> {
    let Contents { media, found, damage, entries, kept, unmarked, told, .. } = contents;
    let layout = *image.layout();
    let mut done = Scrubbed { found: *found, how_left: state.is_none(), ..Scrubbed::default() };
    let places = logical::places(media, layout.logical_pages);
    // Intact pages with what a damaged one held.
    let mut copies: HashMap<(Lpn, u32), Option<Ppn>> = HashMap::new();
    let of = |ppn: &Ppn| media.oob(*ppn).filter(|oob| oob.content == Content::Host);
    let bytes = damage.iter().filter_map(|damage| match damage {
        Damage::Bytes(ppn) => Some(*ppn),
        _ => None,
    });
    copies
        .extend(bytes.clone().filter_map(|ppn| of(&ppn)).map(|oob| ((oob.lpn, oob.version), None)));
    let broken: BTreeSet<Ppn> = bytes.collect();
    if !copies.is_empty() {
        let whole = media.records().filter(|(ppn, _)| !broken.contains(ppn));
        for (ppn, oob) in whole.filter(|(_, oob)| oob.content == Content::Host) {
            if let Some(copy) = copies.get_mut(&(oob.lpn, oob.version)) {
                *copy = Some(ppn);
            }
        }
    }
    let life = |ppn: Ppn| entries[ppn.block(layout.pages_per_block).index()].life;
    let give_up = |ppn: Ppn| image.tear(ppn, life(ppn));
    let mut page = vec![0; layout.page_bytes as usize];
    for damage in damage {
        match *damage {
            Damage::Entry(block) => {
                image.write_entries(block, &entries[block.index()..=block.index()])?;
                done.repaired.push(*damage);
            }
            // There is none any more.
            Damage::Checkpoint(_) => done.repaired.push(*damage),
            Damage::Record(ppn) => {
                if let Some(record) = told.get(&ppn) {
                    let mut bytes = [0; RECORD];
                    record.encode(ppn, &mut bytes);
                    image.write_records(ppn, &bytes)?;
                    done.repaired.push(*damage);
                } else {
                    give_up(ppn)?;
                    done.given_up.push(ppn);
                }
            }
            Damage::Bytes(ppn) => {
                let Some(oob) = of(&ppn) else {
                    // Parts of the map are made anew; what a tombstone said is gone.
                    give_up(ppn)?;
                    done.given_up.push(ppn);
                    continue;
                };
                let copy = copies.get(&(oob.lpn, oob.version)).copied().flatten();
                if let Some(copy) = copy.filter(|copy| kept[copy.index()] == kept[ppn.index()]) {
                    image.read(copy, &mut page)?;
                    image.write(ppn, &mut [IoSlice::new(&page)])?;
                    done.repaired.push(*damage);
                } else if places[oob.lpn.index()] == ppn {
                    done.unreadable.push(oob.lpn);
                } else {
                    give_up(ppn)?;
                    done.unneeded.push(ppn);
                }
            }
        }
    }
    for &ppn in unmarked {
        give_up(ppn)?;
    }
    image.sync()?;
    if state.is_none() {
        image.write_state(&State { steps: found.steps, ..State::default() })?;
        image.sync()?;
    }
    Ok(done)
}
