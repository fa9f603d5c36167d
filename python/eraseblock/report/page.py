"""Builds the page: gathers panels, tables and configuration, and fills the template."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from eraseblock import _core
from eraseblock.report.charts import charts_of
from eraseblock.report.palette import colours
from eraseblock.report.summary import findings_of
from eraseblock.results import units
from eraseblock.results.advice import advice_of
from eraseblock.results.flatten import flatten
from eraseblock.results.ranking import Good, is_best
from eraseblock.results.view import Row, groups_of, rows_of, schemes_of
from eraseblock.sweep import Record

# The plotting code that goes into the page; the page's own script calls `plot`.
_PLOT_BUNDLE = "window.plot = vegaEmbed;"
_TABLE: tuple[tuple[str, str, Callable[[float | None], str], Good | None], ...] = (
    ("Mean response", "response_ns.all.mean", units.duration, "low"),
    ("Read", "response_ns.read.mean", units.duration, "low"),
    ("Write", "response_ns.write.mean", units.duration, "low"),
    ("p99", "response_ns.all.p99", units.duration, "low"),
    ("Hit ratio", "hit_ratio.all", units.share, "high"),
    ("Erases", "flash.erases.total", units.count, "low"),
    ("WAF", "waf", units.ratio, "low"),
    ("Pages per flush", "flush_pages.after_padding.mean", units.pages, None),
    ("Requests/s", "throughput.iops", units.count, None),
    ("Energy (mJ)", "energy_mj", units.count, "low"),
    ("Buffer metadata", "buffer_metadata_bytes", units.size, None),
)


def build_page(records: Sequence[Record]) -> str:
    """The whole report as one HTML text that needs nothing from outside."""
    rows = rows_of(records)
    schemes = schemes_of(rows)
    panels = [
        _panel(f"panel{index}", group, schemes)
        for index, group in enumerate(groups_of(rows).values(), start=1)
    ]
    common, differing = _settings(records)
    light, dark = colours(schemes)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eraseblock.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        style=_asset("page.css"),
        script=_asset("page.js"),
        plotting=_plotting(),
        specs=_json({chart.id: chart.spec for panel in panels for chart in panel["charts"]}),
        light=light,
        dark=dark,
        panels=panels,
        schemes=schemes,
        columns=[title for title, *_ in _TABLE],
        advice=advice_of(rows),
        runs=len(rows),
        common=common,
        differing=differing,
        traces=_traces(rows),
        version=_core.version(),
        name=next((str(record["name"]) for record in records if record.get("name")), "results"),
    )


def _panel(panel: str, rows: Sequence[Row], schemes: Sequence[str]) -> dict[str, Any]:
    size, findings = findings_of(rows)
    return {
        "id": panel,
        "trace": rows[0].trace,
        "ftl": rows[0].ftl,
        "variant": rows[0].variant,
        "largest": size,
        "findings": findings,
        "charts": charts_of(panel, rows, schemes),
        "rows": [
            {
                "size": units.size(row.buffer_bytes),
                "scheme": row.scheme,
                "index": schemes.index(row.scheme),
                "trusted": row.trusted,
                "cells": [
                    (show(row.figure(path)), is_best(row, path, good, rows)) for _, path, show, good in _TABLE
                ],
            }
            for row in rows
        ],
    }


def _settings(records: Sequence[Record]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Settings that all runs share, and those that differ with their values in order."""
    flat = [flatten(record["config"]) for record in records]
    keys = dict.fromkeys(key for config in flat for key in config)
    common, differing = {}, {}
    for key in keys:
        # A key that only some schemes have is the same for all of those.
        values = list(dict.fromkeys(_plain(config[key]) for config in flat if config.get(key) is not None))
        if len(values) > 1:
            differing[key] = values
        elif values:
            common[key] = values[0]
    return common, differing


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _traces(rows: Sequence[Row]) -> list[Mapping[str, str]]:
    """Identity of each trace, once, without counts of what did not happen."""
    traces: dict[str, dict[str, str]] = {}
    for row in rows:
        identity = row.record["trace"]
        traces.setdefault(
            row.trace, {key: _plain(value) for key, value in flatten(identity).items() if value}
        )
    return list(traces.values())


def _asset(name: str) -> Markup:
    return Markup(
        resources.files("eraseblock.report").joinpath("templates", name).read_text(encoding="utf-8")
    )


def _plotting() -> Markup:
    """The plotting library, unable to end its script element early."""
    return Markup(vl_convert.javascript_bundle(_PLOT_BUNDLE).replace("</script", "<\\/script"))


def _json(value: Any) -> Markup:
    """JSON that stays inside its script element."""
    return Markup(json.dumps(value).replace("<", "\\u003c"))
