"""Prints what the volumes of a trace come to: totals of each design, and how far volumes are apart."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.results.fleet import Fleet, sentences_of, sheets_of
from eraseblock.terminal.names import styled

# Of more designs than this, the spread of these figures alone is printed; the page has all.
_IN_FULL = 4
_FIRST = ("mean", "WAF")


def print_fleets(console: Console, fleets: Sequence[Fleet]) -> None:
    """Print the totals of each trace's designs, the spread over volumes, and which design is ahead."""
    for sheet in sheets_of(fleets):
        console.print(Text(sheet.title, "bold", overflow="fold"))
        console.print(_table(*sheet.totals, sheet.names))
        heads, rows = sheet.spread
        if len(sheet.totals[1]) > _IN_FULL:
            rows = [row for row in rows if row[sheet.names] in _FIRST]
        console.print(_table(heads, rows, sheet.names))
        console.print()
    for sentence in sentences_of(fleets):
        console.print(styled(sentence))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, head in enumerate(heads):
        if place < names:
            table.add_column(head, overflow="fold")
        else:
            table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
