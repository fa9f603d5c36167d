"""What a run gives: one JSON object; docs/results.md says what is in it."""

from __future__ import annotations

from typing import Any, TypedDict

Record = dict[str, Any]
# What `eraseblock.readings.analysis` makes of the records of all readings.
Analysis = dict[str, Any]


class StatsRequests(TypedDict):
    """Requests of a device, so far."""

    submitted: int
    answered: int


class StatsPages(TypedDict):
    """Pages that the host asked for."""

    read: int
    write: int
    trim: int


class ByKind(TypedDict):
    """A share from 0 to 1 of all pages, of those read and of those written; None where there were none."""

    all: float | None
    read: float | None
    write: float | None


class StatsFlash(TypedDict):
    """Pages read and programmed, and blocks erased."""

    reads: int
    programs: int
    erases: int


class Stats(TypedDict):
    """What a device has counted since its first request."""

    clock_ns: int
    requests: StatsRequests
    host_pages: StatsPages
    hit_ratio: ByKind
    # Pages that the buffer holds now.
    buffer_pages: int
    flash: StatsFlash
    # Pages programmed by pages that the host wrote; None where it wrote none.
    waf: float | None
