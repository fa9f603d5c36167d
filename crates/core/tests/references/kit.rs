//! Lists, and pages that leave one by one. Every list has the page used last at its front, index 0.

use std::collections::BTreeSet;

use eraseblock_core::buffer::Action;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

use super::Decisions;

/// Takes a page out of a list; whether it was there.
pub fn take(list: &mut Vec<u32>, page: u32) -> bool {
    let at = list.iter().position(|&other| other == page);
    at.map(|at| list.remove(at)).is_some()
}

/// Puts a page at the front of a list that it may be in already.
pub fn to_front(list: &mut Vec<u32>, page: u32) {
    take(list, page);
    list.insert(0, page);
}

/// A share of so many pages, rounded down.
pub fn share(part: f64, of: u32) -> usize {
    (part * f64::from(of)) as usize
}

/// A share of so many pages, rounded to the nearest.
pub fn nearest_share(part: f64, of: u32) -> usize {
    (part * f64::from(of)).round() as usize
}

/// A share between 0 and 1, often one that papers would choose.
pub fn draw_share(random: &mut Pcg64Mcg) -> f64 {
    match random.random_range(0..8) {
        0 => 0.0,
        1 => 0.1,
        2 => 0.25,
        3 => 0.5,
        4 => 0.75,
        5 => 1.0,
        _ => random.random_range(0.0..1.0),
    }
}

/// A single page leaves: a dirty one is written, a clean one forgotten.
pub fn leaves(out: &mut Decisions, dirty: &mut BTreeSet<u32>, page: u32) {
    let was = dirty.remove(&page);
    out.leave(if was { Action::Evict } else { Action::Drop }, vec![(page, was)]);
}

/// The host wants the dirty ones among these pages stored: they are written one by one, in this
/// order. A buffer that takes in pages that are read keeps them, clean. Returns what left.
pub fn store(
    out: &mut Decisions,
    dirty: &mut BTreeSet<u32>,
    keeps: bool,
    pages: impl IntoIterator<Item = u32>,
) -> Vec<u32> {
    let stored: Vec<u32> = pages.into_iter().filter(|page| dirty.remove(page)).collect();
    for &page in &stored {
        out.leave(if keeps { Action::WriteBack } else { Action::Evict }, vec![(page, true)]);
    }
    if keeps { Vec::new() } else { stored }
}
