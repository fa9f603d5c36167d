"""What makes a design good, what makes it possible, and which designs no other betters."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock import _core
from eraseblock.results import units
from eraseblock.results.headline import Column, column_named
from eraseblock.results.units import bytes_of
from eraseblock.results.view import Row
from eraseblock.tuning.space import Budget, Point

# The value of a goal whose end a drive has not reached: better than any that has.
OUTLIVED = -math.inf


@dataclass(frozen=True)
class Design:
    """One design that has been run, or refused."""

    point: Point
    # Why it cannot be built, or its run means nothing.
    refused: str | None = None
    row: Row | None = None
    # The goals, each so that less is better; and by how much each budget is exceeded, at most 0 where kept.
    values: tuple[float, ...] = ()
    excess: tuple[float, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether it can be built, is to be trusted, and keeps to the budget."""
        return self.refused is None and all(one <= 0 for one in self.excess)

    def betters(self, other: Design) -> bool:
        """Whether it is as good in every goal, and better in one."""
        pairs = list(zip(self.values, other.values, strict=True))
        return all(mine <= theirs for mine, theirs in pairs) and any(mine < theirs for mine, theirs in pairs)


@dataclass(frozen=True)
class Goals:
    """The columns that count, and the budget."""

    columns: tuple[Column, ...]
    budget: Budget
    # Erases that a block endures.
    endurance: int

    def judge(self, point: Point, row: Row) -> Design:
        """A design by its run."""
        values = []
        for column in self.columns:
            value = row.figure(column.path)
            if value is None and column.endless:
                if not row.figure("config.nand.endurance"):
                    return Design(point, "nothing wears its blocks out (nand.endurance = 0)", row)
                if not row.figure("end_of_life"):
                    values.append(OUTLIVED)
                    continue
            if not isinstance(value, int | float):
                return Design(point, f"the run has no figure `{column.title}`", row)
            values.append(-float(value) if column.good == "high" else float(value))
        if not row.competes:
            reasons = row.record.get("reasons") or ["it knew the future"]
            return Design(point, f"not to be trusted: {reasons[0]}", row)
        if row.figure("end_of_life") and not any(column.endless for column in self.columns):
            return Design(point, "its drive wore out before the workload ended", row)
        return Design(point, None, row, tuple(values), tuple(self._excess(row)))

    def failing(self, design: Design) -> str:
        """What of the budget a design that has run exceeds, in words."""
        row, budget = design.row, self.budget
        assert row is not None
        spare = spare_of(row.record["config"])
        written = written_until_worn(row, self.endurance)
        wishes: list[tuple[object, str]] = [
            (budget.ram, f"takes {units.size(row.buffer_bytes)} of RAM"),
            (budget.spare, f"has {units.share(spare)} spare flash"),
            (budget.lifetime, f"has a TBW of {units.until_worn(written)}"),
        ]
        asked = [said for limit, said in wishes if limit is not None]
        return " and ".join(said for said, one in zip(asked, design.excess, strict=True) if one > 0)

    def distance(self, design: Design) -> float:
        """How far a design that has run exceeds the budget, as a share of the limit that it exceeds most."""
        budget = self.budget
        limits = [(budget.ram, 1.0), (budget.spare, budget.spare or 1.0), (budget.lifetime, 1.0)]
        scales = [scale for limit, scale in limits if limit is not None]
        return max(one / scale for one, scale in zip(design.excess, scales, strict=True))

    def _excess(self, row: Row) -> list[float]:
        budget, found = self.budget, list[float]()
        if budget.ram is not None:
            found.append(row.buffer_bytes / budget.ram - 1)
        if budget.spare is not None:
            found.append(spare_of(row.record["config"]) - budget.spare)
        if budget.lifetime is not None:
            written = written_until_worn(row, self.endurance)
            found.append(0.0 if written is None else 1 - written / budget.lifetime)
        return found


def goals_of(names: Sequence[str], budget: Budget, endurance: int) -> Goals:
    """The goals with these names.

    Raises:
        ConfigError: no column has this name, or it has no better end.
    """
    columns = tuple(column_named(name, "--goal") for name in names or ("mean",))
    for column in columns:
        if column.good is None:
            raise _core.ConfigError(f"--goal: `{column.title}` has no better end; take another column")
    if len(set(columns)) < len(columns):
        raise _core.ConfigError("--goal: the same column is there twice; once is enough")
    return Goals(columns, budget, endurance)


def front(designs: Sequence[Design]) -> list[Design]:
    """Those that fit and that no other betters, by the first goal; of equal ones the first."""
    some = [one for one in designs if one.fits]
    best = [one for one in some if not any(other.betters(one) for other in some)]
    seen: dict[tuple[float, ...], Design] = {}
    for one in best:
        seen.setdefault(one.values, one)
    return sorted(seen.values(), key=lambda one: one.values)


def flash_bytes(config: dict[str, Any]) -> int:
    """Flash of a drive."""
    nand = config["nand"]
    planes = nand["channels"] * nand["chips_per_channel"] * nand["dies_per_chip"] * nand["planes_per_die"]
    return int(planes * nand["blocks_per_plane"] * nand["pages_per_block"] * bytes_of(nand["page_size"]))


def spare_of(config: dict[str, Any]) -> float:
    """Spare flash / what the host sees: as configured, or more where the mapping needs more."""
    return _core.spare_share(json.dumps(config))


def written_until_worn(row: Row, endurance: int) -> float | None:
    """Bytes that the host can write, as if wear were even; None: without end."""
    waf = row.figure("waf")
    return flash_bytes(row.record["config"]) * endurance / waf if waf else None
