"""How wide tables and their parts are, so that a narrow terminal gets fewer columns and no broken words."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

# More than any terminal has.
_UNLIMITED = 10_000


def full_width(console: Console, table: Table) -> int:
    """The columns of the terminal that the table takes if nothing in it is wrapped."""
    return console.measure(table, options=console.options.update(width=_UNLIMITED)).maximum


def longest(texts: Iterable[str]) -> int:
    """The width of the longest text."""
    return max((cell_len(text) for text in texts), default=0)


def longest_word(texts: Iterable[str]) -> int:
    """The width of the longest word: in fewer columns it would be cut."""
    return longest(word for text in texts for word in text.split())


def left_out(titles: Iterable[str]) -> str:
    """A sentence on the columns that had no room; empty where all had."""
    names = ", ".join(titles)
    return f"no room for: {names}" if names else ""
