"""Prints what came out of a study beyond the papers: sentences, and how each scheme stands."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from eraseblock.toolkit import duration
from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.headline import headline, worth_table
from eraseblock_reproduction.beyond.sentences import METHOD, sentences
from eraseblock_reproduction.beyond.tables import Table, pairs_table, standings_tables


def print_study(console: Console, answer: StudyAnswer) -> None:
    """Print a study; every single contest is in the report and in the JSON."""
    console.print(Text.assemble((answer.study.title, "bold"), f": {answer.study.asks}"))
    console.print(Text(answer.study.note, "dim"))
    for sentence in headline(answer):
        console.print(Text(sentence))
    tables = [worth_table(answer), pairs_table(answer), *standings_tables(answer)]
    for table in tables:
        if table is not None:
            console.print(_table(table))
    for sentence in sentences(answer):
        console.print(Text(f"- {sentence}"))
    for reason, trials in answer.refusals:
        console.print(Text(f"{len(trials)} designs are refused: {reason}", "yellow"))
    console.print(Text(f"How to read the intervals: {METHOD}", "dim"))
    took = f", {duration(1e9 * answer.seconds)} one after the other" if answer.seconds else ""
    console.print(Text(f"{len(answer.trials)} runs{took}; engine {answer.engine}", "dim"))
    console.print()


def _table(table: Table) -> RichTable:
    shown = RichTable(
        title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for number, head in enumerate(table.head):
        is_name = number < table.names
        shown.add_column(head, justify="left" if is_name else "right", no_wrap=is_name)
    for cells in table.rows:
        shown.add_row(*cells)
    return shown
