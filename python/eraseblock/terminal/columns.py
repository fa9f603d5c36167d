"""Texts in aligned columns, without a library: to import one would take `list` longer than all else."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from eraseblock.terminal.width import width_of

_GAP = "  "
_STYLES = {"bold": "\x1b[1m", "dim": "\x1b[2m"}
_END = "\x1b[0m"


class Line(NamedTuple):
    """A line of a cell; one that is too long goes on in the next."""

    text: str
    style: str = ""


class Column(NamedTuple):
    """One column: for each row the lines of its cell."""

    title: str
    cells: Sequence[Sequence[Line]]
    # Never wrapped.
    fixed: bool = False
    # Wrapped at this width, or at a third of what the fixed ones leave, if its words fit there.
    most: int | None = None


def lines_of(texts: Iterable[str], style: str = "") -> list[list[Line]]:
    """Cells of one line each."""
    return [[Line(text, style)] for text in texts]


def write_columns(title: str, columns: Sequence[Column]) -> None:
    """Print a table under its title; one column at least is neither fixed nor narrow, and takes the rest."""
    total = width_of(sys.stdout)
    widths = list(_widths(columns, total))
    rule = "─" if (sys.stdout.encoding or "").lower().startswith("utf") else "-"
    rows = [[[Line(column.title, "bold")] for column in columns]]
    lines = [_painted(title, "bold"), *_row(rows[0], widths)]
    lines.append(_painted(rule * min(total, sum(widths) + len(_GAP) * (len(widths) - 1)), "dim"))
    for cells in zip(*(column.cells for column in columns), strict=True):
        lines += _row(cells, widths)
    sys.stdout.write("\n".join((*lines, "", "")))


def write_text(text: str) -> None:
    """Print a sentence."""
    sys.stdout.write("\n".join(_wrapped(text, width_of(sys.stdout))) + "\n")


def _widths(columns: Sequence[Column], total: int) -> Iterator[int]:
    longest = [
        max(len(column.title), *(len(line.text) for cell in column.cells for line in cell))
        for column in columns
    ]
    room = total - len(_GAP) * (len(columns) - 1)
    room -= sum(width for column, width in zip(columns, longest, strict=True) if column.fixed)
    narrow = [
        min(width, column.most, max(_longest_word(column), room // 3)) if column.most else 0
        for column, width in zip(columns, longest, strict=True)
    ]
    for column, width, most in zip(columns, longest, narrow, strict=True):
        if column.fixed:
            yield width
        else:
            yield most if column.most else max(8, min(width, room - sum(narrow)))


def _longest_word(column: Column) -> int:
    return max((len(word) for cell in column.cells for line in cell for word in line.text.split()), default=0)


def _row(cells: Sequence[Sequence[Line]], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a row, as many as its longest cell has."""
    wrapped = [
        [(text, line.style) for line in cell for text in _wrapped(line.text, width)]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for parts in zip_longest(*wrapped, fillvalue=("", "")):
        texts = [
            _painted(text, style) + " " * (width - len(text))
            for (text, style), width in zip(parts, widths, strict=True)
        ]
        yield _GAP.join(texts).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    return [text] if len(text) <= width else textwrap.wrap(text, width, break_on_hyphens=False)


def _painted(text: str, style: str) -> str:
    return f"{_STYLES[style]}{text}{_END}" if text and style and _has_styles() else text


def _has_styles() -> bool:
    """As the library decides that prints all other tables."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
