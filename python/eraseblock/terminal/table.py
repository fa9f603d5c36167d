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
from eraseblock.results.view import OFFLINE, Row, groups_of
from eraseblock.terminal.fitting import full_width, left_out, longest, longest_word

# Behind the name of a scheme; the legend says what they mean.
_RECONSTRUCTED, _OFFLINE = "†", "‡"
# Names longer than this, with their options, go on below themselves.
_SCHEME_WIDTH = 30
# What goes first where the terminal is narrow.
_LEAST = ("pages/flush", "WAF", "p99", "hits", "erases")


def print_results(console: Console, rows: Sequence[Row]) -> None:
    """Print every group's table, then what the runs warn of."""
    groups = list(groups_of(rows).values())
    columns = _fitting(console, groups)
    for group in groups:
        console.print(group_table(group, columns))
    notes = [
        *_best_legend(groups, columns),
        *_reconstruction_legend(rows),
        *_distrust_legend(rows),
        *_bound_legend(rows),
        *_left_out_legend(columns),
    ]
    if notes:
        console.print(Text.from_markup("   ".join(notes)))
    for advice in advice_of(rows):
        head = Text("not trusted: ", "bold red") if advice.distrust else Text("warning: ", "bold yellow")
        console.print(head + Text(f"{advice.runs}: {advice.sentence}"))


def _fitting(console: Console, groups: Sequence[Sequence[Row]]) -> Sequence[Column]:
    """The columns that there is room for, the same in every table; names of schemes are never cut."""
    columns = list(COLUMNS)
    for title in _LEAST:
        if all(full_width(console, group_table(group, columns)) <= console.width for group in groups):
            break
        columns = [column for column in columns if column.title != title]
    return columns


def group_table(group: Sequence[Row], columns: Sequence[Column]) -> Table:
    """The rows of one trace and FTL, a rule between buffer sizes."""
    first = group[0]
    table = Table(
        title=_title(first), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold"
    )
    table.add_column("buffer", justify="right", no_wrap=True)
    table.add_column("scheme", overflow="fold", width=_scheme_width(group))
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    by_size: dict[int, list[Row]] = {}
    for row in group:
        by_size.setdefault(row.buffer_bytes, []).append(row)
    for bytes_, members in by_size.items():
        for index, row in enumerate(members):
            cells = [_cell(row, column, members) for column in columns]
            table.add_row(_buffer(bytes_) if index == 0 else "", _scheme(row), *cells)
        if any(row.figure("bound") for row in members):
            table.add_row("", Text("bound", "dim"), *(_bound(column, members) for column in columns))
        if len(by_size) > 1:
            table.add_section()
    return table


def _buffer(bytes_: int) -> str:
    """The size of a buffer; a drive that has none is no drive with a small one."""
    return units.size(bytes_) if bytes_ else "none"


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


def _scheme(row: Row) -> Text:
    """Its name, with marks for what has to be known of it."""
    name = row.scheme
    if row.offline:
        name = f"{name.removesuffix(OFFLINE).rstrip()} {_OFFLINE}"
    if row.reconstruction:
        name = f"{name} {_RECONSTRUCTED}"
    return Text(name) if row.trusted else Text(f"{name} !", "red")


def _scheme_width(group: Sequence[Row]) -> int:
    """Room for every name; for one with many options, for the longest of its words."""
    names = ["scheme", *(_scheme(row).plain for row in group)]
    return max(longest_word(names), min(_SCHEME_WIDTH, longest(names)))


def _best_legend(groups: Sequence[Sequence[Row]], columns: Sequence[Column]) -> list[str]:
    starred = any(
        is_best(row, column.path, column.good, group)
        for group in groups
        for row in group
        for column in columns
    )
    return ["[green]*[/green] best at its buffer size"] if starred else []


def _left_out_legend(columns: Sequence[Column]) -> list[str]:
    sentence = left_out(column.title for column in COLUMNS if column not in columns)
    return [f"[dim]{sentence}[/dim]"] if sentence else []


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
    found = [
        ("bound: no scheme can do better", "bound"),
        (f"{_OFFLINE} offline: knows the future", "offline"),
    ]
    return [text for text, path in found if any(row.figure(path) for row in rows)]


def _distrust_legend(rows: Sequence[Row]) -> list[str]:
    return [] if all(row.trusted for row in rows) else ["[red]![/red] not to be trusted, see below"]
