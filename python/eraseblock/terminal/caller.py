"""A command line as the caller of runs: a progress bar while they are under way, sentences on stderr."""

from __future__ import annotations

from contextlib import AbstractContextManager

from eraseblock.running import Words
from eraseblock.sweep import Watcher
from eraseblock.terminal import progress
from eraseblock.terminal.console import say_error


class CommandLine:
    """Who asked for the runs sits at a terminal, or reads its output."""

    words = Words("the same command", "-o", "--fresh", "--prune", "--events")

    def watching(self, runs: int) -> AbstractContextManager[Watcher | None]:
        """A progress bar, or lines where nobody sees one."""
        return progress.watching(runs)

    def notice(self, sentence: str) -> None:
        """One line on stderr."""
        say_error(sentence)
