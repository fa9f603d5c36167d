//! A workload made ready: read once, counted, and known by its hash.

mod kept;
mod pass;
mod selection;
mod source;
mod summary;

use std::collections::BTreeMap;
use std::path::Path;

use eraseblock_core::host::Request;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::config::{FitMode, Given, Volumes, WorkloadConfig};
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
        self.prepare_seen(base, &mut |_| pace.step())
    }

    /// The same, and shows `see` each request that is replayed, as it is replayed; its error ends
    /// the pass.
    pub(crate) fn prepare_seen(&self, base: &Path, see: See<'_>) -> Result<Workload, TraceError> {
        self.check()?;
        if let Some(given) = &self.given {
            return self.prepare_given(given, see);
        }
        match (&self.path, &self.generate) {
            (_, Some(generate)) => self.prepare_generated(generate, see),
            (path, None) => {
                self.prepare_trace(&base.join(path.as_deref().unwrap_or_default()), see)
            }
        }
    }

    /// What [`TraceIdentity::sha256`] will be, where no file has to be read to know it: a
    /// generator's.
    #[must_use]
    pub fn generated_sha256(&self) -> Option<String> {
        self.generate.as_ref().map(parameters_sha256)
    }

    fn prepare_generated(
        &self,
        generate: &GenerateConfig,
        see: See<'_>,
    ) -> Result<Workload, TraceError> {
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
        let source = Source::Generated(Box::new(generate.clone()));
        let mut records = source.open(false)?;
        let counts = Counts::of(&mut records, self, see)?;
        self.finish(source, names, counts, Reading::default())
    }

    fn prepare_given(&self, given: &Given, see: See<'_>) -> Result<Workload, TraceError> {
        let names = Names {
            name: "requests".to_owned(),
            format: "memory",
            evidence: "given by the program".to_owned(),
            sha256: given.sha256().to_owned(),
        };
        let source = Source::Given(given.requests()?.clone());
        let mut records = source.open(false)?;
        // They are in memory already.
        let counts = Counts { kept: None, ..Counts::of(&mut records, self, see)? };
        self.finish(source, names, counts, Reading::default())
    }

    fn prepare_trace(&self, path: &Path, see: See<'_>) -> Result<Workload, TraceError> {
        let (format, evidence) = match &self.format {
            FormatChoice::Auto => {
                let Detected { format, evidence } = detect(path)?;
                (format.into(), evidence)
            }
            FormatChoice::Named(named) => (named.clone(), "named by the user".to_owned()),
        };
        let format_name = format.format().name;
        let source = Source::Trace(TraceFile {
            path: path.to_owned(),
            format,
            out_of_order: self.out_of_order,
            skip_bad_lines: self.skip_bad_lines,
            limits: self.limits(),
        });
        let mut records = source.open(true)?;
        let counts = Counts::of(&mut records, self, see)?;
        let (reading, sha256) = match records {
            Records::Trace(reader) => reader.finish(),
            Records::Generated(_) | Records::Given(..) => {
                unreachable!("a trace file is read by a trace reader")
            }
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.finish(source, Names { name, format: format_name, evidence, sha256 }, counts, reading)
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
        let shown: Vec<_> = known.iter().take(24).map(u32::to_string).collect();
        let more = if known.len() > shown.len() { ", ..." } else { "" };
        let problem = format!("{name} has no volume {missing}, only {}{more}", shown.join(", "));
        Err(TraceError::key("volumes", problem))
    }
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
    TraceError::file(
        name,
        format!("none of its {count} requests is left to replay: {}", reasons.join(", ")),
    )
}

fn parameters_sha256(generate: &GenerateConfig) -> String {
    hex(&Sha256::digest(generate.parameters()))
}

/// Sees each request of a trace as it is replayed; nothing for one that is left out.
type See<'a> = &'a mut dyn FnMut(Option<&Request>) -> Result<(), TraceError>;

/// What names a workload.
struct Names {
    name: String,
    format: &'static str,
    evidence: String,
    sha256: String,
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
        see: See<'_>,
    ) -> Result<Self, TraceError> {
        let mut selection = Selection::new(config);
        let mut whole = Tally::default();
        let mut keeper = Keeper::new();
        // Until the first request is left out, those selected are the whole.
        let mut selected: Option<Tally> = (!selection.keeps_times()).then(Tally::default);
        while let Some(request) = records.next_request()? {
            let taken = selection.take(&request);
            see(taken.as_ref())?;
            if let Some(taken) = &taken {
                keeper.add(taken);
            }
            if taken.is_none() && selected.is_none() {
                selected = Some(whole.clone());
            }
            if !whole.add(&request) {
                return Err(too_many_volumes(records));
            }
            if let (Some(taken), Some(selected)) = (taken, &mut selected) {
                let known = selected.add(&taken);
                debug_assert!(known, "the whole has room for the volumes of its part");
            }
        }
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

fn too_many_volumes(records: &Records) -> TraceError {
    let found = format!("more than {MAX_VOLUMES} different volumes up to here");
    match records {
        Records::Trace(reader) => reader.bad_request(found, "fewer; is this column the volume?"),
        Records::Generated(_) | Records::Given(..) => TraceError::key("generate", found),
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

    /// The same workload, whose file is read for each pass, however small it is.
    #[must_use]
    pub fn without_memory(self) -> Self {
        Self { kept: None, ..self }
    }

    pub(crate) fn fit_mode(&self) -> FitMode {
        self.fit
    }
}
