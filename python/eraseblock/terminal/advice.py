"""Prints advice: the paragraph, then for each question its figures with a bar, and the commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.advice.answer import Answer, doubts_of_all
from eraseblock.terminal.names import styled

_BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def print_advice(console: Console, answers: Sequence[Answer], title: str) -> None:
    """Print everything."""
    console.print(Text(title, "bold"))
    for answer in answers:
        console.print(styled(answer.sentence))
    print_doubts(console, doubts_of_all(answers))
    for answer in answers:
        if answer.table.rows or answer.commands:
            console.print()
        # Heads without rows would look as if something had been lost.
        if answer.table.rows:
            console.print(_table(answer))
        for command in answer.commands:
            console.print(Text(f"  {command}", "dim"), soft_wrap=True)


def print_doubts(console: Console, doubts: Iterable[tuple[str, str]]) -> None:
    """Print each doubt behind what it is about."""
    for about, doubt in doubts:
        console.print(Text(f"do not rely on {about}: ", "bold yellow") + Text(doubt))


def _table(answer: Answer) -> Table:
    table, picture = answer.table, answer.picture
    grid = Table(
        title=picture.title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0)
    )
    numbers = [
        key for key in table.columns if any(isinstance(row.get(key), int | float) for row in table.rows)
    ]
    grid.add_column("", no_wrap=True)
    for key, title in table.columns.items():
        grid.add_column(title, justify="right" if key in numbers else "left", no_wrap=True)
    grid.add_column("", no_wrap=True, style="cyan")
    values = [row.get(picture.y) for row in table.rows]
    most = max((float(value) for value in values if isinstance(value, int | float)), default=0.0)
    for index, (shown, value) in enumerate(zip(table.shown, values, strict=True)):
        bar = _bar(float(value) / most) if most and isinstance(value, int | float) else ""
        taken = index == table.taken
        mark = Text("!", "red") if table.doubted(index) else Text("→" if taken else "")
        grid.add_row(mark, *shown, bar, style="bold" if taken else "")
    return grid


def _bar(part: float) -> str:
    eighths = max(1, round(8 * _BAR * part))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
