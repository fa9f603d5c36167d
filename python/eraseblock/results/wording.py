"""Words for designs, and for how far one figure is from another. Names stand in backquotes."""

from __future__ import annotations

from collections.abc import Sequence

from eraseblock.results.contest import Design
from eraseblock.results.evidence import TIE
from eraseblock.results.headline import MEAN, WAF, Column

# From so many times on, a multiple says more than per cent.
_MULTIPLE = 3.0
# Why what drives did is not held against one another.
WORE_OUT = "drives wore out before others had served as much"
# What two figures are that do not differ.
LEVEL = "level with"
# Of so little what is less would be rounded to all of it.
_REST = 0.005
# More names than this are counted.
_NAMES = 3


def named(design: Design) -> str:
    """Its name, as sentences have it."""
    return f"`{design.name}`"


def shown(design: Design, column: Column) -> str:
    """Its figure, with a unit."""
    return column.show(design.value(column))


def listed(designs: Sequence[Design], between: str = "") -> str:
    """Their names; of many the first, and a word before the last of few."""
    names = [named(one) for one in designs]
    more = len(names) - _NAMES
    if more > 1:
        return f"{', '.join(names[:_NAMES])} {between or 'and'} {more} more"
    return (
        f" {between} ".join([", ".join(names[:-1]), names[-1]])
        if between and len(names) > 1
        else ", ".join(names)
    )


def why_none(designs: Sequence[Design], column: Column) -> str:
    """Why none of them can be the best by a figure."""
    rows = [row for design in designs if design.competes for row in design.rows]
    if not rows:
        trusted = any(all(row.trusted for row in design.rows) for design in designs)
        return "all runs that are to be trusted knew the future" if trusted else "no run is to be trusted"
    if column.path.startswith("response_ns.") and all(row.figure(MEAN.path) is None for row in rows):
        return f"runs without time (host.replay) have no {column.name}"
    if column is WAF and not any(row.figure("host_pages.write") for row in rows):
        return "nothing is written"
    return f"no run has this figure ({column.name})"


def gap(design: Design, other: Design, column: Column) -> str:
    """How far a design is from another one, as in "38 % below `lru` (1.9 ms)"."""
    away = relative(other.value(column), design.value(column))
    return f"{away} {named(other)} ({shown(other, column)})"


def relative(first: float | None, second: float | None) -> str:
    """How far the second figure is from the first, as in "98 % below" or "4.1x above"."""
    if first is None or second is None:
        return "beside"
    if abs(second - first) <= TIE / 2 * max(abs(first), abs(second)):
        return LEVEL
    side = "below" if second < first else "above"
    if first <= 0 or second <= 0:
        return side
    if second / first >= _MULTIPLE:
        return f"{times(second / first)} {side}"
    if second / first < _REST:
        return f"{times(first / second)} {side}"
    return f"{percent(abs(second - first) / first)} {side}"


def change(first: float | None, second: float | None) -> str:
    """The same for a cell of a table: "-38 %", "4.1x"."""
    if first is None or second is None or not first:
        return "-"
    factor = second / first
    return times(factor) if factor >= _MULTIPLE else f"{100 * (factor - 1):+.0f} %"


def times(factor: float) -> str:
    """A multiple, as in "4.1x"."""
    return f"{factor:,.0f}x" if factor >= 10 else f"{factor:.1f}x"


def percent(part: float) -> str:
    """A share, with a decimal where there is little of it."""
    return f"{100 * part:.0f} %" if part >= TIE else f"{100 * part:.1f} %"


def percents(parts: Sequence[float]) -> str:
    """Shares from the least to the most, as in "20 to 31 %"."""
    low, high = (round(100 * one) for one in (min(parts), max(parts)))
    if low == 0 < high:
        return f"up to {high} %"
    return f"{low} %" if low == high else f"{low} to {high} %"
