"""Prints what came out of a reproduction: each figure's claims with their verdicts, and the counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.toolkit import duration
from eraseblock_reproduction import wording
from eraseblock_reproduction.answers import Answer, FigureAnswer, PaperAnswer, counts
from eraseblock_reproduction.data import NEEDS, Paper
from eraseblock_reproduction.finding import CONTRADICTS, DIRECTION, NOT, PARTLY, REPRODUCED
from eraseblock_reproduction.headline import asides, beside
from eraseblock_reproduction.sensitivity import Sensitivity

_STYLES = {REPRODUCED: "green", PARTLY: "yellow", DIRECTION: "yellow", NOT: "red", CONTRADICTS: "magenta"}


def print_reproduction(
    console: Console, papers: Sequence[PaperAnswer], *, brief: bool = False, fresh: bool = True
) -> None:
    """Print all figures, or with `brief` only the counts; what verdicts hang on, if just found out."""
    for paper in papers:
        console.print(Text(f"{paper.paper.title} ({paper.paper.source}, {paper.paper.year})", "bold"))
        if brief:
            console.print(_overview(paper))
        else:
            for figure in paper.figures:
                _print_figure(console, paper, figure)
        if paper.study is not None and fresh:
            _print_sensitivity(console, paper.study)
        if len(paper.figures) > 1:
            console.print(_headline(paper))
            console.print()
    if len(papers) > 1:
        console.print(Text("All papers", "bold"))
        console.print(_counts([answer for paper in papers for answer in paper.results]))
    if sentence := beside([answer for paper in papers for answer in paper.answers]):
        console.print(Text(sentence, "dim"))


def paper_table(paper: Paper) -> Table:
    """The figures of a paper, and how many claims each has."""
    title = f"{paper.name}: {paper.title} ({paper.authors}, {paper.source}, {paper.year})"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure", no_wrap=True, style="bold")
    table.add_column("what it shows")
    table.add_column("claims", justify="right")
    for figure in paper.figures.values():
        what = Text(figure.title)
        if figure.needs is not None:
            what.append(f" ({NEEDS[figure.needs]})", "dim")
        table.add_row(figure.name, what, str(len(paper.claims_of(figure.name))))
    return table


def papers_json(papers: Sequence[Paper]) -> list[dict[str, Any]]:
    """Papers and their figures."""
    return [
        {
            **{key: getattr(paper, key) for key in ("name", "title", "authors", "source", "year")},
            "figures": [
                {
                    "name": figure.name,
                    "title": figure.title,
                    "section": figure.section,
                    "needs": figure.needs,
                    "claims": len(paper.claims_of(figure.name)),
                }
                for figure in paper.figures.values()
            ],
        }
        for paper in papers
    ]


def _print_figure(console: Console, paper: PaperAnswer, one: FigureAnswer) -> None:
    figure = one.figure
    console.print()
    console.print(Text.assemble((figure.label, "bold"), f": {figure.title} (section {figure.section})"))
    for source in one.plan.sources:
        console.print(Text(f"{source.called}: {source.sentence}", "dim"))
    if figure.needs is not None:
        console.print(Text(str(figure.reason), "yellow"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("the paper says", ratio=5, overflow="fold")
    table.add_column("stated", ratio=2, overflow="fold")
    table.add_column("here", ratio=4, overflow="fold")
    table.add_column("verdict", ratio=3, overflow="fold")
    for answer in one.answers:
        table.add_row(*_row(paper, answer))
    console.print(table)
    if one.untrusted:
        console.print(Text(f"{one.untrusted} of {len(one.plan.runs)} runs are not to be trusted", "bold red"))


def _print_sensitivity(console: Console, study: Sensitivity) -> None:
    console.print()
    console.print(Text(study.sentence()))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("done in another way", ratio=3, overflow="fold")
    table.add_column("left open", ratio=4, overflow="fold")
    table.add_column("what comes out", ratio=5, overflow="fold")
    movers = study.movers()
    for name, way in study.ways.items():
        if name not in movers and not way.note:
            continue
        which = Text()
        for claim, was, under in movers.get(name, ()):
            which.append("\n" if which else "")
            which.append(f"{claim}: {under.ours}: ")
            which.append(under.verdict, _STYLES.get(under.verdict, "dim"))
            which.append(f" (was {was.ours}: {was.verdict})", "dim")
        if way.note:
            which.append("\n" if which else "")
            which.append(way.note, "dim")
        table.add_row(name, way.open, which)
    if table.row_count:
        console.print(table)
    for claim, one in study.claims.items():
        for pair, under in one.pairs.items():
            console.print(Text(f"{claim} under {pair}: {under.ours}: {under.verdict} (was {one.verdict})"))


def _row(paper: PaperAnswer, answer: Answer) -> list[Text]:
    claim, finding = answer.claim, answer.finding
    says = Text(claim.says)
    if claim.part:
        says.append(f" ({claim.part})", "dim")
    if not claim.counts:
        aside = f"follows from {', '.join(claim.follows)}" if claim.follows else claim.shows
        says.append(f"\n{aside}", "dim")
    here = Text(wording.ours(answer.paper, claim, finding))
    for name, other in finding.readings.items():
        if other.verdict != finding.verdict:
            here.append(f"\n{name}: {wording.ours(answer.paper, claim, other)}: {other.verdict}", "dim")
    verdict = Text(finding.verdict, _STYLES.get(finding.verdict, "dim"))
    if finding.reason:
        verdict.append(f": {finding.reason}", "dim")
    if robust := paper.robust(answer):
        verdict.append(f"\nrobust {robust}", "dim")
    return [says, Text(wording.stated(answer.paper, claim)), here, verdict]


def _overview(paper: PaperAnswer) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    table.add_column("claims", justify="right")
    table.add_column("runs", justify="right")
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("verdicts")
    for one in paper.figures:
        runs = sum(run.record is not None for run in one.plan.runs)
        time = duration(1e9 * one.seconds) if runs else ""
        table.add_row(one.figure.label, str(len(one.answers)), str(runs or ""), time, _counts(one.answers))
    return table


def _headline(paper: PaperAnswer) -> Text:
    """How many results have which verdict, and what has to be said beside it."""
    text = Text.assemble(f"{len(paper.results)} results: ", _counts(paper.results))
    for aside in asides(paper):
        text.append(f"\n{aside}", "dim")
    return text


def _counts(answers: Sequence[Answer]) -> Text:
    text = Text()
    for verdict, count in counts(answers).items():
        text.append(" · " if text else "")
        text.append(f"{count} {verdict}", _STYLES.get(verdict, "dim"))
    return text
