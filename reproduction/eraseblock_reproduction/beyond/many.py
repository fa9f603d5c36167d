"""Corrects for looking at many: of many designs the best one is ahead by chance in part.

Two ways, which answer different questions. *Max-T*: by how much do two of the designs that were looked at
differ, if all pairs are to be right together? *Held out*: how far ahead will the design be that was best
elsewhere?
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

from eraseblock_reproduction.intervals import Estimate, estimate

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

LEVEL = 0.95
# Up to so many parts or families all changes of sign are tried, with more of them so many are drawn.
_ALL = 13
_DRAWN = 4096
# What rounding leaves of the squares of a difference that is the same everywhere.
_NOTHING = 1e-24
_LEAST = 1e-300


@dataclass(frozen=True)
class Together:
    """Designs by the means of their parts, and how far apart two of them are by chance."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    # Standard errors of the differences of each two.
    errors: tuple[tuple[float, ...], ...]
    # How many standard errors no pair exceeds, with a probability of LEVEL, where nothing differs.
    critical: float
    parts: int

    def ratio(self, one: str, other: str) -> Estimate | None:
        """One design's figure relative to another's; the interval is right for all pairs together."""
        left, right = self.names.index(one), self.names.index(other)
        scale = self.means[right]
        if scale == 0:
            return None
        half = self.critical * self.errors[left][right] / abs(scale)
        return Estimate(self.means[left] / scale, half, self.parts)


def together(parts: Mapping[str, Sequence[float]]) -> Together:
    """Designs by their figures in the same parts, two or more of each.

    The deviations of each part from its design's mean change their signs, for all designs at once: what is
    hard about a part stays hard for all. The largest difference of any pair, in its standard errors, is noted
    for each change of signs (a wild bootstrap of the studentised maximum).
    """
    import numpy as np

    names = tuple(parts)
    table = np.array([parts[name] for name in names], dtype=float)
    count = table.shape[1]
    if count < 2:
        raise ValueError("an interval needs two parts or more")
    means = table.mean(axis=1)
    deviations = table - means[:, None]
    products = deviations @ deviations.T
    squares = np.maximum(np.add.outer(products.diagonal(), products.diagonal()) - 2 * products, 0.0)
    errors = np.sqrt(squares / (count * (count - 1)))
    largest = _largest(deviations @ _signs(count).T / count, squares, count)
    return Together(
        names,
        tuple(map(float, means)),
        tuple(tuple(map(float, row)) for row in errors),
        _quantile(largest),
        count,
    )


def _largest(
    means: NDArray[numpy.float64], squares: NDArray[numpy.float64], count: int
) -> NDArray[numpy.float64]:
    """For each change of signs, a column of means, the largest difference of two in its standard errors.

    Changing signs changes no square, only the mean that is taken off their sum. Two designs that differ by
    the same in each part are never apart by chance.
    """
    import numpy as np

    left, right = np.triu_indices(len(means), k=1)
    sums = squares[left, right]
    varies = sums > _NOTHING * max(float(squares.max(initial=0.0)), _LEAST)
    if not varies.any():
        return np.zeros(means.shape[1])
    left, right, sums = left[varies], right[varies], sums[varies, None]
    apart = np.abs(means[left] - means[right])
    # All on one side and equally far: as far apart as can be.
    rest = np.maximum(sums - count * apart**2, _NOTHING * sums)
    found: NDArray[numpy.float64] = (apart * np.sqrt(count * (count - 1) / rest)).max(axis=0)
    return found


def _signs(count: int) -> NDArray[numpy.float64]:
    """Changes of sign, a row for each; the first part keeps its own, as all signs together change nothing."""
    import numpy as np

    if count <= _ALL:
        return np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=count - 1)])
    drawn = np.random.default_rng(1).integers(0, 2, size=(_DRAWN, count))
    return np.where(drawn == 0, 1.0, -1.0)


def _quantile(largest: NDArray[numpy.float64]) -> float:
    ordered = sorted(map(float, largest))
    return ordered[min(len(ordered) - 1, math.ceil(LEVEL * len(ordered)) - 1)]


@dataclass(frozen=True)
class Gain:
    """How a scheme stands to the baseline over families of workloads, as ratios."""

    name: str
    # The logarithm of the ratio, by families.
    log: Estimate
    # Half of the interval that is right for all schemes together; None with fewer than two families.
    half: float | None

    @property
    def ratio(self) -> float:
        """Relative to the baseline; less than 1 is ahead."""
        return math.exp(self.log.mean)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval, for all schemes together."""
        if self.half is None:
            return None
        return math.exp(self.log.mean - self.half), math.exp(self.log.mean + self.half)


Ratios = Mapping[str, Mapping[str, float]]


def gains(ratios: Ratios, family_of: Mapping[str, str]) -> list[Gain]:
    """All schemes by their ratios to the baseline under each workload, the one that is furthest ahead first.

    A family counts once, however many workloads it has; workloads that all schemes have are taken.
    """
    by_family = _by_family(ratios, family_of)
    some = next(iter(by_family.values()), {})
    if len(some) < 2:
        found = [Gain(name, estimate(list(logs.values())), None) for name, logs in by_family.items()]
    else:
        # The baseline is 0 in each family, so that the pairs with it are among those that are right together.
        found = []
        tables = {name: list(logs.values()) for name, logs in by_family.items()}
        held = against_nothing(tables)
        for name, logs in tables.items():
            half = held.critical * held.errors[held.names.index(name)][held.names.index("")]
            found.append(Gain(name, estimate(logs), half))
    return sorted(found, key=lambda one: one.log.mean)


def against_nothing(parts: Mapping[str, Sequence[float]]) -> Together:
    """Designs, and one called "" that is 0 in all parts."""
    count = len(next(iter(parts.values())))
    return together({**parts, "": [0.0] * count})


@dataclass(frozen=True)
class HeldOut:
    """What the best of many comes to where it was not chosen."""

    # The logarithm of the ratio to the baseline, over families.
    log: Estimate
    # By family the scheme that was best on all others.
    chosen: Mapping[str, str]

    @property
    def ratio(self) -> float:
        """Relative to the baseline; less than 1 is ahead."""
        return math.exp(self.log.mean)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval over families."""
        if self.log.low is None or self.log.high is None:
            return None
        return math.exp(self.log.low), math.exp(self.log.high)


def held_out(ratios: Ratios, family_of: Mapping[str, str]) -> HeldOut | None:
    """For each family the scheme that is best on all others, and how it stands to the baseline there.

    None with fewer than two families: nothing is left to choose by.
    """
    by_family = _by_family(ratios, family_of)
    families = list(next(iter(by_family.values()), {}))
    if len(families) < 2:
        return None
    chosen = {family: _best_without(family, by_family) for family in families}
    return HeldOut(estimate([by_family[name][family] for family, name in chosen.items()]), chosen)


def _best_without(family: str, by_family: Mapping[str, Mapping[str, float]]) -> str:
    """The scheme that is furthest ahead over all families but one."""

    def elsewhere(name: str) -> float:
        return fmean(log for key, log in by_family[name].items() if key != family)

    return min(by_family, key=elsewhere)


def _by_family(ratios: Ratios, family_of: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """By scheme and family the mean logarithm, over the workloads that all schemes have."""
    tables = list(ratios.values())
    common = [name for name in tables[0] if all(name in table for table in tables)] if tables else []
    found: dict[str, dict[str, float]] = {}
    for name, table in ratios.items():
        logs: dict[str, list[float]] = {}
        for workload in common:
            logs.setdefault(family_of[workload], []).append(math.log(table[workload]))
        found[name] = {family: fmean(some) for family, some in logs.items()}
    return found


# What a design is to the best: shown to be as good, shown to be worse, or neither.
AS_GOOD, WORSE, OPEN = "as good", "worse", "open"


def standing(to_best: Estimate, margin: float, *, more: bool = False) -> str:
    """Whether a figure relative to the best is shown to be within a margin of it.

    Not being shown to be worse is no equivalence: noise would be rewarded. The whole interval has to lie
    within the margin.

    Example:
        >>> standing(Estimate(1.0, 0.005, 10), 0.01), standing(Estimate(1.0, 0.5, 10), 0.01)
        ('as good', 'open')
    """
    behind = -1 if more else 1
    half = to_best.half or 0.0
    nearest, furthest = (behind * (to_best.mean - 1) + sign * half for sign in (-1, 1))
    if furthest <= margin:
        return AS_GOOD
    return WORSE if nearest > margin else OPEN
