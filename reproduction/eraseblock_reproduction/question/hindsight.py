"""Fits readings to every trace and size at once: it tests none of them, and bounds what others could reach.

The first are the one that published counts support, the best of the search, and these with what the thesis
and its simulator state of the drive; then come changed ones of the best so far.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from eraseblock import EraseblockError
from eraseblock.toolkit import engine
from eraseblock_reproduction.question.judge import REQUESTS
from eraseblock_reproduction.question.printed import MEASURES, OTHERS, TRACES
from eraseblock_reproduction.question.readings import STATED, SUPPORTED, Reading, changed
from eraseblock_reproduction.question.search import BEST, Found, best, load
from eraseblock_reproduction.question.trials import cells

# With 64 MiB these runs would end before the buffers are full.
SIZES = ("1 MiB", "4 MiB", "16 MiB")

ALL = len(MEASURES) * len(OTHERS) * len(SIZES) * len(TRACES)


def hindsight(searched: Path, stored: Path, readings: int, seed: int) -> Iterator[Found]:
    """Try so many readings; those that are stored are not tried again."""
    fitted: list[Reading] = [one["reading"] for one in best(load(searched), BEST)]
    starts = [SUPPORTED, *fitted, *(one | STATED for one in fitted)]
    found = load(stored)
    for number in range(len(found), readings):
        random = Random(f"hindsight-{seed}-{number}")
        if number < len(starts):
            reading = starts[number]
        else:
            ranked = sorted(found, key=lambda one: -one["orders"])
            reading = changed(random.choice(ranked[:BEST])["reading"], random)
        one = {"number": number, "engine": engine(), "reading": reading, **_tried(reading)}
        with stored.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")
        found.append(one)
        yield one


def _tried(reading: Reading) -> Found:
    letters: dict[str, list[str]] = {}
    orders = 0
    for trace in TRACES.values():
        try:
            ran = cells(reading, trace, SIZES, REQUESTS[trace.name])
        except EraseblockError as error:
            letters[trace.name] = [f"refused: {error}"]
            continue
        letters[trace.name] = [cell.letters for cell in ran]
        orders += sum(cell.orders for cell in ran)
    return {"orders": orders, "letters": letters}
