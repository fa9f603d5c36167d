"""Runs what a plan asks for, reads its workloads, and puts the records into its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.experiments import Experiment
from eraseblock.pool import Pool, Progress, Result, StoppedError
from eraseblock.reproduction.plan import Plan
from eraseblock.results.files import replace_file
from eraseblock.results.store import make_folder
from eraseblock.running import Handling, finished
from eraseblock.sweep import Outcome, Watcher
from eraseblock.terminal.caller import CommandLine
from eraseblock.terminal.console import say_error
from eraseblock.terminal.progress import ProgressBar

PROFILES_NAME = "workloads.json"
# Parts of a record that no claim is about, and that are long.
_LONG = ("series", "map", "histogram")

Profile = Mapping[str, Any]


def execute(plan: Plan, *, jobs: int | None = None, folder: Path | None = None, fresh: bool = False) -> None:
    """Run and read everything; what the folder holds already is not done again."""
    _read(plan, jobs, folder, fresh=fresh)
    todo = plan.to_run
    if not todo:
        return
    outcomes = run_or_find(list(todo.values()), jobs, folder, fresh=fresh)
    found = dict(zip(todo, outcomes, strict=True))
    for one in plan.figures:
        if not one.is_run:
            continue
        for run, experiment in zip(one.runs, one.experiments, strict=True):
            outcome = found[plan.key(experiment)]
            run.record = outcome.record
            run.error = None if outcome.error is None else str(outcome.error)
    for variant in plan.variants:
        for place, experiment in variant.experiments.items():
            outcome = found[plan.key(experiment)]
            if outcome.record is not None:
                variant.records[place] = outcome.record
            elif (error := str(outcome.error)) not in variant.errors:
                variant.errors.append(error)


def slim(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what no claim and no plot is about."""
    return {
        key: slim(value) if isinstance(value, dict) and key != "config" else value
        for key, value in record.items()
        if key not in _LONG
    }


def run_or_find(
    experiments: Sequence[Experiment],
    jobs: int | None,
    folder: Path | None,
    *,
    fresh: bool = False,
    trim: Callable[[dict[str, Any]], dict[str, Any]] = slim,
) -> list[Outcome]:
    """Run everything that `folder`, if there is one, does not hold; `trim` says what is kept of records."""
    handling = Handling(jobs=jobs, folder=folder, fresh=fresh, trim=trim)
    with finished(experiments, handling, CommandLine()) as done:
        if done.found:
            say_error(done.found)
    return done.outcomes


def _read(plan: Plan, jobs: int | None, folder: Path | None, *, fresh: bool) -> None:
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
    store = None if folder is None else _Profiles(folder, fresh=fresh)
    found: dict[str, Profile] = {}
    errors: dict[str, str] = {}
    with ProgressBar(len(wanted)) as bar, Pool(jobs) as pool:

        def read(index: int, result: Result) -> None:
            key = list(wanted)[index]
            try:
                found[key] = result()
            except _core.EraseblockError as error:
                errors[key] = str(error)
            bar.finished(index)

        calls = [
            (_profile, (experiment, store, _watch(bar, index, pool)))
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


def _watch(bar: Watcher, index: int, pool: Pool) -> Progress:
    def progress(_phase: str, done: int, total: int) -> None:
        if pool.stopped.is_set():
            raise StoppedError
        bar.update(index, "reading", done, total)

    return progress


def _profile(experiment: Experiment, store: _Profiles | None, watch: Progress) -> Profile:
    key = "" if store is None else store.key(experiment)
    known = None if store is None else store.known.get(key)
    if known is None:
        text = _core.trace_info(experiment.text, str(experiment.base), None, None, watch)
        known = _slim_profile(json.loads(text))
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
                raise _core.InputError(
                    f"{self._path}: not what this command writes ({error}); "
                    "move it away, or name another folder"
                ) from error
        if not isinstance(self.known, dict) or not all(key.startswith('["') for key in self.known):
            raise _core.InputError(
                f"{self._path}: not what this command writes; move it away, or name another folder"
            )
        if fresh:
            self.known = {}

    def key(self, experiment: Experiment) -> str:
        """What a profile is found by."""
        config = experiment.config
        workload = {key: value for key, value in config["workload"].items() if key != "path"}
        # The key of a run depends on the content of its trace.
        content = json.loads(_core.identify(experiment.text, str(experiment.base)))["key"]
        return json.dumps([_core.engine(), workload, content if "path" in config["workload"] else ""])

    def write(self) -> None:
        """Keep them for the next time."""
        replace_file(self._path, [json.dumps(self.known).encode()])
