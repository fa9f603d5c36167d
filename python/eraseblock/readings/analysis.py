"""From the runs of all readings to one object: how far figures moved, which conclusions stand, which do not.

The object is what `--json` prints and `sensitivity.json` holds; docs/sensitivity.md says what is in it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eraseblock import _core
from eraseblock.readings.orders import TIE, Change, Conclusion, Figures, Ranking, largest_change, rank
from eraseblock.readings.plan import Choice, Plan, Reading, without
from eraseblock.results.headline import COLUMNS, Column, Good
from eraseblock.results.record import Analysis, Record
from eraseblock.results.view import Row, rows_of
from eraseblock.sweeps import Outcome

# The figures that conclusions are about. Programs go with WAF: designs of a contest serve the same requests.
METRICS: tuple[tuple[Column, Good], ...] = tuple(
    (column, column.good) for column in COLUMNS if column.good is not None
)
# What is compared: designs that differ in this key alone.
_CONTESTS = (("scheme", "buffer.scheme"), ("ftl", "ftl.mapping"))


def analyse(plan: Plan, outcomes: Sequence[Outcome]) -> Analysis:
    """The whole analysis, from the outcomes of `plan.experiments`.

    The experiment's own runs that have no record are no part of it.
    """
    own = {number: outcome.record for number, outcome in enumerate(outcomes[: len(plan.runs)])}
    records = {number: record for number, record in own.items() if record is not None}
    rows = rows_of(list(records.values()))
    readings = [_ran(reading, plan, outcomes, list(records)) for reading in plan.readings]
    readings = [one for one in readings if one.facts]
    base = [_Facts.of(record) for record in records.values()]
    contests = [
        _Contest(axis, runs, _rankings(runs, base, readings))
        for axis, runs in _contests(
            {
                # A buffer that knew the future is no design that could win.
                run: without(plan.runs[number].config)
                for run, (number, row) in enumerate(zip(records, rows, strict=True))
                if not row.offline
            }
        )
    ]
    changes = [_changes(base, one) for one in readings]
    reverses = Counter(
        under.reading
        for contest in contests
        for conclusion in contest.conclusions()
        for under in conclusion.by("reverses")
    )
    return {
        "tie": TIE,
        "metrics": [{"name": column.title, "path": column.path, "better": good} for column, good in METRICS],
        "runs": [{**_place(row), **facts.told()} for row, facts in zip(rows, base, strict=True)],
        "readings": [
            {
                **_choice(one.reading.choice),
                "reading": one.reading.name,
                "from": one.reading.before,
                "to": one.reading.value,
                "runs": [{"run": run, **facts.told()} for run, facts in one.facts.items()],
                "changes": {name: change and _change(change) for name, change in found.items()},
                "within_noise": _within_noise(number, readings, changes),
                "reverses": reverses[number],
            }
            for number, (one, found) in enumerate(zip(readings, changes, strict=True))
        ],
        "not_switched": [
            {**_choice(axis), "why": "the experiment compares its values itself"} for axis in plan.axes
        ],
        "contests": [contest.told() for contest in contests],
        "counts": _counts(contests),
    }


def is_of(analysis: Any, records: Sequence[Record]) -> bool:
    """Whether an analysis starts from these records, and they say the same."""
    if not isinstance(analysis, Mapping) or not isinstance(analysis.get("runs"), list):
        return False
    known = [_Facts.of(record).told() for record in records]
    told = analysis["runs"]
    return len(told) == len(known) and all(
        isinstance(one, Mapping) and fact.items() <= one.items()
        for one, fact in zip(told, known, strict=True)
    )


@dataclass(frozen=True)
class _Facts:
    """What became of one run."""

    record: Record | None
    # Why it has no record: the drive cannot be built so, or the run failed.
    problem: tuple[str, str] | None = None

    @staticmethod
    def of(record: Record | None, error: _core.EraseblockError | None = None) -> _Facts:
        if record is not None:
            return _Facts(record)
        refused = not isinstance(error, _core.SimulationError)
        return _Facts(None, ("refused" if refused else "failed", str(error)))

    def figure(self, path: str) -> float | None:
        """A figure; None where there is none, or none to be relied on, or of a part of the workload alone."""
        if self.record is None or not self.record.get("trusted", True) or self._was_cut_short():
            return None
        return self._value(path)

    def _was_cut_short(self) -> bool:
        """Whether the drive wore out before the workload ended: it did less than others."""
        return bool(((self.record or {}).get("end_of_life") or {}).get("unanswered"))

    def told(self) -> dict[str, Any]:
        if self.record is None:
            assert self.problem is not None
            return {self.problem[0]: self.problem[1]}
        return {
            "key": self.record["key"],
            "trusted": bool(self.record.get("trusted", True)),
            "figures": {column.title: self._value(column.path) for column, _ in METRICS},
        }

    def _value(self, path: str) -> float | None:
        value: Any = self.record
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Ran:
    """A reading and what became of the runs that it concerns, by their place among those that are told of."""

    reading: Reading
    facts: dict[int, _Facts]


def _ran(reading: Reading, plan: Plan, outcomes: Sequence[Outcome], numbers: Sequence[int]) -> _Ran:
    facts = {}
    for run, number in enumerate(numbers):
        if (one := reading.experiments.get(number)) is not None:
            outcome = outcomes[plan.places[one.text]]
            facts[run] = _Facts.of(outcome.record, outcome.error)
    return _Ran(reading, facts)


@dataclass(frozen=True)
class _Contest:
    """Designs that serve the same requests, and their ranking by each figure."""

    axis: str
    runs: list[int]
    rankings: dict[str, Ranking]

    def conclusions(self) -> list[Conclusion]:
        return [one for ranking in self.rankings.values() for one in ranking.conclusions]

    def told(self) -> dict[str, Any]:
        return {
            "axis": self.axis,
            "runs": self.runs,
            "rankings": {name: _ranking(ranking) for name, ranking in self.rankings.items()},
        }


def _contests(configs: Mapping[int, dict[str, Any]]) -> list[tuple[str, list[int]]]:
    """Runs that differ in their scheme alone, or in their FTL alone."""
    found = []
    for axis, path in _CONTESTS:
        cells: dict[str, list[int]] = {}
        for run, config in configs.items():
            cells.setdefault(json.dumps(without(config, path), sort_keys=True), []).append(run)
        found += [(axis, runs) for runs in cells.values() if len(runs) > 1]
    return found


def _rankings(runs: Sequence[int], base: Sequence[_Facts], readings: Sequence[_Ran]) -> dict[str, Ranking]:
    rankings = {}
    for column, good in METRICS:
        known = _figures(column.path, base)
        if any(known[run] is not None for run in runs):
            others = [{**known, **_figures_of(column.path, one)} for one in readings]
            rankings[column.title] = rank(runs, good, known, others)
    return rankings


def _figures(path: str, facts: Sequence[_Facts]) -> Figures:
    return {run: one.figure(path) for run, one in enumerate(facts)}


def _figures_of(path: str, ran: _Ran) -> Figures:
    return {run: one.figure(path) for run, one in ran.facts.items()}


def _changes(base: Sequence[_Facts], ran: _Ran) -> dict[str, Change | None]:
    """How far each figure moved at most."""
    return {
        column.title: largest_change(
            _figures(column.path, base), _figures_of(column.path, ran), list(ran.facts)
        )
        for column, _ in METRICS
    }


def _within_noise(
    number: int, readings: Sequence[_Ran], changes: Sequence[Mapping[str, Change | None]]
) -> bool | None:
    """Whether other seeds of its scheme move every figure as far; None where that cannot be told."""
    choice = readings[number].reading.choice
    seeds = [
        found
        for one, found in zip(readings, changes, strict=True)
        if one.reading.choice.seed and one.reading.choice.owner == choice.owner
    ]
    if choice.seed or not seeds or not any(changes[number].values()):
        return None
    return all(
        change is None or change.size <= max(seed.size if (seed := found[name]) else 0.0 for found in seeds)
        for name, change in changes[number].items()
    )


def _place(row: Row) -> dict[str, Any]:
    return {
        "trace": row.trace,
        "ftl": row.ftl,
        "scheme": row.scheme,
        "buffer_bytes": row.buffer_bytes,
        "settings": row.settings,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "part": choice.part,
        "owner": choice.owner,
        "option": choice.option,
        "seed": choice.seed,
        "open": choice.open,
    }


def _change(change: Change) -> dict[str, Any]:
    return asdict(change)


def _ranking(ranking: Ranking) -> dict[str, Any]:
    return {
        "order": ranking.order,
        "unranked": ranking.unranked,
        "best": ranking.best,
        "other_best": [{"reading": number, "best": best} for number, best in ranking.other_best.items()],
        "conclusions": [asdict(one) for one in ranking.conclusions],
    }


def _counts(contests: Sequence[_Contest]) -> dict[str, int]:
    """Conclusions in all: pairs of designs that one figure puts in an order, and what becomes of them."""
    pairs = [one for contest in contests for one in contest.conclusions()]
    orders = [one for one in pairs if not one.tie]
    return {
        "conclusions": len(orders),
        "move": sum(one.moves for one in orders),
        "level": sum(not one.moves and bool(one.by("levels")) for one in orders),
        "stand": sum(one.stands for one in orders),
        "ties": len(pairs) - len(orders),
        "unranked": sum(
            len(ranking.unranked) for contest in contests for ranking in contest.rankings.values()
        ),
    }
