//! A run ends where collection wins no room, however the mapping goes about it.

use crate::support;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::ftl::{Cx, Mapping, PageOut, Reclaim};
use eraseblock_core::host::Op;
use eraseblock_core::nand::{Cause, JoinId};
use eraseblock_core::support::ids::{BlockId, Lpn, PlaneId, Ppn};
use serde_json::json;

/// How a mapping works without end and takes no page.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// One collection goes on and on.
    OneCollection,
    /// A collection frees a block, the next write finds none again.
    ManyCollections,
    /// Collections end and say that they are done.
    NoErases,
    /// The write itself erases.
    InTheWrite,
}

/// Page mapping that from its 40th page on takes nothing more.
#[derive(Debug, Clone)]
struct Treadmill {
    inner: Box<dyn Mapping>,
    way: Way,
    left: usize,
    asks: bool,
}

/// A block that page mapping has not come to use.
const UNUSED: BlockId = BlockId(15);

support::never_saved!(Treadmill);

impl Mapping for Treadmill {
    fn translate(&mut self, cx: &mut Cx<'_>, lpn: Lpn) -> Option<Ppn> {
        self.inner.translate(cx, lpn)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.inner.lookup(lpn)
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: JoinId) -> usize {
        let taken = self.inner.write(cx, &pages[..pages.len().min(self.left)], waits);
        self.left -= taken;
        self.asks = taken < pages.len();
        if self.asks && self.way == Way::InTheWrite {
            cx.erase(UNUSED, Cause::Merge, JoinId::NONE, JoinId::NONE);
        }
        taken
    }

    fn asks_for_reclaim(&self) -> bool {
        self.asks
    }

    fn needs_reclaim(&mut self) -> Option<PlaneId> {
        std::mem::take(&mut self.asks).then_some(PlaneId(0))
    }

    fn reclaim(&mut self, cx: &mut Cx<'_>, _unit: PlaneId) -> Reclaim {
        if self.way != Way::NoErases {
            cx.erase(UNUSED, Cause::Gc, JoinId::NONE, JoinId::NONE);
        }
        if self.way == Way::OneCollection { Reclaim::More } else { Reclaim::Done }
    }

    support::forward_to_inner!();
}

/// Writes until the mapping takes nothing more; the error that ends the run, and the drive.
fn driven(way: Way, replay: &str, endurance: u32) -> (DeviceError, Device) {
    let all =
        json!({"host": {"replay": replay, "max_outstanding": 4}, "nand": {"endurance": endurance}});
    let wrap = |inner| {
        let treadmill = Treadmill { inner, way, left: 40, asks: false };
        Box::new(treadmill) as Box<dyn Mapping>
    };
    let mut device =
        Device::with_parts(&support::config(&all), Options { verify: true }, wrap, None).unwrap();
    device.precondition().unwrap();
    for page in 0..8 {
        device.submit(&support::request(Op::Write, page, 1)).unwrap();
    }
    // With time, the write waits for room, and the drive finds out later that there is none.
    let error = device.submit(&support::request(Op::Write, 8, 1)).and_then(|()| device.end());
    let error = error.expect_err("there is no room");
    (error, device)
}

#[test]
fn a_mapping_that_collects_and_gains_nothing_ends_the_run() {
    for way in [Way::OneCollection, Way::ManyCollections, Way::NoErases, Way::InTheWrite] {
        for replay in ["untimed", "open", "closed"] {
            let (error, mut device) = driven(way, replay, 0);
            let says = error.to_string();
            assert!(
                matches!(error, DeviceError::NoSpace(_)) && error.is_input(),
                "{way:?}, {replay}: {says}"
            );
            assert!(
                says.contains("collecting all blocks again and again has gained nothing"),
                "{says}"
            );
            assert_eq!(device.finish().unwrap_err(), DeviceError::Failed);
            let erases: u64 = device.counters().erases.iter().sum();
            assert!(
                erases <= 16 * 16,
                "{way:?}, {replay}: {erases} erases on a drive of 16 blocks"
            );
        }
    }
}

#[test]
fn on_worn_flash_that_is_the_end_of_its_life() {
    for replay in ["untimed", "open"] {
        let (error, mut device) = driven(Way::OneCollection, replay, 20);
        assert!(matches!(error, DeviceError::EndOfLife { .. }), "{replay}: {error}");
        let report = device.finish().unwrap();
        assert_eq!(report.requests.submitted, 9);
    }
}
