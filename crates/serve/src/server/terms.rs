//! How a server is asked to serve an image, and what it says of that when it begins and ends.

use std::path::PathBuf;

use eraseblock_core::metrics::Report;
use eraseblock_core::metrics::latency::LatencySummary;
use serde_json::{Value, json};

use super::http::Http;
use super::listen::Address;
use super::tls::Tls;
use crate::found::Found;

/// How an image is served.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "choices that have nothing to do with one another"
)]
pub struct Options {
    /// Where clients come.
    pub address: Address,
    /// Clients have to encrypt what they say.
    pub tls: Option<Tls>,
    /// Others than this machine may come without TLS, and read and write the drive.
    pub insecure: bool,
    /// What is promised to last is on the host's disk first, and so outlasts a crash of the host.
    pub sync: bool,
    /// Answers come when the simulated drive would give them.
    pub pace: bool,
    /// The thread that does so asks the system for real-time priority.
    pub real_time: bool,
    /// All that is put to the drive is written here, as a trace.
    pub record: Option<PathBuf>,
    /// A socket for orders to the server.
    pub control: Option<PathBuf>,
    /// Figures over HTTP.
    pub http: Option<Http>,
}

impl Options {
    /// Those that a server has where nothing is said of them.
    pub fn at(address: Address) -> Self {
        Self {
            address,
            tls: None,
            insecure: false,
            sync: false,
            pace: false,
            real_time: true,
            record: None,
            control: None,
            http: None,
        }
    }
}

/// What is told when clients can come.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Where they can, as they name it.
    pub uri: String,
    /// Where people find the page with its figures, if there is one.
    pub page: Option<String>,
    /// Bytes of the drive.
    pub size: u64,
    /// What was found in the image.
    pub found: Found,
    /// Where answers come when the simulated drive would give them: whether the thread that gives
    /// them has real-time priority, or why not.
    pub real_time: Option<Result<(), String>>,
}

impl Ready {
    /// The same for those who read JSON.
    pub fn to_json(&self) -> String {
        let Found { readable, torn, compared, .. } = self.found;
        json!({
            "uri": self.uri, "page": self.page, "size": self.size, "pages": readable, "torn": torn,
            "compared": compared, "real_time": self.real_time.as_ref().map(told),
        })
        .to_string()
    }
}

/// Whether it is so, or why not: for those who read JSON.
pub(super) fn told(real_time: &Result<(), String>) -> Value {
    match real_time {
        Ok(()) => true.into(),
        Err(why) => why.as_str().into(),
    }
}

/// What a server has done.
#[derive(Debug)]
pub struct Ended {
    /// What the drive has done since it was opened.
    pub report: Report,
    /// By how much answers came after their time, in ns, where they were to come in time.
    pub lateness: Option<LatencySummary>,
    /// Requests that were written down.
    pub recorded: Option<u64>,
    /// Why there is no trace of them.
    pub recording_failed: Option<String>,
    /// Why the last checkpoint could not be written: it takes longer to open the image.
    pub checkpoint_failed: Option<String>,
    /// Why the drive could only be read in the end; what was answered before is in the image.
    pub failed: Option<String>,
}

impl Ended {
    /// The same for those who read JSON.
    pub fn to_json(&self) -> String {
        let Self { report, lateness, recorded, recording_failed, checkpoint_failed, failed } = self;
        json!({
            "drive": report, "lateness_ns": lateness.as_ref(), "recorded": recorded,
            "recording_failed": recording_failed, "checkpoint_failed": checkpoint_failed,
            "failed": failed,
        })
        .to_string()
    }
}
