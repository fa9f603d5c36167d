"""The two consoles: results go to stdout, everything else to stderr."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from eraseblock.piped import plain
from eraseblock.terminal.width import width_of

if TYPE_CHECKING:
    from rich.console import Console


def out() -> Console:
    """Stdout: at most 120 columns on a terminal, 100 on a pipe, unless `COLUMNS` says otherwise."""
    from rich.console import Console

    file = sys.stdout if sys.stdout.isatty() else cast("TextIO", _Trimmed(sys.stdout))
    return Console(file=file, highlight=False, soft_wrap=False, width=width_of(sys.stdout))


class _Trimmed:
    """A file whose lines end where their text does: tables fill theirs up with blanks."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write the text, its lines without blanks at their ends."""
        return self._file.write(re.sub(r" +(?=\n)", "", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def err() -> Console:
    """Stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say_error(message: str) -> None:
    """One line on stderr; what came through a pipe is called stdin."""
    line = " ".join(plain(message).split())
    sys.stderr.write(f"eraseblock: {line}\n")
