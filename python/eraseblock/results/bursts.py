"""Why a buffer can be worse than none: bursts that drive out what was written long before.

A large buffer gathers dirty pages. Requests that need their room, reads too, wait until these are stored; if
they leave one by one, the FTL copies around each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eraseblock.results.contest import Contest, Design
from eraseblock.results.headline import MEAN, Column
from eraseblock.results.units import count, size
from eraseblock.results.wording import named, percent

# A burst takes at least so much of the time, in at most so many of the requests,
_TIME, _REQUESTS = 0.8, 0.1
# and stores so many times what it writes.
_STORED = 2.0
# By so much a buffer has to be worse than none.
_WORSE = 0.1


@dataclass(frozen=True)
class _Burst:
    """The parts of a run in which most of its time is spent."""

    # Shares of all.
    time: float
    requests: float
    # Pages: of write requests; that left the buffer; that collection and merges copied.
    written: int
    stored: int
    copied: int


def bursts_of(contests: Sequence[Contest], column: Column) -> list[str]:
    """A sentence on the buffer that others are measured by, where it is worst off against none."""
    if column is not MEAN:
        return []
    found: dict[float, str] = {}
    for contest in contests:
        reference, none = contest.reference(), contest.baseline("none")
        ours, theirs = (None if one is None else one.value(column) for one in (reference, none))
        if reference is None or none is None or not ours or not theirs or ours <= theirs * (1 + _WORSE):
            continue
        burst = _burst(reference)
        if reference.competes and burst is not None:
            place = f" at {size(contest.buffer_bytes)}" if len(contests) > 1 else ""
            found[ours / theirs] = f"Why {named(reference)} loses to {named(none)}{place}: {_told(burst)}"
    return [found[max(found)]] if found else []


def _told(burst: _Burst) -> str:
    return (
        f"{percent(burst.requests)} of the requests take {percent(burst.time)} of its time; they write "
        f"{count(burst.written)} pages, read more, {count(burst.stored)} old ones leave, "
        f"{count(burst.copied)} are copied."
    )


def _burst(design: Design) -> _Burst | None:
    """The fewest steps that take most of the time; None if they are many, or store what they write."""
    names = ("response_sum_ns", "requests", "host_pages_written", "programs", "gc_programs")
    columns = [design.row.figure(f"series.{name}") for name in names]
    if not all(isinstance(values, list) and len(values) == len(columns[0]) for values in columns):
        return None
    steps = sorted(zip(*columns, strict=True), reverse=True)
    time, requests = (sum(values) for values in columns[:2])
    some: list[tuple[int, ...]] = []
    while steps and sum(step[0] for step in some) < _TIME * time:
        some.append(steps.pop(0))
    if not some or not requests:
        return None
    spent, asked, written, programmed, copied = (sum(values) for values in zip(*some, strict=True))
    if asked > _REQUESTS * requests or programmed - copied < _STORED * written:
        return None
    return _Burst(spent / time, asked / requests, written, programmed - copied, copied)
