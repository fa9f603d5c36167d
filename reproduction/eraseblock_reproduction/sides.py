"""Judges claims about figures at points: numbers and ranges of one side, and one side set against another."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean

from eraseblock_reproduction import grading
from eraseblock_reproduction.data import Claim, Selection
from eraseblock_reproduction.finding import (
    DIRECTION,
    NOT,
    REPRODUCED,
    UNDECIDED,
    Finding,
    PointFigure,
    UndecidedError,
    worst,
)
from eraseblock_reproduction.intervals import ROUNDING, Estimate, estimate
from eraseblock_reproduction.points import Point, Question, cells, points
from eraseblock_reproduction.selection import Run, named

_COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "max": max,
    "min": min,
    "each": fmean,
    "some": fmean,
}


@dataclass(frozen=True)
class _Effect:
    """The effect at one point: by seed, where both sides have the seed."""

    figure: PointFigure
    by_seed: dict[str, float]
    # Which pair of selections it is of.
    pair: int = 0
    # Of an order between two leads: whether the seeds tell that both are there.
    led: bool = True

    @property
    def estimate(self) -> Estimate:
        """The mean over the seeds, with its interval."""
        return estimate([self.by_seed[seed] for seed in sorted(self.by_seed)])


def one_sided(question: Question) -> Finding:
    """A number or a range."""
    claim = question.claim
    effects = []
    absent = 0
    for pair, left in enumerate(claim.lefts):
        for point in points(cells(question, left)):
            if point.mean is None:
                absent += 1
            else:
                fits = _of_number(question, point.mean) == REPRODUCED
                figure = PointFigure(point.run, None, point.mean, None, point.mean, fits, point.trusted)
                effects.append(_Effect(figure, point.known, pair))
    trusted = _deciding(effects, question.runs, absent)
    if claim.aggregate == "each" and claim.kind == "range":
        grades = [_range_of_pair(question, of_pair) for of_pair in _by_pair(trusted).values()]
    elif claim.aggregate == "each":
        grades = [_of_number(question, one.figure.effect) for one in trusted]
    else:
        grades = [_of_number(question, one.mean) for one in _combined(claim, trusted)]
    return _finding(claim, worst(grades), effects, trusted, absent)


def two_sided(question: Question) -> Finding:
    """An order, a reduction, an increase, a ratio or a difference."""
    claim = question.claim
    effects: list[_Effect] = []
    absent = 0
    for number, (left, right) in enumerate(claim.pairs):
        found = _pairs(question, left, right, number)
        effects += [effect for effect in found if effect is not None]
        absent += found.count(None)
    trusted = _deciding(effects, question.runs, absent)
    if claim.kind == "order":
        grades = {pair: _order_of_pair(claim, some) for pair, some in _by_pair(trusted).items()}
        finding = _finding(claim, worst(list(grades.values())), effects, trusted, absent)
        return replace(finding, hardest=_hardest(claim, trusted, grades))
    ours = [one.estimate for one in trusted] if claim.aggregate == "each" else _combined(claim, trusted)
    verdict = worst([grading.of_effect(claim, one) for one in ours])
    finding = _finding(claim, verdict, effects, trusted, absent)
    if any(grading.is_untold(claim, one) for one in ours):
        told = "the seeds do not tell which side is ahead"
        return replace(finding, reason="; ".join(filter(None, [finding.reason, told])))
    return finding


def _of_number(question: Question, value: float) -> str:
    return grading.of_number(question.claim, value, share=question.quantity.is_share)


def _related(claim: Claim, effect: Estimate, *, lead: bool = True) -> bool:
    """Whether two sides are in the relation of a claim; `effect` is their relative difference.

    A side is ahead only if the interval of the difference says so: what lies within it is level. With
    `lead` it is ahead by as much as the claim asks for.
    """
    ahead = (float(claim.table.get("ahead", 0)) if lead else 0.0) - ROUNDING
    match claim.table["relation"]:
        case "less":
            return effect.side() < 0 and -_of_right(effect.mean) >= ahead
        case "more":
            return effect.side() > 0 and _of_right(effect.mean) >= ahead
        case "at most":
            return effect.side() <= 0
        case "at least":
            return effect.side() >= 0
    return abs(_of_right(effect.mean)) <= claim.tolerance(1) + ROUNDING


def _surely(claim: Claim, effect: _Effect) -> bool:
    """Whether a point is as stated, and not only because the seeds differ."""
    only = claim.kind == "order" and _only_by_interval(claim, effect.estimate)
    return effect.figure.holds and effect.led and not only


def _only_by_interval(claim: Claim, effect: Estimate) -> bool:
    """Whether "at most" or "at least" holds of two sides only because the seeds differ."""
    sign = {"at most": 1, "at least": -1}.get(claim.table["relation"], 0)
    return effect.side() == 0 and sign * effect.mean > ROUNDING


def _of_right(effect: float) -> float:
    """What is relative to the mean of both sides, relative to the right one."""
    return effect / (1 - effect / 2) if effect < 2 else math.inf


def _pairs(question: Question, left: Selection, right: Selection, pair: int) -> list[_Effect | None]:
    """Each point on the left with those on the right that differ from it in these settings alone.

    None where one of them has no figure, or the claim would divide by nothing.
    """
    axes = {*left, *right}
    if "spread" in question.claim.table:
        axes.add(question.claim.table["spread"])
    counterparts: dict[str, list[Point]] = defaultdict(list)
    for point in points(cells(question, right)):
        counterparts[point.run.identity(axes)].append(point)
    return [
        _effect(question.claim, point, other, pair)
        for point in points(cells(question, left))
        for other in counterparts[point.run.identity(axes)]
        if other.run is not point.run
    ]


def _effect(claim: Claim, left: Point, right: Point, pair: int) -> _Effect | None:
    if left.mean is None or right.mean is None:
        return None
    shared = [seed for seed in left.known if seed in right.known]
    # Without common seeds (a trace beside a stand-in) only the means can be set against each other.
    if not shared:
        values = {"": _made_of(claim.kind, left.mean, right.mean)}
        one, other = left.mean, right.mean
    else:
        values = {seed: _made_of(claim.kind, left.known[seed], right.known[seed]) for seed in shared}
        one = fmean(left.known[seed] for seed in shared)
        other = fmean(right.known[seed] for seed in shared)
    known = {seed: value for seed, value in values.items() if value is not None}
    if len(known) < len(values):
        return None
    effect = estimate(list(known.values()))
    holds = _holds(claim, effect) and _leads(claim, one, other)
    figure = PointFigure(left.run, right.run, one, other, effect.mean, holds, left.trusted and right.trusted)
    return _Effect(figure, known, pair, _surely_leads(claim, left.known, right.known))


def _holds(claim: Claim, effect: Estimate) -> bool:
    """Whether a point alone is as stated."""
    if claim.kind == "order":
        return _related(claim, effect)
    return grading.of_effect(claim, effect) == REPRODUCED


def _leads(claim: Claim, left: float, right: float) -> bool:
    """Whether there is a lead on both sides, where the claim is of one: without it nothing gets smaller.

    Of a lead that is the largest ("left") it is enough that it is there itself.
    """
    match claim.table.get("lead"):
        case None:
            return True
        case "left":
            return left > _none(claim)
    return max(left, right) > _none(claim) and min(left, right) >= _none(claim)


def _surely_leads(claim: Claim, left: Mapping[str, float], right: Mapping[str, float]) -> bool:
    """Whether a lead that the claim is of is there, and not only as the seeds leave it open."""
    asked = {None: (), "left": (left,)}.get(claim.table.get("lead"), (left, right))
    return all(estimate(list(side.values())).side(_none(claim)) > 0 for side in asked)


def _none(claim: Claim) -> float:
    """What a figure is relative to another one if neither is ahead."""
    return 0.0 if claim.table.get("relative") == "difference" else 1.0


def _made_of(kind: str, left: float, right: float) -> float | None:
    """What a claim of this kind is about; None where it divides by nothing."""
    if kind == "difference":
        return left - right
    if kind == "order":
        size = (abs(left) + abs(right)) / 2
        difference = (left - right) / size if size else 0.0
        return 0.0 if abs(difference) <= ROUNDING else difference
    if not right:
        return None
    return {"reduction": 1 - left / right, "increase": left / right - 1, "ratio": left / right}[kind]


def _range_of_pair(question: Question, effects: Sequence[_Effect]) -> str:
    """A range holds at every point, at half of them, or in the mean alone."""
    mean = _over_points(effects, _combine(question.claim)).mean
    in_mean = _of_number(question, mean) == REPRODUCED
    return grading.of_points([one.figure.holds for one in effects], in_mean=in_mean and len(effects) > 1)


def _hardest(
    claim: Claim, effects: Sequence[_Effect], grades: Mapping[int, str]
) -> list[tuple[str, Estimate]]:
    """Of several those that decide, and what came out against each: the one that it fails most against first.

    None where it holds nowhere: that tells all.
    """
    verdict = worst(list(grades.values()))
    if len(grades) == 1 or verdict == REPRODUCED or not any(_surely(claim, one) for one in effects):
        return []
    told = (named(side) if len(side) > 1 else [""] for side in (claim.apart, claim.lefts, claim.rights))
    names = [
        " against ".join(filter(None, (" ".join(filter(None, (one, left))), right)))
        for one, left, right in product(*told)
    ]
    found = [
        (names[pair], _over_points(some, fmean))
        for pair, some in _by_pair(effects).items()
        if grades[pair] == verdict
    ]
    return sorted(found, key=lambda one: _missed(claim, one[1].mean), reverse=True)


def _missed(claim: Claim, effect: float) -> float:
    """How far a mean is from what an order asks for; the more, the further."""
    sign = {"less": 1, "at most": 1, "more": -1, "at least": -1}.get(claim.table["relation"])
    return abs(effect) if sign is None else sign * effect


def _order_of_pair(claim: Claim, effects: Sequence[_Effect]) -> str:
    """A lead that is smaller than asked for is there in part; so is what the seeds leave open."""
    together = _over_points(effects, fmean)
    there = not claim.table.get("lead") or _leads(claim, *_mean_sides(effects))
    in_mean = there and _related(claim, together, lead=False)
    if claim.aggregate == "mean" or len(effects) == 1:
        if there and _related(claim, together):
            sure = len(effects) > 1 or effects[0].led
            return DIRECTION if _only_by_interval(claim, together) or not sure else REPRODUCED
        if "ahead" in claim.table and in_mean:
            return grading.of_lead(abs(_of_right(together.mean)), float(claim.table["ahead"]))
        return DIRECTION if in_mean else NOT
    holding = [one.figure.holds for one in effects]
    surely = [_surely(claim, one) for one in effects]
    if claim.aggregate == "some":
        if any(surely):
            return REPRODUCED
        return DIRECTION if any(holding) or in_mean else NOT
    return grading.of_points(surely, in_mean=in_mean or all(holding))


def _mean_sides(effects: Sequence[_Effect]) -> tuple[float, float]:
    """The means of both sides over the points."""
    sides = [(one.figure.left, one.figure.right) for one in effects if one.figure.right is not None]
    return _geometric([left for left, _ in sides]), _geometric([right for _, right in sides])


def _by_pair(effects: Sequence[_Effect]) -> dict[int, list[_Effect]]:
    pairs: dict[int, list[_Effect]] = defaultdict(list)
    for one in effects:
        pairs[one.pair].append(one)
    return pairs


def _combined(claim: Claim, effects: Sequence[_Effect]) -> list[Estimate]:
    """Means of each pair of selections; the most or the least of all of them together."""
    groups = list(_by_pair(effects).values()) if claim.aggregate == "mean" else [list(effects)]
    return [_over_points(group, _combine(claim)) for group in groups]


def _combine(claim: Claim) -> Callable[[Sequence[float]], float]:
    """What is made of several points: twice as much here and half as much there are no lead in a ratio."""
    combine = _COMBINE[claim.aggregate]
    return _geometric if claim.is_ratio and combine is fmean else combine


def _geometric(values: Sequence[float]) -> float:
    """The geometric mean; the arithmetic one where a ratio is 0, which would decide alone."""
    if min(values) <= 0:
        return fmean(values)
    return math.exp(fmean(math.log(value) for value in values))


def _deciding(effects: Sequence[_Effect], runs: Sequence[Run], absent: int) -> list[_Effect]:
    """The points that decide; a sentence where there is none."""
    trusted = [one for one in effects if one.figure.trusted]
    if trusted:
        return trusted
    if effects:
        raise UntrustedError(effects, absent)
    if any(run.error for run in runs):
        raise UndecidedError("runs of it failed")
    nothing = (
        "all points have no figure, or would be divided by 0" if absent else "the runs have no such figure"
    )
    raise UndecidedError(nothing)


class UntrustedError(UndecidedError):
    """No point that could decide is to be trusted; the figures are shown all the same."""

    def __init__(self, effects: Sequence[_Effect], absent: int) -> None:
        reasons = dict.fromkeys(
            str(reason)
            for one in effects
            for run in (one.figure.run, one.figure.other)
            if run is not None and run.record is not None
            for reason in run.record.get("reasons", [])
        )
        told = [_absence(len(effects), absent)] if absent else []
        why = "no point of it has runs that are all to be trusted"
        super().__init__("; ".join([f"{why}: {'; '.join(_in_short(reasons))}" if reasons else why, *told]))
        self.effects = effects


def _in_short(reasons: Iterable[str]) -> list[str]:
    """Reasons without advice; of those that differ in numbers alone the first, and how many are like it."""
    alike: dict[str, list[str]] = {}
    for reason in reasons:
        told = reason.partition(";")[0]
        alike.setdefault(re.sub(r"[\d.,]+", "#", told), []).append(told)
    return [
        first + (f" (and {len(others)} more like it)" if others else "") for first, *others in alike.values()
    ]


def untrusted(claim: Claim, error: UntrustedError) -> Finding:
    """What is shown where no run decides."""
    finding = _finding(claim, UNDECIDED, error.effects, error.effects)
    return Finding(UNDECIDED, finding.ours, finding.points, held=finding.held, reason=str(error))


def _finding(
    claim: Claim, verdict: str, effects: Sequence[_Effect], deciding: Sequence[_Effect], absent: int = 0
) -> Finding:
    distrusted = len(effects) - len(deciding)
    reasons = []
    if distrusted:
        verbs = ("is", "decides") if distrusted == 1 else ("are", "decide")
        reasons.append(
            f"{distrusted} of {len(effects)} points {verbs[0]} not to be trusted, and {verbs[1]} nothing"
        )
    if absent:
        reasons.append(_absence(len(effects), absent))
    level = sum(_is_level(claim, one) for one in deciding)
    if level:
        reasons.append(f"at {level} of {len(deciding)} points the seeds do not tell which side is ahead")
    reason = "; ".join(reasons)
    where = [(one.figure.run, one.figure.other, _surely(claim, one)) for one in deciding]
    untrusted = [(one.figure.run, one.figure.other) for one in effects if not one.figure.trusted]
    figures = [one.figure for one in effects]
    ours = _over_points(deciding, _combine(claim))
    return Finding(
        verdict,
        ours,
        figures,
        held=(sum(holds for _, _, holds in where), len(where)),
        where=where,
        untrusted=untrusted,
        level=level,
        leadless=sum(not one.led for one in deciding),
        reason=reason,
    )


def _absence(present: int, absent: int) -> str:
    return f"{absent} of {present + absent} points have no figure, or would be divided by 0"


def _is_level(claim: Claim, effect: _Effect) -> bool:
    """Whether an order is open at a point only because its seeds differ."""
    if claim.kind != "order":
        return False
    ahead = claim.table["relation"] in ("less", "more")
    open_ = ahead and effect.estimate.side() == 0 and abs(effect.figure.effect) > ROUNDING
    return open_ or _only_by_interval(claim, effect.estimate)


def _over_points(effects: Sequence[_Effect], combine: Callable[[Sequence[float]], float]) -> Estimate:
    """The points together, seed by seed where all have the same seeds."""
    seeds = {frozenset(one.by_seed) for one in effects}
    if len(seeds) > 1:
        return estimate([combine([one.figure.effect for one in effects])])
    return estimate([combine([one.by_seed[seed] for one in effects]) for seed in sorted(next(iter(seeds)))])
