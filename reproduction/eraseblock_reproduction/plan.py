"""Says what has to be run: the experiments of figures, on the workloads that are at hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from eraseblock import Experiment, resolve
from eraseblock_reproduction import data, workloads
from eraseblock_reproduction.arithmetic import fields_of
from eraseblock_reproduction.data import Claim, Figure, Paper
from eraseblock_reproduction.selection import DRIVE, SERVED, SIMULATED, Run
from eraseblock_reproduction.traces import Survey
from eraseblock_reproduction.workloads import Source, Take


@dataclass
class FigurePlan:
    """A figure, and what is run or read for it."""

    paper: Paper
    figure: Figure
    runs: list[Run]
    # For each run its experiment.
    experiments: list[Experiment]
    # Whether claims need the records of its runs, and whether they need what `trace info` says.
    is_run: bool
    is_read: bool

    @property
    def sources(self) -> list[Source]:
        """What its workloads are, each once."""
        return list(dict.fromkeys(run.source for run in self.runs))


@dataclass
class Plan:
    """Everything that is asked for."""

    figures: list[FigurePlan]
    # Traces at hand that are not run, and files that are no traces.
    notices: list[str] = field(default_factory=list)

    @property
    def by_paper(self) -> dict[str, list[FigurePlan]]:
        """The figures by their papers' short names."""
        found: dict[str, list[FigurePlan]] = {}
        for figure in self.figures:
            found.setdefault(figure.paper.name, []).append(figure)
        return found

    @property
    def to_run(self) -> dict[tuple[str, Path], Experiment]:
        """The experiments to be run, each once."""
        found: dict[tuple[str, Path], Experiment] = {}
        for figure in self.figures:
            for experiment in figure.experiments if figure.is_run else ():
                found.setdefault(self.key(experiment), experiment)
        return found

    def key(self, experiment: Experiment) -> tuple[str, Path]:
        """What an experiment is known by."""
        return (experiment.text, experiment.base)


def plan(wanted: Sequence[tuple[Paper, Figure]], survey: Survey, take: Take = "own") -> Plan:
    """What these figures need."""
    figures = [_figure(paper, figure, survey, take) for paper, figure in wanted]
    return Plan(figures, _notices(wanted, survey, take))


def needs_a_run(paper: Paper, claim: Claim) -> bool:
    """Whether a claim is about what comes out of runs, and not of settings or workloads alone."""
    if claim.kind in ("statement", "setting") or claim.quantity is None:
        return False
    if claim.table.get("needs") or claim.table.get("waits"):
        return False
    quantity = paper.quantities[claim.quantity]
    texts = [quantity.value, *quantity.readings.values()]
    return not quantity.of_workload and any(fields_of(text) - {"config"} for text in texts)


def _figure(paper: Paper, figure: Figure, survey: Survey, take: Take) -> FigurePlan:
    claims = paper.claims_of(figure.name)
    runs, experiments = _runs(paper, figure, survey, take)
    of_workload = any(
        paper.quantities[claim.quantity].of_workload
        for claim in claims
        if claim.quantity is not None and not claim.table.get("waits")
    )
    is_run = figure.needs is None and any(needs_a_run(paper, claim) for claim in claims)
    return FigurePlan(paper, figure, runs, experiments, is_run, of_workload and not figure.needs)


def _runs(paper: Paper, figure: Figure, survey: Survey, take: Take) -> tuple[list[Run], list[Experiment]]:
    entries = data.workloads()
    sources = {
        name: workloads.source_of(name, entries[name], survey.traces, take) for name in figure.workloads
    }
    runs, experiments = [], []
    seen: set[str] = set()
    for file in figure.experiments:
        for found in _resolved((paper.folder / file).resolve()):
            config = found.config
            name = workloads.name_of(config["workload"], figure.workloads, entries)
            source = sources[name]
            experiment = found
            if source.path is not None:
                config["workload"] = workloads.replaced(config["workload"], source)
                experiment = Experiment(json.dumps(config), found.base)
                # A trace has no seeds: runs that differed in them are one now.
                if experiment.text in seen:
                    continue
                seen.add(experiment.text)
            settings: Mapping[str, Any] = {**config, "workload": name, "how": config["workload"]}
            ways = ({DRIVE: SIMULATED}, {DRIVE: SERVED}) if figure.served else ({},)
            for way in ways:
                runs.append(Run({**settings, **way}, source))
                experiments.append(experiment)
    return runs, experiments


@cache
def _resolved(path: Path) -> tuple[Experiment, ...]:
    return tuple(resolve(path))


def _notices(wanted: Sequence[tuple[Paper, Figure]], survey: Survey, take: Take) -> list[str]:
    entries = data.workloads()
    names = dict.fromkeys(name for _, figure in wanted for name in figure.workloads)
    notices = [
        sentence
        for name in names
        for sentence in workloads.named(
            name,
            entries[name],
            survey.traces,
            workloads.source_of(name, entries[name], survey.traces, take),
        )
    ]
    if survey.others:
        some = ", ".join(path.name for path in survey.others[:3])
        more = f" and {len(survey.others) - 3} more" if len(survey.others) > 3 else ""
        notices.append(f"--traces: no requests could be read from {some}{more}")
    return notices
