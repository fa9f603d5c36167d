"""Hands calls to threads, or to any executor, and ends them all when one of them or the user wants an end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

# Told of phase, steps done and steps in all by the engine; what it raises ends the call.
Progress = Callable[[str, int, int], None]
# A function of this module's callers and its arguments, so that they can go to another process.
Call = tuple[Callable[..., Any], tuple[Any, ...]]
# Gives what a call gave, or raises what it raised.
Result = Callable[[], Any]


class StoppedError(Exception):
    """Ends a call whose result nobody waits for any more."""


def default_jobs() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """Threads, or somebody's executor, for a `with` block. Leaving it by an exception ends what runs."""

    def __init__(
        self, jobs: int | None = None, executor: Executor | None = None, patience_s: float = 0
    ) -> None:
        """Use `executor`, or else `jobs` threads; after an exception, wait so long for what runs to end."""
        self._own = executor is None
        self._patience_s = patience_s
        self._executor = executor or ThreadPoolExecutor(
            max_workers=max(1, jobs or default_jobs()), thread_name_prefix="eraseblock"
        )
        self.stopped = threading.Event()
        self._pending: set[Future[Any]] = set()
        # Only threads can be told of progress, and asked to end, while they are at it.
        self.shares_memory = isinstance(self._executor, ThreadPoolExecutor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Wait for nobody after an exception, or not for long."""
        if kind is not None:
            self.stopped.set()
            for future in list(self._pending):
                future.cancel()
            if self._patience_s:
                wait(list(self._pending), self._patience_s)
        if self._own:
            self._executor.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def each(self, calls: Iterable[Call], ended: Callable[[int, Result], None]) -> None:
        """Make all calls; `ended` is told of each at once, in the thread where it ended.

        Ctrl-C does not reach it there, but ends the waiting here. What `ended` raises ends everything.
        """
        outcomes: SimpleQueue[BaseException | None] = SimpleQueue()

        def note(index: int, result: Result) -> None:
            try:
                ended(index, result)
            except BaseException as error:  # noqa: BLE001 (raised again by the thread that waits)
                outcomes.put(error)
                # What this thread begins next ends before it has done anything.
                self.stopped.set()
            else:
                outcomes.put(None)

        count = 0
        for index, (function, arguments) in enumerate(calls):
            if self.shares_memory:
                future = self._executor.submit(note, index, partial(function, *arguments))
            else:
                future = self._executor.submit(function, *arguments)
                future.add_done_callback(partial(_noted, note, index))
            self._pending.add(future)
            future.add_done_callback(self._pending.discard)
            count += 1
        for _ in range(count):
            if (error := outcomes.get()) is not None:
                raise error


def _noted(note: Callable[[int, Result], None], index: int, future: Future[Any]) -> None:
    note(index, future.result)
