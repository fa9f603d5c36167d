//! Pages of one write, by the flash block of a striped block that each goes to.

use crate::ftl::context::PageOut;

/// Lists of pages, one for each column. They are kept from one write to the next for their memory,
/// also where the next one has fewer columns.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    lists: Vec<Vec<PageOut>>,
}

impl Columns {
    /// So many empty ones.
    pub fn begin(&mut self, width: u32) {
        self.lists.iter_mut().for_each(Vec::clear);
        if self.lists.len() < width as usize {
            self.lists.resize(width as usize, Vec::new());
        }
    }

    /// The pages of a column.
    pub fn of(&mut self, column: u32) -> &mut Vec<PageOut> {
        &mut self.lists[column as usize]
    }

    /// Columns that pages go to, and those pages.
    pub fn written(&self) -> impl Iterator<Item = (u32, &[PageOut])> {
        (0..).zip(self.lists.iter().map(Vec::as_slice)).filter(|(_, pages)| !pages.is_empty())
    }
}
