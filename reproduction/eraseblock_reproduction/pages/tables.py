"""Writes what is too long for a page as data beside it: all claims, and the points of the pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from eraseblock_reproduction import wording
from eraseblock_reproduction.answers import Answer, PaperAnswer
from eraseblock_reproduction.pages.pictures import Picture

_CLAIMS = (
    *("id", "figure", "section", "shows", "follows", "says", "of", "stated", "here", "value", "low", "high"),
    *("seeds", "verdict", "robust", "reason", "readings", "on", "workloads", "note"),
)
# What says in a claim which runs it is of.
_OF = ("where", "left", "right", "relative_to", "along", "spread", "over")
_POINTS = ("file", "workload", "series", "x", "y", "low", "high", "what")


def claims_csv(paper: PaperAnswer) -> str:
    """A row for each claim, figure by figure."""
    return _csv(_CLAIMS, (_claim(paper, answer) for answer in paper.answers))


def pictures_csv(pictures: Sequence[Picture]) -> str:
    """A row for each point that is drawn, ours and the paper's."""
    return _csv(_POINTS, (_point(picture, datum) for picture in pictures for datum in picture.points))


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _claim(paper: PaperAnswer, answer: Answer) -> list[object]:
    claim, finding = answer.claim, answer.finding
    ours = finding.ours
    figures = (None, None, None, None) if ours is None else (ours.mean, ours.low, ours.high, ours.seeds)
    readings = [
        ": ".join(filter(None, [name, wording.ours(paper.paper, claim, one), one.verdict]))
        for name, one in finding.readings.items()
    ]
    return [
        *(claim.id, claim.figure, claim.section, claim.shows, " ".join(claim.follows)),
        f"{claim.says} ({claim.part})" if claim.part else claim.says,
        "; ".join(f"{key}: {_selected(claim.table[key])}" for key in _OF if key in claim.table),
        *(wording.stated(paper.paper, claim), wording.ours(paper.paper, claim, finding)),
        *(_digits(figure) for figure in figures),
        *(finding.verdict, paper.robust(answer), finding.reason, "; ".join(readings)),
        *(answer.on, " ".join(source.workload for source in answer.sources), claim.table.get("note", "")),
    ]


def _selected(value: object) -> str:
    """A selection as text: settings and what they are to be."""
    if isinstance(value, Mapping):
        inner = {key: _selected(one) for key, one in value.items()}
        return ", ".join(f"{key} = {f'({text})' if ' = ' in text else text}" for key, text in inner.items())
    if isinstance(value, list):
        return " or ".join(_selected(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _point(picture: Picture, datum: dict[str, object]) -> list[object]:
    what = datum.get("says") or datum.get("claim") or "ours"
    series = datum.get("series") or datum.get("kind") or ""
    numbers = [_digits(datum.get(key)) for key in ("x", "y", "low", "high")]
    return [picture.file, datum.get("workload", ""), series, *numbers, what]


def _digits(value: object) -> str:
    """Six digits tell what any page shows."""
    return f"{value:.6g}" if isinstance(value, int | float) else ""
