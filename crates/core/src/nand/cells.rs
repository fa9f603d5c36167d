//! The bytes of pages, on a drive that really holds data.
//!
//! Everything above decides by records alone, and so does a power cut: a page's bytes follow its
//! record. Whoever holds the bytes is told of each step of an operation that has ended, in the
//! order in which the medium changes, and does to the bytes what has been done to the records. A
//! record names its bytes: those that the host's write number `version` of page `lpn` brought. They
//! are in RAM from that write until a program has stored them; a copy takes them from the page that
//! it names as its source. So what is stored at any moment is what a power cut at that moment
//! leaves, and one that really happens needs no code of its own.
//!
//! Nothing is decided here: a scheme cannot see that there are bytes.

use std::fmt::Debug;

use super::media::{Media, Oob};
use crate::support::ids::{BlockId, Lpn, Ppn};

/// Holds the bytes.
pub trait Cells: Debug + Send + Sync {
    /// The host's write number `version` of page `lpn` is on its way to flash: its bytes have to be
    /// kept until this version or a newer one is stored, whatever the host writes meanwhile.
    fn leaves(&mut self, lpn: Lpn, version: u32);

    /// Pages from `first` on have been programmed at once, with these records. Where `from` names a
    /// page, that is where the bytes come from. `media` knows what tombstones and parts of the map
    /// say.
    fn programmed(&mut self, first: Ppn, records: &[Oob], media: &Media);

    /// A block has been erased, for the `erases`-th time.
    fn erased(&mut self, block: BlockId, erases: u32);
}

/// Whoever holds the bytes, if anybody does. A copy of a medium has none: it is the state of a
/// moment, to be looked at.
#[derive(Debug, Default)]
pub struct Attached(pub Option<Box<dyn Cells>>);

impl Clone for Attached {
    fn clone(&self) -> Self {
        Self(None)
    }
}
