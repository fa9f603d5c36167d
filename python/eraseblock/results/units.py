"""Figures as people read them: sizes, times, shares and counts with a scaled unit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from eraseblock import _core

_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_DECIMAL_SIZES = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_TIMES: Sequence[tuple[str, float]] = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
# Further spellings that the engine reads, and never writes.
_SIZE_ALIASES = {"KB": 10**3, "T": 1 << 40, "G": 1 << 30, "M": 1 << 20, "K": 1 << 10, "k": 1 << 10}
_TIME_ALIASES = {"min": 60 * 10**9, "h": 3600 * 10**9, "µs": 10**3}
_QUANTITY = re.compile(r"\s*(_*[0-9][0-9_]*(?:\.[0-9_]*)?)\s*([A-Za-zµ]+)\s*")
_COUNTS: Sequence[tuple[str, float]] = (("G", 1e9), ("M", 1e6), ("k", 1e3))
# What stands where a run has no such figure.
NOTHING = "-"


def bytes_of(text: str) -> int:
    """Bytes of a size in any spelling that the engine reads, such as `16 MiB`, `1.5MiB` or `4k`.

    Raises:
        ValueError: it is no size, or not in whole bytes.
    """
    return _exactly(text, _SIZES | _DECIMAL_SIZES | _SIZE_ALIASES)


def nanoseconds_of(what: str, text: str) -> int:
    """Whole ns of a time such as `1.5 ms`; messages call it `what`.

    Raises:
        InputError: it is no time.
    """
    try:
        return _exactly(text, {**{name: int(scale) for name, scale in _TIMES}, **_TIME_ALIASES})
    except ValueError:
        said = f'{what}: found {text!r}, expected a time such as "1.5 ms", in whole ns'
        raise _core.InputError(said) from None


def _exactly(text: str, scales: Mapping[str, int]) -> int:
    """A number with a unit, as a whole number of the base unit; as the engine reads it."""
    from fractions import Fraction

    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in scales:
        raise ValueError(text)
    value = Fraction(match[1].replace("_", "")) * scales[match[2]]
    if value.denominator != 1:
        raise ValueError(text)
    return value.numerator


def number_of(text: str) -> float | None:
    """The number behind a value such as `0.2`, `16 MiB` (in bytes) or `25 us` (in ns); None for a word."""
    number, _, unit = text.partition(" ")
    scale = (_SIZES | _DECIMAL_SIZES | dict(_TIMES) | {"": 1}).get(unit)
    try:
        value = None if scale is None else float(number) * scale
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def unit_of(text: str) -> str:
    """In what [`number_of`] gives a value, as ` (bytes)` or ` (ns)`; empty for plain numbers."""
    unit = text.partition(" ")[2]
    if unit in _SIZES | _DECIMAL_SIZES:
        return " (bytes)"
    return " (ns)" if unit in dict(_TIMES) else ""


def size(count: float | None) -> str:
    """Bytes as `16 MiB` or `1.5 GiB`."""
    if count is None:
        return NOTHING
    unit = next((name for name, scale in reversed(_SIZES.items()) if count >= scale), "B")
    return f"{_digits(count / _SIZES[unit])} {unit}"


def sold_size(count: float) -> str:
    """Bytes as drives are sold, `600 TB` or `4.19 GB`."""
    unit = next((name for name, scale in reversed(_DECIMAL_SIZES.items()) if count >= scale), "kB")
    return f"{_digits(count / _DECIMAL_SIZES[unit])} {unit}"


def until_worn(written: float | None) -> str:
    """What can be written until flash is worn out; nothing wears it where none is written."""
    return "without end" if written is None else sold_size(written)


def end_of_life(written: float | None) -> str:
    """What was written until the flash was worn out; a drive that outlives the run has no such figure."""
    return "not reached" if written is None else size(written)


def long_time(nanoseconds: float) -> str:
    """A time of years, days or less, as `39.8 years`."""
    days = nanoseconds / (86_400 * 10**9)
    if days < 1:
        return duration(nanoseconds)
    number, unit = (_digits(days / 365), "year") if days >= 365 else (_digits(days), "day")
    return f"{number} {unit}{'' if number == '1' else 's'}"


def sizes(low: float, high: float) -> str:
    """Two sizes as `1 to 16 MiB`, the same one twice as `1 MiB`."""
    first, last = size(low), size(high)
    return last if first == last else f"{first.removesuffix(last[last.index(' ') :])} to {last}"


def duration(nanoseconds: float | None) -> str:
    """A time as `1.25 ms`."""
    if nanoseconds is None:
        return NOTHING
    unit, scale = next((pair for pair in _TIMES if nanoseconds >= pair[1]), _TIMES[-1])
    return f"{_digits(nanoseconds / scale)} {unit}"


def share(part: float | None) -> str:
    """A share as `12.3 %`."""
    return NOTHING if part is None else f"{100 * part:.1f} %"


def count(number: float | None) -> str:
    """A number as `1,234` or `1.23 M`."""
    if number is None:
        return NOTHING
    if abs(number) < 100_000:
        return f"{number:,.0f}"
    unit, scale = next(pair for pair in _COUNTS if abs(number) >= pair[1])
    return f"{_digits(number / scale)} {unit}"


def energy(millijoules: float | None) -> str:
    """An energy as `6.33 J`."""
    if millijoules is None:
        return NOTHING
    return f"{_digits(millijoules)} mJ" if millijoules < 1e3 else f"{_digits(millijoules / 1e3)} J"


def ratio(number: float | None) -> str:
    """A ratio as `1.23`; one that is nearly nothing is not told as nothing."""
    if number is None:
        return NOTHING
    return f"{number:.2g}" if 0 < number < 0.005 else f"{number:.2f}"


def pages(number: float | None) -> str:
    """A mean number of pages as `12.5`."""
    return NOTHING if number is None else f"{number:,.1f}"


def _digits(number: float) -> str:
    """Three significant digits, without zeros that say nothing about whole numbers."""
    if number == int(number) and number < 10_000:
        return f"{number:.0f}"
    decimals = 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:,.{decimals}f}"
