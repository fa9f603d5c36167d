"""Sums contests up: how often each scheme is best, how it stands to a baseline, and where it is worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from eraseblock_reproduction.beyond.contests import Bout, Place, geometric
from eraseblock_reproduction.intervals import Estimate


@dataclass(frozen=True)
class Standing:
    """One scheme over many contests by one measure."""

    name: str
    # Contests in which it has a figure that counts, in which it is the best, and as good as the best.
    contests: int
    best: int
    as_good: int
    # Relative to the baseline: the geometric mean of the workloads' means, its interval over workloads.
    ratio: Estimate | None
    # Its worst contest: where, and how it stands to the baseline there.
    worst: tuple[str, str, float] | None
    # It knows the future.
    offline: bool = False
    # Contests in which its figure is not to be relied on, or there is none.
    out: int = 0


def standings(all_bouts: Sequence[Bout]) -> list[Standing]:
    """Every scheme, by its figures relative to the baseline; those that know the future at the end."""
    names: dict[str, None] = {}
    for bout in all_bouts:
        names.update(dict.fromkeys(place.name(bout.contest) for place in (*bout.places, *bout.offline)))
        names.update(dict.fromkeys(str(getattr(trial.design, bout.contest.of)) for trial in bout.out))
    found = [_standing(name, all_bouts) for name in names]
    return sorted(found, key=lambda one: (one.offline, one.ratio.mean if one.ratio else math.inf))


def typical(values: Sequence[float]) -> float | None:
    """The median."""
    return median(values) if values else None


def spreads(all_bouts: Sequence[Bout]) -> list[float]:
    """How many times the best figure the worst one is, in each contest."""
    return [
        bout.places[-1].value / bout.best.value
        for bout in all_bouts
        if bout.best is not None and bout.best.value > 0
    ]


def over_workloads(ratios: Sequence[tuple[str, float]]) -> Estimate | None:
    """The geometric mean of the workloads' geometric means, with an interval over workloads.

    Contests of one workload have its requests in common; they count as one.
    """
    by_workload: dict[str, list[float]] = {}
    for workload, ratio in ratios:
        by_workload.setdefault(workload, []).append(math.log(ratio))
    return geometric([math.exp(fmean(logs)) for logs in by_workload.values()])


def _standing(name: str, all_bouts: Sequence[Bout]) -> Standing:
    contests = best = as_good = out = 0
    ratios: list[tuple[str, str, float]] = []
    offline = False
    for bout in all_bouts:
        found = _find(name, bout)
        if found is None:
            out += 1
            continue
        offline = offline or found in bout.offline
        contests += 1
        if bout.best is not None and not offline:
            best += found.value == bout.best.value
            as_good += found.as_good
        if found.to_baseline is not None and found.to_baseline.mean > 0:
            ratios.append((bout.workload, bout.at, found.to_baseline.mean))
    return Standing(
        name,
        contests,
        best,
        as_good,
        over_workloads([(workload, ratio) for workload, _, ratio in ratios]),
        max(ratios, key=lambda one: one[2], default=None),
        offline,
        out,
    )


def _find(name: str, bout: Bout) -> Place | None:
    return next((one for one in (*bout.places, *bout.offline) if one.name(bout.contest) == name), None)
