//! What a buffer says of its memory is what it takes: beside a counting allocator, and beside the
//! figures of the papers.

use allocation_counter::measure;
use eraseblock_core::buffer::{Buffer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use crate::support::{self, stream};

/// The buffer's own struct, boxed, and what rounding adds to small parts.
const STRUCT: u64 = 2048;

#[test]
fn buffers_take_the_memory_that_they_report() {
    let shape = Shape { capacity: 4096, pages_per_block: 64, logical_pages: 4096 * 8 };
    let steps = stream::random(&mut Pcg64Mcg::seed_from_u64(1), shape, 6_000);
    for (name, config) in support::variants(shape) {
        let mut buffer = None;
        let taken = measure(|| {
            let mut built = config.build(shape).unwrap();
            stream::tell(&mut *built, &steps);
            let mut out = Outcome::default();
            for step in &steps {
                stream::call(&mut *built, *step, &mut out);
            }
            buffer = Some(built);
        });
        let (reported, taken) =
            (buffer.unwrap().metadata_bytes() as u64, taken.bytes_current as u64);
        assert!(taken <= reported + STRUCT, "{name} takes {taken} bytes and reports {reported}");
        assert!(
            reported <= taken + taken / 50,
            "{name} reports {reported} bytes, {taken} are taken: more than 2 % over"
        );
    }
}

fn filled(
    scheme: serde_json::Value,
    shape: Shape,
    spans: impl IntoIterator<Item = (u32, u32)>,
) -> Box<dyn Buffer> {
    let config: BufferConfig = serde_json::from_value(scheme).unwrap();
    let mut buffer = config.build(shape).unwrap();
    let mut out = Outcome::default();
    for (request, (first, count)) in spans.into_iter().enumerate() {
        out.clear();
        buffer.access(
            &Span { first: Lpn(first), count, write: true, request: request as u64 },
            &Idle,
            &mut out,
        );
    }
    buffer
}

/// Section 3.5.3 of the thesis: 52 bytes for each page where each is a block of its own, less than
/// 3 % of 2 KiB pages.
#[test]
fn hbm_counts_as_its_thesis_does() {
    let shape = Shape { capacity: 512, pages_per_block: 64, logical_pages: 64 * 600 };
    let worst = filled(json!("hbm"), shape, (0..512).map(|block| (block * 64, 1)));
    assert_eq!((worst.len(), worst.paper_bytes()), (512, Some(512 * 52)));
    assert!(worst.paper_bytes().unwrap() * 100 < 3 * 512 * 2048);
    // Whole blocks share their block node and its place in the tree: 12 - 4 + 16 + 8 bytes, and 20
    // a page.
    let best = filled(json!("hbm"), shape, (0..8).map(|block| (block * 64, 64)));
    assert_eq!(best.paper_bytes(), Some(8 * 32 + 512 * 20));
}

/// Section 3.4 of the paper on the drive of its section 4.2: 1 GB in blocks of 128 pages of 2 KB.
#[test]
fn bplru_counts_its_two_level_index() {
    let shape = Shape { capacity: 8192, pages_per_block: 128, logical_pages: 1 << 19 };
    let first_table = (1 << 19) / 128 * 4;
    let empty = filled(json!("bplru"), shape, []);
    assert_eq!((first_table, empty.paper_bytes()), (16 << 10, Some(16 << 10)));
    let scattered = filled(json!("bplru"), shape, (0..10).map(|block| (block * 128, 1)));
    assert_eq!(scattered.paper_bytes(), Some(first_table + 10 * 16 + 10 * (16 + 512)));
    // 16 MB in whole blocks: 64 block headers.
    let full = filled(json!("bplru"), shape, (0..64).map(|block| (block * 128 + 1, 127)));
    assert_eq!(full.paper_bytes(), Some(first_table + 64 * 127 * 16 + 64 * (16 + 512)));
}

/// A paper that does not say how to count, or could not be read, has no figure.
#[test]
fn others_have_no_paper_figure() {
    let shape = Shape { capacity: 64, pages_per_block: 8, logical_pages: 512 };
    for name in ["fab", "lb-clock", "lru", "opt"] {
        assert_eq!(
            BufferConfig::by_name(name).unwrap().build(shape).unwrap().paper_bytes(),
            None,
            "{name}"
        );
    }
}
