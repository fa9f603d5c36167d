"""Puts together what came out: each claim with its verdict, and the counts of a figure, a paper and all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock_reproduction import wording
from eraseblock_reproduction.data import RESULT, Claim, Figure, Paper
from eraseblock_reproduction.finding import CONTRADICTS, UNDECIDED, VERDICTS, Finding
from eraseblock_reproduction.plan import FigurePlan, Plan
from eraseblock_reproduction.selection import Run, select
from eraseblock_reproduction.sensitivity import Sensitivity
from eraseblock_reproduction.verdicts import judge
from eraseblock_reproduction.workloads import Source

# What is said of a result of which nobody tried what its verdict hangs on.
NOT_TRIED = "none run"


@dataclass(frozen=True)
class Answer:
    """One claim and what came out for it."""

    paper: Paper
    claim: Claim
    finding: Finding
    sources: tuple[Source, ...]

    @property
    def on(self) -> str:
        """Whether it is of the paper's own workload or of a substitute; empty where there is no figure."""
        kinds = {source.kind for source in self.sources}
        if not kinds or (self.finding.ours is None and not self.finding.steps and not self.finding.held):
            return ""
        if kinds <= {"own"}:
            return "own"
        if kinds <= {"own", "part"}:
            return "part"
        return "substitute" if "own" not in kinds else "own and substitute"

    def as_json(self) -> dict[str, Any]:
        """Everything about it."""
        claim, finding = self.claim, self.finding
        table = {
            "id": claim.id,
            "section": claim.section,
            "says": claim.says,
            "shows": claim.shows,
            "follows": claim.follows,
            "cause": claim.cause,
            "kind": claim.kind,
            "quantity": claim.quantity,
            "stated": wording.stated(self.paper, claim),
            "verdict": finding.verdict,
            "on": self.on,
            "workloads": [source.workload for source in self.sources],
            "ours": wording.ours(self.paper, claim, finding),
            **_figures(finding),
            "readings": {
                name: {
                    "verdict": other.verdict,
                    "ours": wording.ours(self.paper, claim, other),
                    **_figures(other),
                }
                for name, other in finding.readings.items()
            },
            "reason": finding.reason,
            "note": claim.table.get("note", ""),
        }
        return {key: value for key, value in table.items() if value not in (None, "", [], {})}


@dataclass(frozen=True)
class FigureAnswer:
    """A figure, its claims, and what was run for it."""

    plan: FigurePlan
    answers: tuple[Answer, ...]

    @property
    def figure(self) -> Figure:
        """The figure."""
        return self.plan.figure

    @property
    def errors(self) -> list[str]:
        """Why runs of it have no record, each reason once."""
        return list(dict.fromkeys(run.error for run in self.plan.runs if run.error))

    @property
    def seconds(self) -> float:
        """How long its runs took, one after the other."""
        speeds = [run.record["engine"] for run in self.plan.runs if run.record and "engine" in run.record]
        return sum((speed.get(part) or 0.0) for speed in speeds for part in ("wall_s", "fill_s"))

    @property
    def untrusted(self) -> int:
        """Runs whose figures may not be relied on."""
        return sum(run.record is not None and not run.record.get("trusted", True) for run in self.plan.runs)

    def as_json(self) -> dict[str, Any]:
        """Everything about it."""
        figure, runs = self.figure, self.plan.runs
        return {
            "figure": figure.name,
            "title": figure.title,
            "section": figure.section,
            "needs": figure.needs,
            "runs": sum(run.record is not None for run in runs),
            "failed": {error: sum(run.error == error for run in runs) for error in self.errors},
            "untrusted": self.untrusted,
            "workloads": [source.as_json() for source in self.plan.sources],
            "counts": counts(self.answers),
            "claims": [answer.as_json() for answer in self.answers],
        }


@dataclass(frozen=True)
class PaperAnswer:
    """A paper, and those of its figures that were asked for."""

    paper: Paper
    figures: tuple[FigureAnswer, ...]
    # What verdicts hang on, if that was found out or is stored.
    study: Sensitivity | None = None

    @property
    def answers(self) -> list[Answer]:
        """The claims of all figures."""
        return [answer for figure in self.figures for answer in figure.answers]

    @property
    def results(self) -> list[Answer]:
        """The claims that say how much of the paper holds: results, each fact once."""
        return [answer for answer in self.answers if answer.claim.counts]

    @property
    def counts(self) -> dict[str, int]:
        """The headline: how many results have which verdict."""
        return counts(self.results)

    @property
    def main(self) -> list[Answer]:
        """What came out for the claims that the paper is cited for."""
        named = self.paper.main.claims if self.paper.main is not None else ()
        return [
            answer
            for name in named
            for answer in self.answers
            if name in (answer.claim.id, answer.claim.whole)
        ]

    def robust(self, answer: Answer) -> str:
        """How many of how many choices keep a verdict; empty where nothing was tried, or nothing decides."""
        if self.study is None:
            return ""
        tried = self.study.claims.get(answer.claim.id)
        if tried is None or not tried.choices:
            decided = answer.finding.verdict not in (UNDECIDED, CONTRADICTS)
            return NOT_TRIED if decided and answer.claim.shows == RESULT else ""
        # With one seed a verdict may be another one: what is kept is that.
        of = "" if tried.verdict == answer.finding.verdict else f" (as {tried.verdict})"
        return f"{tried.robust}{of}"

    @property
    def sources(self) -> list[Source]:
        """All workloads, each once."""
        return list(dict.fromkeys(source for figure in self.figures for source in figure.plan.sources))

    def as_json(self) -> dict[str, Any]:
        """Everything about it."""
        paper = self.paper
        return {
            "paper": paper.name,
            "title": paper.title,
            "authors": paper.authors,
            "source": paper.source,
            "year": paper.year,
            "results": self.counts,
            "figures": [figure.as_json() for figure in self.figures],
            **({"sensitivity": self.study.as_json()} if self.study is not None else {}),
        }


def answers(plan: Plan, studies: Mapping[str, Sensitivity] | None = None) -> list[PaperAnswer]:
    """Judge every claim of the figures that were run; `studies` say what verdicts hang on, by paper."""
    papers: dict[str, list[FigureAnswer]] = {}
    for one in plan.figures:
        found = tuple(_answer(one, claim) for claim in one.paper.claims_of(one.figure.name))
        papers.setdefault(one.paper.name, []).append(FigureAnswer(one, found))
    return [
        PaperAnswer(figures[0].plan.paper, tuple(figures), (studies or {}).get(name))
        for name, figures in papers.items()
    ]


def counts(found: Iterable[Answer]) -> dict[str, int]:
    """How many claims have which verdict, in the order of the verdicts."""
    counted = Counter(answer.finding.verdict for answer in found)
    return {verdict: counted[verdict] for verdict in VERDICTS if counted[verdict]}


def failed(papers: Sequence[PaperAnswer]) -> list[str]:
    """Why runs failed, each reason once."""
    return list(dict.fromkeys(error for paper in papers for one in paper.figures for error in one.errors))


def _answer(plan: FigurePlan, claim: Claim) -> Answer:
    finding = judge(plan.paper, plan.figure, claim, plan.runs)
    runs: Iterable[Run] = (run for point in finding.points for run in (point.run, point.other) if run)
    # A spread over workloads is of them all, and not of the one that stands for it.
    if not finding.points or claim.table.get("spread") == "workload":
        runs = select(plan.runs, claim.where)
    return Answer(plan.paper, claim, finding, tuple(dict.fromkeys(run.source for run in runs)))


def _figures(finding: Finding) -> dict[str, Any]:
    """The numbers of a finding."""
    table: dict[str, Any] = {}
    if finding.ours is not None:
        table = {
            "value": finding.ours.mean,
            "interval": None if finding.ours.half is None else [finding.ours.low, finding.ours.high],
            "seeds": finding.ours.seeds,
            "lowest": min(finding.effects),
            "highest": max(finding.effects),
        }
    if finding.steps:
        table["steps"] = list(finding.steps)
    if finding.held is not None:
        table["holds"], table["points"] = finding.held
    if finding.pairs is not None:
        table["pairs_in_order"], table["pairs"] = finding.pairs
    return table
