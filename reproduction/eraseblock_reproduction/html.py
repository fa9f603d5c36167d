"""Builds the report of a reproduction: one HTML page with all figures, plots and claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from eraseblock.toolkit import asset, chart_theme, colours, page_style, plotting_script, template, version
from eraseblock_reproduction import wording
from eraseblock_reproduction.answers import Answer, PaperAnswer, counts
from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.html import studies_html
from eraseblock_reproduction.charts import charts_of
from eraseblock_reproduction.finding import CONTRADICTS, DIRECTION, NOT, PARTLY, REPRODUCED, VERDICTS
from eraseblock_reproduction.findings import findings_of
from eraseblock_reproduction.headline import asides, beside

_PACKAGE = "eraseblock_reproduction"
# How each verdict is coloured; all others are quiet.
_CLASSES = {REPRODUCED: "good", PARTLY: "half", DIRECTION: "half", NOT: "bad", CONTRADICTS: "odd"}
_SERIES = 8


def build_page(papers: Sequence[PaperAnswer], studies: Sequence[StudyAnswer] = ()) -> str:
    """The whole report as one HTML text that needs nothing from outside."""
    light, dark = colours()
    plots: list[dict[str, Any]] = []
    shown = [_paper(paper, plots) for paper in papers]
    beyond = studies_html(studies, plots)
    everything = [answer for paper in papers for answer in paper.answers]
    results = [answer for paper in papers for answer in paper.results]
    used = [verdict for verdict in VERDICTS if counts(results).get(verdict)]
    data = {"plots": plots, "themes": {"light": _theme("light", light), "dark": _theme("dark", dark)}}
    return template("reproduction.html.j2", _PACKAGE).render(
        version=version(),
        styles=[Markup(page_style()), Markup(asset("styles", "reproduction.css", _PACKAGE))],
        colours={key: (light[key], dark[key]) for key in light},
        plotting=Markup(plotting_script("plot")),
        data=Markup(json.dumps(data).replace("<", "\\u003c")),
        papers=shown,
        beyond=beyond,
        used=used,
        classes=_CLASSES,
        total=counts(results),
        results=len(results),
        claims=len(everything),
        beside=beside(everything),
    )


def _paper(paper: PaperAnswer, plots: list[dict[str, Any]]) -> dict[str, Any]:
    figures = []
    for one in paper.figures:
        numbers = []
        for chart in charts_of(one):
            numbers.append((len(plots), chart.title))
            plots.append(chart.spec)
        figures.append(
            {
                "id": f"{paper.paper.name}-{one.figure.name}",
                "figure": one.figure,
                "plots": numbers,
                "counts": counts(one.answers),
                "rows": [_row(paper, answer) for answer in one.answers],
                "sources": one.plan.sources,
                "errors": one.errors,
                "untrusted": one.untrusted,
                "runs": len(one.plan.runs),
            }
        )
    return {
        "paper": paper.paper,
        "counts": paper.counts,
        "results": len(paper.results),
        "asides": asides(paper),
        "figures": figures,
        "findings": findings_of(paper.paper),
        "sources": paper.sources,
        "study": paper.study,
        "sensitivity": "" if paper.study is None else paper.study.sentence(),
    }


def _row(paper: PaperAnswer, answer: Answer) -> dict[str, Any]:
    claim, finding = answer.claim, answer.finding
    return {
        "id": claim.id,
        "says": claim.says,
        "part": claim.part,
        "shows": ""
        if claim.counts
        else ", ".join(f"follows from {one}" for one in claim.follows) or claim.shows,
        "robust": paper.robust(answer),
        "stated": wording.stated(answer.paper, claim),
        "ours": wording.ours(answer.paper, claim, finding),
        "verdict": finding.verdict,
        "class": _CLASSES.get(finding.verdict, "quiet"),
        "on": answer.on,
        "reason": finding.reason,
        "note": claim.table.get("note", ""),
        "readings": [
            (name, wording.other_reading(answer.paper, claim, other), other.verdict)
            for name, other in finding.readings.items()
        ],
    }


def _theme(name: str, palette: dict[str, str]) -> dict[str, Any]:
    """The plots' colours: those of the other reports, with a series for each scheme."""
    theme = chart_theme(name)
    theme["range"] = {"category": [palette[f"--s{index}"] for index in range(_SERIES)]}
    theme["background"] = None
    theme["padding"] = 4
    theme["header"] = {"labelColor": theme["legend"]["labelColor"]}
    theme["legend"].pop("fillColor")
    return theme
