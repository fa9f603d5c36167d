//! What happens when a workload reaches beyond the drive.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::nearest;

/// What happens when the workload reaches beyond the drive. Each request is accounted for, and a
/// mapping that even so finds no room is an error with both sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FitMode {
    /// It is an error that gives both sizes.
    #[default]
    Refuse,
    /// Addresses are taken modulo the drive's capacity; a request across the end goes on at address
    /// 0, as a second request.
    Wrap,
    /// Only the logical blocks that are read or written keep a place, densely, in ascending order:
    /// offsets inside a block, and which blocks are neighbours, stay as they were. Done even where
    /// the workload fits as it is.
    Compact,
    /// Requests that do not lie wholly within the drive are dropped (HBM).
    Clip,
    /// Page addresses are shrunk evenly, (page x drive pages / workload pages), lengths and offsets
    /// inside a page stay (EPO); a request pushed over the end is moved back by whole pages.
    Scale,
    /// Logical blocks beyond the drive move to blocks inside that the workload never reads or
    /// writes, in ascending order; the others stay (SUPA). A request whose blocks part is split.
    Remap,
}

impl FitMode {
    /// All modes, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::Refuse, Self::Wrap, Self::Compact, Self::Clip, Self::Scale, Self::Remap];

    /// Name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Wrap => "wrap",
            Self::Compact => "compact",
            Self::Clip => "clip",
            Self::Scale => "scale",
            Self::Remap => "remap",
        }
    }
}

impl FromStr for FitMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let hint = match nearest(name, Self::ALL.iter().map(|mode| mode.name())) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => String::new(),
            };
            format!("unknown fit `{name}`{hint}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_have_names() {
        for mode in FitMode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
        assert!("warp".parse::<FitMode>().unwrap_err().contains("did you mean `wrap`?"));
    }
}
