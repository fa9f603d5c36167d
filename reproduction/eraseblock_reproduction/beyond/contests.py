"""Sets designs against each other: who is best, by how much, and who cannot be told from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from eraseblock_reproduction.beyond.many import AS_GOOD, OPEN, Together, standing, together
from eraseblock_reproduction.beyond.study import Contest
from eraseblock_reproduction.beyond.trials import Measure, Trial
from eraseblock_reproduction.intervals import Estimate, estimate

# Who is shown to be within this of the best is as good.
MARGIN = 0.01


@dataclass(frozen=True)
class Place:
    """One design in a contest."""

    trial: Trial
    value: float
    # Relative to the best, with an interval that is right for all pairs of the contest together: the best was
    # not known beforehand. 1 is the best itself. None where the best has nothing to divide by.
    to_best: Estimate | None
    to_baseline: Estimate | None
    # Of a figure of which more is better: relative to what knows the future, which has the most.
    to_opt: Estimate | None = None
    more: bool = False

    def name(self, contest: Contest) -> str:
        """What it is called in this contest."""
        return str(getattr(self.trial.design, contest.of))

    @property
    def stands(self) -> str:
        """What it is to the best: shown to be as good, shown to be worse, or neither."""
        if self.to_best is None:
            return AS_GOOD if self.value == 0 else OPEN
        return standing(self.to_best, MARGIN, more=self.more)

    @property
    def as_good(self) -> bool:
        """Whether it is shown to be as good as the best."""
        return self.stands == AS_GOOD


@dataclass(frozen=True)
class Bout:
    """All designs of one contest by one measure, those that compete in the order of their figures."""

    contest: Contest
    measure: Measure
    # What they have in common.
    workload: str
    at: str
    places: tuple[Place, ...]
    # Schemes that were told the future, with their figures relative to the best.
    offline: tuple[Place, ...]
    # Not to be relied on, or refused.
    out: tuple[Trial, ...]

    @property
    def best(self) -> Place | None:
        """The winner; None if fewer than two compete."""
        return self.places[0] if len(self.places) > 1 else None

    @property
    def firsts(self) -> tuple[Place, ...]:
        """All that have the winner's figure."""
        return tuple(place for place in self.places if place.value == self.places[0].value)

    @property
    def second(self) -> Place:
        """The next one."""
        return self.places[1]

    @property
    def is_decided(self) -> bool:
        """Whether the winner is told from the next one: its interval does not reach the winner's figure."""
        to_best = self.second.to_best
        if to_best is None or to_best.low is None or to_best.high is None:
            return False
        return to_best.high < 1 if self.measure.more else to_best.low > 1

    @property
    def lead(self) -> float | None:
        """By how much the winner is ahead of the next one, as a share of that one's figure."""
        if self.best is None or self.second.value <= 0:
            return None
        return abs(1 - self.best.value / self.second.value)

    @property
    def bound(self) -> float | None:
        """The best one's figure relative to the best that any buffer could have."""
        best = self.best
        if best is None:
            return None
        bound = best.trial.figures[self.measure.name].bound
        return best.value / bound if bound else None


def bouts(trials: Sequence[Trial], contest: Contest, measure: Measure) -> list[Bout]:
    """Every contest of one kind, in the order in which the runs were asked for."""
    groups: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        # What FTLs come to under a buffer that knows the future is nothing that a drive could have.
        if contest.of == "buffer" or not trial.offline:
            groups.setdefault(trial.design.without(contest.of), []).append(trial)
    return [_bout(group, contest, measure) for group in groups.values()]


def relative(one: Trial, other: Trial, measure: Measure) -> Estimate | None:
    """A figure of one design divided by that of another, with an interval from the paired parts of both.

    The parts are those of the same requests. Their differences, and not the figures, make the interval: what
    is hard about a part is hard for both.
    """
    ours, theirs = one.figures[measure.name].parts, other.figures[measure.name].parts
    scale = fmean(theirs)
    if scale == 0 or len(ours) != len(theirs):
        return None
    difference = estimate([left - right for left, right in zip(ours, theirs, strict=True)])
    half = None if difference.half is None else difference.half / scale
    return Estimate(1 + difference.mean / scale, half, difference.seeds)


def part_of(one: Trial, other: Trial, measure: Measure) -> Estimate | None:
    """A figure of one design as a share of another's, which may be far from all of it.

    What each part has more or less than that share makes the interval. Differences would not do: whoever has
    a tenth in every part differs more where there is more to have.
    """
    ours, theirs = one.figures[measure.name].parts, other.figures[measure.name].parts
    scale = fmean(theirs)
    if scale == 0 or len(ours) != len(theirs):
        return None
    share = fmean(ours) / scale
    rest = estimate([left - share * right for left, right in zip(ours, theirs, strict=True)])
    return Estimate(share, None if rest.half is None else rest.half / scale, rest.seeds)


def geometric(ratios: Sequence[float]) -> Estimate | None:
    """The geometric mean; its `half` is in terms of logarithms, see `ends`."""
    if not ratios:
        return None
    logs = estimate([math.log(ratio) for ratio in ratios])
    return Estimate(math.exp(logs.mean), logs.half, logs.seeds)


def ends(mean: Estimate) -> tuple[float, float] | None:
    """The interval of a geometric mean."""
    if mean.half is None:
        return None
    return mean.mean / math.exp(mean.half), mean.mean * math.exp(mean.half)


def _bout(group: Sequence[Trial], contest: Contest, measure: Measure) -> Bout:
    design = group[0].design
    known = [trial for trial in group if measure.name in trial.figures]
    rivals = sorted(
        (trial for trial in known if trial.competes),
        key=lambda trial: trial.figures[measure.name].value,
        reverse=measure.more,
    )
    base = next((one for one in rivals if getattr(one.design, contest.of) == contest.baseline), None)
    opt = next((one for one in known if one.offline and not one.distrust), None) if measure.more else None

    held = _held(rivals, contest, measure)

    def to_best(trial: Trial) -> Estimate | None:
        if held is None or not trial.competes:
            return relative(trial, rivals[0], measure) if rivals else None
        return held.ratio(getattr(trial.design, contest.of), getattr(rivals[0].design, contest.of))

    def place(trial: Trial) -> Place:
        return Place(
            trial,
            trial.figures[measure.name].value,
            to_best=to_best(trial),
            to_baseline=relative(trial, base, measure) if base else None,
            to_opt=part_of(trial, opt, measure) if opt else None,
            more=measure.more,
        )

    return Bout(
        contest,
        measure,
        design.workload,
        str(getattr(design, contest.at)),
        places=tuple(place(trial) for trial in rivals),
        offline=tuple(place(trial) for trial in known if trial.offline and not trial.distrust),
        out=tuple(trial for trial in group if not trial.competes and not trial.offline),
    )


def _held(rivals: Sequence[Trial], contest: Contest, measure: Measure) -> Together | None:
    """All that compete, by parts; None where one has other parts, or where nothing can vary."""
    parts = {str(getattr(one.design, contest.of)): one.figures[measure.name].parts for one in rivals}
    lengths = {len(some) for some in parts.values()}
    return together(parts) if len(parts) > 1 and len(lengths) == 1 and min(lengths) > 1 else None
