//! What a format cannot hold: refused, or left out and counted.

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use super::formats::{HeldVolumes, Holds, WriteFormat};

/// What a written file does not hold of the requests that were to be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Trim requests left out.
    pub trims: u64,
    /// Flush requests left out.
    pub flushes: u64,
    /// Requests that lost their force unit access.
    pub fua: u64,
    /// Requests widened to whole sectors.
    pub widened: u64,
    /// Requests whose time was cut to the unit of the format.
    pub times_cut: u64,
    /// Requests whose volume has another number in the file.
    pub renumbered: u64,
}

impl Losses {
    /// Requests that are not in the file.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.trims + self.flushes
    }
}

/// Makes each request one that the format can hold.
pub(super) struct Narrowing {
    format: &'static WriteFormat,
    lossy: bool,
    requests: u64,
    losses: Losses,
    /// Volumes in the order in which they came up.
    volumes: Vec<u32>,
    recent: usize,
}

impl Narrowing {
    pub fn new(format: &'static WriteFormat, lossy: bool) -> Self {
        Self {
            format,
            lossy,
            requests: 0,
            losses: Losses::default(),
            volumes: Vec::new(),
            recent: 0,
        }
    }

    /// The request as it is written, its volume numbered as the file numbers it; `None` where it is
    /// left out.
    pub fn narrow(&mut self, mut request: Request) -> Result<Option<Request>, String> {
        self.requests += 1;
        let Holds { trims, flushes, fua, offset_unit, length_unit, time_unit_ns, .. } =
            self.format.holds;
        if request.op == Op::Trim && !trims {
            self.losses.trims += 1;
            return self.lose("is a trim").map(|()| None);
        }
        if request.op == Op::Flush && !flushes {
            self.losses.flushes += 1;
            return self.lose("is a flush").map(|()| None);
        }
        if request.fua && !fua {
            self.losses.fua += 1;
            self.lose("is forced to the medium (FUA)")?;
            request.fua = false;
        }
        if !request.offset.is_multiple_of(offset_unit) || !request.len.is_multiple_of(length_unit) {
            self.losses.widened += 1;
            self.lose("does not begin and end with whole sectors")?;
            let end = (request.offset + request.len).next_multiple_of(length_unit);
            request.offset -= request.offset % offset_unit;
            request.len = end - request.offset;
        }
        if !request.arrival_ns.is_multiple_of(time_unit_ns) {
            self.losses.times_cut += 1;
            request.arrival_ns -= request.arrival_ns % time_unit_ns;
        }
        self.renumber(&mut request)?;
        Ok(Some(request))
    }

    /// Something of the present request is lost, if it may be.
    fn lose(&self, what: &str) -> Result<(), String> {
        if self.lossy {
            return Ok(());
        }
        let format = self.format.name;
        Err(format!(
            "request {} {what}, which {format} cannot hold; write ebt, which holds everything, or \
             allow it to be lost and counted (--lossy)",
            self.requests
        ))
    }

    fn renumber(&mut self, request: &mut Request) -> Result<(), String> {
        if self.format.holds.volumes == HeldVolumes::Numbered {
            return Ok(());
        }
        if self.volumes.get(self.recent) != Some(&request.volume) {
            let known = self.volumes.iter().position(|&known| known == request.volume);
            self.recent = match known {
                Some(index) => index,
                None if self.format.holds.volumes == HeldVolumes::One
                    && !self.volumes.is_empty() =>
                {
                    return Err(format!(
                        "request {} is on volume {}, earlier ones on volume {}, but {} holds one \
                         volume only; choose one (--volumes), or lay them one after another \
                         (--capacity)",
                        self.requests, request.volume, self.volumes[0], self.format.name
                    ));
                }
                None => {
                    self.volumes.push(request.volume);
                    self.volumes.len() - 1
                }
            };
        }
        let number = self.recent as u32;
        self.losses.renumbered += u64::from(number != request.volume);
        request.volume = number;
        Ok(())
    }

    pub fn losses(&self) -> Losses {
        self.losses
    }
}
