"""Runs of four schemes under a reading, put beside what the thesis prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock import run
from eraseblock.toolkit import bytes_of
from eraseblock_reproduction.question.printed import MEASURES, OTHERS, Trace
from eraseblock_reproduction.question.readings import Reading, experiment

# Figures of one run, by measure: `reads` are those of the host and of padding.
Figures = Mapping[str, float]
DYNAMIC = "hbm"


@dataclass(frozen=True)
class Cell:
    """A trace and a size: the schemes' figures, HBM's with a static threshold as `hbm-8`."""

    trace: Trace
    size: str
    schemes: Mapping[str, Figures]
    # Runs whose backlog grows, or that the engine refused: nothing is told from them.
    trusted: bool

    def ratio(self, measure: str, other: str) -> float:
        """HBM's figure as a share of the other's; nan where both have none."""
        ours, theirs = self.schemes[DYNAMIC][measure], self.schemes[other][measure]
        return math.nan if ours == theirs == 0 else math.inf if theirs == 0 else ours / theirs

    def ahead(self, measure: str, other: str) -> bool:
        """HBM has less response time or fewer erases, or more hits."""
        ours, theirs = self.schemes[DYNAMIC][measure], self.schemes[other][measure]
        return self.trusted and (ours > theirs if measure == "hits" else ours < theirs)

    @property
    def orders(self) -> int:
        """In how many of nine comparisons HBM is ahead."""
        return sum(self.ahead(measure, other) for measure in MEASURES for other in OTHERS)

    @property
    def letters(self) -> str:
        """The same as text: `THE .HE T.E` against BPLRU, FAB and LB-CLOCK."""
        told = {"response": "T", "hits": "H", "erases": "E"}
        return " ".join(
            "".join(told[measure] if self.ahead(measure, other) else "." for measure in MEASURES)
            for other in OTHERS
        )

    @property
    def deviation(self) -> float:
        """By which factor its ratios miss the printed ones, in the geometric mean; 1 if none are printed."""
        logs = [] if self.trace.ratios else [0.0]
        for measure, by in self.trace.ratios.items():
            for other, printed in by.items():
                ours = self.ratio(measure, other)
                # What has no figure or an endless one counts as missed a hundredfold.
                logs.append(abs(math.log(ours / printed)) if 0 < ours < math.inf else math.log(100))
        return math.exp(sum(logs) / len(logs))

    @property
    def dynamic_best(self) -> bool:
        """The dynamic threshold answers at least as fast as each static one."""
        static = [one["response"] for name, one in self.schemes.items() if name.startswith("hbm-")]
        return bool(static) and self.schemes[DYNAMIC]["response"] <= min(static)


def cells(
    reading: Reading,
    trace: Trace,
    sizes: Sequence[str],
    requests: int,
    thresholds: Sequence[Any] = ("dynamic",),
) -> list[Cell]:
    """Run them, with two threads: a cell for each size."""
    found = run(experiment(reading, trace, sizes, requests, thresholds), jobs=2)
    return [_cell(trace, size, [one for one in found if _size(one) == bytes_of(size)]) for size in sizes]


def _size(record: Mapping[str, Any]) -> int:
    return bytes_of(record["config"]["buffer"]["size"])


def _cell(trace: Trace, size: str, records: Sequence[Mapping[str, Any]]) -> Cell:
    schemes = {_name(one["config"]["buffer"]["scheme"]): _figures(one) for one in records}
    return Cell(trace, size, schemes, all(one["trusted"] for one in records))


def _name(scheme: Mapping[str, Any]) -> str:
    threshold = scheme.get("threshold", DYNAMIC)
    return str(scheme["kind"]) if threshold in (DYNAMIC, "dynamic") else f"hbm-{threshold}"


def _figures(record: Mapping[str, Any]) -> Figures:
    reads = record["flash"]["reads"]
    return {
        "response": record["response_ns"]["all"]["mean"] / 1e6,
        "hits": record["hit_ratio"]["all"] * 100,
        "erases": record["flash"]["erases"]["total"],
        "reads": reads["host"] + reads["padding"],
    }
