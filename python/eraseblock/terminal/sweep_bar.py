"""The progress bar of a sweep: share done, requests per second and time left."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import ProgressColumn as Column
from rich.text import Text

from eraseblock.results.units import count
from eraseblock.terminal.console import err
from eraseblock.terminal.progress import ProgressLines


class _RateColumn(Column):
    """Requests replayed per second, over all runs."""

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        replayed = task.fields["replayed"]
        return Text(f"{count(replayed / elapsed)} requests/s" if elapsed > 0 and replayed else "", "cyan")


class ProgressBar(ProgressLines):
    """Shows on a terminal how a sweep gets on."""

    def __init__(self, runs: int) -> None:
        """Prepare a bar for so many runs."""
        super().__init__(runs)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            _RateColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=err(),
            transient=True,
        )
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

    def _draw(self, phase: str) -> None:
        self._bar.update(
            self._task,
            total=float(self._runs - self._found),
            completed=self._shares,
            replayed=self._all_replayed,
            description=self._text(phase),
        )

    def _text(self, phase: str) -> str:
        found = f" ({self._found} found)" if self._found else ""
        return f"{phase:<12} run {min(self._found + self._ended + 1, self._runs)}/{self._runs}{found}"
