//! What each die and each channel is doing.

use serde::{Deserialize, Serialize};

use super::COMPANIONS;
use super::group::Group;
use crate::nand::Geometry;
use crate::support::NONE;
use crate::support::ids::DieId;

/// Where a die is in the current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Before or in the first bus and array phase.
    First,
    /// Before or in the only bus and array phase of an operation's last step, where it is taken up
    /// as such: nothing is to be asked at its end. Only where chips do one thing at a time.
    Last,
    /// Before or in the second ones.
    Second,
    /// In the second bus and array phase of one step, or in the first array phase of the next.
    Across,
    /// Several steps at once.
    Run,
    /// It stops a program or an erase, so that a host read can go first.
    Suspending,
    /// The page is in the cache register and waits for the array, or an operation other than a
    /// program does.
    Held,
    /// From the cache register to the data register.
    Handover,
    /// It takes up an operation when all of this moment are in its queue.
    Gathering,
}

/// A program or erase that has stopped.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Suspended {
    pub op: u32,
    pub companions: [u32; COMPANIONS],
    pub step: [u64; 4],
    /// Array time that is left.
    pub left: u64,
    /// How often the step has stopped.
    pub suspensions: u32,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    pub head: u32,
    pub tail: u32,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Die {
    pub running: u32,
    pub phase: Phase,
    pub channel: u32,
    /// Bus, array, bus, array of one step.
    pub step: [u64; 4],
    pub run_start: u64,
    pub urgent: Queue,
    pub normal: Queue,
    /// Operations queued or running.
    pub load: u32,
    /// Operations in other planes that take part in the step of the running one.
    pub companions: [u32; COMPANIONS],
    /// What stopped for a host read, if anything.
    pub suspended: Option<Suspended>,
    /// How often the present step has stopped.
    pub suspensions: u32,
    /// Array time of the present step that is left after its bus phase, where that matters.
    pub left: u64,
    /// Cache program: the operation whose page is being programmed while the next one comes, or
    /// [`NONE`].
    pub back: u32,
    /// When the running operation was taken up, and the steps that it had done before.
    pub since: u64,
    pub steps_before: u32,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Channel {
    /// When all who have asked for it will have had it.
    pub busy_until: u64,
    /// Dies on it with an operation running.
    pub active: u32,
    /// A die that runs several steps with bus phases as one event.
    pub run: DieId,
}

/// The dies and the channels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Array {
    pub dies: Vec<Die>,
    pub channels: Vec<Channel>,
    pub die_of_block: Vec<u16>,
    /// Operations that are issued together.
    pub group: Group,
    /// Dies that take up an operation at the end of this moment, and those that do so now.
    pub gathering: Vec<DieId>,
    pub starting: Vec<DieId>,
}

impl Array {
    /// An idle one.
    pub fn new(geometry: &Geometry) -> Self {
        let die = |d: DieId| Die {
            running: NONE,
            phase: Phase::First,
            channel: geometry.bus_of(d),
            step: [0; 4],
            run_start: 0,
            urgent: Queue { head: NONE, tail: NONE },
            normal: Queue { head: NONE, tail: NONE },
            load: 0,
            companions: [NONE; COMPANIONS],
            suspended: None,
            suspensions: 0,
            left: 0,
            back: NONE,
            since: 0,
            steps_before: 0,
        };
        let channel = Channel { busy_until: 0, active: 0, run: DieId::NONE };
        Self {
            dies: geometry.all_dies().map(die).collect(),
            channels: vec![channel; geometry.buses as usize],
            die_of_block: geometry
                .all_blocks()
                .map(|b| geometry.die_of(geometry.unit_of(b)).0 as u16)
                .collect(),
            group: Group::new(geometry.dies),
            gathering: Vec::new(),
            starting: Vec::new(),
        }
    }
}
