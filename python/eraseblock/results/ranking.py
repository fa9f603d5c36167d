"""Which figure is the best among runs with the same buffer size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from eraseblock.results.view import Row

Good = Literal["low", "high"]


def is_best(row: Row, path: str, good: Good | None, group: Sequence[Row]) -> bool:
    """Whether `row` leads its buffer size among those that compete."""
    value = row.figure(path)
    if good is None or value is None or not row.competes:
        return False
    rivals = [peer.figure(path) for peer in group if peer.competes and peer.buffer_bytes == row.buffer_bytes]
    numbers = [number for number in rivals if number is not None]
    # A figure that all share is nobody's merit.
    return len(set(numbers)) > 1 and bool(value == (min(numbers) if good == "low" else max(numbers)))
