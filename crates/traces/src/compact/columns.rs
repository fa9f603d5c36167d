//! A column of numbers: the width of each in a nibble, then their bytes.

/// Appends the nibbles, the first in the low half of a byte; the last byte of an odd number ends
/// with 0.
pub(crate) fn put_nibbles(nibbles: &[u8], out: &mut Vec<u8>) {
    out.extend(nibbles.chunks(2).map(|pair| pair[0] | pair.get(1).map_or(0, |high| high << 4)));
}

/// Takes `count` nibbles from the beginning of `bytes`.
pub(crate) fn take_nibbles<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (nibbles, rest) = bytes.split_at_checked(count.div_ceil(2))?;
    if count % 2 == 1 && nibbles[count / 2] >> 4 != 0 {
        return None;
    }
    *bytes = rest;
    Some(nibbles)
}

/// Appends a column of numbers.
pub(crate) fn put_numbers(numbers: &[u64], out: &mut Vec<u8>) {
    let width = |number: u64| 8 - number.leading_zeros() as u8 / 8;
    let widths: Vec<u8> = numbers.iter().map(|&number| width(number)).collect();
    put_nibbles(&widths, out);
    for (number, width) in numbers.iter().zip(widths) {
        out.extend_from_slice(&number.to_le_bytes()[..usize::from(width)]);
    }
}

/// Numbers below 256^width, by width.
const MASKS: [u64; 9] = [
    0,
    0xff,
    0xffff,
    0xff_ffff,
    0xffff_ffff,
    0xff_ffff_ffff,
    0xffff_ffff_ffff,
    0xff_ffff_ffff_ffff,
    u64::MAX,
];

/// Takes a column of `count` numbers from the beginning of `bytes` into `out`, which it empties
/// first.
pub(crate) fn take_numbers(bytes: &mut &[u8], count: usize, out: &mut Vec<u64>) -> Option<()> {
    let widths = take_nibbles(bytes, count)?;
    out.clear();
    let mut at = 0;
    // Eight bytes are read at once while there are as many; the rest goes one number at a time.
    let fast = bytes.len().saturating_sub(16);
    for &pair in widths.iter().take(count / 2) {
        let (low, high) = (usize::from(pair & 15), usize::from(pair >> 4));
        if at > fast || bytes.len() < 16 || low > 8 || high > 8 {
            break;
        }
        let first = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        at += low;
        let second = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        at += high;
        out.extend_from_slice(&[first & MASKS[low], second & MASKS[high]]);
    }
    for number in out.len()..count {
        let width = usize::from(widths[number / 2] >> (number % 2 * 4) & 15);
        if width > 8 {
            return None;
        }
        let mut eight = [0; 8];
        eight[..width].copy_from_slice(bytes.get(at..at + width)?);
        at += width;
        out.push(u64::from_le_bytes(eight));
    }
    *bytes = &bytes[at..];
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_column_is_widths_then_bytes() {
        let mut out = Vec::new();
        put_numbers(&[0, 0x0102, 7], &mut out);
        assert_eq!(out, [0x20, 0x01, 0x02, 0x01, 7]);
    }

    #[test]
    fn damage_is_no_panic() {
        let mut numbers = Vec::new();
        for bytes in [&[0x21, 1][..], &[0x09], &[0x11, 0x11, 1, 2], &[]] {
            assert_eq!(take_numbers(&mut &bytes[..], 3, &mut numbers), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn columns_read_back(numbers in prop::collection::vec((any::<u64>(), 0..64_u32).prop_map(|(n, shift)| n >> shift), 0..100)) {
            let mut bytes = Vec::new();
            put_numbers(&numbers, &mut bytes);
            bytes.push(99);
            let (mut rest, mut found) = (&bytes[..], Vec::new());
            take_numbers(&mut rest, numbers.len(), &mut found).unwrap();
            prop_assert_eq!(found, numbers);
            prop_assert_eq!(rest, &[99]);
        }
    }
}
