"""Draws answers: one chart for each question, below one another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from eraseblock.advice.answer import Answer, paragraph
from eraseblock.profile.picture import save_spec

_WIDTH, _HEIGHT = 560, 220
_LINE = 100
_SIZES = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~r') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "format(datum.value / 1024, '~r') + ' KiB'"
)
_TIMES = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~r') + ' s' : datum.value >= 1e6 ? "
    "format(datum.value / 1e6, '~r') + ' ms' : format(datum.value / 1e3, '~r') + ' us'"
)
_TERABYTES = "format(datum.value / 1e12, ',~r') + ' TB'"
# How the values of a column stand on an axis.
_LABELS = {
    "mean": _TIMES,
    "p99": _TIMES,
    "response_ns": _TIMES,
    "tbw_bytes": _TERABYTES,
    "spare": "format(datum.value, '~%')",
}
# Lines for as many schemes as colours can be told apart.
_LINES = 4


def save(answers: Sequence[Answer], title: str, path: Path, *, dark: bool = False) -> None:
    """Write the charts into one picture: .png or .svg."""
    save_spec(specification(answers, title), title, path, dark=dark)


def specification(answers: Sequence[Answer], title: str) -> dict[str, Any]:
    """The charts for Vega-Lite."""
    charts = [chart(answer) for answer in answers]
    heading = alt.TitleParams(
        title,
        subtitle=_wrapped(paragraph(answers).replace("`", "")),
        anchor="start",
        fontSize=18,
        offset=20,
    )
    whole = alt.vconcat(*charts, title=heading, spacing=50).resolve_scale(color="independent")
    found: dict[str, Any] = whole.to_dict()
    return found


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, _LINE)


def drawable(answer: Answer) -> bool:
    """Whether there is anything to draw."""
    return any(row.get(answer.picture.y) is not None for row in answer.table.rows)


def chart(answer: Answer) -> Any:
    """The figures of an answer as a chart."""
    picture = answer.picture
    rows = [dict(row) for row in answer.table.rows if row.get(picture.y) is not None]
    base = alt.Chart(alt.InlineData(rows), title=picture.title).properties(width=_WIDTH, height=_HEIGHT)
    numbers = bool(rows) and isinstance(rows[0][picture.x], int | float)
    y = alt.Y(picture.y, type="quantitative", title=None, scale=alt.Scale(zero=True), axis=_axis(picture.y))
    if picture.shape == "bars":
        x: Any = alt.X(picture.y, type="quantitative", title=None, axis=_axis(picture.y))
        names = alt.Y(picture.x, type="nominal", title=None, sort=None, axis=_names(picture.x))
        bars = base.mark_bar(cornerRadiusEnd=2).encode(x=x, y=names)
        if picture.parts:
            x = alt.X("time", type="quantitative", title=None, axis=alt.Axis(labelExpr=_TIMES))
            colour = alt.Color("part", type="nominal", title=None, sort=list(picture.parts))
            parts = base.transform_fold(list(picture.parts), ["part", "time"])
            bars = parts.mark_bar().encode(x=x, y=names, color=colour, order=alt.Order("place:Q"))
            bars = bars.transform_calculate(place=f"indexof({list(picture.parts)}, datum.part)")
        return bars.properties(height=alt.Step(22))
    scale = alt.Scale(type="log", base=2) if picture.doubling else alt.Scale(zero=False)
    x = alt.X(
        picture.x,
        type="quantitative" if numbers else "nominal",
        title=answer.table.columns[picture.x],
        scale=scale,
        axis=alt.Axis(
            labelExpr=_SIZES if picture.doubling else _LABELS.get(picture.x, alt.Undefined),
            values=sorted({row[picture.x] for row in rows}) if picture.doubling else alt.Undefined,
            grid=False,
        ),
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=45))
    if picture.by is None:
        line = line.encode(x=x, y=y)
    else:
        some = _most_told(rows, picture.by)
        colour = alt.Color(picture.by, type="nominal", title=None, sort=some)
        told = [row for row in rows if row[picture.by] in some]
        line = line.encode(x=x, y=y, color=colour).properties(data=alt.InlineData(told))
    if picture.goal is None:
        return line
    rule = alt.Chart(alt.InlineData([{"goal": picture.goal}])).mark_rule(strokeDash=[4, 4], color="#888888")
    return alt.layer(line, rule.encode(y=alt.Y("goal", type="quantitative")))


def _most_told(rows: Sequence[dict[str, Any]], key: str) -> list[str]:
    """The names that stand in most rows, in the order in which they come."""
    names = [row[key] for row in rows]
    return sorted(dict.fromkeys(names), key=lambda name: -names.count(name))[:_LINES]


def _axis(key: str) -> alt.Axis:
    expression = _LABELS.get(key)
    return alt.Axis() if expression is None else alt.Axis(labelExpr=expression)


def _names(key: str) -> alt.Axis:
    if key == "spare":
        return alt.Axis(labelExpr="format(datum.value, '.1%')")
    return alt.Axis()
