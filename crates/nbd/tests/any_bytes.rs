//! A client may say anything.

use eraseblock_nbd::fuzzing::{BEGINNINGS, WITH_TLS, converse};
use proptest::prelude::*;

/// A request that may make sense.
fn request(extended: bool) -> impl Strategy<Value = Vec<u8>> {
    let near = prop_oneof![
        (0u64..64).prop_map(|page| page * 512),
        Just((1 << 30) - 512),
        Just(1 << 30),
        any::<u64>()
    ];
    let length = prop_oneof![(0u64..8).prop_map(|page| page * 512), Just(1 << 20), any::<u64>()];
    let flags = prop_oneof![4 => Just(0u16), 2 => 0u16..64, 1 => any::<u16>()];
    (0u16..9, flags, any::<u64>(), near, length).prop_map(
        move |(command, flags, cookie, offset, length)| {
            let is_write = command == 1;
            let length = if is_write { length % 8192 } else { length };
            let flags = flags | if is_write && extended { 0x20 } else { 0 };
            let magic: u32 = if extended { 0x21e4_1c71 } else { 0x2560_9513 };
            let mut bytes = magic.to_be_bytes().to_vec();
            bytes.extend(flags.to_be_bytes());
            bytes.extend(command.to_be_bytes());
            bytes.extend(cookie.to_be_bytes());
            bytes.extend(offset.to_be_bytes());
            if extended {
                bytes.extend(length.to_be_bytes());
            } else {
                bytes.extend((length as u32).to_be_bytes());
            }
            if is_write {
                bytes.resize(bytes.len() + length as usize, 5);
            }
            bytes
        },
    )
}

/// An option that may make sense.
fn option() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![
        Just(vec![]),
        Just(vec![0; 6]),
        Just(b"\0\0\0\0\0\0\0\x01\0\0\0\x05base:".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40)
    ];
    (0u32..13, data).prop_map(|(number, data)| {
        let head = [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes()];
        [&head.concat()[..], &data].concat()
    })
}

proptest! {
    #[test]
    fn random_bytes(start in 0usize..8, bytes in prop::collection::vec(any::<u8>(), 0..600), piece in 1usize..50) {
        converse(start, &bytes, piece);
    }

    #[test]
    fn options_in_any_order(
        tls in any::<bool>(),
        options in prop::collection::vec(option(), 0..12),
        piece in 1usize..50,
    ) {
        let start = if tls { WITH_TLS } else { 0 };
        let outcome = converse(start, &[b"\0\0\0\x03", &options.concat()[..]].concat(), piece);
        // What is asked for before an export is chosen is no request.
        prop_assert!(outcome.requests.is_empty());
    }

    #[test]
    fn requests_of_any_kind(
        (start, requests) in (1usize..8).prop_flat_map(|start| {
            (Just(start), prop::collection::vec(request(start % WITH_TLS == 3), 0..12))
        }),
        piece in 1usize..5000,
    ) {
        let outcome = converse(start, &requests.concat(), piece);
        prop_assert!(outcome.requests.len() <= requests.len());
    }

    #[test]
    fn conversations_with_damage(
        (start, requests) in (0usize..8).prop_flat_map(|start| {
            (Just(start), prop::collection::vec(request(start % WITH_TLS == 3), 1..8))
        }),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        piece in 1usize..500,
    ) {
        let mut bytes = [BEGINNINGS[start], &requests.concat()[..]].concat();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        converse(start / WITH_TLS * WITH_TLS, &bytes, piece);
    }
}

/// Every single byte of a whole conversation, changed to each of some values.
#[test]
fn each_byte_damaged() {
    for (start, beginning) in BEGINNINGS.iter().enumerate() {
        let extended = start % WITH_TLS == 3;
        let magic: u32 = if extended { 0x21e4_1c71 } else { 0x2560_9513 };
        let mut bytes = beginning.to_vec();
        for command in 0..8u8 {
            bytes.extend(magic.to_be_bytes());
            bytes.extend([0, if extended && command == 1 { 0x20 } else { 0 }, 0, command]);
            bytes.extend([command; 8]);
            bytes.extend(4096u64.to_be_bytes());
            bytes.extend(if extended { &[0; 4][..] } else { &[] });
            bytes.extend(512u32.to_be_bytes());
            bytes.extend(if command == 1 { &[3; 512][..] } else { &[] });
        }
        for at in 0..bytes.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                converse(start / WITH_TLS * WITH_TLS, &damaged, 7);
            }
        }
    }
}
