"""The progress bar of a sweep: share done, requests per second and time left; on a pipe a line a minute."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import ProgressColumn as Column
from rich.text import Text

from eraseblock.results.units import count
from eraseblock.terminal.console import err, say_error

# Where nobody watches a bar, a line says after so many seconds, and again each time, that work goes on.
EVERY_S = 60.0


class _RateColumn(Column):
    """Requests replayed per second, over all runs."""

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        replayed = task.fields["replayed"]
        return Text(f"{count(replayed / elapsed)} requests/s" if elapsed > 0 and replayed else "", "cyan")


class ProgressBar:
    """Shows how a sweep gets on; where stderr is no terminal, only a long one. Use it as a context."""

    def __init__(self, runs: int) -> None:
        """Prepare a bar for so many runs."""
        self._runs = runs
        self._share = [0.0] * runs
        self._replayed = [0] * runs
        self._shares = 0.0
        self._all_replayed = 0
        self._found = 0
        self._ended = 0
        self._lock = threading.Lock()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            _RateColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=err(),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._start = self._said = time.monotonic()
        self._task = self._bar.add_task(self._text("starting"), total=float(runs), replayed=0)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._bar.stop()

    def found(self, runs: int) -> None:
        """Take note of runs that are there already; rate and time left are those of the others."""
        with self._lock:
            self._found = runs
            self._bar.update(self._task, total=float(self._runs - runs))
            self._draw("starting")

    def update(self, index: int, phase: str, done: int, total: int) -> None:
        """Take note of one run's progress; only the replay of requests moves the bar."""
        with self._lock:
            if phase == "replay" and total > 0:
                self._move(index, min(1.0, done / total))
                self._all_replayed += done - self._replayed[index]
                self._replayed[index] = done
            self._draw(phase)

    def finished(self, index: int) -> None:
        """Take note of one run's end."""
        with self._lock:
            self._move(index, 1.0)
            self._ended += 1
            self._draw("replay")

    def _move(self, index: int, share: float) -> None:
        if share > self._share[index]:
            self._shares += share - self._share[index]
            self._share[index] = share

    def _draw(self, phase: str) -> None:
        if self._bar.disable:
            self._say()
            return
        self._bar.update(
            self._task,
            completed=self._shares,
            replayed=self._all_replayed,
            description=self._text(phase),
        )

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._said < EVERY_S:
            return
        self._said = now
        todo = self._runs - self._found
        part = self._shares / todo if todo else 1.0
        left = f", some {(now - self._start) * (1 - part) / part / 60:.0f} min left" if part > 0 else ""
        say_error(f"{self._found + self._ended} of {self._runs} runs have ended{left}")

    def _text(self, phase: str) -> str:
        found = f" ({self._found} found)" if self._found else ""
        return f"{phase:<12} run {min(self._found + self._ended + 1, self._runs)}/{self._runs}{found}"
