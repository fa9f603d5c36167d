"""Judges readings that were fitted to Financial with 1 MiB on the other sizes and traces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from eraseblock import EraseblockError
from eraseblock.toolkit import engine
from eraseblock_reproduction.question.printed import SIZES, SYNTHETIC, TRACES, Trace
from eraseblock_reproduction.question.readings import STATED
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
    """The best readings everywhere, also on the drive as it is stated; then static thresholds."""
    readings = best(load(searched), many)
    stated = [
        {"number": f"{one['number']}, drive as stated", "reading": one["reading"] | STATED}
        for one in reversed(readings)
    ]
    for reading in (*readings, *stated):
        for trace in TRACES.values():
            yield from _stored(stored, reading, trace, static=False)
    for reading in (*readings[:thresholds], *stated[:thresholds]):
        for trace in (*TRACES.values(), SYNTHETIC):
            yield from _stored(stored, reading, trace, static=True)


def _stored(stored: Path, reading: Found, trace: Trace, *, static: bool) -> Iterator[Found]:
    """A reading on a trace, at all sizes; nothing where it is stored already."""
    key: Found = {"number": reading["number"], "trace": trace.name, "static": static}
    if any(key.items() <= one.items() for one in load(stored)):
        return
    key |= {"engine": engine(), "requests": REQUESTS[trace.name]}
    thresholds: Sequence[int | str] = ("dynamic", *STATIC) if static else ("dynamic",)
    try:
        ran = cells(reading["reading"], trace, SIZES, REQUESTS[trace.name], thresholds)
        lines = [
            {**key, "size": cell.size, **({"dynamic_best": cell.dynamic_best} if static else told(cell))}
            for cell in ran
        ]
    except EraseblockError as error:
        lines = [{**key, "size": size, "refused": str(error)} for size in SIZES]
    with stored.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    yield from lines
