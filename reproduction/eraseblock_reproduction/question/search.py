"""Searches readings for the figures of Financial with 1 MiB; `judge.py` tries what is found on all else.

The first readings are drawn at random; then comes the one that published counts support, and
changed ones of the best so far. Each has a random generator of its own, and is stored as it ends: the same
command goes on where it was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from eraseblock import EraseblockError
from eraseblock.toolkit import engine
from eraseblock_reproduction.question.printed import TRACES
from eraseblock_reproduction.question.readings import SUPPORTED, Reading, changed, drawn
from eraseblock_reproduction.question.trials import Cell, cells

FITTED_TO = TRACES["Financial"]
SIZE = "1 MiB"
BEST = 8
Found = dict[str, Any]


def search(stored: Path, readings: int, drawn_first: int, requests: int, seed: int) -> Iterator[Found]:
    """Try so many readings; those that are stored are not tried again."""
    found = load(stored)
    with stored.open("a", encoding="utf-8") as file:
        for number in range(len(found), readings):
            random = Random(f"{seed}-{number}")
            reading = drawn(random)
            if number == drawn_first:
                reading = SUPPORTED
            elif number > drawn_first:
                reading = changed(random.choice(best(found, BEST))["reading"], random)
            one = _tried(number, reading, requests)
            file.write(json.dumps(one) + "\n")
            file.flush()
            found.append(one)
            yield one


def load(stored: Path) -> list[Found]:
    """What a search has stored."""
    return (
        [json.loads(line) for line in stored.read_text(encoding="utf-8").splitlines()]
        if stored.exists()
        else []
    )


def best(found: list[Found], many: int) -> list[Found]:
    """Those in which HBM is ahead most often; of them, those whose ratios are nearest to the printed ones."""
    ran = (one for one in found if "orders" in one)
    ranked = sorted(ran, key=lambda one: (-one["orders"], one["deviation"]))
    # Some choices change nothing: of those with the same figures the first stands for all.
    different = {json.dumps(one["schemes"]): one for one in reversed(ranked)}
    return [one for one in ranked if different[json.dumps(one["schemes"])] is one][:many]


def _tried(number: int, reading: Reading, requests: int) -> Found:
    one: Found = {"number": number, "engine": engine(), "requests": requests, "reading": reading}
    try:
        (cell,) = cells(reading, FITTED_TO, [SIZE], requests)
    except EraseblockError as error:
        # The engine refuses some combinations, and ends runs in which nothing can make room.
        return {**one, "refused": str(error)}
    return {**one, **told(cell)}


def told(cell: Cell) -> Found:
    """A cell as it is stored."""
    return {
        "trusted": cell.trusted,
        "orders": cell.orders,
        "letters": cell.letters,
        "deviation": round(cell.deviation, 4),
        "schemes": {
            name: {key: round(value, 5) for key, value in one.items()} for name, one in cell.schemes.items()
        },
    }
