"""What one run shows on its own page, packed: latency histograms, series, wear map, write lengths.

Every run is packed on its own, so that the page unpacks only what is looked at. Where a set is so large that
the page would be too, all its runs are shown in coarser steps, and the page says so.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from eraseblock.results.record import Record

Json = dict[str, Any]

# Characters of all runs together; the plotting library and the rest take 2 MB at most.
BUDGET = 3_800_000
# So many neighbours become one, at each level.
_MERGES = (1, 2, 4, 8, 16)
_SAMPLE = 24
_KINDS = ("all", "read", "write")
# Summed over merged steps, or the largest of them; `end_ns` is the last.
_SUMMED = (
    "requests",
    "answers",
    "host_pages",
    "hit_pages",
    "host_pages_written",
    "programs",
    "gc_programs",
    "erases",
    "response_sum_ns",
)
_LARGEST = ("backlog_max", "admission_wait_max_ns")
_POWERS = [10**digits for digits in range(7)]


@dataclass(frozen=True)
class Details:
    """The packed runs (none where even the coarsest do not fit), and how many neighbours became one."""

    packed: list[str]
    merged: int


def details_of(records: Sequence[Record], budget: int = BUDGET) -> Details:
    """All runs at the finest level that fits."""
    stride = max(1, len(records) // _SAMPLE)
    for merge in _MERGES:
        sample = [pack(detail(record, merge)) for record in records[::stride]]
        # A sample that is far too large spares packing all of them.
        if sum(map(len, sample)) * len(records) / len(sample) > 1.1 * budget:
            continue
        packed = [
            pack(detail(record, merge)) if at % stride else sample[at // stride]
            for at, record in enumerate(records)
        ]
        if sum(map(len, packed)) <= budget:
            return Details(packed, merge)
    return Details([], 0)


def pack(value: Any) -> str:
    """Compressed JSON as text; the same value gives the same text."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii")


def detail(record: Record, merge: int = 1) -> Json:
    """The lists of one record, in steps of `merge` neighbours; parts that it does not have are left out."""
    found = {
        "latency": _histograms(record, merge),
        "series": _series(record.get("series"), merge),
        "wear": _wear((record.get("wear") or {}).get("map"), merge),
        "lengths": ((record.get("flush_pages") or {}).get("after_padding") or {}).get("cdf_by_page"),
    }
    return {key: value for key, value in found.items() if value}


def _histograms(record: Record, merge: int) -> Json:
    found = {}
    for kind in _KINDS:
        buckets = ((record.get("response_ns") or {}).get(kind) or {}).get("histogram")
        if buckets:
            # A quarter of the merging is enough: there are fewer buckets than steps.
            groups = _groups(buckets, max(1, merge // 4))
            found[kind] = {
                "upper": [_digits(group[-1][0], 5) for group in groups],
                "count": [sum(count for _, count in group) for group in groups],
            }
    return found


def _series(series: Json | None, merge: int) -> Json:
    if not series or not series.get("requests"):
        return {}
    found: Json = {"requests_per_step": series["requests_per_step"] * merge}
    for key in _SUMMED:
        values = series.get(key)
        if values:
            found[key] = _sums(values, merge)
    for key in _LARGEST:
        if series.get(key):
            found[key] = [_digits(max(group), 6) for group in _groups(series[key], merge)]
    ends = series.get("end_ns")
    if ends and ends[-1]:
        last = [group[-1] for group in _groups(ends, merge)]
        # Differences in ten-thousandths of the whole: as fine as a screen, and short.
        unit = max(1, ends[-1] // 10_000)
        ticks = [0, *(round(end / unit) for end in last)]
        found |= {"end_unit_ns": unit, "end_ticks": [after - before for before, after in pairwise(ticks)]}
    return found


def _wear(wear: Json | None, merge: int) -> Json:
    if not wear or not wear.get("mean"):
        return {}
    means = [[_digits(sum(group) / len(group), 4) for group in _groups(unit, merge)] for unit in wear["mean"]]
    most = [[max(group) for group in _groups(unit, merge)] for unit in wear["max"]]
    return {"blocks_per_cell": wear["blocks_per_cell"] * merge, "mean": means, "max": most}


def _groups(values: Sequence[Any], merge: int) -> list[Sequence[Any]]:
    if merge == 1:
        return [[value] for value in values]
    return [values[start : start + merge] for start in range(0, len(values), merge)]


def _sums(values: Sequence[float | None], merge: int) -> list[float | None]:
    """Sums of neighbours; nothing where none of them has a number."""
    if merge == 1:
        return [None if value is None else _digits(value, 6) for value in values]
    if None in values:
        kept = [[number for number in group if number is not None] for group in _groups(values, merge)]
        return [_digits(sum(numbers), 6) if numbers else None for numbers in kept]
    return [_digits(sum(group), 6) for group in _groups(values, merge)]


# Means of few counts, most of them: the same ones come again and again.
@lru_cache(1 << 16)
def _digits(number: float, digits: int) -> float:
    if isinstance(number, int) and number < _POWERS[digits]:
        return number
    short = float(f"{number:.{digits}g}")
    return int(short) if short.is_integer() else short
