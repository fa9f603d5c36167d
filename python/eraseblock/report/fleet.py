"""The section of the page about the volumes of a trace, each of which had a drive of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eraseblock.report.verdicts import marked
from eraseblock.results.fleet import Fleet, Sheet, sentences_of, sheets_of


@dataclass(frozen=True)
class Section:
    """Tables of totals and spread, and the sentences above them."""

    sheets: list[Sheet]
    sentences: list[Markup]


def fleet_of(fleets: Sequence[Fleet]) -> Section | None:
    """The section; none where no design ran on several volumes."""
    return Section(sheets_of(fleets), [marked(text) for text in sentences_of(fleets)]) if fleets else None
