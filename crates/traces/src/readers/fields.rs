//! Numbers, times and addresses as trace files write them.

use super::{Unexpected, quote};

/// Highest byte address that is believed: 1 EiB. Anything above is a wrong column or unit.
pub(super) const MAX_END: u64 = 1 << 60;

/// Unit of a time column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Seconds,
    Millis,
    Micros,
    Nanos,
    Picos,
}

impl TimeUnit {
    /// Unit of the whole number that a time is read as.
    fn smallest(self) -> &'static str {
        if self == Self::Picos { "ps" } else { "ns" }
    }

    /// Digits after the point that are more than 1 ns.
    fn digits(self) -> usize {
        match self {
            Self::Seconds => 9,
            Self::Millis => 6,
            Self::Micros => 3,
            Self::Nanos | Self::Picos => 0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
            Self::Picos => "ps",
        }
    }
}

impl TimeUnit {
    /// `ns` as `time_ns` reads it; for samples.
    pub fn text(self, ns: u64) -> String {
        match self {
            Self::Seconds => format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000),
            Self::Millis => format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000),
            Self::Micros => format!("{}.{:03}", ns / 1000, ns % 1000),
            Self::Nanos => ns.to_string(),
            Self::Picos => format!("{ns}000"),
        }
    }
}

/// The first `N` comma-separated fields of a line, without blanks around them; further ones are
/// left alone.
#[inline]
pub(super) fn comma<'a, const N: usize>(
    line: &'a str,
    columns: &str,
) -> Result<[&'a str; N], Unexpected> {
    let mut fields = [""; N];
    let mut start = 0;
    for (count, field) in fields.iter_mut().enumerate() {
        let Some(rest) = line.get(start..) else {
            return Err(Unexpected::new(
                format!("{count} of the {N} fields in {}", quote(line)),
                columns,
            ));
        };
        let length = rest.bytes().position(|byte| byte == b',').unwrap_or(rest.len());
        *field = trimmed(&rest[..length]);
        start += length + 1;
    }
    Ok(fields)
}

/// `str::trim`, fast where there is nothing to trim.
#[inline]
pub(super) fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        [only] if only.is_ascii_graphic() => text,
        _ => text.trim(),
    }
}

/// A Linux device as one number, as the kernel and blktrace's records write it.
pub(super) fn device_number(major: &str, minor: &str) -> Result<u32, Unexpected> {
    let (major, minor): (u32, u32) =
        (whole(major, "the major number")?, whole(minor, "the minor number")?);
    if major >= 1 << 12 || minor >= 1 << 20 {
        return Err(Unexpected::new(
            format!("device `{major},{minor}`"),
            "a device below 4096,1048576",
        ));
    }
    Ok(major << 20 | minor)
}

/// A whole decimal number.
#[inline]
pub(super) fn whole<T: TryFrom<u64>>(text: &str, what: &str) -> Result<T, Unexpected> {
    if !text.is_empty()
        && let Some(number) = decimal(text.bytes())
        && let Ok(number) = T::try_from(number)
    {
        return Ok(number);
    }
    Err(not_whole(text, what))
}

#[cold]
fn not_whole(text: &str, what: &str) -> Unexpected {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let expected = if digits {
        format!("{what}, a smaller number")
    } else {
        format!("{what}, a whole number")
    };
    Unexpected::new(quote(text), expected)
}

/// The number that these digits write; `None` for other bytes, and above `u64::MAX`.
#[inline]
fn decimal(digits: impl ExactSizeIterator<Item = u8>) -> Option<u64> {
    let mut value = 0_u64;
    if digits.len() < 20 {
        // Nineteen digits always fit.
        for digit in digits {
            value = 10 * value + digit_of(digit)?;
        }
        return Some(value);
    }
    for digit in digits {
        value = value.checked_mul(10)?.checked_add(digit_of(digit)?)?;
    }
    Some(value)
}

#[inline]
fn digit_of(byte: u8) -> Option<u64> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// A time in ns. Nanoseconds and picoseconds are whole numbers, the longer units may have a
/// fraction, of which digits below 1 ns are cut off.
#[inline]
pub(super) fn time_ns(text: &str, unit: TimeUnit) -> Result<u64, Unexpected> {
    match scaled(text.as_bytes(), unit.digits()).filter(|&value| i64::try_from(value).is_ok()) {
        Some(value) => Ok(if unit == TimeUnit::Picos { value / 1000 } else { value }),
        None => scientific(text, unit.digits()).ok_or_else(|| wrong_time(text, unit)),
    }
}

/// A number such as `5e-05`, as programs print small times, times 10^`digits`.
#[cold]
fn scientific(text: &str, digits: usize) -> Option<u64> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok().filter(|exponent| (-40..=18).contains(exponent))?;
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if digits == 0 || integer.is_empty() || mantissa.len() > 40 {
        return None;
    }
    // The same digits with the point where the exponent puts it.
    let zeros = "0".repeat(40);
    let shown = format!("{zeros}{integer}{fraction}{zeros}");
    let point = (40 + integer.len()) as i32 + exponent;
    let (integer, fraction) = shown.split_at_checked(usize::try_from(point).ok()?)?;
    scaled(format!("{integer}.{fraction}").as_bytes(), digits)
        .filter(|&value| i64::try_from(value).is_ok())
}

/// A decimal number with at most `digits` digits of its fraction, times 10^`digits`.
#[inline]
fn scaled(text: &[u8], digits: usize) -> Option<u64> {
    const POWERS: [u64; 10] =
        [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let (integer, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    if integer.is_empty() && fraction.is_empty() || digits == 0 && point < text.len() {
        return None;
    }
    let (shown, cut_off) = fraction.split_at(fraction.len().min(digits));
    if !cut_off.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (whole, part) = (decimal(integer.iter().copied())?, decimal(shown.iter().copied())?);
    whole.checked_mul(POWERS[digits])?.checked_add(part * POWERS[digits - shown.len()])
}

#[cold]
fn wrong_time(text: &str, unit: TimeUnit) -> Unexpected {
    let digits = unit.digits();
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    let numeric = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let expected = if digits == 0 && text.contains('.') {
        format!(
            "a whole number of {}; formats of the same columns with fractions are disksim (ms), \
             ascii-s and ascii-us",
            unit.name()
        )
    } else if numeric(integer) && numeric(fraction) && text.len() > usize::from(text.contains('.'))
    {
        format!("a time in {} below 2^63 {}", unit.name(), unit.smallest())
    } else {
        format!("a time in {} such as {}", unit.name(), if digits == 0 { "1250" } else { "12.5" })
    };
    Unexpected::new(format!("time {}", quote(text)), expected)
}

/// A time of so many units of `unit_ns` each, in ns.
pub(super) fn binary_time_ns(time: u64, unit_ns: u64, unit: &str) -> Result<u64, Unexpected> {
    time.checked_mul(unit_ns)
        .filter(|&ns| i64::try_from(ns).is_ok())
        .ok_or_else(|| Unexpected::new(format!("time {time} {unit}"), "a time below 2^63 ns"))
}

/// Byte address and length, from `scale` bytes per unit each.
#[inline]
pub(super) fn extent(
    address: u64,
    address_scale: u64,
    length: u64,
    length_scale: u64,
) -> Result<(u64, u64), Unexpected> {
    let bytes = address.checked_mul(address_scale).zip(length.checked_mul(length_scale));
    match bytes.and_then(|(offset, len)| offset.checked_add(len).map(|end| (offset, len, end))) {
        Some((offset, len, end)) if end <= MAX_END => Ok((offset, len)),
        _ => Err(beyond(address, address_scale, length)),
    }
}

// Apart, so that the rest is small enough to be inlined.
#[cold]
fn beyond(address: u64, scale: u64, length: u64) -> Unexpected {
    let unit = if scale == 1 { "byte" } else { "sector" };
    Unexpected::new(
        format!("{unit} {address} with length {length}"),
        "a request that ends below 1 EiB; is this another format?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_an_exponent_are_exact() {
        for (text, unit, ns) in [
            ("5e-05", TimeUnit::Seconds, 50_000),
            ("1.25E2", TimeUnit::Millis, 125_000_000),
            ("9.999999999e0", TimeUnit::Seconds, 9_999_999_999),
            ("1e-12", TimeUnit::Seconds, 0),
            ("123.5e+3", TimeUnit::Micros, 123_500_000),
        ] {
            assert_eq!(time_ns(text, unit), Ok(ns), "{text}");
        }
    }

    #[test]
    fn times_are_exact() {
        for (text, unit, ns) in [
            ("0.026214", TimeUnit::Seconds, 26_214_000),
            ("3600.949610354", TimeUnit::Seconds, 3_600_949_610_354),
            ("5265.313", TimeUnit::Millis, 5_265_313_000),
            ("12", TimeUnit::Millis, 12_000_000),
            (".5", TimeUnit::Micros, 500),
            ("7.", TimeUnit::Seconds, 7_000_000_000),
            ("1.0000000019", TimeUnit::Seconds, 1_000_000_001),
            ("11413000", TimeUnit::Nanos, 11_413_000),
            ("1999", TimeUnit::Picos, 1),
            ("0", TimeUnit::Nanos, 0),
            ("9223372036854775807", TimeUnit::Nanos, i64::MAX as u64),
            ("9223372036.854775807", TimeUnit::Seconds, i64::MAX as u64),
            (
                "00000000000000000000000000000000001.50000000000000000000000000000",
                TimeUnit::Seconds,
                1_500_000_000,
            ),
        ] {
            assert_eq!(time_ns(text, unit), Ok(ns), "{text}");
        }
    }

    #[test]
    fn wrong_times_say_what_was_expected() {
        for (text, unit, expected) in [
            ("", TimeUnit::Seconds, "a time in s such as 12.5"),
            (".", TimeUnit::Seconds, "a time in s such as 12.5"),
            ("-1", TimeUnit::Millis, "a time in ms such as 12.5"),
            ("1x5", TimeUnit::Millis, "a time in ms such as 12.5"),
            ("1e", TimeUnit::Millis, "a time in ms such as 12.5"),
            ("1e5", TimeUnit::Nanos, "a time in ns such as 1250"),
            ("1e30", TimeUnit::Seconds, "a time in s such as 12.5"),
            ("1.2.3", TimeUnit::Millis, "a time in ms such as 12.5"),
            ("x", TimeUnit::Nanos, "a time in ns such as 1250"),
            ("1.0000000000x", TimeUnit::Seconds, "a time in s such as 12.5"),
            ("9223372036854775808", TimeUnit::Nanos, "a time in ns below 2^63 ns"),
            ("9223372036.854775808", TimeUnit::Seconds, "a time in s below 2^63 ns"),
            ("9300000000000000000", TimeUnit::Picos, "a time in ps below 2^63 ps"),
            ("99999999999", TimeUnit::Seconds, "a time in s below 2^63 ns"),
        ] {
            assert_eq!(time_ns(text, unit).unwrap_err().expected, expected, "{text}");
        }
        assert!(time_ns("1.5", TimeUnit::Nanos).unwrap_err().expected.contains("disksim (ms)"));
    }

    #[test]
    fn fields_stand_between_commas() {
        assert_eq!(comma(" a ,,c d,\te", "columns").unwrap(), ["a", "", "c d", "e"]);
        assert_eq!(comma("a,b", "columns").unwrap(), ["a"]);
        assert_eq!(comma("\u{a0}a\u{a0},\u{e9},", "columns").unwrap(), ["a", "\u{e9}", ""]);
        assert_eq!(
            comma::<3>("a,b", "columns").unwrap_err(),
            Unexpected::new("2 of the 3 fields in `a,b`", "columns")
        );
    }

    #[test]
    fn extents_stay_in_range() {
        assert_eq!(extent(3, 512, 2, 512), Ok((1536, 1024)));
        assert_eq!(extent(3, 512, 7, 1), Ok((1536, 7)));
        assert_eq!(extent(MAX_END / 512, 512, 0, 512), Ok((MAX_END, 0)));
        for (address, length) in
            [(u64::MAX, 1), (u64::MAX / 512, 1), (0, u64::MAX), (MAX_END / 512, 1)]
        {
            assert!(extent(address, 512, length, 512).is_err());
        }
    }

    #[test]
    fn fields_lie_between_commas() {
        assert_eq!(comma::<3>(" a,b c , ,d", "x"), Ok(["a", "b c", ""]));
        let error = Unexpected::new("2 of the 3 fields in `a,`", "x,y,z");
        assert_eq!(comma::<3>("a,", "x,y,z"), Err(error));
    }

    #[test]
    fn whole_numbers_have_digits_only() {
        assert_eq!(whole::<u32>("12", "a size").unwrap(), 12);
        assert_eq!(whole::<u64>("18446744073709551615", "a size").unwrap(), u64::MAX);
        assert_eq!(whole::<u64>("000000000000000000000000000007", "a size").unwrap(), 7);
        assert!(
            whole::<u64>("18446744073709551616", "a size")
                .unwrap_err()
                .expected
                .contains("smaller")
        );
        for text in ["", "+1", "-1", "1.0", "0x1"] {
            assert_eq!(
                whole::<u64>(text, "a size").unwrap_err().expected,
                "a size, a whole number"
            );
        }
        assert_eq!(
            whole::<u32>("4294967296", "volume").unwrap_err().expected,
            "volume, a smaller number"
        );
    }
}
