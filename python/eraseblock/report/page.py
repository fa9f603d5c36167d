"""Builds the page: packs the data of the runs and fills the template with it, the style and the scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from eraseblock import _core
from eraseblock.plotting import enclosed_script
from eraseblock.report.assets import asset, template
from eraseblock.report.columns import axes_of, figures_of, keys_of, sentences_of, settings_of
from eraseblock.report.commands import commands_of
from eraseblock.report.details import details_of, pack
from eraseblock.report.fleet import fleet_of
from eraseblock.report.palette import colours
from eraseblock.report.sensitivity import section_of
from eraseblock.report.verdicts import verdicts_of
from eraseblock.results.advice import Advice, advice_of
from eraseblock.results.conclusion import conclusions_of
from eraseblock.results.contest import contests_of
from eraseblock.results.fleet import FEW, Fleet, fleets_of, volume_of
from eraseblock.results.headline import MEAN
from eraseblock.results.missing import Missing
from eraseblock.results.record import Record
from eraseblock.results.view import rows_of

# More runs than this would make a page that is too large; those left out are counted in it.
MOST_RUNS = 10_000
# More volumes of a trace than this, each on a drive of its own, are told together, and not run by run.
MOST_VOLUMES = 50
# In the order in which they need each other; `main` starts the page.
_SCRIPTS = (
    "dom",
    "data",
    "units",
    "theme",
    "download",
    "tip",
    "plot",
    "scales",
    "state",
    "ranks",
    "lift",
    "copy",
    "command",
    "figures",
    "curves",
    "ends",
    "bars",
    "programs",
    "lengths",
    "panels",
    "legend",
    "filters",
    "table",
    "latency",
    "series",
    "wear",
    "run",
    "main",
)
_STYLES = ("page", "parts", "readings")
# Advice about many runs names them shortly.
_LONG = 160


def build_page(
    records: Sequence[Record],
    sources: Sequence[str] = (),
    analysis: dict[str, Any] | None = None,
    missing: Sequence[Missing] = (),
) -> str:
    """The whole report as one HTML text that needs nothing from outside.

    Args:
        records: the runs.
        sources: for each run the results it is from, where they are from several.
        analysis: what other readings of the papers make of these runs, if they were tried.
        missing: runs that belong to these and have no results.
    """
    fleets = fleets_of(rows_of(records)) if any(volume_of(one) is not None for one in records) else []
    kept = _shown(records, fleets)
    shown = [records[index] for index in kept]
    sources = [sources[index] for index in kept] if sources else []
    rows = rows_of(shown)
    details = details_of(shown)
    axes = axes_of(rows, sources or [""] * len(rows))
    # Of many volumes, what they come to together says more than each does.
    told = {id(row.record) for fleet in fleets if len(fleet.rows) > FEW for row in fleet.rows}
    conclusions = conclusions_of([row for row in rows if id(row.record) not in told])
    losers = [design for one in contests_of(rows) for design in one.cut_short]
    cut_short = {id(row.record) for design in losers for row in design.rows}
    name = next((str(record["name"]) for record in shown if record.get("name")), "results")
    data = {
        "name": name,
        "version": _core.version(),
        "made": sorted({str(record.get("version")) for record in shown}),
        "count": len(rows),
        "left_out": len(records) - len(shown),
        "merged": details.merged,
        "keys": keys_of(shown),
        "axes": axes,
        "counts": conclusions[0].column.path if conclusions else (MEAN.path if fleets else ""),
        "figures": figures_of(shown),
        "config": settings_of([record["config"] for record in shown]),
        "traces": settings_of([record["trace"] for record in shown]),
        "notes": sentences_of(shown, cut_short),
        "commands": commands_of(shown),
    }
    light, dark = colours()
    return template("page.html.j2").render(
        name=name,
        styles=[Markup(asset("styles", f"{style}.css")) for style in _STYLES],
        scripts=[Markup(asset("scripts", f"{script}.js")) for script in _SCRIPTS],
        plotting=Markup(enclosed_script("vegaEmbed")),
        data=Markup(pack(data)),
        details=Markup("\n".join(details.packed)),
        colours={key: (light[key], dark[key]) for key in light},
        counts=_counts(axes, len(rows)),
        drives=list(dict.fromkeys(row.drive for row in rows)),
        verdicts=verdicts_of(conclusions),
        fleet=fleet_of(fleets),
        advice=[_shortened(item) for item in advice_of(rows)],
        left_out=data["left_out"],
        missing=[_listed(one) for one in missing],
        section=None if analysis is None else section_of(analysis),
        version=data["version"],
    )


def _shown(records: Sequence[Record], fleets: Sequence[Fleet]) -> list[int]:
    """Places of the runs that the page shows one by one: of many volumes the busiest."""
    left_out: set[int] = set()
    for fleet in fleets:
        ordered = sorted(fleet.rows, key=lambda row: -int(row.figure("trace.requests") or 0))
        left_out |= {id(row.record) for row in ordered[MOST_VOLUMES:]}
    return [index for index, record in enumerate(records) if id(record) not in left_out][:MOST_RUNS]


def _counts(axes: Sequence[dict[str, Any]], runs: int) -> list[str]:
    """How many there are of what: `24 runs`, `4 schemes`."""
    counts = [f"{runs} run{'s' if runs != 1 else ''}"]
    for axis in axes:
        number = len(axis["labels"])
        if number > 1 and not axis.get("implied"):
            title = axis["title"]
            counts.append(f"{number} values of {title}" if "." in title else f"{number} {_plural(title)}")
    return counts


def _plural(title: str) -> str:
    word = title if title == "FTL" else title.lower()
    return word if word.endswith("results") else f"{word}s"


def _shortened(advice: Advice) -> Advice:
    if len(advice.runs) <= _LONG:
        return advice
    start = advice.runs[:_LONG].rpartition(",")[0]
    return replace(advice, runs=f"{advice.count} runs, such as {start}")


def _listed(missing: Missing) -> dict[str, str]:
    """Runs that have no results, the first of them by name."""
    runs = "; ".join(missing.runs)
    if len(runs) > _LONG:
        runs = f"{len(missing.runs)} runs, such as {missing.runs[0]}"
    return {"title": "Refused" if missing.refused else "Failed", "sentence": missing.sentence, "runs": runs}
