"""A command line as the caller of runs: a progress bar while they are under way, sentences on stderr."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager

from eraseblock.running import Words
from eraseblock.sweeps import Watcher
from eraseblock.terminal.console import say_error
from eraseblock.terminal.progress import ProgressLines


class CommandLine:
    """Who asked for the runs sits at a terminal, or reads its output."""

    words = Words(
        *("the same command", "-o", "--fresh", "--prune", "--events", "--shard", "--cluster", "--jobs")
    )

    def watching(self, runs: int) -> AbstractContextManager[Watcher | None]:
        """A progress bar; where stderr is no terminal, lines."""
        if not sys.stderr.isatty():
            return ProgressLines(runs)
        from eraseblock.terminal.sweep_bar import ProgressBar

        return ProgressBar(runs)

    def notice(self, sentence: str) -> None:
        """One line on stderr."""
        say_error(sentence)
