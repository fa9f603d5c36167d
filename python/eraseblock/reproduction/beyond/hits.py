"""Holds buffers' hits against those of the one that knows the future: nobody can have more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from eraseblock.reproduction.beyond.contests import Bout, Place, bouts
from eraseblock.reproduction.beyond.trials import Figures, Measure, Trial
from eraseblock.reproduction.intervals import Estimate, estimate


@dataclass(frozen=True)
class Share:
    """The hits of one buffer as a share of those of `opt`."""

    name: str
    # The mean over workloads, its interval over workloads.
    share: Estimate
    # How much more of `opt`'s hits it has than the baseline, workload by workload.
    ahead: Estimate | None
    # Workloads under which it has figures, has the most hits, and as good as the most.
    workloads: int
    best: int
    as_good: int
    # Where its share is smallest, and what it is there.
    worst: tuple[str, float]

    @property
    def side(self) -> int:
        """1 if it is shown to have more hits than the baseline, -1 if fewer, 0 if neither."""
        if self.ahead is None or self.ahead.low is None or self.ahead.high is None:
            return 0
        return 1 if self.ahead.low > 0 else -1 if self.ahead.high < 0 else 0


def by_workload(held: Sequence[Bout]) -> list[Bout]:
    """One contest for each workload: the means over what contests are at, such as FTLs, of all parts.

    FTLs and loads have next to no say in hits: the requests are the same.
    """
    found = []
    for workload in dict.fromkeys(bout.workload for bout in held):
        some = [bout for bout in held if bout.workload == workload]
        contest, measure = some[0].contest, some[0].measure
        alike: dict[str, list[Trial]] = {}
        for bout in some:
            for place in (*bout.places, *bout.offline):
                alike.setdefault(place.name(contest), []).append(place.trial)
        if alike:
            same = {contest.at: ""}
            trials = [_mean(trials, measure) for trials in alike.values()]
            trials = [replace(one, design=replace(one.design, **same)) for one in trials]
            found += bouts(trials, contest, measure)
    return found


def shares(held: Sequence[Bout]) -> list[Share]:
    """Every buffer's share of the hits of `opt`, the largest first; from one contest for each workload."""
    found: dict[str, list[tuple[Bout, Place, float]]] = {}
    for bout in held:
        for place in bout.places:
            if place.to_opt is not None:
                one = (bout, place, place.to_opt.mean)
                found.setdefault(place.name(bout.contest), []).append(one)
    base = (
        {bout.workload: share for bout, _, share in found.get(held[0].contest.baseline, [])} if held else {}
    )
    return sorted((_share(name, some, base) for name, some in found.items()), key=lambda one: -one.share.mean)


def _share(name: str, some: Sequence[tuple[Bout, Place, float]], base: dict[str, float]) -> Share:
    worst = min(some, key=lambda one: one[2])
    ahead = [share - base[bout.workload] for bout, _, share in some if bout.workload in base]
    return Share(
        name,
        share=estimate([share for _, _, share in some]),
        ahead=estimate(ahead) if ahead else None,
        workloads=len(some),
        best=sum(bout.best is not None and place.value == bout.best.value for bout, place, _ in some),
        as_good=sum(place.as_good for _, place, _ in some),
        worst=(worst[0].workload, worst[2]),
    )


def _mean(trials: Sequence[Trial], measure: Measure) -> Trial:
    each = [trial.figures[measure.name] for trial in trials]
    parts = tuple(fmean(some) for some in zip(*(one.parts for one in each), strict=True))
    bounds = [one.bound for one in each if one.bound is not None]
    mean = Figures(fmean(one.value for one in each), parts, fmean(bounds) if bounds else None)
    return replace(trials[0], figures={measure.name: mean})
