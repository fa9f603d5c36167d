"""Runs many experiments at once, in threads: the engine works outside Python's lock."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from eraseblock import _core
from eraseblock.experiments import Experiment

Record = dict[str, Any]


class Watcher(Protocol):
    """Is told how runs get on, from the threads that run them."""

    def update(self, index: int, phase: str, done: int, total: int) -> None:
        """Run `index` has done so much of its phase."""

    def finished(self, index: int) -> None:
        """Run `index` has ended, well or not."""


@dataclass(frozen=True)
class Outcome:
    """How one experiment ended: with a record, or with the error that stopped it."""

    experiment: Experiment
    record: Record | None = None
    error: _core.EraseblockError | None = None


class _CancelledError(Exception):
    """Ends a run whose result nobody waits for any more."""


def default_jobs() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    experiments: Sequence[Experiment],
    *,
    jobs: int | None = None,
    verify: bool = False,
    watcher: Watcher | None = None,
) -> list[Outcome]:
    """Run everything, `jobs` at a time; outcomes come in the order of `experiments`."""
    cancelled = threading.Event()

    def one(index: int) -> Outcome:
        def progress(phase: str, done: int, total: int) -> None:
            if cancelled.is_set():
                raise _CancelledError
            if watcher is not None:
                watcher.update(index, phase, done, total)

        experiment = experiments[index]
        try:
            text = _core.run(experiment.text, str(experiment.base), verify, progress)
            return Outcome(experiment, record=json.loads(text))
        except _core.EraseblockError as error:
            return Outcome(experiment, error=error)
        finally:
            if watcher is not None:
                watcher.finished(index)

    pool = ThreadPoolExecutor(max_workers=max(1, jobs or default_jobs()), thread_name_prefix="eraseblock")
    try:
        outcomes = list(pool.map(one, range(len(experiments))))
    except BaseException:
        cancelled.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return outcomes
