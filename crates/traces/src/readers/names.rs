//! Numbers for the names that a trace gives its disks, hosts or files.

use std::collections::BTreeMap;

/// Counts names up in the order in which they are first seen. A name seen before costs no memory.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: BTreeMap<String, u32>,
    /// The name asked for last and its number, mostly the next one too.
    recent: Option<(String, u32)>,
}

impl Names {
    /// The number of a name that was added before.
    pub fn get(&mut self, name: &str) -> Option<u32> {
        if let Some((recent, number)) = &self.recent
            && recent == name
        {
            return Some(*number);
        }
        let number = *self.numbers.get(name)?;
        let (recent, recent_number) = self.recent.get_or_insert_default();
        name.clone_into(recent);
        *recent_number = number;
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
        assert_eq!((names.add("b"), names.get("")), (0, None));
        assert_eq!([names.add("a"), names.add("b"), names.add("")], [1, 0, 2]);
        assert_eq!([names.get("a"), names.get("c"), names.get("b")], [Some(1), None, Some(0)]);
    }
}
