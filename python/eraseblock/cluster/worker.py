"""What happens on a worker: finds the trace of a run, and runs it as the caller would have."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker

from eraseblock import _core
from eraseblock.cluster.task import Content, Ended, Task, content_of, plugin_name
from eraseblock.pool import Progress, StoppedError
from eraseblock.sweeps import OneRun, run_one

# What was sent here, by hash; and what files that the caller named were seen to hold, by their state.
_sent: dict[str, Path] = {}
_seen: dict[tuple[str, int, int, int], str] = {}
_given: dict[str, _core.Requests] = {}
_OTHER = (
    "buffer: a worker has another version of the file of {name}; install the same one there, "
    "and start the worker anew"
)
# One reading of a file serves all threads of a worker.
_turn = threading.Lock()


class Sent(WorkerPlugin):
    """Content that the scheduler keeps and hands to each worker, those that come later as well."""

    def __init__(self, content: Content, data: bytes) -> None:
        self.name = plugin_name(content.sha256)
        self._content, self._data = content, data

    def setup(self, worker: Worker) -> None:
        """Put it into the worker's own folder."""
        path = _folder(worker, self._content) / self._content.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._data)
        self._data = b""
        # A file that has not come whole is lacking. Requests are looked at when they are read.
        if self._content.path is None or content_of(path).sha256 == self._content.sha256:
            _sent[self._content.sha256] = path

    def teardown(self, worker: Worker) -> None:
        """Remove it."""
        _sent.pop(self._content.sha256, None)
        _given.pop(self._content.sha256, None)
        shutil.rmtree(_folder(worker, self._content), ignore_errors=True)


def _folder(worker: Worker, content: Content) -> Path:
    return Path(worker.local_directory) / plugin_name(content.sha256)


def engine() -> str:
    """The engine of this worker."""
    return _core.engine()


def forget() -> None:
    """Let go of the drives and traces that runs of this worker have shared."""
    _core.forget_filled()
    _core.forget_volumes()


def work(tasks: Sequence[Task]) -> list[Ended]:
    """Make some runs, one after the other."""
    return [_work(task) for task in tasks]


def _work(task: Task) -> Ended:
    if task.engine != _core.engine():
        return Ended(engine=_core.engine())
    run, content, place = task.run, task.content, None
    other = run.scheme.other_version() if run.scheme else None
    if other is not None:
        return Ended(error=_core.InputError(_OTHER.format(name=other)))
    if content is not None:
        with _turn:
            place = _place(content)
        if place is None:
            return Ended(lacks=True)
    begin = time.perf_counter()
    try:
        record = _record(run, content, place)
    except StoppedError:
        return Ended()
    except _core.EraseblockError as error:
        return Ended(error=type(error)(_named(str(error), task, place)))
    return Ended(lacks=True) if record is None else Ended(record, time.perf_counter() - begin)


def _record(run: OneRun, content: Content | None, place: Path | None) -> str | None:
    """What comes of a run; none where its requests have not come whole."""
    if content is None or place is None or str(place) == content.path:
        return run_one(run, _progress())
    if content.path is not None:
        return _elsewhere(run, str(place))
    given = _requests(content, place)
    return None if given is None else run_one(replace(run, given=given), _progress())


def _place(content: Content) -> Path | None:
    """Where the content is on this machine; none if it is not here."""
    if content.path is not None:
        path = Path(content.path)
        with suppress(OSError):
            state = path.stat()
            if state.st_size == content.size:
                key = (content.path, state.st_size, state.st_mtime_ns, state.st_ino)
                if key not in _seen:
                    _seen[key] = content_of(path).sha256
                if _seen[key] == content.sha256:
                    return path
    return _sent.get(content.sha256)


def _requests(content: Content, place: Path) -> _core.Requests | None:
    """The requests that were sent here; none where they have not come whole, or are gone."""
    with _turn:
        if content.sha256 not in _given:
            try:
                given = _core.Requests.unpack(place.read_bytes())
            except (OSError, _core.InputError):
                given = None
            if given is None or given.sha256 != content.sha256:
                _sent.pop(content.sha256, None)
                return None
            _given[content.sha256] = given
        return _given[content.sha256]


def _elsewhere(run: OneRun, place: str) -> str:
    """A run whose trace was sent here; its record names the caller's path."""
    config = json.loads(run.text)
    path, config["workload"]["path"] = config["workload"]["path"], place
    record = json.loads(run_one(replace(run, text=json.dumps(config)), _progress()))
    record["config"]["workload"]["path"] = path
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _named(sentence: str, task: Task, place: Path | None) -> str:
    """A sentence about the caller's trace, not about its place here."""
    path = json.loads(task.run.text)["workload"].get("path")
    if path is None or task.content is None:
        return sentence
    there = os.path.join(task.run.base, path)  # noqa: PTH118 (as the engine writes it)
    if place is not None and str(place) != task.content.path:
        there = str(place)
    return sentence.replace(there, os.path.join(task.home, path))  # noqa: PTH118


def _progress() -> Progress:
    """Ends a run that the scheduler does not ask for any more."""
    worker = get_worker()
    key = worker.get_current_task()

    def progress(_phase: str, _done: int, _total: int) -> None:
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled":
            raise StoppedError

    return progress
