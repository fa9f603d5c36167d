//! The figures of one run, as they are written down. Times in ns, sizes in bytes or pages; what was
//! not timed is null.

use serde::{Deserialize, Serialize};

use super::Figures;
use super::latency::LatencySummary;
use super::wear::Wear;
use crate::nand::op::ByCause;

/// A figure by kind of request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByKind<T> {
    /// All requests.
    pub all: T,
    /// Reads.
    pub read: T,
    /// Writes.
    pub write: T,
}

/// Requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Requests {
    /// Taken from the workload.
    pub submitted: u64,
    /// Answered.
    pub completed: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Trims among them.
    pub trims: u64,
    /// Flushes among them.
    pub flushes: u64,
}

/// The warm-up: requests that came before all others and are in no other figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WarmUp {
    /// How many.
    pub requests: u64,
}

/// Requests and bytes over the simulated time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Throughput {
    /// Requests a second.
    pub iops: f64,
    /// Bytes of reads and writes a second.
    pub bytes_per_s: f64,
}

/// Pages of the host's requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostPages {
    /// Read.
    pub read: u64,
    /// Written.
    pub write: u64,
    /// Trimmed, whole pages only.
    pub trim: u64,
}

/// Flash work by cause: reads and programs in mapped pages, erases in blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlashWork {
    /// In all.
    pub total: u64,
    /// The host's own pages.
    pub host: u64,
    /// Completing blocks that the buffer flushes.
    pub padding: u64,
    /// Garbage collection.
    pub gc: u64,
    /// Merging log blocks.
    pub merge: u64,
    /// Tombstones, translation pages.
    pub mapping: u64,
    /// Wear levelling.
    pub wear: u64,
    /// Pages that hold nothing, to complete a program unit.
    pub filler: u64,
    /// Moving pages to where they are better off.
    pub placement: u64,
}

impl FlashWork {
    /// From counts by [`crate::nand::Cause`].
    pub fn new(by_cause: ByCause) -> Self {
        let [host, padding, gc, merge, mapping, wear, filler, placement] = by_cause;
        Self {
            total: by_cause.iter().sum(),
            host,
            padding,
            gc,
            merge,
            mapping,
            wear,
            filler,
            placement,
        }
    }
}

/// Array operations that several planes of a die did together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MultiPlane {
    /// Reads.
    pub reads: u64,
    /// Programs and copies.
    pub programs: u64,
    /// Erases.
    pub erases: u64,
}

/// How often operations were suspended for a host read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspensions {
    /// Programs.
    pub programs: u64,
    /// Erases.
    pub erases: u64,
}

/// Flash work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flash {
    /// Pages read.
    pub reads: FlashWork,
    /// Pages programmed.
    pub programs: FlashWork,
    /// Blocks erased.
    pub erases: FlashWork,
    /// Array operations that several planes did together under `nand.two_plane`; each counts once.
    pub multi_plane: MultiPlane,
    /// Programs whose data began to cross the bus while the array was programming the page before
    /// (`nand.cache_program`).
    pub cache_programs: u64,
    /// Suspensions (`nand.suspend`).
    pub suspensions: Suspensions,
}

/// Merges of log blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Merges {
    /// The log block became the data block.
    pub switch: u64,
    /// It did after the rest had been copied into it.
    pub partial: u64,
    /// Both were copied into a new block.
    pub full: u64,
}

/// What was done to the drive before the first request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Preconditioning {
    /// Empty, full, steady or workload.
    pub state: String,
    /// Pages written.
    pub pages_written: u64,
    /// Full-drive writes after the fill: of random pages, or of what the workload writes.
    pub drive_writes: u32,
    /// Write amplification of each of them.
    pub waf: Vec<f64>,
    /// Write amplification stayed within the tolerance.
    pub settled: bool,
}

/// Work after the last request, contained in the other figures.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EndOfRun {
    /// Host pages flushed from the buffer.
    pub flushed_pages: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Time that it took, in s.
    pub seconds: Option<f64>,
}

/// How a drive's life ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndOfLife {
    /// Bytes of host writes until then, in whole pages.
    pub host_bytes: u64,
    /// Requests that had come and were not answered.
    pub unanswered: u64,
}

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Requests.
    pub requests: Requests,
    /// Where `host.warm_up` asked for one; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// Whether the figures mean what they say.
    pub trusted: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// What a reader should know before drawing conclusions.
    pub warnings: Vec<String>,
    /// The buffer knew the future: a bound for others, and none for a drive.
    pub offline: bool,
    /// From arrival to answer.
    pub response_ns: ByKind<Option<LatencySummary>>,
    /// Over the simulated time.
    pub throughput: Option<Throughput>,
    /// From the first arrival to the last answer, in s.
    pub simulated_s: Option<f64>,
    /// Pages found in the buffer / pages requested; null where none were.
    pub hit_ratio: ByKind<Option<f64>>,
    /// Read pages served on their way to flash.
    pub inflight_hits: u64,
    /// Read pages that were never written.
    pub unmapped_reads: u64,
    /// Pages of requests.
    pub host_pages: HostPages,
    /// Entries of the map found in RAM / entries looked up; null where the whole map lies there.
    pub map_hit_ratio: Option<f64>,
    /// Pages that flushes added.
    pub padded_pages: u64,
    /// Flash work.
    pub flash: Flash,
    /// Merges.
    pub merges: Merges,
    /// Blocks that the FTL came to keep in another way than before: from the policy for one pattern
    /// to that for another.
    pub policy_switches: u64,
    /// Pages programmed / pages written by the host; null where it wrote none.
    pub waf: Option<f64>,
    /// Erases over the array.
    pub wear: Wear,
    /// Where so many blocks were worn out that the run ended early; else null.
    pub end_of_life: Option<EndOfLife>,
    /// Energy of all flash operations, in mJ; null where `nand.energy` gives none.
    pub energy_mj: Option<f64>,
    /// State of the buffer, without data, as it is kept here.
    pub buffer_metadata_bytes: u64,
    /// State of the buffer after the last request as the scheme's paper counts it; null where none
    /// says.
    pub buffer_paper_bytes: Option<u64>,
    /// State of the FTL.
    pub map_bytes: u64,
    /// State of FTL and array for each physical page.
    pub bytes_per_page: f64,
    /// Before the first request.
    pub precondition: Preconditioning,
    /// After the last one.
    pub end_of_run: EndOfRun,
    /// Reads compared with the host's last write, where that was asked for.
    pub verified_reads: Option<u64>,
    /// Flash operations, in pages and blocks.
    pub flash_ops: u64,
    /// What the registered metrics say, each under its own keys.
    #[serde(flatten)]
    pub figures: Figures,
}
