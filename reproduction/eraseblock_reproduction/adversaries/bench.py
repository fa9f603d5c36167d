"""Runs schemes on workloads, each once, and says by how much a scheme is behind the ordinary ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from eraseblock import Experiment, resolve
from eraseblock.toolkit import Handling, Outcome, Quiet, Record, known
from eraseblock_reproduction import data
from eraseblock_reproduction.adversaries.space import BUFFER_PAGES, SHORT, Workload
from eraseblock_reproduction.running import run_or_find

FOLDER_NAME = "adversaries"
DRIVE_NAME = "drive.toml"
# One that maps pages, and one with log blocks of their own for data blocks: 6.5 % of what is exported.
FTLS: Mapping[str, Any] = {"page": "page", "bast": {"kind": "bast", "log_blocks": 0.065}}
# What anybody would take who knows nothing: no buffer, pages in order of use, blocks in order of use.
ORDINARY = ("none", "lru", "block-lru")
# What a scheme is judged by: less is better.
MEASURES = ("response", "programs")


@dataclass(frozen=True)
class Run:
    """What came of a scheme on a workload."""

    # In us, per request; pages and blocks of flash, shares: None if there are none.
    figures: Mapping[str, float] = field(default_factory=dict)
    # Why the figures are none, or not to be relied on.
    refused: str = ""
    # It was told the workload beforehand.
    offline: bool = False

    @property
    def counts(self) -> bool:
        """Whether it can be set against others."""
        return not self.refused and not self.offline

    def cost(self, measure: str) -> float:
        """What it is judged by: to pages programmed those of a full buffer are added, still to be written."""
        return self.figures[measure] + (BUFFER_PAGES if measure == "programs" else 0)


@dataclass(frozen=True)
class Asked:
    """A workload on a drive, apart from the scheme."""

    ftl: str
    workload: Workload
    seed: int = 1
    length: float = SHORT


class Bench:
    """Keeps what has been run, so that nothing is run twice."""

    def __init__(self, jobs: int = 1) -> None:
        self._handling = Handling(jobs=jobs, cache=False, trim=essence)
        self._runs: dict[tuple[Asked, str], Run] = {}

    def runs(self, asked: Sequence[Asked], schemes: Sequence[str]) -> None:
        """Run each scheme on each of these, if it has not been run."""
        self.pairs((one, name) for one in asked for name in schemes)

    def pairs(self, wanted: Iterable[tuple[Asked, str]]) -> None:
        """Run all of these, if they have not been run: many at once start from one filled drive."""
        todo = [one for one in dict.fromkeys(wanted) if one not in self._runs]
        if not todo:
            return
        outcomes = run_or_find([_experiment(*one) for one in todo], self._handling, Quiet())
        for one, outcome in zip(todo, outcomes, strict=True):
            self._runs[one] = _run(outcome)

    def run(self, asked: Asked, scheme: str) -> Run:
        """One run."""
        self.runs([asked], [scheme])
        return self._runs[asked, scheme]

    def ratio(
        self, asked: Asked, scheme: str, measure: str, others: Iterable[str] = ORDINARY
    ) -> float | None:
        """How many times the figure of the best of the others a scheme has; None if it has none."""
        best = self.best(asked, scheme, measure, others)
        own = self.run(asked, scheme)
        if best is None or not own.counts:
            return None
        least = self.run(asked, best).cost(measure)
        return own.cost(measure) / least if least else None

    def best(self, asked: Asked, scheme: str, measure: str, others: Iterable[str] = ORDINARY) -> str | None:
        """The best of the others, itself apart; the first of equals."""
        names = [name for name in others if name != scheme]
        self.runs([asked], [scheme, *names])
        able = [name for name in names if self._runs[asked, name].counts]
        return min(able, key=lambda name: self._runs[asked, name].cost(measure), default=None)


def essence(record: Record) -> Record:
    """The little of a record that is looked at."""
    flash, flush = record["flash"], record["flush_pages"]["after_padding"]
    under_way = record["config"]["host"]["max_outstanding"]
    iops = record["throughput"]["iops"]
    return {
        "trusted": record["trusted"],
        "reasons": record["reasons"],
        "offline": record["offline"],
        "engine": record["engine"],
        "figures": {
            # By Little's law, as so many are always under way: the record's own leaves out the wait for room.
            "response": 1e6 * under_way / iops if iops else None,
            "programs": flash["programs"]["total"],
            "erases": flash["erases"]["total"],
            "reads": flash["reads"]["total"],
            "waf": record["waf"],
            "hits": record["hit_ratio"]["all"],
            "flush": None if flush is None else flush["mean"],
            "padded": record["padded_pages"],
            "copied": flash["programs"]["total"] - flash["programs"]["host"],
            "asked": record["host_pages"]["read"] + record["host_pages"]["write"],
        },
    }


def schemes() -> list[str]:
    """Every buffer scheme that is registered."""
    return known("buffers")


def _run(outcome: Outcome) -> Run:
    if outcome.record is None:
        return Run(refused=str(outcome.error))
    record = outcome.record
    refused = "" if record["trusted"] else "; ".join(record["reasons"])
    return Run(record["figures"], refused, bool(record["offline"]))


def _experiment(asked: Asked, scheme: str) -> Experiment:
    base = _bases(asked.ftl)[scheme]
    config = base.config
    keys = asked.workload.settings(asked.length, asked.seed)
    config["workload"]["generate"] = keys["workload.generate"]
    config["host"]["warm_up"] = keys["host.warm_up"]
    return Experiment(json.dumps(config), base.base)


@cache
def _bases(ftl: str) -> Mapping[str, Experiment]:
    """For each scheme an experiment whose workload is to be filled in."""
    nothing = {"workload.generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}
    sets = {"ftl.mapping": FTLS[ftl], "buffer.scheme": schemes(), **nothing}
    return dict(zip(schemes(), resolve(folder() / DRIVE_NAME, sets=sets), strict=True))


def folder() -> Path:
    """Where the drive is described, and what was found is kept."""
    return data.folder() / FOLDER_NAME


def drive() -> str:
    """The drive, as an experiment that lacks a workload and a scheme."""
    return (folder() / DRIVE_NAME).read_text(encoding="utf-8")
