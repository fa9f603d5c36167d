"""What comes out for a claim: a verdict, our figure, and the points behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eraseblock_reproduction.intervals import Estimate
from eraseblock_reproduction.selection import Run

REPRODUCED = "reproduced"
PARTLY = "partly"
DIRECTION = "direction only"
NOT = "not reproduced"
CONTRADICTS = "contradicts itself"
UNDECIDED = "undecided"
# From good to bad: of several parts of a claim the last one counts.
GRADES = (REPRODUCED, PARTLY, DIRECTION, NOT)
# All of them, in the order in which they are counted.
VERDICTS = (*GRADES, CONTRADICTS, UNDECIDED)


@dataclass(frozen=True)
class PointFigure:
    """One point of a claim: what was set against what, and what came out."""

    run: Run
    other: Run | None
    left: float
    right: float | None
    # The reduction, ratio and so on; of an order the relative difference, of a single side its figure.
    effect: float
    holds: bool
    trusted: bool


@dataclass(frozen=True)
class Finding:
    """What came out for one claim, under one reading of its quantity."""

    verdict: str
    # Our figure: of the points together.
    ours: Estimate | None = None
    points: Sequence[PointFigure] = ()
    # Of an order against several: against which of them it fails most, and what came out; worst first.
    hardest: Sequence[tuple[str, Estimate]] = ()
    # Of a trend: the mean figure at each step.
    steps: Sequence[float] = ()
    # In how many of how many points it holds; of each its run, that of the other side, whether it does.
    held: tuple[int, int] | None = None
    where: Sequence[tuple[Run, Run | None, bool]] = ()
    # Where two orders are compared: how many of how many pairs are in both.
    pairs: tuple[int, int] | None = None
    # Points that decide nothing, as runs of theirs are not to be trusted.
    untrusted: Sequence[tuple[Run, Run | None]] = ()
    # Workloads, schemes or settings of which no point decides, though others do.
    untold: Sequence[str] = ()
    # What points that decide nothing have in common, where not all points have it.
    untrusted_of: str = ""
    # Points of an order that are open only because the seeds differ.
    level: int = 0
    # Of a claim of a lead: points at which there is none, or none that the seeds tell.
    leadless: int = 0
    reason: str = ""
    readings: dict[str, Finding] = field(default_factory=dict)

    @property
    def effects(self) -> list[float]:
        """What came out at the points that decide; at all of them, where none does."""
        trusted = [point.effect for point in self.points if point.trusted]
        return trusted or [point.effect for point in self.points]


class UndecidedError(Exception):
    """Why a claim cannot be judged."""


def worst(grades: Sequence[str]) -> str:
    """The verdict on all parts of a claim together."""
    return max(grades, key=GRADES.index)
