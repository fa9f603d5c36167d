"""The plots of one panel (a trace on an FTL), as Vega-Lite specifications built with Altair.

Colours are named ranges (`category` for schemes, `ordinal` for causes) that the page fills in, for light and
for dark. Two parameters are set from the page: `hidden`, the schemes switched off, and `buffer`, the size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import altair as alt

from eraseblock.report.axes import buffer_axis, figure_axis, is_logarithmic, label_of
from eraseblock.results import units
from eraseblock.results.view import Row

HEIGHT = 220
# Causes of programs, in the order in which bars are stacked.
CAUSES = ("host", "padding", "gc", "merge", "mapping", "wear")
Data = list[dict[str, Any]]
Spec = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Metric:
    """A figure that is drawn against buffer size."""

    id: str
    title: str
    note: str
    path: str
    unit: str


@dataclass(frozen=True)
class Chart:
    """One plot: its words, its specification, and the buffer sizes it lets the reader choose from."""

    id: str
    title: str
    note: str
    spec: Spec
    sizes: tuple[str, ...] = ()


_METRICS = (
    Metric("mean", "Mean response time", "lower is better", "response_ns.all.mean", "time"),
    Metric("p99", "99th percentile response", "lower is better", "response_ns.all.p99", "time"),
    Metric("hits", "Hit ratio", "host pages found in the buffer; higher is better", "hit_ratio.all", "share"),
    Metric("erases", "Block erases", "lower is better", "flash.erases.total", "count"),
    Metric("waf", "Write amplification", "pages programmed per host page; lower is better", "waf", "ratio"),
    Metric("flush", "Pages per flush", "mean length of a flush", "flush_pages.after_padding.mean", "pages"),
)
_PRINTERS = {"time": units.duration, "share": units.share, "count": units.count, "ratio": units.ratio}


def charts_of(panel: str, rows: Sequence[Row], schemes: Sequence[str]) -> list[Chart]:
    """All plots of one panel; a figure that no run has is left out."""
    charts = [_against_size(panel, metric, rows, schemes) for metric in _METRICS]
    charts.append(_lengths(panel, rows, schemes))
    charts.append(_programs(panel, rows))
    return [chart for chart in charts if chart is not None]


def _against_size(panel: str, metric: Metric, rows: Sequence[Row], schemes: Sequence[str]) -> Chart | None:
    present = [(row, value) for row in rows if (value := row.figure(metric.path)) is not None]
    if not present:
        return None
    show = _PRINTERS.get(metric.unit, units.pages)
    data: Data = [
        {
            "scheme": row.scheme,
            "size": row.buffer_bytes,
            "Buffer": units.size(row.buffer_bytes),
            "y": float(value),
            "Value": show(value),
            "Trusted": "yes" if row.trusted else "no",
        }
        for row, value in present
    ]
    sizes = sorted({row.buffer_bytes for row in rows})
    if len(sizes) == 1:
        return Chart(f"{panel}-{metric.id}", metric.title, metric.note, _bars(data, metric, schemes))
    note = f"{metric.note}; logarithmic" if is_logarithmic([item["y"] for item in data]) else metric.note
    return Chart(f"{panel}-{metric.id}", metric.title, note, _lines(data, metric, schemes, sizes))


def _lines(data: Data, metric: Metric, schemes: Sequence[str], sizes: Sequence[int]) -> Spec:
    hover = _hover("size")
    base = _base(data).encode(x=buffer_axis(sizes), y=figure_axis([item["y"] for item in data], metric.unit))
    points = base.mark_point(opacity=1, strokeWidth=1.5).encode(
        fill=_colour(alt.Fill, schemes),
        stroke=_colour(alt.Stroke, schemes),
        shape=alt.Shape("scheme:N", scale=alt.Scale(domain=list(schemes)), legend=None),
        size=alt.condition(hover, alt.value(160), alt.value(60)),
        fillOpacity=alt.condition(alt.datum.Trusted == "yes", alt.value(1), alt.value(0)),
        tooltip=_tooltip(metric),
    )
    return _finish(
        alt.layer(
            base.mark_line(strokeWidth=2).encode(color=_colour(alt.Color, schemes)), points.add_params(hover)
        )
    )


def _bars(data: Data, metric: Metric, schemes: Sequence[str]) -> Spec:
    """Where there is one buffer size only, a bar for each scheme."""
    bars = (
        _base(data)
        .mark_bar(cornerRadiusEnd=3, height={"band": 0.65})
        .encode(
            y=alt.Y("scheme:N", title=None, sort=list(schemes)),
            x=alt.X(
                "y:Q",
                title=None,
                axis=alt.Axis(labelExpr=label_of(metric.unit), tickCount=4),
            ),
            color=_colour(alt.Color, schemes),
            fillOpacity=alt.condition(alt.datum.Trusted == "yes", alt.value(1), alt.value(0.3)),
            tooltip=_tooltip(metric),
        )
    )
    return _finish(bars)


def _lengths(panel: str, rows: Sequence[Row], schemes: Sequence[str]) -> Chart | None:
    curves = [(row, row.figure("flush_pages.after_padding.cdf_by_page") or []) for row in rows]
    longest = max((curve[-1][0] for _, curve in curves if curve), default=0)
    if not longest:
        return None
    data = [
        {
            "scheme": row.scheme,
            "Buffer": units.size(row.buffer_bytes),
            "pages": length,
            "share": share,
            "Value": f"{units.share(share)} in flushes of at most {length:g} pages",
        }
        for row, curve in curves
        if curve
        # From nothing at one page to everything at the longest flush, so that a single step shows as well.
        for length, share in [[1, 0.0], *curve, [longest, 1.0]]
    ]
    sizes = _size_names(rows)
    hover = _hover("pages")
    line = (
        _base(data, sizes)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "pages:Q",
                title="Pages per flush",
                scale=alt.Scale(type="log", base=2, domain=[1, max(2, longest)], nice=False, padding=6),
                axis=alt.Axis(grid=False, format="~s", values=[2**power for power in range(20)]),
            ),
            y=alt.Y(
                "share:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5)
            ),
            color=_colour(alt.Color, schemes),
        )
    )
    points = line.mark_point(filled=True, size=110).encode(
        opacity=alt.condition(hover, alt.value(1), alt.value(0)),
        tooltip=[alt.Tooltip("scheme:N", title="Scheme"), "Buffer:N", alt.Tooltip("Value:N", title="Pages")],
    )
    return Chart(
        f"{panel}-lengths",
        "Write-length distribution",
        "share of flushed pages in flushes of at most this length; further right is more sequential",
        _finish(alt.layer(line, points.add_params(hover)), sizes),
        sizes,
    )


def _programs(panel: str, rows: Sequence[Row]) -> Chart | None:
    data = [
        {
            "scheme": row.scheme,
            "Buffer": units.size(row.buffer_bytes),
            "Cause": cause,
            "order": order,
            "count": count,
            "Programs": units.count(count),
        }
        for row in rows
        for order, cause in enumerate(CAUSES)
        if (count := row.figure(f"flash.programs.{cause}"))
    ]
    if not data:
        return None
    sizes = _size_names(rows)
    used = [cause for cause in CAUSES if any(item["Cause"] == cause for item in data)]
    bars = (
        _base(data, sizes)
        .mark_bar(height={"band": 0.65})
        .encode(
            y=alt.Y("scheme:N", title=None, sort=list(dict.fromkeys(row.scheme for row in rows))),
            x=alt.X(
                "count:Q",
                title="Flash pages programmed",
                axis=alt.Axis(labelExpr=label_of("count"), tickCount=5),
            ),
            color=alt.Color(
                "Cause:N",
                scale=alt.Scale(domain=list(CAUSES), range="ordinal"),
                legend=alt.Legend(title=None, orient="top", columns=6, values=used),
            ),
            order="order:Q",
            tooltip=[alt.Tooltip("scheme:N", title="Scheme"), "Buffer:N", "Cause:N", "Programs:N"],
        )
    )
    note = "host writes, padding, garbage collection and merges"
    return Chart(f"{panel}-programs", "Flash programs by cause", note, _finish(bars, sizes), sizes)


def _base(data: Data, sizes: Sequence[str] = ()) -> alt.Chart:
    chart = alt.Chart(alt.InlineData(values=data)).transform_filter("indexof(hidden, datum.scheme) < 0")
    return chart.transform_filter("datum.Buffer === buffer") if sizes else chart


def _finish(chart: alt.Chart | alt.LayerChart | alt.FacetChart, sizes: Sequence[str] = ("",)) -> Spec:
    hidden, buffer = alt.param(name="hidden", value=[]), alt.param(name="buffer", value=sizes[-1])
    sized = chart.add_params(hidden, buffer).properties(width="container", height=HEIGHT)
    spec: Spec = sized.to_dict()
    # The page's own theme is laid over it.
    del spec["config"]
    return spec


def _hover(field: str) -> alt.Parameter:
    return alt.selection_point(
        name="hover", on="pointerover", nearest=True, fields=[field, "scheme"], empty=False
    )


def _colour(channel: Callable[..., T], schemes: Sequence[str]) -> T:
    return channel("scheme:N", scale=alt.Scale(domain=list(schemes), range="category"), legend=None)


def _tooltip(metric: Metric) -> list[alt.Tooltip]:
    named = [("scheme", "Scheme"), ("Buffer", "Buffer"), ("Value", metric.title), ("Trusted", "Trusted")]
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in named]


def _size_names(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(units.size(bytes_) for bytes_ in sorted({row.buffer_bytes for row in rows}))
