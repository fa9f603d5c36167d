"""How a sweep gets on, where nobody watches a bar: a line a minute."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from eraseblock.terminal.console import say_error

# A line says after so many seconds, and again each time, that work goes on.
EVERY_S = 60.0


class ProgressLines:
    """Says of a long sweep how far it is. Use it as a context."""

    def __init__(self, runs: int) -> None:
        """Take note of so many runs."""
        self._runs = runs
        self._share = [0.0] * runs
        self._replayed = [0] * runs
        self._shares = 0.0
        self._all_replayed = 0
        self._found = 0
        self._ended = 0
        self._lock = threading.Lock()
        self._start = self._said = time.monotonic()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """End."""

    def found(self, runs: int) -> None:
        """Take note of runs that are there already; rate and time left are those of the others."""
        with self._lock:
            self._found = runs
            self._draw("starting")

    def update(self, index: int, phase: str, done: int, total: int) -> None:
        """Take note of one run's progress; only the replay of requests counts."""
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

    def _draw(self, phase: str) -> None:  # noqa: ARG002
        now = time.monotonic()
        if now - self._said < EVERY_S:
            return
        self._said = now
        todo = self._runs - self._found
        part = self._shares / todo if todo else 1.0
        left = f", some {(now - self._start) * (1 - part) / part / 60:.0f} min left" if part > 0 else ""
        say_error(f"{self._found + self._ended} of {self._runs} runs have ended{left}")
