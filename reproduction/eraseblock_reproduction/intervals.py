"""Means over seeds, with 95 % intervals: Student's, of paired values where there are two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

# The 97.5th percentile of Student's t for 1, 2, ... degrees of freedom; beyond, of the normal distribution.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.960
# What rounding of sums may make of equal figures.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and half of its interval; none with one seed."""

    mean: float
    half: float | None
    seeds: int

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.half is None else self.mean + self.half

    def side(self, of: float = 0.0) -> int:
        """On which side of a figure it lies: -1 below it, 1 above it, 0 where its interval reaches it.

        Example:
            >>> estimate([1.0, 2.0, 3.0]).side(), estimate([2.0]).side()
            (0, 1)
        """
        away = self.mean - of
        if abs(away) <= max(self.half or 0.0, ROUNDING * max(abs(of), abs(self.mean))):
            return 0
        return 1 if away > 0 else -1


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of values that differ in their seeds alone.

    Example:
        >>> round(estimate([1.0, 2.0, 3.0]).half, 3)
        2.484
    """
    count = len(values)
    if count < 2:
        return Estimate(values[0], None, count)
    t = _T[count - 2] if count - 2 < len(_T) else _NORMAL
    return Estimate(fmean(values), t * stdev(values) / math.sqrt(count), count)
