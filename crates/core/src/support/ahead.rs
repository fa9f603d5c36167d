//! Going through many elements of which each lies anywhere in memory.

/// So many are fetched together.
const AHEAD: usize = 32;

/// Calls `each` with all `items`, in order. Before that, `look` is called with some of them one
/// after the other, and reads what `each` is going to need: a processor fetches that of all of them
/// at once, where `each`, whose steps depend on what it finds, would wait for one after the other.
pub fn in_groups<S: ?Sized, T: Copy>(
    state: &mut S,
    items: impl IntoIterator<Item = T>,
    look: impl Fn(&S, T) -> u32,
    mut each: impl FnMut(&mut S, T),
) {
    let mut items = items.into_iter();
    let mut group = Vec::with_capacity(AHEAD);
    loop {
        group.clear();
        group.extend(items.by_ref().take(AHEAD));
        if group.is_empty() {
            return;
        }
        let seen = group.iter().fold(0, |all, &item| all ^ look(state, item));
        std::hint::black_box(seen);
        for &item in &group {
            each(state, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_visited_in_order_and_looked_at_before() {
        let mut visited = Vec::new();
        let looked = std::cell::Cell::new(0);
        let look = |visited: &Vec<u32>, item| {
            looked.set(looked.get() + 1);
            assert!(visited.len() <= item as usize);
            item
        };
        in_groups(&mut visited, 0..100, look, |visited, item| {
            assert!(looked.get() > item);
            visited.push(item);
        });
        assert!(visited.iter().copied().eq(0..100));
        assert_eq!(looked.get(), 100);
    }
}
