//! The baseline: instructions of each path for a request, and the compiler that made them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// How much dearer a path may become.
pub const LIMIT: f64 = 0.02;

/// Counts, and what they hold for.
#[derive(Debug, PartialEq)]
pub struct Baseline {
    /// What `rustc --version` says.
    pub compiler: String,
    counts: BTreeMap<String, f64>,
}

/// What has become of a path.
#[derive(Debug, PartialEq)]
pub enum Change {
    /// It takes another number of instructions.
    Changed { name: String, before: f64, now: f64 },
    /// The baseline does not know it.
    New { name: String, now: f64 },
    /// It is gone.
    Gone { name: String },
}

impl Change {
    /// Whether the gate stays shut.
    pub fn is_worse(&self) -> bool {
        match self {
            Self::Changed { before, now, .. } => now > before,
            Self::New { .. } | Self::Gone { .. } => true,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { name, before, now } => {
                let percent = (now / before - 1.0) * 100.0;
                write!(f, "{name}: {before:.1} -> {now:.1} instructions ({percent:+.1} %)")
            }
            Self::New { name, now } => write!(f, "{name}: new, {now:.1} instructions"),
            Self::Gone { name } => write!(f, "{name}: gone"),
        }
    }
}

impl Baseline {
    /// What this program has counted.
    pub fn new(counts: BTreeMap<String, f64>) -> Self {
        Self { compiler: env!("GATE_COMPILER").to_owned(), counts }
    }

    /// Paths.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Reads a baseline: the compiler, then a line for each path, its name and its count.
    ///
    /// # Errors
    /// Names the file and the line.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        Self::parse(&text).map_err(|what| format!("{}: {what}", file.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        let (_, compiler) = lines.next().ok_or("it is empty; make gate BLESS=1 writes it")?;
        let counts = lines.map(|(number, line)| {
            let parts = line.rsplit_once(' ').and_then(|(name, count)| {
                Some((name.to_owned(), count.parse::<f64>().ok().filter(|count| *count > 0.0)?))
            });
            parts.ok_or_else(|| {
                format!("line {}: found `{line}`, expected a name and a count", number + 1)
            })
        });
        Ok(Self { compiler: compiler.to_owned(), counts: counts.collect::<Result<_, _>>()? })
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), String> {
        std::fs::write(file, self.to_string()).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// Paths that have changed by more than [`LIMIT`], to `now`.
    pub fn compare(&self, now: &Self) -> Vec<Change> {
        let changed = self.counts.iter().filter_map(|(name, &before)| {
            let name = name.clone();
            let Some(&now) = now.counts.get(&name) else { return Some(Change::Gone { name }) };
            let far = (now / before - 1.0).abs() > LIMIT;
            far.then_some(Change::Changed { name, before, now })
        });
        let is_new = |name: &String| !self.counts.contains_key(name);
        let new = now.counts.iter().filter(|(name, _)| is_new(name));
        changed.chain(new.map(|(name, &now)| Change::New { name: name.clone(), now })).collect()
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.compiler)?;
        self.counts.iter().try_for_each(|(name, count)| writeln!(f, "{name} {count:.1}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(counts: &[(&str, f64)]) -> Baseline {
        Baseline::new(counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect())
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let one = baseline(&[("ftl page", 3370.1), ("buffer hbm, reads", 12.0)]);
        assert_eq!(Baseline::parse(&one.to_string()), Ok(one));
        assert!(Baseline::parse("").is_err());
        let error = Baseline::parse("rustc\nftl page 12\nftl dftl x\n").unwrap_err();
        assert!(error.contains("line 3") && error.contains("ftl dftl x"), "{error}");
    }

    #[test]
    fn dearer_by_more_than_the_limit_is_worse_and_cheaper_is_told() {
        let before = baseline(&[("a", 100.0), ("b", 100.0), ("c", 100.0), ("d", 100.0)]);
        let now = baseline(&[("a", 101.9), ("b", 102.1), ("c", 97.0), ("e", 1.0)]);
        let changes = before.compare(&now);
        let told: Vec<_> = changes.iter().map(|c| (c.to_string(), c.is_worse())).collect();
        assert_eq!(
            told,
            [
                ("b: 100.0 -> 102.1 instructions (+2.1 %)".to_owned(), true),
                ("c: 100.0 -> 97.0 instructions (-3.0 %)".to_owned(), false),
                ("d: gone".to_owned(), true),
                ("e: new, 1.0 instructions".to_owned(), true),
            ]
        );
    }
}
