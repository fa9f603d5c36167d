"""The figures that tables show: where each is in a record, how it is printed, which end is good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from eraseblock import _core
from eraseblock.names import nearest
from eraseblock.results import units

# Which end of a figure is good.
Good = Literal["low", "high"]


@dataclass(frozen=True)
class Column:
    """One figure of a run."""

    title: str
    path: str
    show: Callable[[Any], str]
    good: Good | None = "low"
    # Where the best possible value stands.
    bound: str = ""
    # In a sentence; the title, unless told.
    noun: str = ""
    # The list of a record's `series` that adds up to this figure, or to its numerator.
    parts: str = ""
    # A run without this figure has outlived those that have it.
    endless: bool = False

    @property
    def name(self) -> str:
        """What sentences call it."""
        return self.noun or self.title


MEAN = Column("mean", "response_ns.all.mean", units.duration, noun="mean response", parts="response_sum_ns")
P99 = Column("p99", "response_ns.all.p99", units.duration, noun="99th percentile of responses")
HITS = Column("hits", "hit_ratio.all", units.share, "high", "bound.hit_ratio", "hit ratio", "hit_pages")
ERASES = Column("erases", "flash.erases.total", units.count, bound="bound.erases", parts="erases")
WAF = Column("WAF", "waf", units.ratio, bound="bound.waf", noun="write amplification", parts="programs")
WRITES = Column(
    "writes",
    "flash.programs.total",
    units.count,
    bound="bound.flash_programs",
    noun="pages written to flash",
    parts="programs",
)
FLUSHES = Column("pages/flush", "flush_pages.after_padding.mean", units.pages, None)
# What a table shows unless told otherwise.
COLUMNS = (
    MEAN,
    P99,
    HITS,
    ERASES,
    WAF,
    FLUSHES,
)


def _times(kind: str) -> tuple[Column, ...]:
    """Mean and percentiles of one kind of request."""
    of = "" if kind == "all" else f"{kind}-"
    whose = "responses" if kind == "all" else f"responses to {kind}s"
    figures = (
        *(("p50", "median"), ("p90", "90th percentile"), ("p99", "99th percentile")),
        *(("p999", "99.9th percentile"), ("max", "longest")),
    )
    return (
        Column(f"{of}mean", f"response_ns.{kind}.mean", units.duration, noun=f"mean of {whose}"),
        *(
            Column(f"{of}{name}", f"response_ns.{kind}.{name}", units.duration, noun=f"{noun} of {whose}")
            for name, noun in figures
        ),
    )


# Every figure that has a name of its own; any other is named by its place in a record.
NAMED: dict[str, Column] = {
    column.title: column
    for column in (
        *_times("all"),
        *_times("read"),
        *_times("write"),
        *COLUMNS,
        Column("read-hits", "hit_ratio.read", units.share, "high", noun="hit ratio of reads"),
        Column("write-hits", "hit_ratio.write", units.share, "high", noun="hit ratio of writes"),
        WRITES,
        Column("reads", "flash.reads.total", units.count, noun="pages read from flash"),
        Column("copies", "flash.programs.gc", units.count, noun="pages copied by collection"),
        Column("merged", "flash.programs.merge", units.count, noun="pages copied by merges"),
        Column("padded", "padded_pages", units.count, noun="pages padded"),
        Column("energy", "energy_mj", units.energy),
        Column("wear-max", "wear.erases_max", units.count, noun="most erases of a block"),
        Column("wear-spread", "wear.cv_block", units.ratio, noun="spread of wear"),
        Column(
            "lifetime",
            "end_of_life.host_bytes",
            units.end_of_life,
            "high",
            noun="bytes until the end of life",
            endless=True,
        ),
        Column("iops", "throughput.iops", units.count, "high", noun="requests per second"),
        Column("bytes/s", "throughput.bytes_per_s", units.size, "high", noun="bytes per second"),
        Column("controller-memory", "buffer_paper_bytes", units.size, noun="memory in a controller"),
        Column("simulator-memory", "buffer_metadata_bytes", units.size, None),
    )
}


def column_named(name: str, option: str) -> Column:
    """The figure with this name, whatever its case, or at this place in a record."""
    for title, column in NAMED.items():
        if name.lower() == title.lower() or name == column.path:
            return column
    hint = nearest(name, list(NAMED))
    raise _core.ConfigError(f"{option}: there is no column `{name}`{hint} (known: {', '.join(NAMED)})")
