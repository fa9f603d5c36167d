"""What is printed of the runs of a sweep: tables, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from eraseblock.results.fleet import FEW, fleets_of
from eraseblock.results.view import Row
from eraseblock.terminal.fleet import print_fleets
from eraseblock.terminal.showing import Showing
from eraseblock.terminal.table import print_results
from eraseblock.terminal.verdicts import print_advice, print_verdicts


def print_sheets(console: Console, rows: Sequence[Row], showing: Showing) -> None:
    """Print the totals over volumes where there are many, else, or beside them, each run's figures."""
    fleets = fleets_of(rows)
    many = [fleet for fleet in fleets if len(fleet.rows) > FEW]
    if many and not showing.everything:
        print_fleets(console, many)
        in_fleets = {id(row) for fleet in many for row in fleet.rows}
        rest = [row for row in rows if id(row) not in in_fleets]
        console.print("[dim]each volume, with --columns and --sort: --all, or results.json with -o[/dim]")
        print_advice(console, [row for row in rows if id(row) in in_fleets])
        rows = rest
    elif fleets:
        print_fleets(console, fleets)
    if rows:
        print_results(console, rows, showing)
        print_verdicts(console, rows, showing.sort, in_full=showing.everything)
