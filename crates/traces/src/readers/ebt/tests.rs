use eraseblock_core::host::{Op, Request};
use proptest::prelude::*;

use super::super::testing;
use super::*;
use crate::WorkloadConfig;

const MAX_END: u64 = 1 << 60;
const END_MARKER: usize = BLOCK_HEAD + END_PAYLOAD + CHECKSUM;

fn written(requests: &[Request]) -> Vec<u8> {
    let provenance =
        [("source".to_owned(), "a.spc".to_owned()), ("empty".to_owned(), String::new())];
    write(requests, &provenance)
}

fn write(requests: &[Request], provenance: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = CompactWriter::new(provenance);
    writer.begin(&mut out).unwrap();
    for request in requests {
        writer.push(request, &mut out).unwrap();
    }
    writer.finish(&mut out).unwrap();
    out
}

/// What could be read before the end or the first problem.
fn read(bytes: &[u8]) -> (Vec<Request>, Result<(), String>) {
    let (lines, error) = testing::read("ebt", bytes);
    let requests = lines.into_iter().map(|line| match line {
        Line::Request(request) => request,
        other => panic!("{other:?}"),
    });
    (requests.collect(), error.map_or(Ok(()), Err))
}

fn request(arrival_ns: u64, op: Op, volume: u32, offset: u64, len: u64) -> Request {
    Request { arrival_ns, offset, len, volume, op, fua: op == Op::Write }
}

fn few() -> Vec<Request> {
    vec![
        request(5_000, Op::Write, 3, 4096, 8192),
        request(5_000, Op::Read, 3, 12_288, 512),
        request(7_000, Op::Flush, 0, 0, 0),
        request(7_000, Op::Trim, 0, 1 << 40, 1 << 30),
        request(9_000, Op::Write, u32::MAX, 0, MAX_END),
    ]
}

fn any_requests() -> impl Strategy<Value = Vec<Request>> {
    let gap = prop_oneof![Just(0), 0..2_000_000_u64, any::<u64>().prop_map(|gap| gap >> 12)];
    let size = || (any::<u64>(), 5..63_u32).prop_map(|(size, small)| size >> small);
    let volume = prop_oneof![4 => 0..3_u32, 1 => any::<u32>()];
    let one = (gap, size(), size(), 0..13_u32, 0..4_usize, any::<bool>(), volume);
    let one = one.prop_map(|(arrival_ns, offset, len, shift, op, fua, volume)| {
        let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][op];
        Request {
            arrival_ns,
            offset: offset >> shift << shift,
            len: len >> shift << shift,
            volume,
            op,
            fua,
        }
    });
    prop::collection::vec(one, 0..300).prop_map(|mut requests| {
        let mut clock = 0;
        for request in &mut requests {
            clock += request.arrival_ns;
            request.arrival_ns = clock;
        }
        requests
    })
}

/// The bytes of the example in the format's page; `None` for those of checksums.
fn documented() -> Vec<Option<u8>> {
    let page = include_str!("../../../../../docs/trace-format.md");
    let (_, example) = page.split_once("## An example").unwrap();
    let lines = example.lines().filter_map(|line| line.strip_prefix("    "));
    let hex = lines.flat_map(|line| line.split("   ").next().unwrap().split_ascii_whitespace());
    hex.map(|byte| if byte == "xx" { None } else { Some(u8::from_str_radix(byte, 16).unwrap()) })
        .collect()
}

#[test]
fn the_documented_file_is_what_is_written() {
    let requests =
        [request(1_000, Op::Write, 0, 4096, 4096), request(3_000, Op::Read, 0, 8192, 512)];
    let found = write(&requests, &[("source".to_owned(), "a.spc".to_owned())]);
    let expected = documented();
    let shown: Vec<_> =
        found.iter().zip(&expected).map(|(byte, known)| known.map(|_| *byte)).collect();
    assert_eq!((shown, found.len()), (expected.clone(), expected.len()));
    for (from, checksum) in [(0, 35), (39, 73), (77, 101)] {
        assert_eq!(expected[checksum..checksum + 4], [None; 4]);
        assert_eq!(u32_at(&found, checksum), Some(crc32fast::hash(&found[from..checksum])));
    }
}

#[test]
fn every_field_comes_back() {
    assert_eq!(read(&written(&few())), (few(), Ok(())));
    assert_eq!(read(&written(&[])), (vec![], Ok(())));
    let many: Vec<_> =
        (0..10_000).map(|n| request(n * 70, Op::Read, 0, n * 7919 % 1000 * 512, 4096)).collect();
    assert_eq!(read(&written(&many)), (many, Ok(())));
}

#[test]
fn each_flipped_bit_is_found() {
    let whole = written(&few());
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let (requests, end) = read(&damaged);
            assert!(end.is_err(), "bit {bit} of byte {at}");
            assert!(requests.is_empty() || requests == few(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn each_truncation_and_each_addition_is_found() {
    let whole = written(&few());
    for length in 0..whole.len() {
        let (requests, end) = read(&whole[..length]);
        assert!(end.unwrap_err().contains("the file is cut off"), "{length}");
        assert!(requests.is_empty() || requests == few());
    }
    let (_, end) = read(&[&whole[..], b"\n"].concat());
    assert!(end.unwrap_err().contains("bytes behind the end marker"));
}

#[test]
fn missing_and_doubled_blocks_are_found() {
    let many: Vec<_> = (0..12_000).map(|n| request(n, Op::Write, 0, n * 4096, 4096)).collect();
    let whole = written(&many);
    let header = written(&[]).len() - END_MARKER;
    let block = BLOCK_HEAD + u32_at(&whole, header + 4).unwrap() as usize + CHECKSUM;
    let missing = [&whole[..header], &whole[header + block..]].concat();
    assert!(
        read(&missing)
            .1
            .unwrap_err()
            .contains("found the end marker after 7904 requests in 2 blocks")
    );
    let doubled = [&whole[..header + block], &whole[header..]].concat();
    let error = read(&doubled).1.unwrap_err();
    let place =
        format!("memory: record 2 at byte {}: found a block that no writer makes", header + block);
    assert!(error.starts_with(&place), "{error}");
    let mut damaged = whole.clone();
    damaged[header + block + 1000] ^= 1;
    let (requests, end) = read(&damaged);
    assert_eq!(requests, many[..4096]);
    let error = end.unwrap_err();
    assert!(
        error.starts_with(&format!("memory: record 2 at byte {}: found checksum ", header + block)),
        "{error}"
    );
    assert!(error.ends_with("; this block, which begins with request 4097, is damaged"), "{error}");
}

#[test]
fn what_lies_before_damage_can_be_read() {
    let many: Vec<_> = (0..5_000).map(|n| request(n, Op::Read, 0, n * 4096, 4096)).collect();
    let whole = written(&many);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ebt"), &whole[..whole.len() - 40]).unwrap();
    let config = WorkloadConfig { skip_bad_lines: true, ..WorkloadConfig::trace("a.ebt") };
    let workload = config.prepare(folder.path()).unwrap();
    assert_eq!((workload.identity().requests, workload.identity().bad_lines.count), (4096, 1));
    let read: Result<Vec<_>, _> = workload.requests().collect();
    assert_eq!(read.unwrap(), many[..4096]);
}

#[test]
fn newer_versions_are_told_from_damage() {
    let mut newer = written(&few());
    newer[8] = 2;
    assert_eq!(
        read(&newer).1.unwrap_err(),
        "memory: header at byte 0: found version 2 of the format, expected at most 1; a newer \
         eraseblock has written this file, and is needed to read it"
    );
    newer[8] = 0;
    assert!(
        read(&newer)
            .1
            .unwrap_err()
            .contains("found version 0 of the format, expected 1; the file is damaged")
    );
}

#[test]
fn what_has_no_place_is_refused() {
    let mut writer = CompactWriter::new(&[]);
    let mut push = |request: Request| {
        writer.push(&request, &mut Vec::new()).map_err(|error| error.to_string())
    };
    push(request(5, Op::Read, 0, 0, 1)).unwrap();
    assert!(push(request(4, Op::Read, 0, 0, 1)).unwrap_err().contains("out of order"));
    assert!(push(request(5, Op::Read, 0, MAX_END, 1)).unwrap_err().contains("1 EiB"));
    assert!(push(request(5, Op::Read, 0, u64::MAX, 1)).is_err());
    assert!(push(request(u64::MAX, Op::Read, 0, 0, 1)).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(requests in any_requests()) {
        prop_assert_eq!(read(&written(&requests)), (requests, Ok(())));
    }

    /// A payload whose checksum is right may still hold anything.
    #[test]
    fn any_payload_is_answered(payload in prop::collection::vec(any::<u8>(), 0..200), count in 1..40_u32) {
        let mut block = [count.to_le_bytes(), (payload.len() as u32).to_le_bytes()].concat();
        block.extend(payload);
        block.extend(crc32fast::hash(&block).to_le_bytes());
        let header = written(&[]);
        let (requests, end) = read(&[&header[..header.len() - END_MARKER], &block].concat());
        prop_assert!(end.is_err());
        for request in requests {
            prop_assert!(request.offset + request.len <= MAX_END);
        }
    }
}
