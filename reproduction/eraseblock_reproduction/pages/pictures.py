"""Draws what a paper's page shows: our curves with the printed numbers over them, as SVG."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from eraseblock.toolkit import chart_theme, colours
from eraseblock_reproduction.answers import PaperAnswer
from eraseblock_reproduction.charts import charts_of, effects_of

_SERIES = 8
_WORDS = re.compile(r' (?:aria-[a-z]+|role|class|pointer-events)="[^"]*"')
_TAG = re.compile(r"<[^>]*>")
_LONG_NUMBER = re.compile(r"-?\d+\.\d\d+")


@dataclass(frozen=True)
class Picture:
    """One picture, and the points that are drawn."""

    file: str
    title: str
    # In a word or two.
    of: str
    svg: str
    points: list[dict[str, Any]]


def pictures_of(paper: PaperAnswer) -> list[Picture]:
    """The pictures that the paper's data ask for; those that nothing was run for are left out."""
    import vl_convert

    wanted = paper.paper.main.charts if paper.paper.main is not None else ()
    by_name = {one.figure.name: one for one in paper.figures}
    found = []
    for figure, quantity in wanted:
        one = by_name.get(figure)
        charts = (
            effects_of(paper.results, by_id=True) if not figure else [] if one is None else charts_of(one)
        )
        chart = next((chart for chart in charts if chart.quantity == quantity), None)
        if chart is None:
            continue
        file = "-".join([paper.paper.name, *([figure] if figure else []), quantity or "effects"]) + ".svg"
        svg = smaller(vl_convert.vegalite_to_svg(chart.spec, config=_theme()))
        title = f"{one.figure.label}: {chart.title}" if one is not None else chart.title
        of = one.figure.label if one is not None else "All results"
        found.append(Picture(file, title, of, svg, chart.spec["data"]["values"]))
    return found


def smaller(svg: str) -> str:
    """Half as long: without what tells each mark again in words, and placed to a tenth of a point.

    What stands between the tags is read: an axis with 0.05, 0.1 and 0.15 keeps its digits.
    """

    def placed(tag: re.Match[str]) -> str:
        return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.1f}", _WORDS.sub("", tag[0]))

    return _TAG.sub(placed, svg)


def _theme() -> dict[str, Any]:
    """The colours of the reports, on white: a page does not say whether it is light or dark."""
    palette = colours()[0]
    theme = chart_theme("light")
    theme["range"] = {"category": [palette[f"--s{index}"] for index in range(_SERIES)]}
    theme["background"] = "#ffffff"
    theme["padding"] = 10
    theme["header"] = {"labelColor": theme["legend"]["labelColor"]}
    theme["legend"].pop("fillColor", None)
    return theme
