"""The report's section on other readings of the papers: what `sensitivity.json` says, in words."""

from __future__ import annotations

from typing import Any

from eraseblock.readings import wording
from eraseblock.results.record import Analysis

_CLASSES = {wording.REVERSES: "distrust", wording.LEVELS: "doubt", wording.PARTS: "doubt"}


def section_of(analysis: Analysis) -> dict[str, Any]:
    """What the template shows."""
    rows = wording.choice_rows(analysis)
    return {
        "metrics": wording.metrics(analysis),
        "rows": [row for row in rows if row.ran and not row.idle],
        "idle": [row for row in rows if row.idle],
        "noise": wording.NOISE if any(row.noise and not row.idle for row in rows) else "",
        "sentences": [
            *wording.not_switched(analysis),
            *wording.refusals(analysis),
            *filter(None, [wording.distrusted(analysis)]),
        ],
        "summary": wording.summary(analysis),
        "marks": wording.MARKS,
        "classes": _CLASSES,
        "contests": [
            (
                wording.title(analysis, contest),
                [(metric, wording.order(analysis, contest, metric)) for metric in contest["rankings"]],
            )
            for contest in analysis["contests"]
        ],
        "moved": wording.moved(analysis),
    }
