"""Small pictures made of block characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], *, top: float | None = None) -> str:
    """One character for each value, from 0 to the largest; what is above 0 is always seen."""
    top = top or max(values, default=0)
    return "".join(_block(value / top if top else 0) for value in values)


def resample(values: Sequence[float], width: int) -> list[float]:
    """At most `width` values: the largest of each group of neighbours."""
    if len(values) <= width:
        return list(values)
    edges = [index * len(values) // width for index in range(width + 1)]
    return [max(values[low:high]) for low, high in pairwise(edges)]


def columns(values: Sequence[float], height: int) -> list[str]:
    """Values from 0 to 1 as columns, in lines from the top down."""
    lines = []
    for line in reversed(range(height)):
        parts = (min(1.0, max(0.0, value * height - line)) for value in values)
        lines.append("".join(_EIGHTHS[round(8 * part)] for part in parts))
    return lines


def _block(part: float) -> str:
    return _EIGHTHS[max(1, round(8 * min(1.0, part)))] if part > 0 else " "
