"""Runs many experiments at once, in threads unless told otherwise: the engine works outside Python's lock."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eraseblock import _core
from eraseblock.experiments import Experiment, hopeless
from eraseblock.pool import Call, Pool, Progress, Result, StoppedError
from eraseblock.results.record import Record
from eraseblock.results.runs import READING, RunId, RunStore, Wanted
from eraseblock.scheme import Brought

# How long runs may take to end their logs when they are asked to end: less than the command line waits.
PATIENCE_S = 0.4


class Watcher(Protocol):
    """Is told how runs get on, from the threads that run them."""

    def found(self, runs: int) -> None:
        """So many runs are stored already, and are not run again."""

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


def all_failures(outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Every error is a failure: nobody asked for the combination but the user."""
    return [outcome for outcome in outcomes if outcome.error is not None], []


def split_errors(outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Failures, and refusals: combinations that the engine does not build while it builds others.

    An input error that every run of a trace shares is about the trace itself, and a failure. Of many volumes
    that nobody named, one that cannot be run is refused.
    """
    failures: list[Outcome] = []
    refusals: list[Outcome] = []
    traces = [_trace_of(outcome.experiment) for outcome in outcomes]
    ends: dict[str, set[str]] = {}
    for trace, outcome in zip(traces, outcomes, strict=True):
        ends.setdefault(trace, set()).add(str(outcome.error))
    for trace, outcome in zip(traces, outcomes, strict=True):
        if outcome.error is None:
            continue
        refused = isinstance(outcome.error, _core.InputError) and len(ends[trace]) > 1
        (refusals if refused else failures).append(outcome)
    return failures, refusals


def _trace_of(experiment: Experiment) -> str:
    """What runs of one trace have in common; the volumes of a fleet are one."""
    workload = experiment.config["workload"]
    return str({**workload, "volumes": None} if experiment.of_fleet else workload)


@dataclass(frozen=True)
class Way:
    """How experiments are run: how many of them at once, where, and checked or not."""

    jobs: int | None = None
    verify: bool = False
    executor: Executor | None = None
    # For each experiment the file for its buffer's decisions.
    events: Sequence[Path] | None = None
    # Start from filled drives that other commands have kept, and keep some for them.
    cache: bool = True
    # What is kept of each record in memory; all of it unless told otherwise.
    trim: Callable[[Record], Record] | None = None


@dataclass(frozen=True)
class OneRun:
    """A resolved experiment, and what is done beside running it."""

    text: str
    base: str
    verify: bool
    # File for its buffer's decisions.
    events: str | None
    # Other runs of the process may start from the same filled drive.
    share: bool
    # Other commands may.
    cache: bool
    # What its configuration has by its hash alone.
    given: _core.Requests | None = None
    scheme: Brought | None = None


def run_all(
    experiments: Sequence[Experiment],
    how: Way | None = None,
    store: RunStore | None = None,
    watcher: Watcher | None = None,
) -> list[Outcome]:
    """Run everything; outcomes come in the order of `experiments`.

    What `store` holds is not run again; what ends is stored at once, whatever becomes of the rest.
    """
    how = how or Way()
    sweep = _Sweep(experiments, how, store, watcher)
    try:
        if store is not None:
            with Pool(how.jobs) as pool:
                sweep.identify(pool, store)
        # Logs that are being written when the user wants an end are brought to one.
        with Pool(how.jobs, how.executor, patience_s=PATIENCE_S if how.events else 0) as pool:
            sweep.run(pool)
    except BrokenExecutor as error:
        raise _core.SimulationError(
            f"a process that ran experiments has died ({error}); perhaps there was not enough memory"
        ) from error
    return sweep.outcomes()


class _Sweep:
    """The state of one sweep; its methods are told of ends by many threads."""

    def __init__(
        self, experiments: Sequence[Experiment], how: Way, store: RunStore | None, watcher: Watcher | None
    ) -> None:
        self._experiments = experiments
        self._verify = how.verify
        self._cache = how.cache
        self._events = how.events
        self._watcher = watcher
        self._trim = how.trim
        self._store = store
        self._wanted: list[Wanted | None] = [None] * len(experiments)
        self._records: list[Record | None] = [None] * len(experiments)
        self._errors: list[_core.EraseblockError | None] = [None] * len(experiments)

    def identify(self, pool: Pool, store: RunStore) -> None:
        """Find out which records are wanted, and which of them are there."""
        engine = _core.engine()

        def identified(index: int, result: Result) -> None:
            try:
                identity = json.loads(result())
            except _core.EraseblockError as error:
                self._errors[index] = error
                if self._watcher is not None:
                    self._watcher.finished(index)
                return
            config = self._experiments[index].config
            labels = {"name": config["name"], "preset": config["preset"], "trace": identity["trace"]}
            if (reading := self._experiments[index].reading) is not None:
                labels[READING] = reading
            if "path" in config["workload"]:
                labels["path"] = config["workload"]["path"]
            self._wanted[index] = Wanted(RunId(engine, identity["key"], self._verify), labels)

        calls: list[Call] = [
            (_core.identify, (one.text, str(one.base), self._progress(index, pool), one.given))
            for index, one in enumerate(self._experiments)
        ]
        pool.each(calls, identified)
        store.begin([wanted for wanted in self._wanted if wanted is not None])
        # What others run is none of the watcher's business.
        passed = store.found + sum(one is not None and not store.asks_for(one) for one in self._wanted)
        if self._watcher is not None and passed:
            self._watcher.found(passed)

    def run(self, pool: Pool) -> None:
        """Run what is not there, each once; what takes a thousand times as long as the others comes last."""
        todo = sorted(
            self._todo(),
            key=lambda index: hopeless(self._experiments[index]) is not None,
        )

        def ended(number: int, result: Result) -> None:
            index = todo[number]
            try:
                self._keep(index, result())
            except _core.EraseblockError as error:
                self._errors[index] = error
            finally:
                if self._watcher is not None:
                    self._watcher.finished(index)

        below = [_below_buffer(self._experiments[index]) for index in todo]
        several = {drive for drive, runs in Counter(below).items() if runs > 1}
        calls: list[Call] = []
        for index, drive in zip(todo, below, strict=True):
            one = self._experiments[index]
            progress = self._progress(index, pool) if pool.shares_memory else None
            events = None if self._events is None else str(self._events[index])
            share = drive in several
            run = OneRun(
                one.text, str(one.base), self._verify, events, share, self._cache, one.given, one.scheme
            )
            calls.append((run_one, (run, progress)))
        try:
            pool.each(calls, ended)
        finally:
            _core.forget_filled()
            _core.forget_volumes()

    def outcomes(self) -> list[Outcome]:
        """How everything ended."""
        outcomes = []
        errors = {
            wanted.id: error
            for wanted, error in zip(self._wanted, self._errors, strict=True)
            if wanted and error
        }
        for experiment, wanted, record, error in zip(
            self._experiments, self._wanted, self._records, self._errors, strict=True
        ):
            if self._store is not None and wanted is not None:
                stored = self._store.get(wanted) if self._store.asks_for(wanted) else None
                record = None if stored is None else self._trimmed(stored)  # noqa: PLW2901 (for all with its id)
                error = error or errors.get(wanted.id)  # noqa: PLW2901
            outcomes.append(Outcome(experiment, record=None if error else record, error=error))
        return outcomes

    def _todo(self) -> list[int]:
        """Runs that are not stored; of several with the same id the first."""
        if self._store is None:
            return list(range(len(self._experiments)))
        first: dict[RunId, int] = {}
        for index, wanted in enumerate(self._wanted):
            if wanted is not None and self._store.asks_for(wanted) and wanted not in self._store:
                first.setdefault(wanted.id, index)
        return list(first.values())

    def _trimmed(self, record: Record) -> Record:
        return record if self._trim is None else self._trim(record)

    def _keep(self, index: int, text: str) -> None:
        wanted = self._wanted[index]
        if self._store is None or wanted is None:
            self._records[index] = self._trimmed(json.loads(text))
            return
        key = json.loads(text)["key"]
        self._store.add(RunId(wanted.id.engine, key, wanted.id.verify), text)
        if key != wanted.id.key:
            path = self._experiments[index].config["workload"].get("path")
            raise _core.SimulationError(
                f"{path}: changed while the sweep was at work; say the same command again"
            )

    def _progress(self, index: int, pool: Pool) -> Progress:
        def progress(phase: str, done: int, total: int) -> None:
            if pool.stopped.is_set():
                raise StoppedError
            if self._watcher is not None:
                self._watcher.update(index, phase, done, total)

        return progress


def _below_buffer(experiment: Experiment) -> str:
    """All that decides how a drive is filled."""
    config = experiment.config
    return json.dumps([config[key] for key in ("nand", "ftl", "precondition", "seed")])


def run_one(call: OneRun, progress: Progress | None = None) -> str:
    """Run one resolved experiment; a function of its own so that other processes find it by name."""
    return _core.run(
        call.text,
        call.base,
        call.verify,
        progress,
        call.events,
        call.share,
        call.cache,
        call.given,
        call.scheme,
    )
