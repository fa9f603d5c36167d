"""The progress bar of one piece of work that goes in steps; nothing on a pipe."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from eraseblock.terminal.console import err


class StepBar:
    """Shows how the engine gets on with one piece of work, if stderr is a terminal. Use it as a context."""

    def __init__(self) -> None:
        """Prepare a bar."""
        self._bar = Progress(
            TextColumn("{task.description:<8}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=err(),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._bar.stop()

    def update(self, phase: str, done: int, total: int) -> None:
        """Take note of how far the work is; a total of 0 is one that nobody knows."""
        self._bar.update(self._task, description=phase, completed=done, total=total or None)
