"""Prepares the studies for the HTML report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.charts import charts_of
from eraseblock_reproduction.beyond.headline import headline, worth_table
from eraseblock_reproduction.beyond.sentences import METHOD, sentences
from eraseblock_reproduction.beyond.study import NAME, TITLE
from eraseblock_reproduction.beyond.tables import contests_tables, pairs_table, standings_tables

_NAME = re.compile(r"`([^`]+)`")


def studies_html(answers: Sequence[StudyAnswer], plots: list[dict[str, Any]]) -> dict[str, Any]:
    """What the template shows; plots go behind those that are there."""
    return {
        "name": NAME,
        "title": TITLE,
        "method": METHOD,
        "studies": [_study(answer, plots) for answer in answers],
    }


def _marked(text: str) -> Markup:
    """Names of schemes as code."""
    return Markup(_NAME.sub(r"<code>\1</code>", str(escape(text))))


def _study(answer: StudyAnswer, plots: list[dict[str, Any]]) -> dict[str, Any]:
    tables = [worth_table(answer), pairs_table(answer), *standings_tables(answer)]
    numbers = []
    for chart in charts_of(answer):
        numbers.append((len(plots), chart.title))
        plots.append(chart.spec)
    return {
        "name": answer.study.name,
        "title": answer.study.title,
        "asks": answer.study.asks,
        "note": _marked(answer.study.note),
        "errors": answer.errors,
        "sentences": [_marked(one) for one in (*headline(answer), *sentences(answer))],
        "plots": numbers,
        "standings": [table for table in tables if table is not None],
        "contests": contests_tables(answer),
        "refusals": [(reason, len(trials)) for reason, trials in answer.refusals],
        "distrusted": [
            (", ".join(part for part in vars(one.design).values() if part), one.distrust)
            for one in answer.distrusted
        ],
    }
