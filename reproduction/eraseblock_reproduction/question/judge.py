"""Judges readings that were fitted to Financial with 1 MiB on the other sizes and traces."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from eraseblock import EraseblockError
from eraseblock.toolkit import engine
from eraseblock_reproduction.question.printed import SIZES, SYNTHETIC, TRACES, Trace
from eraseblock_reproduction.question.search import Found, best, load, told
from eraseblock_reproduction.question.trials import cells

# Some hundred thousand pages each: enough to fill 64 MiB where the places are many.
REQUESTS = {
    "Financial": 100_000,
    "MSNFS": 40_000,
    "Exchange": 20_000,
    "CAMWEBDEV": 40_000,
    "Synthetic": 15_000,
}
STATIC = (2, 4, 8, 64)


def judged(searched: Path, stored: Path, many: int, thresholds: int) -> Iterator[Found]:
    """The best readings on every trace at every size, then the first `thresholds` with static thresholds."""
    readings = _with_traces_of_their_own(best(load(searched), sys.maxsize))[:many]
    for reading in readings:
        for trace in TRACES.values():
            yield from _stored(stored, reading, trace, static=False)
    for reading in readings[:thresholds]:
        for trace in (*TRACES.values(), SYNTHETIC):
            yield from _stored(stored, reading, trace, static=True)


def _with_traces_of_their_own(found: Sequence[Found]) -> list[Found]:
    """The first of those that are changed from one another: they have as many places."""
    first: dict[int, Found] = {}
    for one in found:
        first.setdefault(one["reading"]["places"], one)
    return list(first.values())


def _stored(stored: Path, reading: Found, trace: Trace, *, static: bool) -> Iterator[Found]:
    """A reading on a trace, at all sizes; nothing where it is stored already."""
    key: Found = {"number": reading["number"], "trace": trace.name, "static": static}
    if any(key.items() <= one.items() for one in load(stored)):
        return
    key |= {"engine": engine(), "requests": REQUESTS[trace.name]}
    thresholds: Sequence[int | str] = ("dynamic", *STATIC) if static else ("dynamic",)
    try:
        ran = cells(reading["reading"], trace, SIZES, REQUESTS[trace.name], thresholds)
        lines = [{**key, "size": cell.size, "dynamic_best": cell.dynamic_best, **told(cell)} for cell in ran]
    except EraseblockError as error:
        lines = [{**key, "size": size, "refused": str(error)} for size in SIZES]
    with stored.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    yield from lines
