"""The figures that tables lead with: where each is in a record, how it is printed, which end is good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eraseblock.results import units
from eraseblock.results.ranking import Good


@dataclass(frozen=True)
class Column:
    """One figure of a run."""

    title: str
    path: str
    show: Callable[[Any], str]
    good: Good | None = "low"
    # Where the best possible value stands.
    bound: str = ""


COLUMNS = (
    Column("mean", "response_ns.all.mean", units.duration),
    Column("p99", "response_ns.all.p99", units.duration),
    Column("hits", "hit_ratio.all", units.share, "high", "bound.hit_ratio"),
    Column("erases", "flash.erases.total", units.count, bound="bound.erases"),
    Column("WAF", "waf", units.ratio, bound="bound.waf"),
    Column("pages/flush", "flush_pages.after_padding.mean", units.pages, None),
)
