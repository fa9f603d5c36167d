use std::convert::Infallible;

use eraseblock_core::host::{Op, Request};
use proptest::prelude::*;

use super::*;

impl Source for &[u8] {
    type Error = Infallible;

    fn fill(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        let (head, rest) = self.split_at(into.len().min(self.len()));
        into[..head.len()].copy_from_slice(head);
        *self = rest;
        Ok(head.len())
    }
}

fn written(requests: &[Request]) -> Vec<u8> {
    let provenance = [("source".to_owned(), "a.spc".to_owned()), ("empty".to_owned(), String::new())];
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
fn read(mut bytes: &[u8]) -> (Vec<Request>, Result<(), String>) {
    let mut all = Vec::new();
    let mut reader = CompactReader::default();
    let mut go = || {
        let pairs = reader.header(&mut bytes)?;
        assert_eq!(pairs[0], ("source".to_owned(), "a.spc".to_owned()));
        let mut block = Vec::new();
        while reader.next_block(&mut bytes, &mut block)? {
            all.append(&mut block);
        }
        Ok(())
    };
    let end = go().map_err(|problem: Problem<Infallible>| match problem {
        Problem::Damage { found, expected } => format!("found {found}, expected {expected}"),
        Problem::Source(never) => match never {},
    });
    (all, end)
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
        Request { arrival_ns, offset: offset >> shift << shift, len: len >> shift << shift, volume, op, fua }
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

#[test]
fn the_documented_file_is_what_is_written() {
    let requests = [request(1_000, Op::Write, 0, 4096, 4096), request(3_000, Op::Read, 0, 8192, 512)];
    let found = write(&requests, &[("source".to_owned(), "a.spc".to_owned())]);
    let expected: &[&[u8]] = &[
        b"\x89EBT\r\n\x1a\n",
        &[1, 0, 0, 0, 19, 0, 0, 0],
        &[6, 0, 0, 0],
        b"source",
        &[5, 0, 0, 0],
        b"a.spc",
        &found[35..39],
        // A block: two requests in 26 bytes; from 1000 ns, in steps of 2000 ns, of 2^9 bytes.
        &[2, 0, 0, 0, 26, 0, 0, 0],
        &[0xe8, 3, 0, 0, 0, 0, 0, 0, 0xd0, 7, 0, 0, 0, 0, 0, 0, 9],
        &[0x0d],
        &[0x10, 1],
        &[0x01, 16],
        &[0x11, 8, 1],
        &[0x00],
        &found[73..77],
        &[0, 0, 0, 0, 16, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        &found[101..105],
    ];
    assert_eq!(found, expected.concat());
    for (from, checksum) in [(0, 35), (39, 73), (77, 101)] {
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
        assert!(end.unwrap_err().contains("the end of the file after"), "{length}");
        assert!(requests.is_empty() || requests == few());
    }
    let (_, end) = read(&[&whole[..], b"\n"].concat());
    assert!(end.unwrap_err().contains("bytes after the end marker"));
}

#[test]
fn missing_and_doubled_blocks_are_found() {
    let many: Vec<_> = (0..12_000).map(|n| request(n, Op::Write, 0, n * 4096, 4096)).collect();
    let whole = written(&many);
    let header = written(&[]).len() - 28;
    let block = BLOCK_HEAD + u32_at(&whole, header + 4).unwrap() as usize + CHECKSUM;
    let missing = [&whole[..header], &whole[header + block..]].concat();
    assert!(read(&missing).1.unwrap_err().contains("an end marker after 7904 requests in 2 blocks"));
    let doubled = [&whole[..header + block], &whole[header..]].concat();
    let error = read(&doubled).1.unwrap_err();
    assert!(error.contains(&format!("block 2 (from request 4097, at byte {})", header + block)), "{error}");
    let mut damaged = whole.clone();
    damaged[header + block + 1000] ^= 1;
    let (requests, end) = read(&damaged);
    assert_eq!(requests, many[..4096]);
    assert!(end.unwrap_err().starts_with("found block 2 (from request 4097, at byte "));
}

#[test]
fn newer_versions_are_told_from_damage() {
    let mut newer = written(&few());
    newer[8] = 2;
    assert_eq!(
        read(&newer).1.unwrap_err(),
        "found version 2 of the format, expected at most 1; a newer eraseblock has written this file, and is needed to read it"
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
    let mut push =
        |request: Request| writer.push(&request, &mut Vec::new()).map_err(|error| error.to_string());
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
        let (requests, end) = read(&[&header[..header.len() - 28], &block].concat());
        prop_assert!(end.is_err());
        for request in requests {
            prop_assert!(request.offset + request.len <= MAX_END);
        }
    }
}
