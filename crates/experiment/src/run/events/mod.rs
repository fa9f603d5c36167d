//! The log of a buffer's decisions: one line of JSON each. docs/events.md describes it.

mod line;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use eraseblock_core::buffer::{Buffer, Shape};
use eraseblock_core::metrics::observer::{Decision, Fault, Hears, Observer, Occasion};
use eraseblock_traces::{PackedWriter, Packing, Place, Workload, unpacked};
use serde_json::{Value as Json, json};

use super::error::RunError;
use super::record;
use crate::experiment::Experiment;
pub(crate) use line::push_line;

/// Version of the format; it rises when a line changes its meaning.
const FORMAT: u32 = 1;
/// What each log begins with.
const START: &str = r#"{"op":"start","events":"#;
/// Bytes gathered before they are written: whole lines, so that a stopped run leaves whole lines.
const CHUNK: usize = 1 << 16;

/// A log that is being written.
pub(super) struct EventLog {
    path: PathBuf,
    file: Option<PackedWriter>,
    lines: Vec<u8>,
}

impl std::fmt::Debug for EventLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl EventLog {
    /// Begins a log at `path`, packed as its name says. A file that is there is replaced if it is a
    /// log, too.
    pub fn create(path: &Path) -> Result<Self, RunError> {
        let name = path.display();
        let wrong = |problem: String| RunError::Events(format!("{name}: {problem}"));
        let (packing, _) = Packing::of_name(path).map_err(wrong)?;
        if path.is_dir() {
            return Err(wrong("is a folder; a log of events is a file".into()));
        }
        let place = Place::of(path).map_err(wrong)?;
        if place == Place::File && !is_replaceable(path) {
            return Err(wrong(
                "is there already and is no log of events; name another file".into(),
            ));
        }
        let file =
            if place == Place::Stream { Place::open_stream(path) } else { File::create(path) };
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => wrong("cannot be written: there is no such folder".into()),
            _ => wrong(format!("cannot be written: {error}")),
        })?;
        let file = Some(PackedWriter::new(file, packing));
        Ok(Self { path: path.to_owned(), file, lines: Vec::with_capacity(2 * CHUNK) })
    }

    /// Writes the first line: what the others are about.
    pub fn start(
        &mut self,
        experiment: &Experiment,
        (workload, image): (&Workload, Option<&str>),
        shape: Shape,
        page_bytes: u64,
    ) -> Result<(), RunError> {
        let identity = workload.identity();
        let rest = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "key": experiment.key_with_content((identity.format, &identity.sha256), image),
            "scheme": experiment.device().buffer.scheme,
            "buffer_pages": shape.capacity,
            "pages_per_block": shape.pages_per_block,
            "page_bytes": page_bytes,
            "trace": Json::Object(record::object(identity)),
            "config": experiment.to_value(),
        });
        let rest = rest.to_string();
        self.lines.extend_from_slice(format!("{START}{FORMAT},{}\n", &rest[1..]).as_bytes());
        self.write().map_err(|error| RunError::Events(self.failed(&error)))
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.write_all(&self.lines)?;
        }
        self.lines.clear();
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("{}: cannot be written: {error}", self.path.display())
    }

    fn end(&mut self) -> io::Result<()> {
        self.write()?;
        match self.file.take() {
            Some(file) => file.finish().map(|_| ()),
            None => Ok(()),
        }
    }
}

impl Observer for EventLog {
    fn on_access(&mut self, decision: &Decision<'_>, _: &dyn Buffer) -> Result<Hears, Fault> {
        push_line(&mut self.lines, decision);
        let done = if decision.occasion == Occasion::End {
            self.end()
        } else if self.lines.len() >= CHUNK {
            self.write()
        } else {
            return Ok(Hears::Yes);
        };
        done.map(|()| Hears::Yes).map_err(|error| Fault::Observer(self.failed(&error)))
    }

    fn reads_details(&self) -> bool {
        true
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        // Best effort: a run that was stopped leaves what it has decided; a log that has ended has
        // nothing left.
        let _ = self.end();
    }
}

/// Whether a file is a log or empty, so that it may make room for a new log.
fn is_replaceable(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = unpacked(path).is_ok_and(|content| {
        let mut content = content.take(START.len() as u64);
        content.read_to_end(&mut head).is_ok()
    });
    (read && head == START.as_bytes()) || path.metadata().is_ok_and(|meta| meta.len() == 0)
}
