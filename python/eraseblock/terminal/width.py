"""How many columns output may take."""

from __future__ import annotations

import os
from typing import TextIO

# Lines that are longer are hard to read; what reads a pipe has no width.
_MOST, _PIPE, _UNKNOWN = 120, 100, 80


def width_of(stream: TextIO) -> int:
    """At most 120 columns on a terminal, 100 on a pipe, unless `COLUMNS` says otherwise."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if not stream.isatty():
        return _PIPE
    try:
        return min(os.get_terminal_size(stream.fileno()).columns or _UNKNOWN, _MOST)
    except OSError:
        return _UNKNOWN
