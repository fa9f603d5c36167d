"""Requests made up for tests of what takes them one by one or as a table."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

# A small drive that collects and merges, full when its run begins.
DRIVE: dict[str, Any] = {
    "name": "given",
    "preset": "hbm-2010",
    "nand": {"blocks_per_plane": 100},
    "ftl": {"mapping": "bast", "exported": "10 MiB"},
    "precondition": {"state": "full"},
}


class One(NamedTuple):
    """A request: when in ns, what, where and how much in bytes, forced or not."""

    at: int
    op: str
    address: int
    size: int
    fua: bool


def requests(count: int, seed: int = 1) -> list[One]:
    """Requests of all kinds over 8 MiB, 1 to 32 KiB each, 2 ms apart on average, in bursts."""
    dice = random.Random(seed)
    made, at = [], 0
    for _ in range(count):
        at += dice.choice((0, 0, 3_000, 500_000, 7_500_000))
        op = dice.choices(("write", "read", "trim", "flush"), (70, 26, 3, 1))[0]
        address, size = 1024 * dice.randrange(8000), 1024 * dice.randint(1, 32)
        if op == "flush":
            address = size = 0
        made.append(One(at, op, address, size, op == "write" and dice.random() < 0.03))
    return made


def columns(made: list[One]) -> dict[str, list[Any]]:
    """The same as a table."""
    return {name: [getattr(one, name) for one in made] for name in One._fields}
