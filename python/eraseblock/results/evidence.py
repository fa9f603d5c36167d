"""Whether a difference between two designs can be trusted: by their seeds, and by the parts of the run.

Seeds that each draw the workload anew (`workload.generate.seed`) decide alone. Others draw what is random
inside the drive and leave the workload as it is, so that the parts have to agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any, Literal

from eraseblock.results.contest import Design
from eraseblock.results.headline import Column
from eraseblock.results.view import Row

# Figures closer than this are equal, however often one of them leads.
TIE = 0.01
# A lead that chance may explain is one all the same from here on, with a word of doubt.
_WIDE = 0.10
# A run is told in so many parts of equally many requests.
PARTS = 10
# So many parts at most are an end of it.
_END = 3
# Where the total of what parts add up to stands, the end of the run included.
_TOTALS = {"programs": "flash.programs.total", "erases": "flash.erases.total"}
# How seldom chance alone may make a difference that is called one.
_CHANCE = 0.05
# Student's t for that, on both sides, by degrees of freedom.
_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)

# sure: it would be there again; unsure: it may be chance; unknown: nothing tells; equal: there is none.
Finding = Literal["sure", "unsure", "unknown", "equal"]


@dataclass(frozen=True)
class Evidence:
    """What is known of a difference, and how."""

    finding: Finding
    # As in `in 9 of 10 parts of the run`; empty where nothing was counted.
    how: str = ""
    # What stands against it, if it is not sure.
    doubt: str = ""
    # So large that it is told all the same.
    wide: bool = False

    @property
    def level(self) -> bool:
        """Whether the two may not be told apart."""
        return self.finding == "equal" or (self.finding == "unsure" and not self.wide)


def evidence(better: Design, worse: Design, column: Column) -> Evidence:
    """Whether the first design is really better than the second by this figure."""
    high = column.good == "high"
    first, second = better.value(column), worse.value(column)
    if first is None or second is None:
        return Evidence("unknown")
    if abs(first - second) <= TIE * max(abs(first), abs(second)):
        return Evidence("equal")
    wide = abs(first - second) > _WIDE * max(abs(first), abs(second))
    sign = -1 if high else 1
    pairs, gains = _seeds(better, worse, column), _parts(better, worse, column)
    by_parts = None if gains is None else _by_parts([sign * gain for gain in gains], wide=wide)
    if by_parts is not None and gains is not None and (end := _end(better, worse, column, gains)):
        by_parts = _with_end([sign * gain for gain in gains], sign * end, by_parts, wide=wide)
    if pairs is None:
        return by_parts or Evidence("unknown")
    by_seeds = _by_seeds([sign * (b - a) for a, b in pairs], wide=wide)
    drawn_anew = len({_workload(row) for row in better.rows}) == len(better.rows)
    if by_seeds.finding != "sure" or drawn_anew or by_parts is None or by_parts.finding == "sure":
        return by_seeds
    return replace(by_parts, how=f"{by_seeds.how}, but {by_parts.how}")


def _seeds(one: Design, other: Design, column: Column) -> list[tuple[float, float]] | None:
    """The figures of both under each seed, where there are several, and they change them."""
    first, second = one.by_seed, other.by_seed
    if (
        len(one.rows) < 2
        or not len(one.rows) == len(first) == len(other.rows)
        or first.keys() != second.keys()
    ):
        return None
    pairs = [(row.figure(column.path), second[seeds].figure(column.path)) for seeds, row in first.items()]
    found = [(float(a), float(b)) for a, b in pairs if a is not None and b is not None]
    return found if len({*found}) > 1 else None


def _workload(row: Row) -> Any:
    """What tells the requests of a run from others."""
    return row.record["trace"].get("sha256")


def _by_seeds(gains: Sequence[float], *, wide: bool) -> Evidence:
    """A t-test of the differences: runs with different seeds know nothing of one another."""
    ahead = sum(gain > 0 for gain in gains)
    how = f"with {ahead} of {len(gains)} seeds"
    freedom = len(gains) - 1
    limit = _T[min(freedom, len(_T)) - 1]
    error = stdev(gains) / len(gains) ** 0.5
    if fmean(gains) > limit * error:
        return Evidence("sure", how)
    return Evidence("unsure", how, "other seeds may turn it round", wide)


def _parts(one: Design, other: Design, column: Column) -> list[float] | None:
    """By how much the second design is above the first in each part of the run, all seeds together."""
    if not column.parts:
        return None
    if {_workload(row) for row in one.rows} != {_workload(row) for row in other.rows}:
        return None
    lists = [[row.figure(f"series.{column.parts}") for row in design.rows] for design in (one, other)]
    if any(not isinstance(values, list) for rows in lists for values in rows):
        return None
    if len(lengths := {len(values) for rows in lists for values in rows}) > 1 or min(lengths) < PARTS:
        return None
    first, second = ([fmean(values) for values in zip(*rows, strict=True)] for rows in lists)
    edges = [part * len(first) // PARTS for part in range(PARTS + 1)]
    return [float(sum(second[low:high]) - sum(first[low:high])) for low, high in pairwise(edges)]


def _end(one: Design, other: Design, column: Column, gains: Sequence[float]) -> float:
    """The same of what comes after the last request, as where the buffer is flushed: it is in no part."""
    path = _TOTALS.get(column.parts)
    first, second = (None if path is None else design.figure(path) for design in (one, other))
    return 0.0 if first is None or second is None else round(second - first - sum(gains), 6)


def _with_end(gains: Sequence[float], end: float, by_parts: Evidence, *, wide: bool) -> Evidence:
    """The evidence of the parts, if the end of the run does not turn it round."""
    if sum(gains) <= 0:
        return Evidence("unsure", by_parts.how, "what comes after the last request decides", wide)
    found = _by_parts([*gains, end], wide=wide)
    if found.finding == "sure":
        return replace(found, how=by_parts.how)
    if by_parts.finding != "sure":
        return by_parts
    return replace(found, how=by_parts.how, doubt="what comes after the last request takes much of it back")


def _by_parts(gains: Sequence[float], *, wide: bool) -> Evidence:
    """How often chance would give as much, were each part as likely to go the other way.

    It asks for no bell curve, which bursts would not make: one burst that decides all is no evidence,
    a small lead throughout is.
    """
    ahead = sum(gain > 0 for gain in gains)
    how = f"in {ahead} of {len(gains)} parts of the run"
    least = abs(sum(gains)) * (1 - 1e-12)
    sums = _signed_sums(gains)
    chance = sum(abs(total) >= least for total in sums) / len(sums)
    if chance <= _CHANCE:
        return Evidence("sure", how)
    return Evidence("unsure", how, _deciding(gains), wide)


def _deciding(gains: Sequence[float]) -> str:
    """Which parts decide: an end of the run where there is no lead without it, else bursts anywhere."""
    last = next((count for count in range(1, _END + 1) if sum(gains[:-count]) <= 0), 0)
    first = next((count for count in range(1, _END + 1) if sum(gains[count:]) <= 0), 0)
    if bool(last) == bool(first):
        return "a few bursts decide"
    if 1 in (last, first):
        return f"its {'last' if last else 'first'} part decides"
    return f"a few bursts decide, {'at its end' if last else 'early on'}"


def _signed_sums(numbers: Sequence[float]) -> list[float]:
    """The sums of all ways to give each number a sign."""
    sums = [0.0]
    for number in numbers:
        sums = [total + one for one in (number, -number) for total in sums]
    return sums
