"""Gives each run of a claim its figure, and gathers the runs that differ in seeds alone into points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from eraseblock_reproduction.arithmetic import evaluate, fields_of
from eraseblock_reproduction.data import Claim, Quantity, Selection
from eraseblock_reproduction.selection import Run, select


@dataclass(frozen=True)
class Cell:
    """The figure of one run, or of several that a spread is taken over."""

    run: Run
    value: float | None
    trusted: bool


@dataclass
class Point:
    """Runs that differ in seeds alone, and their figures by seed; None where one has no figure."""

    run: Run
    values: dict[str, float | None] = field(default_factory=dict)
    trusted: bool = True

    @property
    def known(self) -> dict[str, float]:
        """The figures that there are."""
        return {seed: value for seed, value in self.values.items() if value is not None}

    @property
    def mean(self) -> float | None:
        """The mean over the seeds; None if a seed has no figure."""
        known = self.known
        return fmean(known.values()) if known and len(known) == len(self.values) else None


@dataclass(frozen=True)
class Question:
    """A claim, under one reading of its quantity, asked of the runs of its figure."""

    claim: Claim
    quantity: Quantity
    # The reading.
    text: str
    runs: Sequence[Run]

    def figure_of(self, run: Run) -> float | None:
        """The figure of one run, before anything is made of it."""
        if self.quantity.of_workload:
            return None if run.profile is None else evaluate(self.text, run.profile)
        if fields_of(self.text) <= {"config"}:
            return evaluate(self.text, {"config": run.settings})
        return None if run.record is None else evaluate(self.text, run.record)


def cells(question: Question, *selections: Selection) -> list[Cell]:
    """The figures of all runs on one side of a claim, relative to others and spread where it says so."""
    claim = question.claim
    chosen = select(question.runs, claim.where, *selections)
    if question.quantity.of_workload:
        chosen = _one_for_each_workload(chosen)
    found = [_relative(question, run) for run in chosen]
    axis = claim.table.get("spread")
    return found if axis is None else _spread(found, claim, axis)


def points(found: Iterable[Cell]) -> list[Point]:
    """Cells that differ in seeds alone, together; in the order of their runs."""
    gathered: dict[str, Point] = {}
    for cell in found:
        point = gathered.setdefault(cell.run.identity(), Point(cell.run))
        point.values[cell.run.seed] = cell.value
        point.trusted = point.trusted and cell.trusted
    return list(gathered.values())


def _one_for_each_workload(runs: Sequence[Run]) -> list[Run]:
    """A workload has its figures once, however many schemes it was run on."""
    seen: dict[str, Run] = {}
    for run in runs:
        seen.setdefault(";".join(f"{path}={text}" for path, text in run.leaves if _is_workload(path)), run)
    return list(seen.values())


def _is_workload(path: str) -> bool:
    return path == "workload" or path.startswith("how")


def _trusted(run: Run) -> bool:
    return run.record is None or bool(run.record.get("trusted", True))


def _relative(question: Question, run: Run) -> Cell:
    claim, value = question.claim, question.figure_of(run)
    settings: Mapping[str, object] | None = claim.table.get("relative_to")
    if settings is None:
        return Cell(run, value, _trusted(run))
    key = run.identity(settings)
    base = next(
        (
            one
            for one in select(question.runs, settings)
            if one.identity(settings) == key and one.seed == run.seed
        ),
        None,
    )
    other = None if base is None else question.figure_of(base)
    trusted = _trusted(run) and (base is None or _trusted(base))
    if value is None or other is None:
        return Cell(run, None, trusted)
    if claim.table.get("relative") == "difference":
        return Cell(run, value - other, trusted)
    return Cell(run, value / other if other else None, trusted)


def _spread(found: Sequence[Cell], claim: Claim, axis: str) -> list[Cell]:
    """(most - least) / least over a setting, for each seed; or most - least, in the unit of the quantity."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in _spreadable(found, axis):
        groups[cell.run.identity([axis]), cell.run.seed if axis != "workload" else ""].append(cell)
    spread = []
    for group in groups.values():
        values = [cell.value for cell in group if cell.value is not None]
        whole = len(values) == len(group) and len(group) > 1 and min(values) > 0
        by = 1.0 if not whole or claim.table.get("absolute") else min(values)
        value = (max(values) - min(values)) / by if whole else None
        spread.append(Cell(group[0].run, value, all(cell.trusted for cell in group)))
    return spread


def _spreadable(found: Sequence[Cell], axis: str) -> list[Cell]:
    """Seeds of one workload are not those of another: over workloads their means are spread."""
    if axis != "workload":
        return list(found)
    return [Cell(point.run, point.mean, point.trusted) for point in points(found)]
