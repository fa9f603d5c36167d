"""The runs of a folder: each stored as it ends, known by configuration, trace content and engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.results import locks, shards
from eraseblock.results.files import drop_parts
from eraseblock.results.journal import Journal, Line, Scan, last_object, read_line
from eraseblock.results.record import Record
from eraseblock.results.shards import Shard

JOURNAL_NAME = "runs.jsonl"
_RECORD = b',"record":'
# How often a folder is read in which things move.
_LOOKS = 3
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

    def __init__(
        self, folder: Path, *, fresh: bool = False, prune: bool = False, shard: Shard | None = None
    ) -> None:
        """Read what is stored. `fresh`: run all of it anew; `prune`: drop what the sweep does not ask for.

        `shard`: a share of the sweep, stored in a journal of its own. Otherwise the runs of all shards that
        were at work here are taken over, and their journals removed.
        """
        self.folder = folder
        self.shard = shard
        self.found = 0
        # Those of the wanted runs that are to be run here.
        self._own: set[RunId] = set()
        # What others have stored, of which this process changes nothing.
        self._elsewhere: dict[RunId, tuple[Path, Line]] = {}
        self._fresh, self._prune = fresh, prune
        self._turn = threading.Lock()
        self._plan: list[Wanted] = []
        own = folder / JOURNAL_NAME if shard is None else shard.journal(folder)
        self._journal = Journal(own)
        try:
            scan, lines = self._journal.lines()
            self._contents = _Contents(lines)
            self.notices = scan.sentences()
            if shard is None:
                self._take_over()
            else:
                self._look_around(own)
        except BaseException:
            self._journal.close()
            raise

    def close(self) -> None:
        """Store nothing more; a run that is being stored is stored first."""
        with self._turn:
            self._journal.close()

    def begin(self, wanted: Sequence[Wanted]) -> None:
        """Say which runs the folder's results are made of, in their order; counts those that are there."""
        self._plan = list(wanted)
        self._own = {one.id for one in wanted}
        if self.shard is not None:
            mine = self.shard.share(one.id.key for one in wanted)
            self._own = {one for one in self._own if one.key in mine}
        runs, ids = self._contents.runs, {one.id for one in wanted}
        if self._fresh:
            self._keep({id_: line for id_, line in runs.items() if id_ not in ids})
        elif self._prune:
            self._keep({id_: line for id_, line in runs.items() if id_ in ids})
        self.found = sum(self.asks_for(one) and one in self for one in wanted)
        plan = _plan_of(wanted)
        if plan != self._contents.plan:
            self._append({"plan": plan})
            self._contents.plan = plan

    def __contains__(self, wanted: Wanted) -> bool:
        return wanted.id in self._contents.runs or wanted.id in self._elsewhere

    def asks_for(self, wanted: Wanted) -> bool:
        """Whether the run belongs to what is run here, stored already or not."""
        return wanted.id in self._own

    @property
    def asked_for(self) -> int:
        """How many of the wanted runs belong to what is run here."""
        return sum(self.asks_for(one) for one in self._plan)

    def get(self, wanted: Wanted) -> Record | None:
        """The record of a run, under the names that `wanted` has for things."""
        with self._turn:
            line = self._contents.runs.get(wanted.id)
            body = None if line is None else self._journal.read(line)
        if body is None and wanted.id in self._elsewhere:
            body = read_line(*self._elsewhere[wanted.id])
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
            return sum(self.asks_for(one) and one in self for one in self._plan)

    def left_out(self) -> LeftOut:
        """What is stored beside the wanted runs; a shard leaves that to whoever takes its runs over."""
        if self.shard is not None:
            return LeftOut(0, 0)
        ids = {one.id for one in self._plan}
        others = [run for run in self._contents.runs if run not in ids]
        foreign = sum(run.engine != _core.engine() for run in others)
        return LeftOut(foreign, len(others) - foreign)

    def delivered(self) -> None:
        """Note that results.json and the other files hold what the journal says."""
        if last_object(self._journal.path) != _DELIVERED:
            self._append({"delivered": True})

    def _take_over(self) -> None:
        for path in shards.journals(self.folder):
            runs: list[RunId] = []
            plans: list[dict[str, Any]] = []

            def new(
                scan: Scan, runs: list[RunId] = runs, plans: list[dict[str, Any]] = plans
            ) -> Iterator[bytes]:
                for _, body in scan:
                    run = _run_of(body)
                    if run is None:
                        plans += [plan for plan in [json.loads(body).get("plan")] if plan]
                    elif run not in self._contents.runs and run not in runs:
                        runs.append(run)
                        yield body

            with path.open("rb") as file:
                scan = Scan(path, file)
                lines = self._journal.extend(new(scan))
            self._contents.runs.update(zip(runs, lines, strict=True))
            # Who reads the folder before this process says what it asks for sees what the shard asked for.
            if plans and plans[-1] != self._contents.plan:
                self._append({"plan": plans[-1]})
                self._contents.plan = plans[-1]
            self.notices += scan.sentences()
            path.unlink()

    def _look_around(self, own: Path) -> None:
        whole = self.folder / JOURNAL_NAME
        for path in ([whole] if whole.exists() else []) + shards.journals(self.folder):
            if path != own:
                with path.open("rb") as file:
                    found = _Contents(iter(Scan(path, file))).runs
                self._elsewhere |= {run: (path, line) for run, line in found.items()}

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
            if (run := _run_of(body)) is not None:
                self.runs[run] = line
            else:
                self.plan = json.loads(body).get("plan", self.plan)


def _run_of(body: bytes) -> RunId | None:
    """Which run an object of a journal is; none if it is something else."""
    if not body.startswith(b'{"run":'):
        return None
    head, _, _ = body.partition(_RECORD)
    return RunId.of(json.loads(head + b"}")["run"])


@contextmanager
def opened(
    folder: Path, *, fresh: bool = False, prune: bool = False, shard: Shard | None = None
) -> Iterator[RunStore]:
    """A folder's runs, for this process alone; with a shard for those that work on the others, too."""
    if shard is not None:
        shard.journal(folder).parent.mkdir(exist_ok=True)
    with locks.alone(folder) if shard is None else locks.one_of_several(folder, shard):
        drop_parts(folder / JOURNAL_NAME if shard is None else shard.journal(folder))
        store = RunStore(folder, fresh=fresh, prune=prune, shard=shard)
        try:
            yield store
        finally:
            store.close()


def has_runs(folder: Path) -> bool:
    """Whether runs were stored one by one in this folder."""
    return (folder / JOURNAL_NAME).exists() or bool(shards.journals(folder))


def is_delivered(folder: Path) -> bool:
    """Whether results.json and the other files are those of the journal's last state."""
    return not shards.journals(folder) and last_object(folder / JOURNAL_NAME) == _DELIVERED


@dataclass(frozen=True)
class Stored:
    """What a folder holds of the sweep that it is for."""

    records: list[Record]
    asked_for: int
    notices: list[str]


def read_runs(folder: Path) -> Stored:
    """The runs of a folder, as far as they have ended. Takes no lock: a sweep may be at work."""
    # What is stored may move from file to file meanwhile, as when the runs of shards are taken over.
    for _ in range(_LOOKS - 1):
        with suppress(FileNotFoundError, _core.InputError):
            return _read_once(folder)
    return _read_once(folder)


def _read_once(folder: Path) -> Stored:
    """The same, if nothing that is read moves until it has been."""
    others = shards.journals(folder)
    notices: list[str] = []
    runs: dict[RunId, tuple[Path, Line]] = {}
    asked = None
    # Shards come last: what they are at work on is newer than what the others' journal asked for.
    for path in [folder / JOURNAL_NAME, *others]:
        if not path.exists():
            continue
        with path.open("rb") as file:
            scan = Scan(path, file)
            contents = _Contents(iter(scan))
        runs |= {run: (path, line) for run, line in contents.runs.items()}
        asked = contents.plan or asked
        notices += scan.sentences(only_read=True)
    plan = [one for one in _wanted_of(asked) if READING not in one.labels]
    records = []
    for one in plan:
        if one.id in runs:
            body = read_line(*runs[one.id])
            if _run_of(body) != one.id:
                raise _core.InputError(f"{runs[one.id][0]}: has changed since it was read; read it again")
            records.append(one.relabel(json.loads(body)["record"]))
    # Runs leave a shard's journal for the whole one, which was read first, and it is removed then.
    if not set(others) <= set(shards.journals(folder)):
        raise _core.InputError(f"{folder}: the runs of shards are being taken over; look again")
    return Stored(records, len(plan), notices)


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
