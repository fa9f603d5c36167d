"""The page of answers: what they are first, then for each its figures and its commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from eraseblock import _core
from eraseblock.advice.answer import Answer
from eraseblock.advice.picture import chart, drawable
from eraseblock.advice.questions import QUESTIONS
from eraseblock.plotting import enclosed_script
from eraseblock.report.assets import asset, page_style, template
from eraseblock.report.palette import colours
from eraseblock.results.files import replace_file

# In a folder of results.
NAME = "advice.html"
_ADVICE = "eraseblock.advice"
# In the order in which they need each other; the page's own starts it.
_SHARED = ("dom", "theme", "copy")


def keep(answers: Sequence[Answer], title: str, folder: Path) -> None:
    """Write the page into a folder of results."""
    replace_file(folder / NAME, [build_page(answers, title).encode()])


def build_page(answers: Sequence[Answer], title: str) -> str:
    """The page as HTML text, which needs nothing from outside."""
    specs = [_spec(answer) for answer in answers]
    light, dark = colours()
    return template("advice.html.j2", _ADVICE).render(
        title=title,
        sections=[_section(answer) for answer in answers],
        styles=[
            Markup(page_style()),
            Markup(asset("styles", "parts.css")),
            Markup(asset("styles", "advice.css", _ADVICE)),
        ],
        scripts=[
            *(Markup(asset("scripts", f"{name}.js")) for name in _SHARED),
            Markup(asset("scripts", "main.js", _ADVICE)),
        ],
        plotting=Markup(enclosed_script("vegaEmbed")),
        data=Markup(json.dumps(specs).replace("<", "\\u003c")),
        colours={key: (light[key], dark[key]) for key in light},
        version=_core.version(),
    )


def _section(answer: Answer) -> dict[str, Any]:
    """What the template shows of an answer."""
    table = answer.table
    numbers = {
        key for key in table.columns if any(isinstance(row.get(key), int | float) for row in table.rows)
    }
    return {
        "name": answer.question,
        "asks": QUESTIONS[answer.question][0],
        "sentence": _with_code(answer.sentence),
        "doubts": [_with_code(doubt) for doubt in answer.doubts],
        "picture": answer.picture.title,
        "drawn": drawable(answer),
        "heads": [{"title": title, "text": key not in numbers} for key, title in table.columns.items()],
        "rows": [
            {"cells": row, "taken": index == table.taken, "doubted": table.doubted(index)}
            for index, row in enumerate(table.shown)
        ],
        "commands": answer.commands,
    }


def _with_code(text: str) -> Markup:
    """Names in backquotes as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _spec(answer: Answer) -> dict[str, Any] | None:
    """The picture for Vega-Lite; the page gives it width, colours and a title."""
    if not drawable(answer):
        return None
    found: dict[str, Any] = chart(answer).to_dict()
    for key in ("config", "title", "width"):
        found.pop(key, None)
    # Bars are as many as there are rows; a step of no fixed height would not let the picture fit a width.
    if isinstance(found.get("height"), dict):
        found["height"] = found["height"]["step"] * len(answer.table.rows)
    for layer in found.get("layer", []):
        for key in ("title", "width", "height"):
            layer.pop(key, None)
    return found
