"""Runs what a plan asks for, reads its workloads, and puts the records into its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eraseblock import EraseblockError, Experiment, InputError
from eraseblock.toolkit import (
    Caller,
    Handling,
    Outcome,
    Pool,
    Progress,
    Quiet,
    Result,
    StoppedError,
    Watcher,
    characterise,
    content_key,
    engine,
    finished,
    make_folder,
    replace_file,
)
from eraseblock_reproduction.plan import Plan

PROFILES_NAME = "workloads.json"
# Parts of a record that no claim is about, and that are long.
_LONG = ("series", "map", "histogram")

Profile = Mapping[str, Any]


def execute(plan: Plan, handling: Handling | None = None, caller: Caller | None = None) -> None:
    """Run and read everything; what the folder holds already is not done again."""
    handling, caller = handling or Handling(), caller or Quiet()
    _read(plan, handling, caller)
    todo = plan.to_run
    if not todo:
        return
    outcomes = run_or_find(list(todo.values()), replace(handling, trim=slim), caller)
    found = dict(zip(todo, outcomes, strict=True))
    for one in plan.figures:
        if not one.is_run:
            continue
        for run, experiment in zip(one.runs, one.experiments, strict=True):
            outcome = found[plan.key(experiment)]
            run.record = outcome.record
            run.error = None if outcome.error is None else str(outcome.error)


def slim(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what no claim and no plot is about."""
    return {
        key: slim(value) if isinstance(value, dict) and key != "config" else value
        for key, value in record.items()
        if key not in _LONG
    }


def runner(handling: Handling, caller: Caller) -> Callable[[Sequence[Experiment]], list[Outcome]]:
    """Runs experiments as others of this folder, each once, however often it is asked for."""

    def run(experiments: Sequence[Experiment]) -> list[Outcome]:
        once = {(one.text, one.base): one for one in experiments}
        found = run_or_find(list(once.values()), replace(handling, trim=slim), caller)
        outcomes = dict(zip(once, found, strict=True))
        return [outcomes[one.text, one.base] for one in experiments]

    return run


def run_or_find(experiments: Sequence[Experiment], handling: Handling, caller: Caller) -> list[Outcome]:
    """Run everything that the folder, if there is one, does not hold."""
    with finished(experiments, handling, caller) as done:
        if done.found:
            caller.notice(done.found)
    return done.outcomes


def _read(plan: Plan, handling: Handling, caller: Caller) -> None:
    """Find out what the workloads of figures are like, each once."""
    wanted: dict[str, Experiment] = {}
    keys: dict[tuple[str, Path], str] = {}
    for one in plan.figures:
        if one.is_read:
            for run, experiment in zip(one.runs, one.experiments, strict=True):
                key = json.dumps([run.settings["how"], str(experiment.base)], sort_keys=True)
                wanted.setdefault(key, experiment)
                keys[plan.key(experiment)] = key
    if not wanted:
        return
    store = None if handling.folder is None else _Profiles(handling.folder, fresh=handling.fresh)
    found: dict[str, Profile] = {}
    errors: dict[str, str] = {}
    with caller.watching(len(wanted)) as watcher, Pool(handling.jobs) as pool:

        def read(index: int, result: Result) -> None:
            key = list(wanted)[index]
            try:
                found[key] = result()
            except EraseblockError as error:
                errors[key] = str(error)
            if watcher is not None:
                watcher.finished(index)

        calls = [
            (_profile, (experiment, store, _watch(watcher, index, pool)))
            for index, experiment in enumerate(wanted.values())
        ]
        pool.each(calls, read)
    if store is not None:
        store.write()
    for one in plan.figures:
        if one.is_read:
            for run, experiment in zip(one.runs, one.experiments, strict=True):
                key = keys[plan.key(experiment)]
                run.profile = found.get(key)
                run.error = errors.get(key)


def _watch(watcher: Watcher | None, index: int, pool: Pool) -> Progress:
    def progress(_phase: str, done: int, total: int) -> None:
        if pool.stopped.is_set():
            raise StoppedError
        if watcher is not None:
            watcher.update(index, "reading", done, total)

    return progress


def _profile(experiment: Experiment, store: _Profiles | None, watch: Progress) -> Profile:
    key = "" if store is None else store.key(experiment)
    known = None if store is None else store.known.get(key)
    if known is None:
        known = _slim_profile(characterise(experiment, progress=watch))
    if store is not None:
        store.known[key] = known
    return known


def _slim_profile(info: dict[str, Any]) -> Profile:
    """Without the lists over time, which no claim is about."""
    info["profile"].pop("over_time", None)
    return info


class _Profiles:
    """What the folder knows of workloads, by the engine, the content of the trace, and how it is read."""

    def __init__(self, folder: Path, *, fresh: bool) -> None:
        make_folder(folder)
        self._path = folder / PROFILES_NAME
        self.known: dict[str, Profile] = {}
        if self._path.exists():
            try:
                self.known = json.loads(self._path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise InputError(
                    f"{self._path}: not what this command writes ({error}); "
                    "move it away, or name another folder"
                ) from error
        if not isinstance(self.known, dict) or not all(key.startswith('["') for key in self.known):
            raise InputError(
                f"{self._path}: not what this command writes; move it away, or name another folder"
            )
        if fresh:
            self.known = {}

    def key(self, experiment: Experiment) -> str:
        """What a profile is found by."""
        config = experiment.config
        workload = {key: value for key, value in config["workload"].items() if key != "path"}
        # The key of a run depends on the content of its trace.
        content = content_key(experiment)
        return json.dumps([engine(), workload, content if "path" in config["workload"] else ""])

    def write(self) -> None:
        """Keep them for the next time."""
        replace_file(self._path, [json.dumps(self.known).encode()])
