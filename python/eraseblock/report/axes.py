"""Axes of the plots: labels with units, and ticks of logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

# Largest over smallest value from which an axis is logarithmic: small ones would lie flat on a linear one.
_LOG_FROM = 30
# From so many decades on, a logarithmic axis is labelled at powers of ten only.
_MANY_DECADES = 2.5
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "us"))


def _in_units(scales: Sequence[tuple[int, str]], base: str) -> str:
    """A Vega expression that prints the axis' value in the largest unit that it reaches."""
    choices = "".join(
        f"datum.value >= {scale} ? format(datum.value / {scale}, '~r') + ' {unit}' : "
        for scale, unit in scales
    )
    return f"{choices}datum.value == 0 ? '0' : format(datum.value, '~r') + ' {base}'"


SIZE_LABEL = _in_units(_SIZES, "B")
_LABELS = {
    "time": _in_units(_TIMES, "ns"),
    "share": "format(datum.value, '~%')",
    "count": "format(datum.value, '~s')",
}


def label_of(unit: str) -> str:
    """The Vega expression that prints values of a unit."""
    return _LABELS.get(unit, "format(datum.value, '~r')")


def buffer_axis(sizes: Sequence[int]) -> alt.X:
    """The horizontal axis: buffer sizes, evenly spaced where each doubles the last."""
    return alt.X(
        "size:Q",
        title="Buffer size",
        scale=alt.Scale(type="log", base=2, domain=[sizes[0], sizes[-1]], nice=False, padding=10),
        axis=alt.Axis(values=list(sizes), labelExpr=SIZE_LABEL, grid=False, labelOverlap="greedy"),
    )


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether the values differ so much that a logarithmic axis serves them better."""
    return min(values) > 0 and max(values) / min(values) > _LOG_FROM


def figure_axis(values: Sequence[float], unit: str) -> alt.Y:
    """The vertical axis of a figure; a ratio need not start at 0."""
    if not is_logarithmic(values):
        axis = alt.Axis(labelExpr=label_of(unit), tickCount=5)
        return alt.Y("y:Q", title=None, scale=alt.Scale(zero=unit != "ratio"), axis=axis)
    low, high = math.log10(min(values)), math.log10(max(values))
    steps = (1,) if high - low > _MANY_DECADES else (1, 3)
    ticks = [step * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for step in steps]
    shown = [tick for tick in ticks if low - 0.5 <= math.log10(tick) <= high + 0.5]
    scale = alt.Scale(type="log", domain=[min(shown[0], *values), max(shown[-1], *values)], nice=False)
    return alt.Y("y:Q", title=None, scale=scale, axis=alt.Axis(labelExpr=label_of(unit), values=shown))
