//! Designs that need not be waited for: what they would come to is known beforehand.

use crate::buffer;
use crate::config::{Bytes, DeviceConfig};
use crate::nand::Geometry;

/// Why a run of this drive would take very long and say nothing but that; `None` where it would
/// not, or where the drive cannot be built.
///
/// A buffer that pads blocks writes a block for every few pages that leave, if no two of them fit
/// in it.
pub fn reason(config: &DeviceConfig) -> Option<String> {
    let geometry = Geometry::new(&config.nand).ok()?;
    let capacity = u32::try_from(config.buffer.size.0 / geometry.page_bytes).ok()?;
    let pages_per_block = geometry.pages_per_block;
    if capacity == 0 || capacity / 2 >= pages_per_block {
        return None;
    }
    let logical_pages = geometry.pages();
    let shape = buffer::Shape { capacity, pages_per_block, logical_pages };
    let buffer = config.buffer.scheme.build(shape).ok()?;
    let block = Bytes(u64::from(pages_per_block) * geometry.page_bytes);
    buffer.pads_blocks().then(|| {
        format!(
            "buffer.scheme: `{}` writes whole blocks, and no two of {block} fit in {}: every few \
             pages that leave cost a block",
            config.buffer.scheme.name(),
            config.buffer.size
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::device::tests::small_drive;

    #[test]
    fn a_buffer_that_pads_blocks_of_which_no_two_fit_is_hopeless() {
        let reason = |scheme: &str, pages: u32| {
            let buffer = json!({"scheme": scheme, "size": format!("{} KiB", pages * 4)});
            super::reason(&small_drive(buffer))
        };
        let why = reason("bplru", 127).unwrap();
        assert!(why.contains("`bplru` writes whole blocks"), "{why}");
        assert!(reason("cave", 127).is_some());
        assert_eq!(reason("bplru", 128), None);
        assert_eq!(reason("lru", 127), None);
    }
}
