"""What a reader concludes from figures, which of two designs is better, and what another reading makes of it.

Figures within 1 % of each other count as equal: who wins by less has not won.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from eraseblock.results.headline import Good

# Share of the larger one by which two figures must differ.
TIE = 0.01

# A figure of each run, by the run's number; None where there is none to be relied on.
Figures = Mapping[int, float | None]
# What another reading makes of a conclusion; `unknown`: it has no figure to be relied on.
Effect = Literal["reverses", "levels", "parts", "unknown"]


def compare(first: float, second: float, good: Good) -> int:
    """1 where the first figure is better, -1 where the second is, 0 where they count as equal."""
    if abs(first - second) <= TIE * max(abs(first), abs(second)):
        return 0
    return 1 if (first < second) == (good == "low") else -1


def ratio(first: float, second: float) -> float | None:
    """The first figure as a multiple of the second; none of nothing."""
    return None if second == 0 else first / second


@dataclass(frozen=True)
class Under:
    """What one reading makes of a conclusion."""

    reading: int
    effect: Effect
    # Figure of the better run / figure of the worse one, under this reading.
    ratio: float | None = None


@dataclass
class Conclusion:
    """Two runs of a contest in the order of one figure; `tie`: they count as equal."""

    better: int
    worse: int
    tie: bool
    ratio: float | None
    # Readings under which it does not stand.
    under: list[Under] = field(default_factory=list)

    def by(self, effect: Effect) -> list[Under]:
        """The readings that have this effect on it."""
        return [one for one in self.under if one.effect == effect]

    @property
    def moves(self) -> bool:
        """Whether some reading reverses the order."""
        return any(one.effect == "reverses" for one in self.under)

    @property
    def stands(self) -> bool:
        """Whether each reading that has an answer has the same."""
        return all(one.effect == "unknown" for one in self.under)


@dataclass
class Ranking:
    """The runs of a contest by one figure."""

    # Best first; runs without a figure to be relied on are in `unranked`.
    order: list[int]
    unranked: list[int]
    conclusions: list[Conclusion]
    # The best one, and all that count as equal to it.
    best: list[int]
    # Readings under which none of these is among the best, and who is there.
    other_best: dict[int, list[int]]


def rank(runs: Sequence[int], good: Good, base: Figures, readings: Sequence[Figures]) -> Ranking:
    """Rank runs by their figures, and see what each reading makes of it.

    Args:
        runs: the runs of one contest.
        good: which end is good.
        base: their figures.
        readings: their figures under each other reading: those that it does not concern keep theirs.
    """
    known = {run: figure for run in runs if (figure := base[run]) is not None}
    order = sorted(known, key=lambda run: known[run] if good == "low" else -known[run])
    conclusions = []
    for better, worse in combinations(order, 2):
        tie = compare(known[better], known[worse], good) == 0
        one = Conclusion(better, worse, tie, ratio(known[better], known[worse]))
        for number, figures in enumerate(readings):
            if (under := _under(one, number, good, figures)) is not None:
                one.under.append(under)
        conclusions.append(one)
    best = _best(order, good, base)
    other_best = {}
    for number, figures in enumerate(readings):
        found = _best(order, good, figures)
        if found and not set(found) & set(best):
            other_best[number] = found
    return Ranking(order, [run for run in runs if run not in known], conclusions, best, other_best)


def _under(conclusion: Conclusion, reading: int, good: Good, figures: Figures) -> Under | None:
    first, second = figures[conclusion.better], figures[conclusion.worse]
    if first is None or second is None:
        return Under(reading, "unknown")
    order = compare(first, second, good)
    if conclusion.tie:
        return Under(reading, "parts", ratio(first, second)) if order else None
    if order > 0:
        return None
    return Under(reading, "levels" if order == 0 else "reverses", ratio(first, second))


def _best(runs: Sequence[int], good: Good, figures: Figures) -> list[int]:
    """The leader and those that count as equal to it; nobody while a run has no figure, as it might lead."""
    known = {run: figure for run in runs if (figure := figures[run]) is not None}
    if not known or len(known) < len(runs):
        return []
    top = min(known.values()) if good == "low" else max(known.values())
    return [run for run, figure in known.items() if compare(top, figure, good) == 0]


@dataclass(frozen=True)
class Change:
    """The largest relative change of a figure among the runs of a reading."""

    # New / old - 1; none where the old one is 0 and the new one is not.
    largest: float | None
    run: int
    before: float
    after: float

    @property
    def size(self) -> float:
        """How large it is, whichever its direction."""
        return float("inf") if self.largest is None else abs(self.largest)


def largest_change(base: Figures, reading: Figures, runs: Sequence[int]) -> Change | None:
    """The run whose figure a reading changes most; of equals the first."""
    changes = []
    for run in runs:
        before, after = base[run], reading[run]
        if before is None or after is None:
            continue
        share = 0.0 if after == before else None if before == 0 else after / before - 1
        changes.append(Change(share, run, before, after))
    return max(changes, key=lambda change: change.size, default=None)
