"""Prints what a search for designs came to."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.results import units
from eraseblock.terminal.advice import print_doubts
from eraseblock.terminal.names import styled
from eraseblock.tuning.goals import spare_of, written_until_worn
from eraseblock.tuning.tune import Tuning

# States that hold what the trace never touches: `advise` asks for a drive that holds what it does.
_OF_THE_WHOLE_DRIVE = {"full", "steady"}
_OTHER_TBW = (
    "TBW is by each run's write amplification, on a drive that is {state} when it begins; `eraseblock advise "
    "--question lifetime` lets the trace settle one of its own size, and may come to several times as much."
)


def print_tuning(console: Console, tuning: Tuning) -> None:
    """Print the answer, what stands against it, the best designs, and the command of the first of them."""
    console.print(styled(tuning.sentence()))
    best = tuning.best
    if not best:
        return
    print_doubts(console, (("that", doubt) for doubt in tuning.doubts))
    goals = tuning.goals
    title = "The designs that no other betters" if len(goals.columns) > 1 else "The best designs"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for key in tuning.space.choices:
        table.add_column(key.rpartition(".")[2], no_wrap=True)
    for column in goals.columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    table.add_column("spare", justify="right", no_wrap=True)
    table.add_column("TBW", justify="right", no_wrap=True)
    for design in best:
        row = design.row
        assert row is not None
        written = written_until_worn(row, goals.endurance)
        spare = units.share(spare_of(row.record["config"]))
        table.add_row(*design.point.values(), *tuning.figures(design), spare, units.until_worn(written))
    console.print()
    console.print(table)
    begins = [one.row.record["config"]["precondition"] for one in best if one.row is not None]
    states = {str(one["state"]) for one in begins if not one.get("image")}
    if told := sorted(states & _OF_THE_WHOLE_DRIVE):
        console.print(styled(_OTHER_TBW.format(state=" or ".join(told))))
    console.print(Text(f"  {tuning.command(best[0])}", "dim"), soft_wrap=True)
