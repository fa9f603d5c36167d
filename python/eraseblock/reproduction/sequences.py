"""Judges claims about sequences: how a figure changes step by step, and whether two figures go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import fmean

from eraseblock.reproduction.data import Claim
from eraseblock.reproduction.finding import DIRECTION, NOT, REPRODUCED, Finding, UndecidedError
from eraseblock.reproduction.points import Cell, Question, cells, points
from eraseblock.reproduction.selection import Run


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
    sequences, distrusted, absent = [], 0, 0
    for by_step in found.values():
        all_cells = [cell for some in by_step.values() for cell in some]
        means = [point.mean for index in range(len(steps)) for point in points(by_step[index])]
        known = [mean for mean in means if mean is not None]
        if len(known) < len(steps) or len(means) != len(steps):
            absent += 1
            continue
        if all(cell.trusted for cell in all_cells):
            sequences.append(known)
        else:
            distrusted += 1
    _check(len(sequences), distrusted, question.runs)
    holding = [_goes(claim, one) for one in sequences]
    mean = _mean_sequence(sequences)
    verdict = _graded(holding, _goes(claim, mean))
    shown = sequences[0] if len(sequences) == 1 else mean
    reasons = [_distrust(distrusted)]
    reasons.append(f"{absent} points have no figure at some step" if absent else "")
    reason = "; ".join(filter(None, reasons))
    return Finding(verdict, steps=shown, held=(sum(holding), len(holding)), reason=reason)


def agree(one: Question, other: Question) -> Finding:
    """Over a setting, runs in the order of one quantity are in that of another, or in the opposite one."""
    claim = one.claim
    over = claim.table["over"]
    sign = -1 if claim.table.get("opposite") else 1
    groups: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(dict)
    distrusted: set[str] = set()
    for left in claim.lefts:
        ours, theirs = (points(cells(question, left)) for question in (one, other))
        for first, second in zip(ours, theirs, strict=True):
            key = first.run.identity([over])
            if first.mean is None or second.mean is None:
                continue
            groups[key].setdefault(_value_of(first.run, over), []).append((first.mean, second.mean))
            if not first.trusted:
                distrusted.add(key)
    pairs = {
        key: {value: some[0] for value, some in group.items()}
        for key, group in groups.items()
        if key not in distrusted and len(group) > 1
    }
    _check(len(pairs), len(distrusted), one.runs)
    holding = [_ordered(list(group.values()), sign) for group in pairs.values()]
    names = [set(group) for group in pairs.values()]
    common = set.intersection(*names)
    mean = [
        (
            fmean(_relative(group, 0)[value] for group in pairs.values()),
            fmean(_relative(group, 1)[value] for group in pairs.values()),
        )
        for value in sorted(common)
    ]
    verdict = _graded(holding, len(common) == len(set.union(*names)) and _ordered(mean, sign))
    return Finding(verdict, held=(sum(holding), len(holding)), reason=_distrust(len(distrusted)))


def _check(count: int, distrusted: int, runs: Sequence[Run]) -> None:
    """Say why there is nothing to judge, if there is nothing."""
    if count:
        return
    if distrusted:
        raise UndecidedError("no run of it is to be trusted")
    failed = any(run.error for run in runs)
    raise UndecidedError("runs of it failed" if failed else "the runs have no such figure")


def _graded(holding: Sequence[bool], in_mean: bool) -> str:
    if all(holding):
        return REPRODUCED
    return DIRECTION if in_mean and len(holding) > 1 else NOT


def _goes(claim: Claim, values: Sequence[float]) -> bool:
    """Whether a sequence goes as it is said to."""
    steps = list(pairwise(values))
    match claim.table["relation"]:
        case "rising":
            return all(after > before for before, after in steps)
        case "falling":
            return all(after < before for before, after in steps)
        case "never falling":
            return all(after >= before for before, after in steps)
        case "never rising":
            return all(after <= before for before, after in steps)
    return max(values) - min(values) <= claim.tolerance(min(values))


def _mean_sequence(sequences: Sequence[Sequence[float]]) -> list[float]:
    """The mean of sequences, each relative to its own mean: large figures count no more than small ones."""
    scaled = [[value / (fmean(one) or 1.0) for value in one] for one in sequences]
    return [fmean(step) for step in zip(*scaled, strict=True)]


def _relative(group: dict[str, tuple[float, float]], which: int) -> dict[str, float]:
    mean = fmean(pair[which] for pair in group.values()) or 1.0
    return {value: pair[which] / mean for value, pair in group.items()}


def _ordered(pairs: Sequence[tuple[float, float]], sign: int) -> bool:
    """Whether any two are in the same order by both figures, or by one of them the other way round."""
    return all(_sign(a[0] - b[0]) == sign * _sign(a[1] - b[1]) for a, b in combinations(pairs, 2))


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def _value_of(run: Run, axis: str) -> str:
    """What a run has on an axis, as text."""
    return ";".join(
        f"{path}={text}" for path, text in run.leaves if path == axis or path.startswith(f"{axis}.")
    )


def _distrust(count: int) -> str:
    return f"{count} points are not to be trusted, and decide nothing" if count else ""
