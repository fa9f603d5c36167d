"""The two consoles: results go to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Lines that are longer are hard to read; what reads a pipe has no width.
_MOST, _PIPE = 120, 100


def out() -> Console:
    """Stdout: at most 120 columns on a terminal, 100 on a pipe, unless `COLUMNS` says otherwise."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    if not os.environ.get("COLUMNS", "").isdigit():
        console.width = min(console.width, _MOST) if console.is_terminal else _PIPE
    return console


def err() -> Console:
    """Stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say_error(message: str) -> None:
    """One line on stderr."""
    line = " ".join(message.split())
    sys.stderr.write(f"eraseblock: {line}\n")
