"""Draws figures: what came out at every point, and the paper's stated figures beside ours, as Vega-Lite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock.toolkit import Row, number_of, rows_of
from eraseblock_reproduction import grading, wording
from eraseblock_reproduction.answers import Answer, FigureAnswer
from eraseblock_reproduction.data import Quantity
from eraseblock_reproduction.finding import UNDECIDED
from eraseblock_reproduction.intervals import estimate
from eraseblock_reproduction.points import Point, Question

Spec = dict[str, Any]
_WIDTH, _HEIGHT = 330, 210
# From so many times the least figure of a panel on, figures are drawn by their ratios.
_WIDE = 30
# From here on steps are taken for doublings.
_DOUBLINGS = 8
_SIZE_LABEL = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~r') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~r') + ' KiB' : datum.value + ' B'"
)
# Kinds whose numbers are drawn in one row each, in percent.
_EFFECTS = ("reduction", "increase", "ratio", "difference")


@dataclass(frozen=True)
class Chart:
    """One plot with its title."""

    title: str
    spec: Spec
    # The quantity that it is of; none where it sets effects beside stated ones.
    quantity: str = ""


def charts_of(one: FigureAnswer) -> list[Chart]:
    """All plots of a figure: each quantity that claims are of, then the claims' numbers."""
    found = []
    names = dict.fromkeys(answer.claim.quantity for answer in one.answers)
    for name in names:
        quantity = one.plan.paper.quantities[name] if name else None
        if quantity is not None and not quantity.of_workload:
            found += _of_quantity(one, quantity)
    found += effects_of(one.answers)
    return found


def _of_quantity(one: FigureAnswer, quantity: Quantity) -> list[Chart]:
    runs = [run for run in one.plan.runs if run.record is not None]
    if not runs:
        return []
    rows = {
        id(run): row for run, row in zip(runs, rows_of([dict(run.record or {}) for run in runs]), strict=True)
    }
    question = Question(one.answers[0].claim, quantity, quantity.value, runs)
    points: dict[str, Point] = {}
    for run in runs:
        point = points.setdefault(run.identity(), Point(run))
        point.values[run.seed] = question.figure_of(run)
    drawn = [point for point in points.values() if point.mean is not None]
    if len(drawn) < 2:
        return []
    axis = _Axis([rows[id(point.run)] for point in drawn])
    values = [_datum(axis, rows, point) for point in drawn]
    stated = _stated(one.answers, quantity, axis, rows)
    title = quantity.title + (f" ({quantity.unit})" if quantity.unit else "")
    spec = _lines(values, stated, axis) if axis.key else _bars(values, stated)
    return [Chart(title, spec, quantity.name)]


class _Axis:
    """What the points lie along: the setting with numbers in which most of them differ, if there is one."""

    def __init__(self, rows: Sequence[Row]) -> None:
        candidates: dict[str, set[float]] = {"buffer.size": {float(row.buffer_bytes) for row in rows}}
        for key in dict.fromkeys(key for row in rows for key in row.settings):
            numbers = [number_of(row.settings.get(key, "")) for row in rows]
            if not _is_seed(key) and None not in numbers:
                candidates[key] = {number for number in numbers if number is not None}
        # Of settings that change together the size: the number of blocks follows from that of a page.
        best = max(candidates, key=lambda key: (len(candidates[key]), _is_size(key)))
        self.key = best if len(candidates[best]) > 1 else ""
        self.numbers = sorted(candidates[best])
        self.several_ftls = len({row.ftl for row in rows}) > 1
        self.several_schemes = len({row.scheme for row in rows}) > 1
        keys = dict.fromkeys(key for row in rows for key in row.settings)
        self.telling = [key for key in keys if key != self.key and self._tells(key, rows)]

    def _tells(self, key: str, rows: Sequence[Row]) -> bool:
        """Whether a setting tells points at the same place from each other."""
        if _is_seed(key) or key.startswith("workload."):
            return False
        present = {row.settings[key] for row in rows if key in row.settings}
        kind = f"{key.rpartition('.')[0]}.kind"
        if len(present) == 1 and any(kind in row.settings for row in rows):
            return False
        at: dict[float, set[str]] = {}
        for row in rows if self.key else ():
            at.setdefault(self.of(row), set()).add(row.settings.get(key, ""))
        return not at or any(len(values) > 1 for values in at.values())

    def of(self, row: Row) -> float:
        """Where a point lies."""
        return (
            float(row.buffer_bytes) if self.key == "buffer.size" else number_of(row.settings[self.key]) or 0.0
        )

    def series(self, row: Row) -> str:
        """What tells it from points at the same place."""
        parts = [row.scheme_in_full] if self.several_schemes else []
        if self.several_ftls:
            parts.append(row.ftl_in_full)
        for key in self.telling:
            if key in row.settings:
                name = key.rpartition(".")[2]
                parts.append(row.settings[key] if name == "kind" else f"{name} {row.settings[key]}")
        return ", ".join(parts) or row.scheme_in_full

    @property
    def scale(self) -> Spec:
        """Doublings have equal steps."""
        low, high = self.numbers[0], self.numbers[-1]
        if low > 0 and high / low >= _DOUBLINGS:
            return {"type": "log", "base": 2}
        return {"zero": False, "nice": False}


def _is_size(key: str) -> bool:
    return key.endswith("size")


def _is_seed(key: str) -> bool:
    return key.rpartition(".")[2] == "seed"


def _datum(axis: _Axis, rows: dict[int, Row], point: Point) -> Spec:
    row = rows[id(point.run)]
    figure = estimate(list(point.known.values()))
    datum: Spec = {
        "workload": point.run.source.called,
        "series": axis.series(row),
        "y": figure.mean,
        "seeds": figure.seeds,
    }
    if axis.key:
        datum["x"] = axis.of(row)
    if figure.half:
        datum |= {"low": figure.low, "high": figure.high}
    return datum


def _stated(answers: Sequence[Answer], quantity: Quantity, axis: _Axis, rows: dict[int, Row]) -> list[Spec]:
    """The paper's own numbers of a quantity, where the runs are that they are of."""
    found = []
    for answer in answers:
        claim = answer.claim
        plain = not {"relative_to", "spread"} & set(claim.table)
        if claim.quantity != quantity.name or claim.kind not in ("number", "exact") or not plain:
            continue
        for point in answer.finding.points:
            row = rows.get(id(point.run))
            if row is not None:
                datum: Spec = {"workload": point.run.source.called, "series": axis.series(row)}
                datum |= {"y": float(claim.table["value"]), "says": claim.says}
                found.append({**datum, "x": axis.of(row)} if axis.key else datum)
    return found


def _lines(values: list[Spec], stated: list[Spec], axis: _Axis) -> Spec:
    label = {"labelExpr": _SIZE_LABEL} if _is_size(axis.key) else {}
    x = {
        "field": "x",
        "type": "quantitative",
        "title": "buffer size" if axis.key == "buffer.size" else axis.key,
        "scale": axis.scale,
        "axis": {"values": axis.numbers, "grid": False, "labelOverlap": True, **label},
    }
    scale = {"type": "log"} if is_wide([*values, *stated]) else {"zero": True}
    y = {"field": "y", "type": "quantitative", "title": None, "scale": scale}
    if scale.get("type") == "log":
        # Else small ones are all told as 0.0.
        y["axis"] = {"format": "~g"}
    return _faceted(values, stated, x, y, {"mark": {"type": "line", "point": {"size": 28}}})


def is_wide(values: Sequence[Spec]) -> bool:
    """Whether some panel's figures are so far apart that the small ones would lie on the axis."""
    panels: dict[str, list[float]] = {}
    for value in values:
        panels.setdefault(value["workload"], []).append(value["y"])
    return all(min(some) > 0 for some in panels.values()) and any(
        max(some) >= _WIDE * min(some) for some in panels.values()
    )


def _bars(values: list[Spec], stated: list[Spec]) -> Spec:
    x = {"field": "y", "type": "quantitative", "title": None, "scale": {"zero": True}}
    y = {"field": "series", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 260}}
    return _faceted(values, stated, x, y, {"mark": {"type": "point", "filled": True, "size": 60}})


def _faceted(values: list[Spec], stated: list[Spec], x: Spec, y: Spec, ours: Spec) -> Spec:
    """A panel for each workload; ours and what the paper states in one colour for each series."""
    colour = {
        "field": "series",
        "type": "nominal",
        "sort": None,
        "legend": {"title": None, "orient": "bottom", "columns": 2, "labelLimit": 320},
    }
    interval_end = "x2" if x["field"] == "y" else "y2"
    ends = {**(x if interval_end == "x2" else y), "field": "low"}
    interval = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {
            "x": ends if interval_end == "x2" else x,
            "y": y if interval_end == "x2" else ends,
            interval_end: {"field": "high"},
            "color": colour,
        },
    }
    tooltip = [{"field": name, "type": "nominal"} for name in ("series", "workload")]
    number = {"field": "y", "type": "quantitative", "format": ".4~g"}
    point = {
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": [*tooltip, {**number, "title": "here"}]}
    }
    paper = {
        "transform": [{"filter": "datum.says"}],
        "mark": {"type": "point", "shape": "diamond", "size": 110, "strokeWidth": 2, "filled": False},
        "encoding": {
            **point["encoding"],
            "tooltip": [{"field": "says", "type": "nominal"}, {**number, "title": "stated"}],
        },
    }
    panel = {
        "width": _WIDTH,
        "height": _HEIGHT if x["field"] == "x" else {"step": 20},
        "layer": [
            interval,
            {"transform": [{"filter": "!datum.says"}], **ours, **point},
            paper,
        ],
    }
    workloads = list(dict.fromkeys(value["workload"] for value in values))
    data = {"values": [*values, *stated]}
    if len(workloads) == 1:
        return {"data": data, **panel}
    return {
        "data": data,
        "facet": {"field": "workload", "type": "nominal", "title": None, "sort": workloads},
        "columns": 3,
        "spec": panel,
        "resolve": {"scale": {"x": "independent" if x["field"] == "y" else "shared", "y": "independent"}},
    }


def effects_of(answers: Sequence[Answer], *, by_id: bool = False) -> list[Chart]:
    """Stated reductions, increases, ratios and differences, each beside ours; `by_id` names them so."""
    values = []
    for answer in answers:
        claim, figure = answer.claim, answer.finding.ours
        # What no run decides is no effect of ours.
        if answer.finding.verdict == UNDECIDED:
            continue
        quantity = answer.paper.quantities[claim.quantity] if claim.quantity else None
        in_percent = claim.kind != "difference" or quantity is None or quantity.unit is None
        if claim.kind not in _EFFECTS or figure is None or not in_percent:
            continue
        name = claim.id if by_id else f"{claim.says} ({claim.part})" if claim.part else claim.says
        # An effect is what a ratio has more or less than 1. One that is our reading is none of the paper's.
        neutral = grading.neutral_of(claim)
        if claim.table.get("our_bound") and claim.table["value"] != neutral:
            continue
        datum = {
            "claim": name,
            "verdict": answer.finding.verdict,
            "here": 100 * (figure.mean - neutral),
        }
        datum |= {
            "stated": 100 * (float(claim.table["value"]) - neutral),
            "text": wording.ours(answer.paper, claim, answer.finding),
        }
        if figure.low is not None and figure.high is not None:
            datum |= {"low": 100 * (figure.low - neutral), "high": 100 * (figure.high - neutral)}
        values.append(datum)
    if not values:
        return []
    return [Chart("Stated reductions, increases, ratios and differences, and ours (%)", _effects(values))]


def _effects(values: list[Spec]) -> Spec:
    y = {"field": "claim", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 420}}
    tooltip = [{"field": name, "type": "nominal"} for name in ("claim", "verdict", "text")]

    def x(field: str) -> Spec:
        return {"field": field, "type": "quantitative", "title": "%"}

    names = [name for name, _ in _BOTH]
    kind: Spec = {"field": "kind", "type": "nominal", "legend": {"title": None, "orient": "top"}}
    colour = {**kind, "scale": {"domain": names}}
    shape = {**kind, "scale": {"domain": names, "range": ["circle", "diamond"]}}
    both = [
        {**_alone(value, field), "kind": kind, "x": value[field]} for value in values for kind, field in _BOTH
    ]
    return {
        "data": {"values": both},
        "width": 420,
        "height": {"step": 22},
        "encoding": {"y": y},
        "layer": [
            {
                "transform": [{"filter": "datum.kind === 'here' && isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": x("low"), "x2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "point", "size": 70, "strokeWidth": 2},
                "encoding": {
                    "x": x("x"),
                    "color": colour,
                    "shape": shape,
                    "tooltip": tooltip,
                },
            },
        ],
    }


def _alone(value: Spec, field: str) -> Spec:
    """What is stated has no interval of ours."""
    return {key: one for key, one in value.items() if field == "here" or key not in ("low", "high")}


# What is drawn of each claim, and the field that has it.
_BOTH = (("here", "here"), ("the paper", "stated"))
