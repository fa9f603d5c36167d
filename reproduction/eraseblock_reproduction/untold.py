"""Finds the workloads and sides of a claim of which no point can be trusted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from eraseblock_reproduction.data import Claim
from eraseblock_reproduction.places import FIRST, sides, together
from eraseblock_reproduction.selection import Run, at, words

# A point: its run, that of the other side, and whether it decides.
Told = tuple[Run, Run | None, bool]


def untold(claim: Claim, points: Sequence[Told]) -> list[str]:
    """The workloads, schemes or settings that a claim names, or is asked of, and of which no point decides.

    Where it is of one alone there is none: a point of another one has to decide.
    """
    several = [path for path, value in claim.where.items() if isinstance(value, list)]
    found: list[str] = []
    for names in _axes(claim, points, ["workload", *several]):
        deciding: dict[str, bool] = defaultdict(bool)
        for name, (_, _, decides) in zip(names, points, strict=True):
            deciding[name] |= decides
        if any(deciding.values()):
            found += [name for name, decides in deciding.items() if name and not decides]
    return list(dict.fromkeys(found))


def shared(claim: Claim, points: Sequence[Told]) -> str:
    """What all points that decide nothing have, and not all points; empty if there is nothing."""
    found: list[str] = []
    for names in _axes(claim, points, FIRST):
        mute = {name for name, (_, _, decides) in zip(names, points, strict=True) if not decides}
        if len(mute) == 1 and len(set(names)) > 1:
            found += mute
    return " ".join(filter(None, dict.fromkeys(found)))


def _axes(claim: Claim, points: Sequence[Told], paths: Iterable[str]) -> list[list[str]]:
    """Of each of these settings, and of both sides, the name of what each point is of."""
    runs = [run for run, _, _ in points]
    others = [run if other is None else other for run, other, _ in points]
    # What is a side, or is taken together, tells no points apart.
    used = {path for side in (*claim.lefts, *claim.rights) for path in side} | together(claim)
    return [
        *([_named(run, path) for run in runs] for path in dict.fromkeys(paths) if path not in used),
        sides(claim.lefts, runs),
        sides(claim.rights, others),
    ]


def _named(run: Run, path: str) -> str:
    value = at(run.settings, path)
    if isinstance(value, dict):
        value = value.get("kind")
    return "" if value is None else " ".join(words(path.rpartition(".")[2], value))
