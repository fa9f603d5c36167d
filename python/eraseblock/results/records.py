"""What a call gives that ran several experiments: their records, as a list that can show itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, cast

from eraseblock.arguments import checked
from eraseblock.results.conclusion import conclusions_of, drives_of
from eraseblock.results.fleet import Totals, fleets_of
from eraseblock.results.frame import Kind, frame
from eraseblock.results.headline import COLUMNS, Column, column_named
from eraseblock.results.record import Record, RunRecord
from eraseblock.results.units import number_of, size, unit_of
from eraseblock.results.view import DRIVE, Row, rows_of

if TYPE_CHECKING:
    import altair

# A notebook shows that many runs; a frame has all of them.
_SHOWN = 200


class Results(list[RunRecord]):
    """Records in the order of their runs: a list that is shown as a table in a notebook.

    Example:
        >>> import eraseblock as eb
        >>> work = {"generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}
        >>> drive = {"preset": "hbm-2010", "precondition": {"state": "empty"}, "workload": work}
        >>> results = eb.run({**drive, "buffer": {"scheme": ["lru", "fab"]}})
        >>> results.frame().select("config.buffer.scheme.kind", "hit_ratio.all").rows()
        [('lru', 0.75), ('fab', 0.75)]
    """

    @checked
    def frame(self, kind: Kind = "polars") -> Any:
        """A data frame, one row for each run; as `eb.frame`."""
        return frame(self, kind)

    def fleet(self) -> list[Totals]:
        """What the volumes of a trace come to together: totals and spread of each design that ran on several.

        Empty where no design has a run for each of several volumes (`workload.volumes = "each"`). Ratios are
        those of sums; `eb.frame` makes a data frame of it.
        """
        return [one.totals() for one in fleets_of(self._rows())]

    def _rows(self) -> list[Row]:
        return rows_of(cast(list[Record], self))

    @checked
    def plot(self, column: str = "mean") -> altair.Chart | altair.LayerChart:
        """A figure of all runs as a chart: lines along buffer sizes or another number that differs, or bars.

        Runs that are not to be trusted have a cross, or a pale bar, and say why when pointed at.

        Args:
            column: the figure, by its name in tables (`"mean"`, `"p99"`, `"hits"`, `"WAF"`, `"erases"`,
                `"read-p99"`, ...) or the place of one of these in a record.

        Raises:
            ConfigError: there is no such figure.
        """
        return _chart(self._rows(), column_named(column, "plot"))

    def _repr_html_(self) -> str:
        """The table of a notebook: scheme, size, FTL, what else differs, and the main figures."""
        if not self:
            return "<p>no runs</p>"
        rows = self._rows()
        heads = ["trace", "drive", "FTL", "scheme", "buffer", "settings"]
        cells = [
            [row.trace, row.drive, row.ftl_in_full, row.scheme_in_full, size(row.buffer_bytes), row.variant]
            for row in rows
        ]
        # What is the same for all runs is said once, above.
        same = [len(rows) > 1 and len({line[at] for line in cells}) == 1 for at in range(len(heads))]
        same[3] = False
        common = ", ".join(cells[0][at] for at in range(len(heads)) if same[at] and cells[0][at])
        kept = [at for at in range(len(heads)) if not same[at] and any(line[at] for line in cells)]
        shown = [column for column in COLUMNS if any(row.figure(column.path) is not None for row in rows)]
        head = "".join(f"<th>{escape(text)}</th>" for text in [heads[at] for at in kept])
        head += "".join(f'<th style="text-align:right">{escape(column.title)}</th>' for column in shown)
        lines = list(zip(rows, cells, strict=True))[:_SHOWN]
        body = "".join(_line(row, [line[at] for at in kept], shown) for row, line in lines)
        conclusions = conclusions_of(rows, None)
        said = [text for one in conclusions for text in one.sentences] + drives_of(conclusions)
        notes = "".join(f"<p>{escape(text)}</p>" for text in ([common] if common else []))
        more = f"<p>and {len(rows) - _SHOWN} more runs</p>" if len(rows) > _SHOWN else ""
        verdict = "".join(f"<p>{escape(text)}</p>" for text in said)
        return f"{notes}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{verdict}"


def _line(row: Row, labels: Sequence[str], columns: Sequence[Column]) -> str:
    texts = "".join(f"<td>{escape(label)}</td>" for label in labels)
    figures = "".join(
        f'<td style="text-align:right">{escape(column.show(row.figure(column.path)))}</td>'
        for column in columns
    )
    style = "" if row.trusted else ' style="opacity:0.5" title="not to be trusted: see reasons"'
    return f"<tr{style}>{texts}{figures}</tr>"


def _chart(rows: Sequence[Row], column: Column) -> altair.Chart | altair.LayerChart:
    """Lines along buffer sizes, else along the one other setting that is a number and differs; else bars."""
    import altair

    axis = _axis(rows)
    schemes = len({row.scheme_in_full for row in rows}) > 1

    def parts(row: Row) -> list[str]:
        further = [(key, value) for key, value in row.settings.items() if key != axis]
        settings = [value if key == DRIVE else f"{key} = {value}" for key, value in further]
        return [part for part in (row.trace, row.ftl_in_full, *settings) if part]

    # What is the same everywhere tells nothing.
    same = set.intersection(*(set(parts(row)) for row in rows)) if rows else set()
    values = [
        {
            "scheme": row.scheme_in_full,
            "size": size(row.buffer_bytes),
            "along": row.buffer_bytes if axis is None else number_of(row.settings[axis]),
            "figure": row.figure(column.path),
            "shown": column.show(row.figure(column.path)),
            "run": ", ".join(part for part in parts(row) if part not in same),
            "trusted": row.trusted,
            "doubt": "" if row.trusted else "; ".join(row.record.get("reasons") or ["not to be trusted"]),
        }
        for row in rows
    ]
    for value in values:
        named = (value["scheme"], value["run"]) if schemes else (value["run"] or value["scheme"],)
        value["design"] = ", ".join(str(part) for part in named if part)
    unit = " (ns)" if column.path.startswith("response_ns") else ""
    title = f"{column.name}{unit}"
    tip = [
        altair.Tooltip("design:N"),
        altair.Tooltip("size:N", title="buffer"),
        altair.Tooltip("shown:N", title=column.name),
    ]
    doubted = [value for value in values if not value["trusted"]]
    if doubted:
        tip.append(altair.Tooltip("doubt:N", title="not to be trusted"))
    data = altair.Chart({"values": values})
    # Names of designs are long: none is cut off.
    full = altair.Legend(labelLimit=0)
    drawn: altair.Chart | altair.LayerChart
    if len({row.buffer_bytes for row in rows}) > 1 or axis is not None:
        if axis is None:
            along = altair.X("along:Q", scale=altair.Scale(type="log", base=2), title="buffer (bytes)")
        else:
            heading = f"{axis}{unit_of(rows[0].settings[axis])}"
            along = altair.X("along:Q", scale=altair.Scale(zero=False), title=heading)
            tip.insert(1, altair.Tooltip("along:Q", title=heading))
        colour = altair.Color("design:N", sort=None, title=None, legend=full)
        height = altair.Y("figure:Q", title=title)
        drawn = data.mark_line(point=True).encode(x=along, y=height, color=colour, tooltip=tip)
        if doubted:
            crosses = altair.Chart({"values": doubted}).mark_point(
                shape="cross", angle=45, size=150, filled=True
            )
            marked = crosses.encode(x=along, y=height, color=colour, tooltip=tip)
            drawn = altair.LayerChart(layer=[drawn, marked])
    else:
        designs = altair.Y("design:N", sort=None, title=None, axis=altair.Axis(labelLimit=0))
        drawn = data.mark_bar().encode(x=altair.X("figure:Q", title=title), y=designs, tooltip=tip)
        if doubted:
            drawn = drawn.encode(
                opacity=altair.condition("datum.trusted", altair.value(1), altair.value(0.4))
            )
    return drawn


def _axis(rows: Sequence[Row]) -> str | None:
    """The one setting that is a number in each run and differs; none where the buffer's size does."""

    def is_axis(key: str) -> bool:
        values = [row.settings.get(key, "-") for row in rows]
        is_amount = key.rpartition(".")[2] not in ("seed", "volumes")
        return is_amount and len({*values}) > 1 and all(number_of(value) is not None for value in values)

    if not rows or len({row.buffer_bytes for row in rows}) > 1:
        return None
    found = [key for key in rows[0].settings if is_axis(key)]
    return found[0] if len(found) == 1 else None
