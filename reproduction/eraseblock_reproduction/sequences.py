"""Judges claims about sequences: how a figure changes step by step, and whether two figures go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import fmean

from eraseblock_reproduction import grading
from eraseblock_reproduction.data import Claim
from eraseblock_reproduction.finding import (
    DIRECTION,
    NOT,
    REPRODUCED,
    UNDECIDED,
    Finding,
    UndecidedError,
    worst,
)
from eraseblock_reproduction.intervals import ROUNDING, Estimate, estimate
from eraseblock_reproduction.points import Cell, Question, cells, points
from eraseblock_reproduction.selection import Run

# The figures of one step, or of one run, by seed.
_Figures = dict[str, float]


def trend(question: Question) -> Finding:
    """Along a list of selections the quantity rises, falls, or does neither."""
    claim = question.claim
    steps = claim.table["along"]
    axes = {key for step in steps for key in step}
    found: dict[str, dict[int, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for left in claim.lefts:
        for index, step in enumerate(steps):
            for cell in cells(question, left, step):
                found[cell.run.identity(axes)][index].append(cell)
    sequences: list[list[_Figures]] = []
    runs: list[Run] = []
    mute: list[list[_Figures]] = []
    distrusted: list[Run] = []
    absent = 0
    for by_step in found.values():
        along = [point for index in range(len(steps)) for point in points(by_step[index])]
        if len(along) != len(steps) or any(point.mean is None for point in along):
            absent += 1
        elif all(point.trusted for point in along):
            sequences.append([point.known for point in along])
            runs.append(along[0].run)
        else:
            mute.append([point.known for point in along])
            distrusted.append(along[0].run)
    if mute and not sequences:
        return _untrusted(claim, mute)
    _check(len(sequences), len(distrusted), question.runs)
    holding = [_goes(claim, one) for one in sequences]
    mean = _mean_sequence(sequences)
    by_interval = [_only_by_interval(claim, one) for one in sequences]
    open_ = sum(by_interval)
    surely = [holds and not only for holds, only in zip(holding, by_interval, strict=True)]
    verdict = _graded(surely, all(holding) or _goes(claim, mean), alone=all(holding))
    leads = [_leads(claim, one) for one in sequences]
    verdict = worst([verdict, *(_of_leads(claim, sides) for sides in leads)])
    surely = [holds and min(sides) > 0 for holds, sides in zip(surely, leads, strict=True)]
    reasons = [_distrust(len(distrusted))]
    reasons.append(
        f"at {open_} of {len(sequences)} points the seeds do not tell where a step goes" if open_ else ""
    )
    reasons.append(_absence(absent, " at some step"))
    reason = "; ".join(filter(None, reasons))
    return Finding(
        verdict,
        steps=_steps(sequences),
        held=(sum(surely), len(surely)),
        where=[(run, None, holds) for run, holds in zip(runs, surely, strict=True)],
        untrusted=[(run, None) for run in distrusted],
        leadless=sum(side <= 0 for sides in leads for side in sides),
        reason=reason,
    )


def _untrusted(claim: Claim, sequences: Sequence[Sequence[_Figures]]) -> Finding:
    """What is shown where no sequence decides."""
    several = len(sequences) > 1
    reason = f"{'each of its sequences has' if several else 'it has'} a run that is not to be trusted"
    held = (sum(_goes(claim, one) for one in sequences), len(sequences))
    return Finding(UNDECIDED, steps=_steps(sequences), held=held, reason=reason)


def _steps(sequences: Sequence[Sequence[_Figures]]) -> list[float]:
    """What is shown of sequences: one as it is, several by their mean."""
    shown = sequences[0] if len(sequences) == 1 else _mean_sequence(sequences)
    return [fmean(step.values()) for step in shown]


def agree(one: Question, other: Question) -> Finding:
    """Over a setting, runs in the order of one quantity are in that of another, or in the opposite one."""
    claim = one.claim
    over = claim.table["over"]
    axes = [over] if isinstance(over, str) else over
    asked = float(claim.table.get("similar", 1))
    sign = -1 if claim.table.get("opposite") else 1
    groups: dict[str, dict[str, list[tuple[_Figures, _Figures]]]] = defaultdict(dict)
    runs: dict[str, Run] = {}
    distrusted: dict[str, Run] = {}
    absent = 0
    for left in claim.lefts:
        ours, theirs = (points(cells(question, left)) for question in (one, other))
        for first, second in zip(ours, theirs, strict=True):
            key = first.run.identity(axes)
            if first.mean is None or second.mean is None:
                absent += 1
                continue
            runs.setdefault(key, first.run)
            groups[key].setdefault(_value_of(first.run, axes), []).append((first.known, second.known))
            if not first.trusted:
                distrusted[key] = first.run
    chosen = {
        key: {value: some[0] for value, some in group.items()}
        for key, group in groups.items()
        if key not in distrusted and len(group) > 1
    }
    _check(len(chosen), len(distrusted), one.runs)
    ordered = [_ordered(list(group.values()), sign) for group in chosen.values()]
    holding = [_similar(pairs, asked) for pairs in ordered]
    # In the mean over the groups is of the pairs of all of them: that is the share that is shown.
    verdict = _graded(holding, _similar([one for pairs in ordered for one in pairs], asked))
    return Finding(
        verdict,
        held=(sum(holding), len(holding)),
        where=[(runs[key], None, holds) for key, holds in zip(chosen, holding, strict=True)],
        pairs=(sum(map(sum, ordered)), sum(map(len, ordered))),
        untrusted=[(run, None) for run in distrusted.values()],
        reason="; ".join(filter(None, [_distrust(len(distrusted)), _absence(absent)])),
    )


def _check(count: int, distrusted: int, runs: Sequence[Run]) -> None:
    """Say why there is nothing to judge, if there is nothing."""
    if count:
        return
    if distrusted:
        raise UndecidedError("each of its sequences has a run that is not to be trusted")
    failed = any(run.error for run in runs)
    raise UndecidedError("runs of it failed" if failed else "the runs have no such figure")


def _graded(holding: Sequence[bool], in_mean: bool, *, alone: bool = False) -> str:
    """With one sequence there is no mean that could go where it does not, unless the seeds leave it open."""
    return grading.of_points(holding, in_mean=in_mean and (len(holding) > 1 or alone))


def _goes(claim: Claim, steps: Sequence[_Figures]) -> bool:
    """Whether a sequence goes as it is said to."""
    sides = [_difference(after, before).side() for before, after in pairwise(steps)]
    match claim.table["relation"]:
        case "rising":
            return all(side > 0 for side in sides)
        case "falling":
            return all(side < 0 for side in sides)
        case "never falling":
            return all(side >= 0 for side in sides)
        case "never rising":
            return all(side <= 0 for side in sides)
    means = [fmean(step.values()) for step in steps]
    return max(means) - min(means) <= claim.tolerance(min(means))


def _leads(claim: Claim, steps: Sequence[_Figures]) -> list[int]:
    """Of a lead: at each step, whether it is there (1), left open by the seeds (0), or turned (-1)."""
    if "lead" not in claim.table:
        return [1]
    none = 0.0 if claim.table.get("relative") == "difference" else 1.0
    return [estimate(list(step.values())).side(none) for step in steps]


def _of_leads(claim: Claim, sides: Sequence[int]) -> str:
    """A lead that grows is there from the first step, one that becomes smaller is left at the last one."""
    if min(sides) > 0:
        return REPRODUCED
    if claim.table["relation"] in ("rising", "never falling"):
        return DIRECTION if sides[-1] > 0 else NOT
    return DIRECTION if sides[0] > 0 and sides[-1] == 0 else NOT


def _only_by_interval(claim: Claim, steps: Sequence[_Figures]) -> bool:
    """Whether a sequence never falls, or never rises, only because the seeds differ."""
    sign = {"never falling": -1, "never rising": 1}.get(claim.table["relation"], 0)
    changes = [_difference(after, before) for before, after in pairwise(steps)]
    return any(change.side() == 0 and sign * change.mean > ROUNDING for change in changes)


def _difference(one: _Figures, other: _Figures) -> Estimate:
    """One less the other, seed by seed; of their means where they have no seeds in common.

    It is relative to the larger of both, so that rounding shows as what it is.
    """
    size = max(abs(fmean(one.values())), abs(fmean(other.values()))) or 1.0
    shared = [seed for seed in one if seed in other]
    if not shared:
        return estimate([_rounded((fmean(one.values()) - fmean(other.values())) / size)])
    return estimate([_rounded((one[seed] - other[seed]) / size) for seed in shared])


def _rounded(difference: float) -> float:
    return 0.0 if abs(difference) <= ROUNDING else difference


def _mean_sequence(sequences: Sequence[Sequence[_Figures]]) -> list[_Figures]:
    """The mean of sequences, each relative to its own mean: large figures count no more than small ones."""
    scaled = [_scaled(one) for one in sequences]
    return [_mean(step) for step in zip(*scaled, strict=True)]


def _scaled(figures: Sequence[_Figures]) -> list[_Figures]:
    """Relative to the mean of all of them."""
    mean = fmean(fmean(one.values()) for one in figures) or 1.0
    return [{seed: value / mean for seed, value in one.items()} for one in figures]


def _mean(figures: Sequence[_Figures]) -> _Figures:
    """Their mean by seed; without seeds if they have different ones."""
    seeds = {frozenset(one) for one in figures}
    if len(seeds) > 1:
        return {"": fmean(fmean(one.values()) for one in figures)}
    return {seed: fmean(one[seed] for one in figures) for seed in figures[0]}


def _ordered(figures: Sequence[tuple[_Figures, _Figures]], sign: int) -> list[bool]:
    """Of any two, whether they are in the same order by both figures, or by one of them the other way round.

    Two figures whose difference is within its interval are level.
    """
    return [
        _difference(a[0], b[0]).side() == sign * _difference(a[1], b[1]).side()
        for a, b in combinations(figures, 2)
    ]


def _similar(pairs: Sequence[bool], asked: float) -> bool:
    """Whether as large a share of the pairs is in this order as the claim asks for."""
    return sum(pairs) >= asked * len(pairs) * (1 - ROUNDING)


def _value_of(run: Run, axes: Sequence[str]) -> str:
    """What a run has on these axes, as text."""
    inside = tuple(f"{axis}." for axis in axes)
    return ";".join(f"{path}={text}" for path, text in run.leaves if path in axes or path.startswith(inside))


def _absence(count: int, where: str = "") -> str:
    return f"{count} {'points have' if count != 1 else 'point has'} no figure{where}" if count else ""


def _distrust(count: int) -> str:
    if not count:
        return ""
    if count == 1:
        return "1 point is not to be trusted, and decides nothing"
    return f"{count} points are not to be trusted, and decide nothing"
