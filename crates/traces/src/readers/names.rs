//! Numbers for the names that a trace gives its disks, hosts or files.

use std::collections::BTreeMap;

/// Counts names up in the order in which they are first seen. A name seen before costs no memory.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: BTreeMap<String, u32>,
    /// The name asked for last, mostly the next one too.
    recent: String,
    recent_number: u32,
}

impl Names {
    /// The number of a name that was added before.
    pub fn get(&mut self, name: &str) -> Option<u32> {
        if self.recent == name && !self.numbers.is_empty() {
            return Some(self.recent_number);
        }
        let number = *self.numbers.get(name)?;
        self.recent.clear();
        self.recent.push_str(name);
        self.recent_number = number;
        Some(number)
    }

    /// The number of a name, which is added if it is new.
    pub fn add(&mut self, name: &str) -> u32 {
        if let Some(number) = self.get(name) {
            return number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_as_they_come() {
        let mut names = Names::default();
        assert_eq!((names.get(""), names.get("b")), (None, None));
        assert_eq!([names.add("b"), names.add("a"), names.add("b"), names.add("")], [0, 1, 0, 2]);
        assert_eq!([names.get("a"), names.get("c"), names.get("b")], [Some(1), None, Some(0)]);
    }
}
