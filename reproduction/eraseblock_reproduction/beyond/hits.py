"""Holds buffers' hits against those of the one that knows the future: nobody can have more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from eraseblock_reproduction.beyond.contests import Bout, Place, bouts
from eraseblock_reproduction.beyond.trials import PROTECTED, Figures, Measure, Trial
from eraseblock_reproduction.intervals import Estimate, estimate


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


@dataclass(frozen=True)
class Hits:
    """One contest by hits for each workload, and how near each buffer comes to `opt` over them."""

    # With or without power-loss protection; empty for the mean over FTLs.
    at: str
    bouts: tuple[Bout, ...]
    shares: tuple[Share, ...]


def hits_of(held: Sequence[Bout]) -> list[Hits]:
    """Contests by hits, those at loads with power-loss protection apart from those at loads without.

    Without it flush commands empty the buffer, and those that hold nothing but what was written have no more
    to hit.
    """
    groups: dict[str, list[Bout]] = {}
    for bout in held:
        groups.setdefault(_kind(bout), []).append(bout)
    merged = {at: by_workload(some, at) for at, some in groups.items()}
    return [Hits(at, tuple(some), tuple(shares(some))) for at, some in merged.items()]


def by_workload(held: Sequence[Bout], at: str = "") -> list[Bout]:
    """One contest for each workload: the means over the FTLs, or the loads, of all parts.

    The mean is over those that all buffers have: with others in it, buffers would be judged by unlike runs.
    So a buffer that has none in common with the rest is left out.
    """
    found = []
    for workload in dict.fromkeys(bout.workload for bout in held):
        some = [bout for bout in held if bout.workload == workload]
        contest, measure = some[0].contest, some[0].measure
        alike: dict[str, dict[str, Trial]] = {}
        for bout in some:
            for place in (*bout.places, *bout.offline):
                alike.setdefault(place.name(contest), {})[bout.at] = place.trial
        common = _common(alike)
        if alike:
            same = {contest.at: at}
            trials = [_mean([trials[at] for at in common], measure) for trials in alike.values()]
            trials = [replace(one, design=replace(one.design, **same)) for one in trials]
            found += bouts(trials, contest, measure)
    return found


def moved(held: Sequence[Bout], by: float) -> tuple[dict[str, int], int]:
    """Whose hits differ by more than this between FTLs or loads, in how many cases; of how many in all."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for bout in held:
        for place in (*bout.places, *bout.offline):
            values.setdefault((place.name(bout.contest), bout.workload, _kind(bout)), []).append(place.value)
    found = Counter(name for (name, *_), some in values.items() if max(some) > (1 + by) * min(some))
    return dict(found.most_common()), sum(len(some) > 1 for some in values.values())


def _kind(bout: Bout) -> str:
    """Which contests have their hits in common."""
    if bout.contest.at != "load":
        return ""
    return f"{'with' if bout.at.endswith(PROTECTED) else 'without'} {PROTECTED}"


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


def _common(alike: dict[str, dict[str, Trial]]) -> list[str]:
    """The FTLs or loads that all buffers have; drops those with the fewest until there is one."""
    while alike:
        common = [at for at in next(iter(alike.values())) if all(at in some for some in alike.values())]
        if common:
            return common
        del alike[min(alike, key=lambda name: len(alike[name]))]
    return []


def _mean(trials: Sequence[Trial], measure: Measure) -> Trial:
    each = [trial.figures[measure.name] for trial in trials]
    parts = tuple(fmean(some) for some in zip(*(one.parts for one in each), strict=True))
    bounds = [one.bound for one in each if one.bound is not None]
    mean = Figures(fmean(one.value for one in each), parts, fmean(bounds) if bounds else None)
    return replace(trials[0], figures={measure.name: mean})
