"""Says below the tables what they come to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from eraseblock.results.advice import advice_of
from eraseblock.results.conclusion import conclusions_of, drives_of
from eraseblock.results.headline import Column
from eraseblock.results.view import Row
from eraseblock.terminal.names import styled

_FIRST_CLAUSE = re.compile("[:;]")


def print_verdicts(
    console: Console, rows: Sequence[Row], column: Column | None = None, *, in_full: bool = False
) -> None:
    """Print what is not to be trusted, then what the rest comes to."""
    print_advice(console, rows, in_full=in_full)
    conclusions = [one for one in conclusions_of(rows, column) if one.sentences]
    several = len({one.trace for one in conclusions}) > 1
    for one in conclusions:
        console.print()
        title = f"{one.title}, under {one.trace}" if several else one.title
        console.print(Text(title, "bold"))
        for sentence in one.sentences:
            console.print(Padding(styled(sentence), (0, 0, 0, 2)))
    for sentence in drives_of(conclusions):
        console.print(styled(sentence))


def print_advice(console: Console, rows: Sequence[Row], *, in_full: bool = False) -> None:
    """Print what is not to be trusted, and what else runs warn of."""
    for advice in advice_of(rows):
        head = Text("not trusted: ", "bold red") if advice.distrust else Text("warning: ", "bold yellow")
        # What befalls few runs has a word; what befalls most of them is what to mend first.
        short = not in_full and advice.distrust and 2 * advice.count < len(rows)
        sentence = _FIRST_CLAUSE.split(advice.sentence)[0] if short else advice.sentence
        console.print(head + Text(f"{advice.runs}: {sentence}"))
