//! Experiments: one configuration in, result records out.
//!
//! [`resolve`] turns a preset, a file and `--set` options into [`Experiment`]s, one for each point
//! of their axes; [`run`] runs one and gives its [`Record`], a [`Runner`] many of them;
//! [`registry_json`] and [`schema_json`] tell what can be configured.

mod convert;
mod error;
mod examples;
mod experiment;
mod generate;
mod load;
mod memory;
mod presets;
mod registry;
mod replace;
mod run;
mod schema;
mod syntax;

pub use convert::{ConvertOptions, Converted, convert};
pub use eraseblock_core::buffer;
pub use eraseblock_core::config::DeviceConfig;
pub use eraseblock_core::host::{Op, Request};
pub use eraseblock_core::support::ids::Lpn;
pub use eraseblock_traces::{GenerateConfig, Given};
pub use error::ConfigError;
pub use examples::examples_json;
pub use experiment::Experiment;
pub use generate::{Output, generate_trace, measure_json, stand_in_json};
pub use load::{resolve, resolve_generator};
pub use memory::LargePages;
pub use presets::preset_names;
pub use registry::registry_json;
pub use replace::check_replaceable;
pub use run::{
    Answers, Cache, ENGINE, Flash, How, Identity, Images, InfoOptions, Progress, Record, Response,
    RunError, Runner, Session, run, trace_info,
};
pub use schema::schema_json;
