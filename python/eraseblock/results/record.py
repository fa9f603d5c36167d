"""What a run gives: one JSON object; docs/results.md says what is in it, and what each figure means."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Config = dict[str, Any]
# A record as it was stored: perhaps by an older version, and perhaps without parts that nobody needs.
Record = dict[str, Any]
# What `eraseblock.readings.analysis` makes of the records of all readings.
Analysis = dict[str, Any]


class ByKind(TypedDict):
    """A share from 0 to 1 of all pages, of those read and of those written; None where there were none."""

    all: float | None
    read: float | None
    write: float | None


class Times(TypedDict):
    """Response times in ns; `histogram` has pairs of time and count."""

    count: int
    mean: float
    p50: int
    p90: int
    p99: int
    p999: int
    max: int
    histogram: list[list[float]]


class Responses(TypedDict):
    """Of all requests, of reads and of writes; None where there were none, or no time."""

    all: Times | None
    read: Times | None
    write: Times | None


class Requests(TypedDict):
    """Requests, without those of a warm-up."""

    submitted: int
    completed: int
    reads: int
    writes: int
    trims: int
    flushes: int


class Pages(TypedDict):
    """Pages that the host asked for."""

    read: int
    write: int
    trim: int


class Work(TypedDict):
    """Pages, or blocks, by what they were read, programmed or erased for."""

    total: int
    host: int
    padding: int
    gc: int
    merge: int
    mapping: int
    wear: int
    filler: int
    placement: int


class Flash(TypedDict):
    """What the flash did."""

    reads: Work
    programs: Work
    erases: Work
    multi_plane: dict[str, int]
    cache_programs: int
    suspensions: dict[str, int]


class Throughput(TypedDict):
    """Requests and bytes for each simulated second."""

    iops: float
    bytes_per_s: float


class Merges(TypedDict):
    """Merges by kind."""

    switch: int
    partial: int
    full: int


class Wear(TypedDict):
    """Erases of blocks, and how unevenly they are spread."""

    erases_mean: float
    erases_max: int
    cv_block: float | None
    cv_channel: float | None
    map: dict[str, Any]


class EndOfLife(TypedDict):
    """When the flash was worn out."""

    host_bytes: int
    unanswered: int


class Trace(TypedDict):
    """Which requests these were, and what was left out of them."""

    name: str
    format: str
    evidence: str
    sha256: str
    requests: int
    requests_in_trace: int
    left_out: dict[str, int]
    start_ns: int
    clamped: int
    clamped_max_ns: int
    sorted: int
    sorted_max_ns: int
    other_lines: dict[str, int]
    bad_lines: dict[str, Any]
    # What a generator was asked for and could not meet; absent where there is nothing.
    missed: NotRequired[list[str]]
    fit: dict[str, Any]


class Engine(TypedDict):
    """How fast the run was, by the clock on the wall: all that differs between two runs of the same."""

    wall_s: float
    fill_s: float
    requests_per_s: float | None
    flash_ops_per_s: float | None


class RunRecord(TypedDict):
    """The record of a run, as it comes from one; `eb.Record` for users."""

    key: str
    name: str
    version: str
    # Every key of the experiment, explicit.
    config: Config
    trace: Trace
    requests: Requests
    # Requests before those that are measured, where there are any.
    warm_up: NotRequired[dict[str, int]]
    # Whether the figures mean what they say; why not; and what else a reader should know.
    trusted: bool
    reasons: list[str]
    warnings: list[str]
    # Whether the buffer knew the future.
    offline: bool
    response_ns: Responses
    throughput: Throughput | None
    simulated_s: float | None
    hit_ratio: ByKind
    inflight_hits: int
    unmapped_reads: int
    host_pages: Pages
    map_hit_ratio: float | None
    padded_pages: int
    flash: Flash
    merges: Merges
    policy_switches: int
    waf: float | None
    wear: Wear
    end_of_life: EndOfLife | None
    energy_mj: float | None
    buffer_metadata_bytes: int
    buffer_paper_bytes: int | None
    map_bytes: int
    bytes_per_page: float
    precondition: dict[str, Any]
    end_of_run: dict[str, Any]
    verified_reads: int | None
    flash_ops: int
    # What metrics report; None where one was not asked for.
    flush_response_ns: Times | None
    flush_response_per_write_ns: float | None
    flush_pages: Any
    service_ns: Any
    co_hit: Any
    patterns: Any
    bound: Any
    series: Any
    # Not in results.json, which is the same whenever it is made.
    engine: Engine


class StatsRequests(TypedDict):
    """Requests of a device, so far."""

    submitted: int
    answered: int


class StatsFlash(TypedDict):
    """Pages read and programmed, and blocks erased."""

    reads: int
    programs: int
    erases: int


class Stats(TypedDict):
    """What a device has counted since its first request."""

    clock_ns: int
    requests: StatsRequests
    host_pages: Pages
    hit_ratio: ByKind
    # Pages that the buffer holds now.
    buffer_pages: int
    flash: StatsFlash
    # Pages programmed by pages that the host wrote; None where it wrote none.
    waf: float | None
