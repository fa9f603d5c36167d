"""The runs of a folder: each stored as it ends, known by configuration, trace content and engine."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.results.files import drop_parts
from eraseblock.results.journal import Journal, Line, Scan, last_object
from eraseblock.results.record import Record

JOURNAL_NAME = "runs.jsonl"
LOCK_NAME = "runs.lock"
_RECORD = b',"record":'
# A label of runs that stand for another reading of a paper: they are no part of the results proper.
READING = "reading"


@dataclass(frozen=True)
class RunId:
    """What a stored run is known by: two runs with the same one have the same figures."""

    engine: str
    key: str
    verify: bool

    @staticmethod
    def of(found: dict[str, Any]) -> RunId:
        """As the journal has it."""
        return RunId(found["engine"], found["key"], found["verify"])


@dataclass(frozen=True)
class Wanted:
    """A run that a sweep asks for, and what it calls things: names and places, on which no figure depends."""

    id: RunId
    labels: dict[str, Any]

    def relabel(self, record: Record) -> Record:
        """The record of a run with the same id, under this one's names."""
        record["name"] = record["config"]["name"] = self.labels["name"]
        record["config"]["preset"] = self.labels["preset"]
        if "path" in self.labels:
            record["config"]["workload"]["path"] = self.labels["path"]
        record["trace"].update(self.labels["trace"])
        return record


@dataclass(frozen=True)
class LeftOut:
    """Stored runs that are no part of the sweep."""

    other_engine: int
    not_asked_for: int

    def sentence(self, folder: Path) -> str:
        """For people; empty where nothing is left out."""
        parts = [
            f"{count} {what}"
            for count, what in (
                (self.other_engine, "of another version of the engine"),
                (self.not_asked_for, "that this sweep does not ask for"),
            )
            if count
        ]
        if not parts:
            return ""
        return f"{folder} also keeps runs that are not in the results: {', '.join(parts)}; --prune drops them"


class RunStore:
    """The runs of one folder, open for one process; `opened` opens it. Threads may add runs at once."""

    def __init__(self, folder: Path, *, fresh: bool = False, prune: bool = False) -> None:
        """Read what is stored. `fresh`: run all of it anew; `prune`: drop what the sweep does not ask for."""
        self.folder = folder
        self.found = 0
        self._fresh, self._prune = fresh, prune
        self._turn = threading.Lock()
        self._plan: list[Wanted] = []
        self._journal = Journal(folder / JOURNAL_NAME)
        try:
            scan, lines = self._journal.lines()
            self._contents = _Contents(lines)
        except BaseException:
            self._journal.close()
            raise
        self.notices = scan.sentences()

    def close(self) -> None:
        """Store nothing more; a run that is being stored is stored first."""
        with self._turn:
            self._journal.close()

    def begin(self, wanted: Sequence[Wanted]) -> None:
        """Say which runs the folder's results are made of, in their order; counts those that are there."""
        self._plan = list(wanted)
        runs, ids = self._contents.runs, {one.id for one in wanted}
        if self._fresh:
            self._keep({id_: line for id_, line in runs.items() if id_ not in ids})
        elif self._prune:
            self._keep({id_: line for id_, line in runs.items() if id_ in ids})
        self.found = sum(one.id in self._contents.runs for one in wanted)
        plan = _plan_of(wanted)
        if plan != self._contents.plan:
            self._append({"plan": plan})
            self._contents.plan = plan

    def __contains__(self, wanted: Wanted) -> bool:
        return wanted.id in self._contents.runs

    def get(self, wanted: Wanted) -> Record | None:
        """The record of a run, under the names that `wanted` has for things."""
        with self._turn:
            line = self._contents.runs.get(wanted.id)
            body = None if line is None else self._journal.read(line)
        return None if body is None else wanted.relabel(json.loads(body)["record"])

    def add(self, run: RunId, record: str) -> None:
        """Store a run that has ended, `record` being its JSON; on the disk when this returns."""
        head = json.dumps({"run": vars(run)}, separators=(",", ":"))
        body = b"".join((head[:-1].encode(), _RECORD, record.encode(), b"}"))
        with self._turn:
            if run not in self._contents.runs:
                self._contents.runs[run] = self._journal.append(body)

    def done(self) -> int:
        """How many of the wanted runs are stored; one that is being stored is waited for."""
        with self._turn:
            return sum(one in self for one in self._plan)

    def left_out(self) -> LeftOut:
        """What is stored beside the wanted runs."""
        ids = {one.id for one in self._plan}
        others = [run for run in self._contents.runs if run not in ids]
        foreign = sum(run.engine != _core.engine() for run in others)
        return LeftOut(foreign, len(others) - foreign)

    def delivered(self) -> None:
        """Note that results.json and the other files hold what the journal says."""
        if last_object(self._journal.path) != _DELIVERED:
            self._append({"delivered": True})

    def _append(self, entry: dict[str, Any]) -> None:
        with self._turn:
            self._journal.append(_compact(entry))

    def _keep(self, runs: dict[RunId, Line]) -> None:
        if len(runs) < len(self._contents.runs):
            lines = self._journal.keep_only(runs.values())
            self._contents.runs = dict(zip(runs, lines, strict=True))
            self._contents.plan = None


class _Contents:
    """Where each run lies in a journal, and which of them were asked for last."""

    def __init__(self, lines: Iterator[tuple[Line, bytes]]) -> None:
        self.runs: dict[RunId, Line] = {}
        self.plan: dict[str, Any] | None = None
        for line, body in lines:
            if body.startswith(b'{"run":'):
                head, _, _ = body.partition(_RECORD)
                self.runs[RunId.of(json.loads(head + b"}")["run"])] = line
            else:
                self.plan = json.loads(body).get("plan", self.plan)


@contextmanager
def opened(folder: Path, *, fresh: bool = False, prune: bool = False) -> Iterator[RunStore]:
    """A folder's runs, for this process alone."""
    with _locked(folder):
        drop_parts(folder / JOURNAL_NAME)
        store = RunStore(folder, fresh=fresh, prune=prune)
        try:
            yield store
        finally:
            store.close()


def has_runs(folder: Path) -> bool:
    """Whether runs were stored one by one in this folder."""
    return (folder / JOURNAL_NAME).exists()


def is_delivered(folder: Path) -> bool:
    """Whether results.json and the other files are those of the journal's last state."""
    return last_object(folder / JOURNAL_NAME) == _DELIVERED


@dataclass(frozen=True)
class Stored:
    """What a folder holds of the sweep that it is for."""

    records: list[Record]
    asked_for: int
    notices: list[str]


def read_runs(folder: Path) -> Stored:
    """The runs of a folder, as far as they have ended. Takes no lock: a sweep may be at work."""
    path = folder / JOURNAL_NAME
    records = []
    with path.open("rb") as file:
        scan = Scan(path, file)
        contents = _Contents(iter(scan))
        plan = [one for one in _wanted_of(contents.plan) if READING not in one.labels]
        for one in plan:
            if (line := contents.runs.get(one.id)) is not None:
                file.seek(line.offset)
                records.append(one.relabel(json.loads(file.read(line.length))["record"]))
    return Stored(records, len(plan), scan.sentences())


def _plan_of(wanted: Sequence[Wanted]) -> dict[str, Any]:
    """The wanted runs as the journal keeps them, each set of names once."""
    names: dict[str, int] = {}
    runs = []
    for one in wanted:
        number = names.setdefault(json.dumps(one.labels, sort_keys=True), len(names))
        runs.append([one.id.key, number])
    first = wanted[0].id if wanted else RunId(_core.engine(), "", verify=False)
    labels = [json.loads(text) for text in names]
    return {"engine": first.engine, "verify": first.verify, "labels": labels, "runs": runs}


def _wanted_of(plan: dict[str, Any] | None) -> list[Wanted]:
    if plan is None:
        return []
    return [
        Wanted(RunId(plan["engine"], key, plan["verify"]), plan["labels"][number])
        for key, number in plan["runs"]
    ]


def _compact(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


_DELIVERED = _compact({"delivered": True})


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes away; the system drops the lock of a process that dies."""
    from filelock import FileLock, Timeout

    path = folder / LOCK_NAME
    _core.check_replaceable(str(path))
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise _core.InputError(
            f"{folder}: {_holder(path)} is at work in this folder; "
            "wait until it has ended, or name another folder"
        ) from None
    try:
        holder = {"process": os.getpid(), "host": socket.gethostname(), "since": f"{datetime.now():%F %T}"}
        path.write_bytes(_compact(holder))
        yield
        path.write_bytes(b"")
    finally:
        lock.release()


def _holder(path: Path) -> str:
    with suppress(OSError, ValueError, KeyError):
        holder = json.loads(path.read_bytes())
        return f"process {holder['process']} on {holder['host']} (since {holder['since']})"
    return "another process"
