"""Draws the contests as Vega-Lite: who wins where, how each scheme stands to the baseline, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from eraseblock_reproduction.beyond.answers import Result, StudyAnswer
from eraseblock_reproduction.beyond.contests import Bout, ends
from eraseblock_reproduction.beyond.hits import Hits
from eraseblock_reproduction.beyond.sentences import percent, share_text, side_of
from eraseblock_reproduction.beyond.summary import Standing
from eraseblock_reproduction.charts import Chart, Spec

_STEP = 19
_CELL = 62
# Ratios are drawn from half to double the baseline's; what lies beyond has the colour of the end.
_FROM, _TO = 0.5, 2.0
_LIMIT = 260
# The column of the means.
_MEAN = "mean"


def charts_of(answer: StudyAnswer) -> list[Chart]:
    """All plots of a study."""
    found = []
    for contest in answer.study.contests:
        response = answer.result(contest.of, "response")
        if not any(bout.best for bout in response.bouts):
            continue
        words = {"buffer": "buffers", "ftl": "FTLs"}.get(contest.of, contest.of)
        if contest.of == "buffer":
            found.append(
                Chart(
                    "Who answers fastest where, and how far ahead of the next one (?: not told from it)",
                    _winners(response),
                )
            )
            found.append(_heat_map(response, words))
        if contest.at == "load":
            panels = [(load, response.at(load)) for load in response.values]
            title = f"Mean response time of {words} relative to {contest.baseline}, over all workloads"
        else:
            panels = [(one.measure.title, list(one.standings)) for one in answer.ranked(contest)]
            title = f"The {words} relative to {contest.baseline}, over all workloads (95 % intervals)"
        found.append(Chart(title, _standings(panels)))
        hits = answer.hits(contest)
        for one in () if hits is None else hits.hits:
            if one.shares:
                title = "Hits of every buffer under every workload, as a share of those of opt"
                found.append(Chart(f"{title}: {one.at}" if one.at else title, _hits(one)))
    return found


def _hits(hits: Hits) -> Spec:
    """Every buffer under every workload, and the mean with its interval."""
    order = [one.name for one in hits.shares]
    workloads = [bout.workload for bout in hits.bouts]
    cells = [
        {"name": place.name(bout.contest), "workload": bout.workload, "share": 100 * place.to_opt.mean}
        | {"text": share_text(place.to_opt), "hits": f"{100 * place.value:.2f} %"}
        for bout in hits.bouts
        for place in bout.places
        if place.to_opt is not None
    ]
    means = [
        {"name": one.name, "workload": _MEAN, "share": 100 * one.share.mean, "text": share_text(one.share)}
        for one in hits.shares
    ]
    return {
        "data": {"values": [*means, *cells]},
        "width": {"step": 44},
        "height": {"step": _STEP},
        "encoding": {
            "x": _names("workload", [_MEAN, *workloads], angle=-45),
            "y": _names("name", order),
            "tooltip": [{"field": key, "type": "nominal"} for key in ("name", "workload", "text", "hits")],
        },
        "layer": [
            {
                "mark": {"type": "rect", "stroke": None},
                "encoding": {
                    "color": {
                        "field": "share",
                        "type": "quantitative",
                        "scale": {"scheme": "blues", "domain": [0, 100], "clamp": True},
                        "legend": {"title": "% of opt's hits", "orient": "bottom", "gradientLength": 180},
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {
                    "text": {"field": "share", "type": "quantitative", "format": ".0f"},
                    "color": _ink("datum.share > 60"),
                },
            },
        ],
    }


def _winners(result: Result) -> Spec:
    values = [_winner(bout) for bout in result.bouts]
    text = {"field": "best", "type": "nominal"}
    return {
        "data": {"values": values},
        "width": {"step": _CELL},
        "height": {"step": 2 * _STEP},
        "encoding": {
            "x": _names("at", result.values, angle=-30),
            "y": _names("workload", list(dict.fromkeys(bout.workload for bout in result.bouts))),
            "tooltip": [
                {"field": key, "type": "nominal"} for key in ("workload", "at", "best", "next", "ahead")
            ],
        },
        "layer": [
            {
                "mark": {"type": "rect", "stroke": None},
                "encoding": {
                    "color": {
                        "field": "lead",
                        "type": "quantitative",
                        "scale": {"scheme": "blues", "domain": [0, 50], "clamp": True},
                        "legend": {
                            "title": "ahead of the next one (%)",
                            "orient": "bottom",
                            "gradientLength": 180,
                        },
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 10, "dy": -6},
                "encoding": {"text": text, "color": _ink("datum.lead > 25")},
            },
            {
                "mark": {"type": "text", "fontSize": 9, "dy": 7},
                "encoding": {"text": {"field": "ahead", "type": "nominal"}, "color": _ink("datum.lead > 25")},
            },
        ],
    }


def _winner(bout: Bout) -> Spec:
    datum: Spec = {"workload": bout.workload, "at": bout.at}
    if bout.best is None:
        return {**datum, "best": "-", "lead": 0, "ahead": ""}
    lead = 100 * (bout.lead or 0.0)
    return {
        **datum,
        "best": bout.best.name(bout.contest),
        "next": bout.second.name(bout.contest),
        "lead": round(lead, 3),
        "ahead": f"{lead:.1f} %" + ("" if bout.is_decided else " ?"),
    }


def _heat_map(result: Result, words: str) -> Chart:
    """Every scheme at every FTL or load: the geometric mean over workloads."""
    cells: dict[tuple[str, str], list[float]] = {}
    for bout in result.bouts:
        for place in (*bout.places, *bout.offline):
            if place.to_baseline is not None and place.to_baseline.mean > 0:
                cells.setdefault((place.name(result.contest), bout.at), []).append(place.to_baseline.mean)
    values = [
        {"name": name, "at": at, "ratio": mean, "text": percent(mean), "workloads": len(ratios)}
        for (name, at), ratios in cells.items()
        for mean in [geometric_mean(ratios)]
    ]
    names = [one.name for one in result.standings]
    base = result.contest.baseline
    title = f"Mean response time of the {words} relative to {base}, geometric mean over workloads"
    spec = {
        "data": {"values": values},
        "width": {"step": _CELL},
        "height": {"step": _STEP},
        "encoding": {
            "x": _names("at", result.values, angle=-30),
            "y": _names("name", names),
            "tooltip": [{"field": key, "type": "nominal"} for key in ("name", "at", "text", "workloads")],
        },
        "layer": [
            {
                "mark": {"type": "rect", "stroke": None},
                "encoding": {
                    "color": {
                        "field": "ratio",
                        "type": "quantitative",
                        "scale": {
                            "type": "log",
                            "scheme": "blueorange",
                            "domain": [_FROM, _TO],
                            "clamp": True,
                        },
                        "legend": {
                            "title": "times the baseline",
                            "orient": "bottom",
                            "gradientLength": 180,
                            "values": [0.5, 0.7, 1, 1.4, 2],
                        },
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {
                    "text": {"field": "text", "type": "nominal"},
                    "color": _ink("datum.ratio < 0.6 || datum.ratio > 1.7"),
                },
            },
        ],
    }
    return Chart(title, spec)


def _standings(panels: Sequence[tuple[str, Sequence[Standing]]]) -> Spec:
    """Points with intervals on a logarithmic axis, a panel for each measure or load."""
    values = [datum for title, some in panels for one in some if (datum := _standing(title, one)) is not None]
    order = [one.name for one in panels[0][1]]
    x: Spec = {
        "field": "ratio",
        "type": "quantitative",
        "title": "times the baseline",
        "scale": {"type": "log", "nice": False, "padding": 8},
        "axis": {"format": "~g", "tickCount": 6},
    }
    y = _names("name", order)
    colour = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": list(_SIDES), "range": list(_SIDES.values())},
        "legend": {"title": None, "orient": "bottom"},
    }
    return {
        "data": {"values": values},
        "facet": {"field": "panel", "type": "nominal", "title": None, "sort": [title for title, _ in panels]},
        "columns": 3,
        "resolve": {"scale": {"x": "independent"}},
        "spec": {
            "width": 250,
            "height": {"step": _STEP},
            "layer": [
                {
                    "mark": {"type": "rule", "strokeDash": [3, 3], "opacity": 0.6},
                    "encoding": {"x": {"datum": 1}},
                },
                {
                    "transform": [{"filter": "isValid(datum.low)"}],
                    "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
                    "encoding": {
                        "x": {**x, "field": "low"},
                        "x2": {"field": "high"},
                        "y": y,
                        "color": colour,
                    },
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60},
                    "encoding": {
                        "x": x,
                        "y": y,
                        "color": colour,
                        "tooltip": [{"field": key, "type": "nominal"} for key in ("name", "text", "best")],
                    },
                },
            ],
        },
    }


_WORDS = {-1: "ahead", 0: "not told apart", 1: "behind"}
# Colours that can be told apart on light and on dark paper.
_SIDES = {
    "ahead": "#2f8fd0",
    "behind": "#d9691e",
    "not told apart": "#8a919c",
    "knows the future": "#2a9d74",
}


def _standing(panel: str, one: Standing) -> Spec | None:
    if one.ratio is None:
        return None
    interval = ends(one.ratio)
    side = "knows the future" if one.offline else _WORDS[side_of(one)]
    datum: Spec = {"panel": panel, "name": one.name, "ratio": one.ratio.mean, "side": side}
    datum |= {"text": percent(one.ratio.mean), "best": f"best in {one.best} of {one.contests}"}
    if interval is not None and interval[0] < interval[1]:
        datum |= {"low": interval[0], "high": interval[1]}
    return datum


def _names(field: str, order: Sequence[str], angle: int = 0) -> dict[str, Any]:
    axis: Spec = {"labelLimit": _LIMIT, "domain": False, "ticks": False}
    if angle:
        axis |= {"labelAngle": angle, "orient": "top"}
    return {"field": field, "type": "nominal", "title": None, "sort": list(order), "axis": axis}


def _ink(is_dark: str) -> Spec:
    """Letters that can be read on the colour below them."""
    return {"condition": {"test": is_dark, "value": "#ffffff"}, "value": "#1b1f24"}
