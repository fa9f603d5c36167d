"""Where cleverness pays, and how much: a study's buffers against the baseline, by groups of what lies below.

Workloads are taken by families, and the best of many buffers is judged where it was not chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from eraseblock_reproduction.beyond.answers import Result, StudyAnswer
from eraseblock_reproduction.beyond.contests import Bout
from eraseblock_reproduction.beyond.many import Gain, HeldOut, gains, held_out

# With less than this nobody chooses a buffer, even where it is certain.
_MATTERS = 0.05


@dataclass(frozen=True)
class Worth:
    """What a buffer scheme is worth above one group of FTLs, or at one load."""

    group: str
    # What is in the group: FTLs, or loads.
    members: tuple[str, ...]
    # Every scheme that has a figure in each of these contests, the one furthest ahead first.
    gains: tuple[Gain, ...]
    # The best on the other families; None with fewer than two.
    held_out: HeldOut | None
    # The geometric mean of the best in each contest, chosen with hindsight: nobody can gain more.
    hindsight: float

    @property
    def pays(self) -> bool:
        """Whether a scheme that was chosen elsewhere is shown to be ahead by as much as matters."""
        ends = None if self.held_out is None else self.held_out.ends
        return (
            ends is not None
            and ends[1] < 1
            and self.held_out is not None
            and self.held_out.ratio <= 1 - _MATTERS
        )

    @property
    def chosen(self) -> list[tuple[str, int]]:
        """Which schemes were best on the other families, and how often."""
        return [] if self.held_out is None else Counter(self.held_out.chosen.values()).most_common()


def worths(answer: StudyAnswer) -> list[Worth]:
    """Of a study's contests between buffers by response time, a row for each group."""
    contest = next((one for one in answer.study.contests if one.of == "buffer"), None)
    if contest is None:
        return []
    result = answer.result("buffer", "response")
    groups = answer.study.groups or {value: [value] for value in result.values}
    found = [_worth(answer, result, name, members) for name, members in groups.items()]
    return [one for one in found if one is not None]


def _worth(answer: StudyAnswer, result: Result, group: str, members: Sequence[str]) -> Worth | None:
    held = [bout for bout in result.bouts if bout.at in members and bout.best is not None]
    tables = _ratios(held, result.contest.baseline)
    if not tables:
        return None
    families = {bout.workload: answer.study.family(bout.workload) for bout in held}
    hindsight = [ratio for bout in held if (ratio := _best(bout)) is not None]
    return Worth(
        group,
        tuple(value for value in members if any(bout.at == value for bout in held)),
        tuple(gains(tables, families)),
        held_out(tables, families),
        math.exp(fmean(map(math.log, hindsight))) if hindsight else 1.0,
    )


def _ratios(held: Sequence[Bout], baseline: str) -> dict[str, dict[str, float]]:
    """By scheme and workload the mean of its ratios to the baseline, of schemes that have all contests."""
    logs: dict[str, dict[str, list[float]]] = {}
    count = 0
    for bout in held:
        if not any(place.name(bout.contest) == baseline for place in bout.places):
            continue
        count += 1
        for place in bout.places:
            if place.to_baseline is not None and place.to_baseline.mean > 0:
                of = logs.setdefault(place.name(bout.contest), {}).setdefault(bout.workload, [])
                of.append(math.log(place.to_baseline.mean))
    return {
        name: {workload: math.exp(fmean(some)) for workload, some in by.items()}
        for name, by in logs.items()
        if name != baseline and sum(map(len, by.values())) == count
    }


def _best(bout: Bout) -> float | None:
    ratios = [place.to_baseline.mean for place in bout.places if place.to_baseline is not None]
    known = [one for one in ratios if one > 0]
    return min(known) if known else None
