//! Experiments: one configuration in, result records out.
//!
//! [`resolve`] turns a preset, a file and `--set` options into [`Experiment`]s, one for each point of their axes;
//! [`run`] runs one and gives its [`Record`];
//! [`registry_json`] and [`schema_json`] tell what can be configured.

mod error;
mod experiment;
mod load;
mod presets;
mod registry;
mod run;
mod schema;

pub use error::ConfigError;
pub use experiment::Experiment;
pub use load::resolve;
pub use presets::preset_names;
pub use registry::registry_json;
pub use run::{Progress, Record, RunError, run, trace_info};
pub use schema::schema_json;
