//! Workloads: block traces read from files, synthetic ones, and their place on a drive.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use eraseblock_core::config::Bytes;
//! use eraseblock_traces::{DriveShape, GenerateConfig, WorkloadConfig};
//!
//! let config = WorkloadConfig::generated(GenerateConfig::uniform(1000, Bytes(1 << 20)));
//! let workload = config.prepare(std::path::Path::new("."))?;
//! assert_eq!(workload.identity().requests, 1000);
//!
//! let drive = DriveShape { exported_bytes: 1 << 30, page_bytes: 4096, block_bytes: 1 << 18 };
//! for request in workload.fit(drive)?.requests() {
//!     assert!(request?.offset < 1 << 20);
//! }
//! # Ok(())
//! # }
//! ```

pub mod characterise;
mod compact;
mod config;
mod error;
mod fit;
#[doc(hidden)]
pub mod fuzzing;
mod generate;
mod input;
mod readers;
mod trace;
mod watch;
mod workload;
mod write;

pub use characterise::{CharacteriseOptions, Profile};
pub use config::{FitMode, Given, Ops, Volumes, Which, WorkloadConfig};
pub use error::TraceError;
pub use fit::{DriveShape, FitReport, FittedWorkload, Requests, VolumePlace};
pub use generate::{
    Arrivals, GenerateConfig, Generator, MeasuredStatistic, Sizes, StandIn, Statistic,
    arrivals_registry as arrivals, measure_stand_in, registry as generators, stand_ins,
};
pub use input::unpacked;
pub use readers::{Disorder, Format, FormatChoice, NamedFormat, formats};
pub use trace::{BadLines, Moved, OutOfOrder};
pub use watch::Watch;
pub use workload::{
    Figures, LeftOut, SelectedRequests, Split, TraceIdentity, TraceSummary, VolumeFigures, Workload,
};
pub use write::{
    HeldVolumes, Holds, Losses, PackedWriter, Packing, Place, TraceWriter, WriteFormat,
    WriteOptions, WriteReport, write_formats, write_trace,
};
