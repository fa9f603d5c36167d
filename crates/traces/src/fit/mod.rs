//! A workload on a drive: where each request lies, and what became of those that have no place.

mod layout;
mod mapping;
mod runs;

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use crate::config::FitMode;
use crate::error::{TraceError, size};
use crate::watch::{Pace, Watch};
use crate::workload::{Pass, Workload};
use layout::Layout;
pub use layout::VolumePlace;
use mapping::{Fate, Mapping};
use runs::BlockSet;

/// What a workload has to know about the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveShape {
    /// Capacity that the host sees, in bytes.
    pub exported_bytes: u64,
    /// Size of a mapped page, in bytes.
    pub page_bytes: u64,
    /// Size of a logical block, the unit of erase as the host's addresses see it, in bytes.
    pub block_bytes: u64,
}

/// What fitting did to the workload. `submitted` = `requests` - `beyond_drive` - `untouched_trims`
/// + `extra_pieces`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitReport {
    /// How the workload is fitted.
    pub mode: FitMode,
    /// Capacity of the drive.
    pub drive_bytes: u64,
    /// End of the workload's highest request, its volumes laid one after another.
    pub workload_bytes: u64,
    /// `compact` and `remap`: bytes in logical blocks that are read or written.
    pub footprint_bytes: Option<u64>,
    /// Where the volumes lie, before they are fitted.
    pub volumes: Vec<VolumePlace>,
    /// Requests of the workload.
    pub requests: u64,
    /// Requests handed to the drive.
    pub submitted: u64,
    /// Requests whose address (counted from the beginning of the first volume) changed.
    pub moved: u64,
    /// Requests that became several, and how many more these are.
    pub split: u64,
    /// See `split`.
    pub extra_pieces: u64,
    /// `clip`: requests dropped because they reach beyond the drive, and their bytes.
    pub beyond_drive: u64,
    /// See `beyond_drive`.
    pub beyond_drive_bytes: u64,
    /// `compact` and `remap`: trims dropped because nothing of them is ever read or written.
    pub untouched_trims: u64,
    /// Trims of which only a part reaches the drive.
    pub shortened_trims: u64,
    /// Bytes of trims, dropped or shortened, that do not reach the drive.
    pub trim_bytes_dropped: u64,
}

/// A workload with a place for each request.
#[derive(Debug, Clone)]
pub struct FittedWorkload {
    workload: Workload,
    drive: DriveShape,
    layout: Layout,
    mapping: Mapping,
    report: FitReport,
}

impl Workload {
    /// Decides where the requests lie on `drive`.
    ///
    /// # Errors
    ///
    /// The workload does not fit in the way its configuration asks for; the message gives both
    /// sizes.
    pub fn fit(&self, drive: DriveShape) -> Result<FittedWorkload, TraceError> {
        self.fit_watched(drive, &mut |_| true)
    }

    /// The same with a caller who may end it, as [`TraceError::is_cancelled`] then tells.
    ///
    /// # Errors
    ///
    /// As [`Self::fit`].
    pub fn fit_watched(
        &self,
        drive: DriveShape,
        watch: Watch<'_>,
    ) -> Result<FittedWorkload, TraceError> {
        FittedWorkload::new(self, drive, watch)
    }
}

impl FittedWorkload {
    fn new(workload: &Workload, drive: DriveShape, watch: Watch<'_>) -> Result<Self, TraceError> {
        let DriveShape { exported_bytes, page_bytes, block_bytes } = drive;
        let name = &workload.identity().name;
        if page_bytes == 0 || block_bytes == 0 || exported_bytes < page_bytes {
            return Err(TraceError::fit(format!(
                "a drive that exports {exported_bytes} B in pages of {page_bytes} B and blocks of \
                 {block_bytes} B has no room for {name}"
            )));
        }
        let selected = workload.selected();
        let layout = Layout::new(&selected.volumes, block_bytes).ok_or_else(|| {
            TraceError::fit(format!(
                "the {} volumes of {name} laid one after another pass 4 EiB; choose one by its \
                 number",
                selected.volumes.len()
            ))
        })?;
        let workload_bytes = layout.end();
        let mut fitted = Self {
            workload: workload.clone(),
            drive,
            mapping: Mapping::Same,
            report: FitReport {
                mode: workload.fit_mode(),
                drive_bytes: exported_bytes,
                workload_bytes,
                footprint_bytes: None,
                volumes: layout.places.clone(),
                requests: selected.requests,
                submitted: selected.requests,
                moved: 0,
                split: 0,
                extra_pieces: 0,
                beyond_drive: 0,
                beyond_drive_bytes: 0,
                untouched_trims: 0,
                shortened_trims: 0,
                trim_bytes_dropped: 0,
            },
            layout,
        };
        if workload_bytes > exported_bytes || workload.fit_mode() == FitMode::Compact {
            let mut pace = Pace::new(watch);
            fitted.mapping = fitted.choose_mapping(&mut pace)?;
            fitted.count(&mut pace)?;
        }
        Ok(fitted)
    }

    fn choose_mapping(&mut self, pace: &mut Pace<'_>) -> Result<Mapping, TraceError> {
        let DriveShape { exported_bytes, page_bytes, block_bytes } = self.drive;
        Ok(match self.report.mode {
            FitMode::Refuse => return Err(self.refused()),
            FitMode::Wrap => Mapping::Wrap,
            FitMode::Clip => Mapping::Clip,
            FitMode::Scale => Mapping::Scale {
                workload_pages: self.report.workload_bytes.div_ceil(page_bytes),
                drive_pages: exported_bytes / page_bytes,
            },
            FitMode::Compact | FitMode::Remap => {
                let touched = self.touched_blocks(pace)?;
                let places = exported_bytes / block_bytes;
                let footprint = touched.len().saturating_mul(block_bytes);
                self.report.footprint_bytes = Some(footprint);
                let runs = if self.report.mode == FitMode::Compact {
                    (touched.len() <= places).then(|| touched.compacted())
                } else {
                    touched.moved_below(places)
                };
                Mapping::Blocks(runs.ok_or_else(|| {
                    TraceError::fit(format!(
                        "{} reads and writes {} logical blocks of {}, {} in all, but the drive has \
                         {places} of them ({}); choose a larger drive, or workload.fit = \"wrap\", \
                         \"clip\" or \"scale\" (of compare, advise, tune and trace convert: --fit)",
                        self.name(),
                        touched.len(),
                        size(block_bytes),
                        size(footprint),
                        size(exported_bytes)
                    ))
                })?)
            }
        })
    }

    fn refused(&self) -> TraceError {
        let volumes = match self.layout.places.len() {
            0 | 1 => String::new(),
            count => format!(", its {count} volumes laid one after another"),
        };
        TraceError::fit(format!(
            "{} reaches up to {}{volumes}, but the drive exports {}; choose a larger drive, or say \
             how to fit it: workload.fit = \"wrap\", \"compact\", \"clip\", \"scale\" or \"remap\" \
             (of compare, advise, tune and trace convert: --fit)",
            self.name(),
            size(self.report.workload_bytes),
            size(self.report.drive_bytes)
        ))
    }

    /// Logical blocks that are read or written; a trim alone does not give a block a place.
    fn touched_blocks(&self, pace: &mut Pace<'_>) -> Result<BlockSet, TraceError> {
        let block = self.drive.block_bytes;
        let mut touched = BlockSet::default();
        let mut pass = LaidPass::new(self)?;
        while let Some(request) = pass.next_request()? {
            pace.step()?;
            if matches!(request.op, Op::Read | Op::Write) {
                touched.insert(request.offset / block, (request.offset + request.len - 1) / block);
            }
        }
        Ok(touched)
    }

    /// Places every request once, to report what becomes of them.
    fn count(&mut self, pace: &mut Pace<'_>) -> Result<(), TraceError> {
        let mut report = self.report.clone();
        let mut pass = LaidPass::new(self)?;
        let mut pieces = Vec::new();
        report.submitted = 0;
        let mut number = 0_u64;
        while let Some(request) = pass.next_request()? {
            pace.step()?;
            number += 1;
            pieces.clear();
            match self.mapping.place(&self.drive, &request, &mut pieces) {
                Fate::Whole => {}
                Fate::Shortened(bytes) => {
                    report.shortened_trims += 1;
                    report.trim_bytes_dropped = report.trim_bytes_dropped.saturating_add(bytes);
                }
                Fate::Beyond => {
                    report.beyond_drive += 1;
                    report.beyond_drive_bytes =
                        report.beyond_drive_bytes.saturating_add(request.len);
                }
                Fate::Untouched => {
                    report.untouched_trims += 1;
                    report.trim_bytes_dropped =
                        report.trim_bytes_dropped.saturating_add(request.len);
                }
                Fate::TooLong => return Err(self.too_long(number, &request)),
            }
            report.submitted += pieces.len() as u64;
            report.moved +=
                u64::from(pieces.first().is_some_and(|piece| piece.offset != request.offset));
            if let Some(extra) = pieces.len().checked_sub(2) {
                report.split += 1;
                report.extra_pieces += extra as u64 + 1;
            }
        }
        if report.submitted == 0 {
            return Err(TraceError::fit(format!(
                "none of the {} requests of {} lies within the drive's {}",
                report.requests,
                self.name(),
                size(self.drive.exported_bytes)
            )));
        }
        self.report = report;
        Ok(())
    }

    fn name(&self) -> &str {
        &self.workload.identity().name
    }

    fn too_long(&self, number: u64, request: &Request) -> TraceError {
        TraceError::fit(format!(
            "request {number} of {} has {}, but the drive exports {}; choose a larger drive, or \
             workload.fit = \"clip\" (of compare, advise, tune and trace convert: --fit)",
            self.name(),
            size(request.len),
            size(self.drive.exported_bytes)
        ))
    }

    /// What fitting did.
    pub fn report(&self) -> &FitReport {
        &self.report
    }

    /// The drive that the workload was fitted to.
    pub fn drive(&self) -> DriveShape {
        self.drive
    }

    /// Whether each request lies where its volume has it, and as a whole.
    pub fn is_as_recorded(&self) -> bool {
        matches!(self.mapping, Mapping::Same) && self.layout.places.len() <= 1
    }

    /// All requests in order of arrival, offsets being bytes of the drive. The parts of a request
    /// that was split follow one another, at the same arrival time. After an error there are no
    /// more.
    pub fn requests(&self) -> Requests<'_> {
        Requests { fitted: self, pass: None, pieces: Vec::new(), next_piece: 0, done: false }
    }
}

/// One pass over the selected requests, volumes laid one after another.
struct LaidPass<'a> {
    fitted: &'a FittedWorkload,
    pass: Pass,
}

impl<'a> LaidPass<'a> {
    fn new(fitted: &'a FittedWorkload) -> Result<Self, TraceError> {
        Ok(Self { fitted, pass: Pass::new(&fitted.workload)? })
    }

    #[inline]
    fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        let Some(mut request) = self.pass.next_request()? else { return Ok(None) };
        // A flush is for the whole drive, whichever volume asked for it.
        if request.op != Op::Flush {
            request.offset += self.fitted.layout.base(request.volume);
            if request.offset + request.len > self.fitted.report.workload_bytes {
                return Err(self.pass.changed());
            }
        }
        Ok(Some(request))
    }
}

/// Iterator over the requests of a [`FittedWorkload`].
pub struct Requests<'a> {
    fitted: &'a FittedWorkload,
    /// Opened by the first call, so that failing to is an item like any other error.
    pass: Option<LaidPass<'a>>,
    pieces: Vec<Request>,
    next_piece: usize,
    done: bool,
}

impl Requests<'_> {
    #[inline]
    fn advance(&mut self) -> Result<Option<Request>, TraceError> {
        loop {
            if let Some(piece) = self.pieces.get(self.next_piece) {
                self.next_piece += 1;
                return Ok(Some(*piece));
            }
            let pass = match &mut self.pass {
                Some(pass) => pass,
                none => none.insert(LaidPass::new(self.fitted)?),
            };
            let Some(request) = pass.next_request()? else { return Ok(None) };
            if matches!(self.fitted.mapping, Mapping::Same) {
                return Ok(Some(request));
            }
            self.pieces.clear();
            self.next_piece = 0;
            let fate = self.fitted.mapping.place(&self.fitted.drive, &request, &mut self.pieces);
            // The counting pass has shown that neither happens, unless the file is another one now.
            if fate == Fate::TooLong || (fate == Fate::Untouched && request.op != Op::Trim) {
                return Err(pass.pass.changed());
            }
        }
    }
}

impl Iterator for Requests<'_> {
    type Item = Result<Request, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.advance();
        self.done = !matches!(item, Ok(Some(_)));
        item.transpose()
    }
}
