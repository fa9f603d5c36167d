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

mod bad;
pub mod characterise;
mod chosen;
mod compact;
mod config;
mod error;
mod fit;
#[doc(hidden)]
pub mod fuzzing;
mod generate;
mod input;
mod limits;
mod order;
mod pass;
mod readers;
mod selection;
mod summary;
mod trace;
mod watch;
mod workload;
mod write;

pub use bad::BadLines;
pub use characterise::{CharacteriseOptions, Profile};
pub use chosen::{Ops, Volumes};
pub use config::{
    Action, FitMode, FormatChoice, IologUnit, IologWaits, OracleOp, OutOfOrder, WorkloadConfig, Zeroes,
};
pub use error::TraceError;
pub use fit::{DriveShape, FitReport, FittedWorkload, Requests, VolumePlace};
pub use generate::{
    Arrivals, GenerateConfig, Generator, MeasuredStatistic, Sizes, StandIn, Statistic,
    arrivals_registry as arrivals, measure_stand_in, registry as generators, stand_ins,
};
pub use input::unpacked;
pub use order::{Disorder, Moved};
pub use pass::SelectedRequests;
pub use readers::{Format, formats};
pub use selection::LeftOut;
pub use summary::{Figures, VolumeFigures};
pub use watch::Watch;
pub use workload::{TraceIdentity, TraceSummary, Workload};
pub use write::{
    HeldVolumes, Holds, Losses, PackedWriter, Packing, Place, WriteFormat, WriteOptions, WriteReport,
    write_formats, write_trace,
};
