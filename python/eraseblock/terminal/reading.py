"""Reads workloads one after another; a line on the terminal says how far the engine is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from eraseblock.experiments import Experiment
from eraseblock.profile.gather import Info, characterise
from eraseblock.results.units import count
from eraseblock.terminal.console import err


class _CancelledError(Exception):
    """Ends a pass whose result nobody waits for any more."""


def read_all(
    experiments: Sequence[Experiment], *, page_size: str | None = None, sample: float | None = None
) -> list[Info]:
    """Characterise the workloads in order. Ctrl-C ends at once."""
    cancelled = threading.Event()
    line = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=err(),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    task = line.add_task("reading", total=None)

    def one(index: int) -> Info:
        name = PurePath(experiments[index].config["workload"].get("path") or "generated").name
        number = f" ({index + 1} of {len(experiments)})" if len(experiments) > 1 else ""

        def progress(_phase: str, requests: int, _total: int) -> None:
            if cancelled.is_set():
                raise _CancelledError
            line.update(task, description=f"reading {name}{number}: {count(requests)} requests")

        return characterise(experiments[index], page_size=page_size, sample=sample, progress=progress)

    # In a thread of its own, so that Ctrl-C is heard while the engine reads.
    pool = ThreadPoolExecutor(max_workers=1)
    with line:
        try:
            found = list(pool.map(one, range(len(experiments))))
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    pool.shutdown()
    return found
