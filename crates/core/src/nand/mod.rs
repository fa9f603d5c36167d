//! The flash array: geometry, what chips allow, what is stored, and when it happens.

pub mod cells;
pub mod chip;
pub mod config;
pub mod engine;
pub mod flash;
pub mod geometry;
pub mod media;
pub mod op;
pub mod shadow;
pub mod stored;

pub use cells::Cells;
pub use chip::Chip;
pub use engine::{ByPart, Engine, IdleDrive, PARTS, PageProgram, Part, Path, Special, Stretch};
pub use flash::{Flash, Violation};
pub use geometry::Geometry;
pub use media::{Media, Oob, PageState, Role};
pub use op::{Cause, FlashOp, JoinId, Kind, Plan};
pub use shadow::Shadow;
pub use stored::Stored;
