"""The two consoles: results go to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from eraseblock.piped import plain
from eraseblock.terminal.width import width_of

if TYPE_CHECKING:
    from rich.console import Console


def out() -> Console:
    """Stdout: at most 120 columns on a terminal, 100 on a pipe, unless `COLUMNS` says otherwise."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=width_of(sys.stdout))


def err() -> Console:
    """Stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say_error(message: str) -> None:
    """One line on stderr; what came through a pipe is called stdin."""
    line = " ".join(plain(message).split())
    sys.stderr.write(f"eraseblock: {line}\n")
