"""The table of results: one block per trace and FTL, the best figure of each buffer size marked."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.results import units
from eraseblock.results.advice import advice_of
from eraseblock.results.headline import COLUMNS, Column
from eraseblock.results.ranking import is_best
from eraseblock.results.view import Row, groups_of

WIDTH = 100
# Behind the name of a scheme that is a reconstruction; the legend says so.
_RECONSTRUCTED = "†"


def print_results(console: Console, rows: Sequence[Row]) -> None:
    """Print every group's table, then what the runs warn of."""
    for group in groups_of(rows).values():
        console.print(group_table(group))
    notes = [
        "[green]*[/green] best at its buffer size",
        *_reconstruction_legend(rows),
        *_distrust_legend(rows),
        *_bound_legend(rows),
    ]
    console.print(Text.from_markup("   ".join(notes)))
    for advice in advice_of(rows):
        head = Text("not trusted: ", "bold red") if advice.distrust else Text("warning: ", "bold yellow")
        console.print(head + Text(f"{advice.runs}: {advice.sentence}"))


def group_table(group: Sequence[Row]) -> Table:
    """The rows of one trace and FTL, a rule between buffer sizes."""
    first = group[0]
    table = Table(
        title=_title(first), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold"
    )
    table.add_column("buffer", justify="right", no_wrap=True)
    table.add_column("scheme", overflow="fold", max_width=30)
    for column in COLUMNS:
        table.add_column(column.title, justify="right", no_wrap=True)
    by_size: dict[int, list[Row]] = {}
    for row in group:
        by_size.setdefault(row.buffer_bytes, []).append(row)
    for bytes_, members in by_size.items():
        for index, row in enumerate(members):
            name = f"{row.scheme} {_RECONSTRUCTED}" if row.reconstruction else row.scheme
            scheme = Text(name) if row.trusted else Text(f"{name} !", "red")
            cells = [_cell(row, column, members) for column in COLUMNS]
            table.add_row(units.size(bytes_) if index == 0 else "", scheme, *cells)
        if any(row.figure("bound") for row in members):
            table.add_row("", Text("bound", "dim"), *(_bound(column, members) for column in COLUMNS))
        if len(by_size) > 1:
            table.add_section()
    return table


def _title(row: Row) -> Text:
    requests = units.count(row.figure("requests.submitted"))
    parts = [row.trace, f"{requests} requests", f"FTL {row.ftl_in_full}"]
    if row.variant:
        parts.append(row.variant)
    return Text(" · ".join(parts), overflow="fold")


def _cell(row: Row, column: Column, group: Sequence[Row]) -> Text:
    text = column.show(row.figure(column.path))
    if column.good is None:
        return Text(text)
    return (
        Text(f"{text}*", "bold green") if is_best(row, column.path, column.good, group) else Text(f"{text} ")
    )


def _reconstruction_legend(rows: Sequence[Row]) -> list[str]:
    return (
        [f"{_RECONSTRUCTED} reconstruction, built without a full description"]
        if any(row.reconstruction for row in rows)
        else []
    )


def _bound(column: Column, members: Sequence[Row]) -> Text:
    """The best that any scheme could reach at this size; it depends on workload and drive alone."""
    values = [value for row in members if (value := row.figure(column.bound)) is not None]
    return Text(f"{column.show(values[0])} " if values else "", "dim")


def _bound_legend(rows: Sequence[Row]) -> list[str]:
    found = [("bound: no scheme can do better", "bound"), ("offline: knows the future", "offline")]
    return [text for text, path in found if any(row.figure(path) for row in rows)]


def _distrust_legend(rows: Sequence[Row]) -> list[str]:
    return [] if all(row.trusted for row in rows) else ["[red]![/red] not to be trusted, see below"]
