//! What a battery holds up when power fails, and how it gets to flash afterwards.

use crate::device::backend::NOBODY;
use crate::device::{Device, DeviceError};
use crate::ftl::PageOut;
use crate::nand::media::Content;
use crate::support::ids::Lpn;

/// The newest word on a page that the RAM knows, as a version of the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::device) enum Kept {
    /// Its data.
    Data(u32),
    /// That it is trimmed.
    Trimmed(u32),
}

/// Pages whose last word was in RAM, in order.
pub(in crate::device) type Ram = Vec<(Lpn, Kept)>;

impl Device {
    /// What the RAM holds at this moment: dirty pages, pages on their way to flash that are not
    /// known to be there, pages in open program units, and the mapping's word on trims. Pages are
    /// looked for where they are, not taken from what the host wrote, so that one that got lost
    /// stays lost.
    pub(in crate::device) fn ram(&self) -> Ram {
        let Some(shadow) = self.backend.engine().shadow() else { return Ram::new() };
        let mut held = vec![0u32; self.logical_pages as usize];
        // Data in RAM have no stamp of their own: what was handed over to the FTL is as old as
        // that, the buffer's is the newest.
        for oob in
            self.backend.engine().programs_under_way().filter(|oob| oob.content == Content::Host)
        {
            let version = &mut held[oob.lpn.index()];
            *version = (*version).max(oob.version);
        }
        let open = |lpn: &Lpn| {
            self.backend.mapping().lookup(*lpn).is_some_and(|ppn| self.backend.in_open_unit(ppn))
        };
        let buffered =
            Lpn(0).run(self.logical_pages).filter(|&lpn| self.pipeline.buffer.holds(lpn));
        let opened = Lpn(0).run(self.logical_pages).filter(open);
        for lpn in self.pipeline.parked.pages().chain(buffered).chain(opened) {
            held[lpn.index()] = shadow.version(lpn);
        }
        let last_word = |(page, &version): (Lpn, &u32)| {
            let newest = shadow.version(page);
            if shadow.is_blank(page) {
                // What is in RAM of a trimmed page pads its block, and means nothing.
                let gone = newest > 0
                    && (version == newest || self.backend.mapping().lookup(page).is_none());
                return gone.then_some((page, Kept::Trimmed(newest)));
            }
            (version > 0).then_some((page, Kept::Data(version)))
        };
        Lpn(0).onwards().zip(&held).filter_map(last_word).collect()
    }

    /// The pages in open program units. Where collection takes no time, it need not wait for those
    /// units before it erases the versions that they replace; in return they outlast a power cut.
    pub(in crate::device) fn open_units(&self) -> Ram {
        let Some(shadow) = self.backend.engine().shadow() else { return Ram::new() };
        let open = |lpn: &Lpn| {
            self.backend.mapping().lookup(*lpn).is_some_and(|ppn| self.backend.in_open_unit(ppn))
        };
        Lpn(0)
            .run(self.logical_pages)
            .filter(open)
            .map(|lpn| (lpn, Kept::Data(shadow.expected(lpn))))
            .collect()
    }

    /// Stores what the battery kept and the flash lacks, at once, before anybody uses the drive.
    pub(in crate::device) fn store_ram(&mut self, ram: &Ram) -> Result<(), DeviceError> {
        for &(lpn, kept) in ram {
            match kept {
                Kept::Data(version) if self.stored_version(lpn) < version => {
                    if let Some(shadow) = self.backend.shadow_mut() {
                        shadow.host_wrote(lpn, version);
                    }
                    self.pipeline.batch.clear();
                    self.pipeline.batch.push(PageOut::host(lpn));
                    self.write_batch(NOBODY, crate::nand::JoinId::NONE)?;
                }
                Kept::Trimmed(version) if self.backend.mapping().lookup(lpn).is_some() => {
                    if let Some(shadow) = self.backend.shadow_mut() {
                        shadow.host_trimmed(lpn, version);
                    }
                    self.backend.trim(lpn, 1);
                }
                _ => continue,
            }
            self.backend.forget_plan();
            self.start_jobs()?;
        }
        self.make_durable(NOBODY)?;
        self.start_jobs()
    }
}
