//! Named drives: every paper's table of parameters and a modern drive.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::error::ConfigError;
use crate::syntax::{Node, parse};

/// A drive with a name: a TOML text whose `[about]` table says where its values come from.
pub(crate) struct Preset {
    pub name: &'static str,
    text: &'static str,
}

/// One line a preset.
const PRESETS: &[Preset] = &[
    Preset { name: "bplru-2008", text: include_str!("../presets/bplru-2008.toml") },
    Preset { name: "epo-2011", text: include_str!("../presets/epo-2011.toml") },
    Preset { name: "hbm-2010", text: include_str!("../presets/hbm-2010.toml") },
    Preset { name: "multibank-2009", text: include_str!("../presets/multibank-2009.toml") },
    Preset { name: "nvme-tlc", text: include_str!("../presets/nvme-tlc.toml") },
    Preset { name: "supa-2017", text: include_str!("../presets/supa-2017.toml") },
];

/// What a preset says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    /// Name in prose.
    pub title: String,
    /// One sentence.
    pub summary: String,
    /// Where its values are published.
    pub paper: String,
    /// Year of that publication.
    pub year: u16,
    /// What the publication leaves open; a sensitivity run tries the other readings.
    #[serde(default)]
    pub choices: Vec<Choice>,
}

/// A choice that a drive's publication leaves to its reader.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    /// Path of the key that holds it, such as `buffer.write_back`.
    pub option: String,
    /// Other values that a reader can defend.
    pub others: Vec<Json>,
    /// What is left open, as a short clause.
    pub open: String,
}

/// The names that `preset = "..."` takes.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

pub(crate) fn all() -> &'static [Preset] {
    PRESETS
}

pub(crate) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Its values, without what it says of itself.
    pub fn defaults(&self) -> Result<Node, ConfigError> {
        let mut tree = parse::preset(self.text, self.name)?;
        tree.remove("about");
        Ok(tree)
    }

    /// Its `[about]` table.
    pub fn about(&self) -> About {
        let tree = parse::preset(self.text, self.name).expect("presets are tested to be TOML");
        let about = tree.get("about").expect("presets are tested to have an [about] table");
        serde_json::from_value(about.to_json()).expect("presets are tested to say all of it")
    }
}
