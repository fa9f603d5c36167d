"""From a wish to designs: the runs of a search, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eraseblock.advice.case import Case, doubts_of, few_erased
from eraseblock.comparison import Comparison, command_line
from eraseblock.results import units
from eraseblock.sweeps import Outcome
from eraseblock.tuning.goals import OUTLIVED, Design, Goals, front, spare_of, written_until_worn
from eraseblock.tuning.search import search
from eraseblock.tuning.space import Point, Space

# Designs that are shown beside the front, where there is one goal.
_BEST = 10


@dataclass
class Tuning:
    """One search."""

    case: Case
    space: Space
    goals: Goals
    designs: list[Design] = field(default_factory=list)

    def run(self, runs: int, seed: int) -> None:
        """Search with so many runs.

        Raises:
            InputError: a trace that cannot be read; that is no fault of the designs.
        """
        self.case.profile()
        self.designs = search(self.space, len(self.goals.columns), runs, seed, self.evaluate)

    def evaluate(self, points: Sequence[Point]) -> list[Design]:
        """Run designs; what cannot be built is refused."""
        comparisons = [self.comparison(point) for point in points]
        outcomes = self.case.outcomes(comparisons)
        return [self._judged(point, one) for point, one in zip(points, outcomes, strict=True)]

    def comparison(self, point: Point) -> Comparison:
        """The comparison of one design with nothing else."""
        sets = {key: value for key, value in point.items() if key not in ("buffer.scheme", "buffer.size")}
        if "ftl.over_provisioning" in sets:
            sets = {"ftl.exported": "null", **sets}
        scheme = point.get("buffer.scheme", self.case.scheme())
        if scheme.startswith("{"):
            sets["buffer.scheme"] = scheme
        sizes = [point["buffer.size"]] if "buffer.size" in point else []
        # A scheme that is set whole is no name beside it.
        buffers = [] if "buffer.scheme" in sets else [scheme]
        return self.case.comparison(buffers=buffers, sizes=sizes, sets=sets)

    def _judged(self, point: Point, outcome: Outcome) -> Design:
        if outcome.record is None:
            return Design(point, str(outcome.error))
        return self.goals.judge(point, self.case.row(outcome.record))

    @property
    def front(self) -> list[Design]:
        """The designs that no other betters."""
        return front(self.designs)

    @property
    def best(self) -> list[Design]:
        """The front; with one goal the best designs."""
        if len(self.goals.columns) > 1:
            return self.front
        return sorted((one for one in self.designs if one.fits), key=lambda one: one.values)[:_BEST]

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why not to rely on what to take: it is judged by its own run, however short that is."""
        taken = self.front if len(self.goals.columns) > 1 else self.front[:1]
        rows = [one.row for one in taken if one.row is not None]
        return (*doubts_of(rows), *few_erased(rows))

    def command(self, design: Design) -> str:
        """The plain command that makes the same run."""
        return command_line(self.comparison(design.point))

    def sentence(self) -> str:
        """What to take."""
        ran = f"{len(self.designs)} of {self.space.designs:,} designs were run"
        refused = [one for one in self.designs if one.refused]
        best = self.front
        if not best:
            return f"No design is within the budget: {ran}{self._why_none(refused)}."
        if len(self.goals.columns) == 1:
            figure = self.figures(best[0])[0]
            found = f"{self.goals.columns[0].name} {figure}{self._outlived(best[0])}"
            return f"Take {told(best[0])}: {found}; {ran}."
        names = " and ".join(column.name for column in self.goals.columns)
        ends = f"from {told(best[0])} ({', '.join(self.figures(best[0]))})"
        if len(best) == 1:
            return f"One design is best in {names}: {ends[5:]}; {ran}."
        last = f"to {told(best[-1])} ({', '.join(self.figures(best[-1]))})"
        return f"{len(best)} designs are not bettered in {names}, {ends} {last}; {ran}."

    def _outlived(self, best: Design) -> str:
        """How many designs this run is too short to tell from the first."""
        count = sum(one.fits and one.values == best.values for one in self.designs) - 1
        if best.values != (OUTLIVED,) or not count:
            return ""
        return f", as with {count} other{'s' * (count > 1)}: this run is too short to tell them apart"

    def _why_none(self, refused: Sequence[Design]) -> str:
        """How many were refused, and which limits the one exceeds that comes nearest."""
        said = f", {len(refused)} of them refused; the first: {refused[0].refused}" if refused else ""
        ran = [one for one in self.designs if one.refused is None]
        if not ran:
            return said
        nearest = min(ran, key=self.goals.distance)
        return f"{said}; the nearest, {told(nearest)}, {self.goals.failing(nearest)}"

    def figures(self, design: Design) -> list[str]:
        """The goals of a design, as people read them."""
        row = design.row
        return [
            column.show(None if row is None else row.figure(column.path)) for column in self.goals.columns
        ]

    def as_json(self) -> dict[str, Any]:
        """Everything for programs."""
        return {
            "sentence": self.sentence(),
            "doubts": list(self.doubts),
            "designs": self.space.designs,
            "runs": len(self.designs),
            "refused": sum(one.refused is not None for one in self.designs),
            "goals": [column.path for column in self.goals.columns],
            "front": [self._json(one) for one in self.front],
            "tried": [self._json(one) for one in self.designs],
        }

    def _json(self, design: Design) -> dict[str, Any]:
        row = design.row
        found: dict[str, Any] = {"design": dict(design.point), "fits": design.fits, "refused": design.refused}
        if row is not None:
            found |= {column.path: row.figure(column.path) for column in self.goals.columns}
            found["spare"] = spare_of(row.record["config"])
            found["tbw_bytes"] = written_until_worn(row, self.goals.endurance)
            found["command"] = self.command(design)
        return found


def told(design: Design) -> str:
    """A design in words."""
    point = design.point
    scheme, size = point.get("buffer.scheme"), point.get("buffer.size")
    if size and design.row is not None:
        # As the engine has read it: there are many ways to write a size.
        size = units.size(design.row.buffer_bytes)
    parts = [f"`{scheme}`" if scheme else "", f"with {size}" if size else ""]
    parts += [f"{key} {value}" for key, value in point.items() if key not in ("buffer.scheme", "buffer.size")]
    return ", ".join(part for part in (" ".join(filter(None, parts[:2])), *parts[2:]) if part)
