//! A workload made ready: read once, counted, and known by its hash.

mod kept;
mod parts;
mod pass;
mod selection;
mod source;
mod split;
mod summary;

use std::collections::BTreeMap;
use std::path::Path;

use eraseblock_core::host::Request;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::config::{FitMode, Volumes, WorkloadConfig};
use crate::error::TraceError;
use crate::generate::GenerateConfig;
use crate::input::hex;
use crate::readers::{Detected, FormatChoice, detect};
use crate::trace::{BadLines, Moved, Reading, TraceFile};
use crate::watch::{Pace, Watch};
use kept::{Keeper, Kept};
pub(crate) use pass::Pass;
pub use pass::SelectedRequests;
pub use selection::LeftOut;
use selection::Selection;
use source::{Records, Source};
pub use split::Split;
use summary::MAX_VOLUMES;
pub(crate) use summary::Tally;
pub use summary::{Figures, VolumeFigures};

/// Which workload this is, and what was left out or changed on reading it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceIdentity {
    /// File name without folders, or the generator's pattern.
    pub name: String,
    /// Name of the format; `generated` for a generator.
    pub format: &'static str,
    /// Why it was taken to be this format, and what the file leaves open.
    pub evidence: String,
    /// Of the unpacked content; for a generator, of its parameters.
    pub sha256: String,
    /// Requests that are replayed.
    pub requests: u64,
    /// Requests that the whole trace holds: those replayed and those left out.
    pub requests_in_trace: u64,
    /// Requests that are not replayed, by reason.
    pub left_out: LeftOut,
    /// Time of the first request replayed, counted from that of the trace's first, in ns; the
    /// replay's clock starts with it.
    pub start_ns: u64,
    /// Requests whose time lay before that of an earlier one.
    #[serde(flatten)]
    pub moved: Moved,
    /// Lines of the file that hold no request, by what they are.
    pub other_lines: BTreeMap<&'static str, u64>,
    /// Lines that are not what the format promises and were skipped, because `skip_bad_lines` says
    /// so.
    pub bad_lines: BadLines,
    /// What a generator was asked for and could not meet, a sentence each; absent where there is
    /// nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
}

/// What the whole trace is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceSummary {
    /// File name without folders, or the generator's pattern.
    pub name: String,
    /// Name of the format; `generated` for a generator.
    pub format: &'static str,
    /// Why it was taken to be this format, and what the file leaves open.
    pub evidence: String,
    /// Of the unpacked content; for a generator, of its parameters.
    pub sha256: String,
    /// Counts, sizes, times and addresses.
    #[serde(flatten)]
    pub figures: Figures,
    /// Requests whose time lay before that of an earlier one.
    #[serde(flatten)]
    pub moved: Moved,
    /// Lines of the file that hold no request, by what they are.
    pub other_lines: BTreeMap<&'static str, u64>,
    /// Lines that are not what the format promises and were skipped, because `skip_bad_lines` says
    /// so.
    pub bad_lines: BadLines,
}

/// A workload that has been read once from end to end.
#[derive(Debug, Clone)]
pub struct Workload {
    source: Source,
    selection: Selection,
    fit: FitMode,
    identity: TraceIdentity,
    summary: TraceSummary,
    selected: Figures,
    kept: Option<Kept>,
}

impl WorkloadConfig {
    /// Reads the workload once: checks every line, counts, and takes the sha256. A relative `path`
    /// starts at `base`.
    ///
    /// # Errors
    ///
    /// The configuration is wrong, the file cannot be read, its format cannot be told, a line is
    /// not what the format promises, or no request is left to replay.
    pub fn prepare(&self, base: &Path) -> Result<Workload, TraceError> {
        self.prepare_watched(base, &mut |_| true)
    }

    /// The same with a caller who may end it, as [`TraceError::is_cancelled`] then tells.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`].
    pub fn prepare_watched(&self, base: &Path, watch: Watch<'_>) -> Result<Workload, TraceError> {
        let mut pace = Pace::new(watch);
        self.prepare_seen(base, &mut |seen| {
            (0..seen.map_or(1, <[Request]>::len)).try_for_each(|_| pace.step())
        })
    }

    /// The same, and shows `see` the requests that are replayed, as they are replayed; its error
    /// ends the pass.
    pub(crate) fn prepare_seen(&self, base: &Path, see: See<'_>) -> Result<Workload, TraceError> {
        self.prepare_with(base, Keeper::new(), see)
    }

    /// The same for whoever serves the requests with this very pass, some at a time, each at its
    /// address on its volume: nothing is kept in memory for others. What follows from all of them together, such
    /// as where volumes lie, is only known at its end.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`], and what `serve` says.
    pub fn prepare_served(
        &self,
        base: &Path,
        serve: &mut dyn FnMut(&[Request]) -> Result<(), TraceError>,
    ) -> Result<Workload, TraceError> {
        self.prepare_with(base, Keeper::of_nothing(), &mut |requests| {
            requests.map_or(Ok(()), &mut *serve)
        })
    }

    fn prepare_with(
        &self,
        base: &Path,
        keeper: Keeper,
        see: See<'_>,
    ) -> Result<Workload, TraceError> {
        self.check()?;
        let (source, names) = self.begin(base)?;
        let mut records = source.open(true)?;
        let mut counts = Counts::of(&mut records, self, keeper, see)?;
        if self.given.is_some() {
            // They are in memory already.
            counts.kept = None;
        }
        let (names, reading) = names.read(records);
        self.finish(source, names, counts, reading)
    }

    /// What [`TraceIdentity::sha256`] will be, where no file has to be read to know it: a
    /// generator's.
    #[must_use]
    pub fn generated_sha256(&self) -> Option<String> {
        self.generate.as_ref().map(parameters_sha256)
    }

    /// Where the requests come from, and what that is called.
    fn begin(&self, base: &Path) -> Result<(Source, Names), TraceError> {
        if let Volumes::Each(_) = self.volumes {
            let problem = format!(
                "`{}` stands for a run of each volume, and here is one drive; name a volume, as in \
                 \"0\", or lay all of them onto it with \"concat\"",
                self.volumes
            );
            return Err(TraceError::key("volumes", problem));
        }
        if let Some(given) = &self.given {
            let names = Names {
                name: "requests".to_owned(),
                format: "memory",
                evidence: "given by the program".to_owned(),
                sha256: given.sha256().to_owned(),
            };
            return Ok((Source::Given(given.requests()?.clone()), names));
        }
        if let Some(generate) = &self.generate {
            let names = Names {
                name: generate.title().to_owned(),
                format: "generated",
                evidence: format!(
                    "made by the {} generator from seed {}",
                    generate.name(),
                    generate.seed()
                ),
                sha256: parameters_sha256(generate),
            };
            return Ok((Source::Generated(Box::new(generate.clone())), names));
        }
        let path = base.join(self.path.as_deref().unwrap_or_default());
        let (format, evidence) = match &self.format {
            FormatChoice::Auto => {
                let Detected { format, evidence } = detect(&path)?;
                (format.into(), evidence)
            }
            FormatChoice::Named(named) => (named.clone(), "named by the user".to_owned()),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = Names { name, format: format.format().name, evidence, sha256: String::new() };
        let source = Source::Trace(TraceFile {
            path,
            format,
            out_of_order: self.out_of_order,
            skip_bad_lines: self.skip_bad_lines,
            limits: self.limits(),
        });
        Ok((source, names))
    }

    fn finish(
        &self,
        source: Source,
        names: Names,
        counts: Counts,
        reading: Reading,
    ) -> Result<Workload, TraceError> {
        let Counts { whole, selected, left_out, start_ns, kept } = counts;
        self.check_volumes(&names.name, &whole)?;
        if selected.requests == 0 {
            return Err(nothing_left(&names.name, &whole, left_out));
        }
        let Names { name, format, mut evidence, sha256 } = names;
        if let Some(assumed) = reading.assumed {
            evidence = format!("{evidence}; {assumed}");
        }
        let other_lines: BTreeMap<_, _> = reading.other_lines.into_iter().collect();
        let identity = TraceIdentity {
            name: name.clone(),
            format,
            evidence: evidence.clone(),
            sha256: sha256.clone(),
            requests: selected.requests,
            requests_in_trace: whole.requests,
            left_out,
            start_ns,
            moved: reading.moved,
            other_lines: other_lines.clone(),
            bad_lines: reading.bad_lines.clone(),
            missed: reading.missed,
        };
        let summary = TraceSummary {
            name,
            format,
            evidence,
            sha256,
            figures: whole,
            moved: reading.moved,
            other_lines,
            bad_lines: reading.bad_lines,
        };
        Ok(Workload {
            source,
            selection: Selection::new(self),
            fit: self.fit,
            identity,
            summary,
            selected,
            kept,
        })
    }

    /// A volume that was chosen by its number is there.
    fn check_volumes(&self, name: &str, whole: &Figures) -> Result<(), TraceError> {
        let Volumes::Only(wanted) = &self.volumes else { return Ok(()) };
        let known: Vec<_> = whole.volumes.iter().map(|volume| volume.volume).collect();
        let Some(missing) = wanted.iter().find(|volume| known.binary_search(volume).is_err())
        else {
            return Ok(());
        };
        Err(no_volume(name, *missing, &known))
    }
}

/// A volume that was chosen by its number is not among those that are there, in ascending order.
fn no_volume(name: &str, missing: u32, known: &[u32]) -> TraceError {
    const SHOWN: usize = 24;
    let count = known.len();
    let listed = |some: &[u32]| some.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let there = if count <= SHOWN {
        format!("only {}", listed(known))
    } else {
        let above = known.partition_point(|&one| one < missing);
        let near = &known[above.saturating_sub(2)..count.min(above + 2)];
        format!("among its {count}; the nearest numbers are {}", listed(near))
    };
    TraceError::key("volumes", format!("{name} has no volume {missing}, {there}"))
}

fn nothing_left(name: &str, whole: &Figures, left_out: LeftOut) -> TraceError {
    let reasons = [
        (left_out.by_volume, "on other volumes"),
        (left_out.by_op, "of kinds that ops leaves out"),
        (left_out.by_address, "not between from_byte and until_byte"),
        (left_out.zero_length, "of no bytes"),
        (left_out.before_from, "before the time from"),
        (left_out.after_until, "at the time until or later"),
        (left_out.skipped, "skipped"),
    ];
    let reasons: Vec<_> = reasons
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    let count = whole.requests;
    if count == 0 {
        return TraceError::file(name, "there are no requests in it".to_owned());
    }
    TraceError::file(
        name,
        format!("none of its {count} requests is left to replay: {}", reasons.join(", ")),
    )
}

fn parameters_sha256(generate: &GenerateConfig) -> String {
    hex(&Sha256::digest(generate.parameters()))
}

/// Sees the requests of a trace as they are replayed, some at a time; nothing for one that is left
/// out.
type See<'a> = &'a mut dyn FnMut(Option<&[Request]>) -> Result<(), TraceError>;

/// What names a workload.
#[derive(Debug, Clone)]
struct Names {
    name: String,
    format: &'static str,
    evidence: String,
    /// Of a file only known once it has been read.
    sha256: String,
}

impl Names {
    /// The same with what the end of a pass over all requests showed.
    fn read(self, records: Records) -> (Self, Reading) {
        match records {
            Records::Trace(reader) => {
                let (reading, sha256) = reader.finish();
                (Self { sha256, ..self }, reading)
            }
            Records::Generated(generator) => {
                (self, Reading { missed: generator.missed(), ..Reading::default() })
            }
            Records::Given(..) | Records::Part(_) => (self, Reading::default()),
        }
    }
}

/// The figures of one pass.
struct Counts {
    whole: Figures,
    selected: Figures,
    left_out: LeftOut,
    start_ns: u64,
    kept: Option<Kept>,
}

impl Counts {
    fn of(
        records: &mut Records,
        config: &WorkloadConfig,
        keeper: Keeper,
        see: See<'_>,
    ) -> Result<Self, TraceError> {
        let selection = Selection::new(config);
        // Until the first request is left out, those selected are the whole; but for the requests of
        // one volume by itself, whose times are those of the whole trace.
        let apart = !selection.keeps_times() || matches!(records, Records::Part(_));
        let selected = apart.then(Tally::default);
        let mut counting = Counting { selection, whole: Tally::default(), selected, keeper, see };
        let mut few = Vec::new();
        loop {
            if records.next_few(&mut few) {
                if let Some(at) = counting.add_all(&few)? {
                    return Err(too_many_volumes(records, few.len() - 1 - at));
                }
                continue;
            }
            // Looked at where it was put: to copy it would wait until it is written.
            let next = records.next_request();
            match &next {
                Ok(Some(request)) if counting.add(request)? => {}
                Ok(Some(_)) => return Err(too_many_volumes(records, 0)),
                Ok(None) => break,
                Err(_) => next.map(|_| ())?,
            }
        }
        let Counting { selection, whole, selected, keeper, .. } = counting;
        let whole = whole.finish();
        let selected = selected.map_or_else(|| whole.clone(), Tally::finish);
        if i64::try_from(selected.duration_ns).is_err() {
            let problem = format!(
                "found {}, with which the trace would last more than 292 years",
                config.time_scale
            );
            return Err(TraceError::key("time_scale", problem));
        }
        let (left_out, start_ns, kept) =
            (selection.left_out(), selection.start_ns(), keeper.finish());
        Ok(Self { whole, selected, left_out, start_ns, kept })
    }
}

/// A pass under way.
struct Counting<'a> {
    selection: Selection,
    whole: Tally,
    /// Of those that are replayed, where they are not the whole.
    selected: Option<Tally>,
    keeper: Keeper,
    see: See<'a>,
}

impl Counting<'_> {
    /// Another request; false if it is on one volume too many.
    #[inline(always)]
    fn add(&mut self, request: &Request) -> Result<bool, TraceError> {
        let taken = self.selection.take(request);
        (self.see)(taken.as_ref().map(std::slice::from_ref))?;
        if let Some(taken) = &taken {
            self.keeper.add(taken);
        }
        if taken.is_none() && self.selected.is_none() {
            self.selected = Some(self.whole.clone());
        }
        if !self.whole.add(request) {
            return Ok(false);
        }
        if let (Some(taken), Some(selected)) = (taken, &mut self.selected) {
            let known = selected.add(&taken);
            assert!(known, "the whole has room for the volumes of its part");
        }
        Ok(true)
    }

    /// Requests that were read together; the place of the first that is on one volume too many, if
    /// one is.
    fn add_all(&mut self, requests: &[Request]) -> Result<Option<usize>, TraceError> {
        if !self.selection.take_all(requests) {
            for (at, request) in requests.iter().enumerate() {
                if !self.add(request)? {
                    return Ok(Some(at));
                }
            }
            return Ok(None);
        }
        (self.see)(Some(requests))?;
        self.keeper.add_all(requests);
        if let Err(at) = self.whole.add_all(requests) {
            return Ok(Some(at));
        }
        if let Some(selected) = &mut self.selected {
            let known = selected.add_all(requests);
            assert!(known.is_ok(), "the whole has room for the volumes of its part");
        }
        Ok(None)
    }
}

/// Of the request behind which so many were read together with it.
#[cold]
fn too_many_volumes(records: &Records, behind: usize) -> TraceError {
    let found = format!("more than {MAX_VOLUMES} different volumes up to here");
    match records {
        Records::Trace(reader) => {
            reader.bad_request(behind, found, "fewer; is this column the volume?")
        }
        Records::Given(..) => TraceError::key("requests", format!("column `volume`: {found}")),
        Records::Generated(_) | Records::Part(_) => TraceError::key("generate", found),
    }
}

impl Workload {
    /// Which workload this is.
    pub fn identity(&self) -> &TraceIdentity {
        &self.identity
    }

    /// What the whole trace is made of, whatever part of it is replayed.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// The figures of the requests that are replayed.
    pub fn selected(&self) -> &Figures {
        &self.selected
    }

    /// True for one volume of a trace whose volumes are kept apart.
    pub fn is_part(&self) -> bool {
        matches!(self.source, Source::Part(..))
    }

    /// The same workload, whose file is read for each pass, however small it is.
    #[must_use]
    pub fn without_memory(self) -> Self {
        Self { kept: None, ..self }
    }

    pub(crate) fn fit_mode(&self) -> FitMode {
        self.fit
    }
}
