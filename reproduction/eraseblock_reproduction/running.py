"""Runs what a plan asks for, reads its workloads, and puts the records into its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eraseblock import EraseblockError, Experiment
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
)
from eraseblock_reproduction.kept import Kept
from eraseblock_reproduction.plan import Plan
from eraseblock_reproduction.served.runs import serve
from eraseblock_reproduction.slim import slim

PROFILES_NAME = "workloads.json"

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
    serve(plan, handling, caller)


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
    kept = Kept(handling.folder, PROFILES_NAME, fresh=handling.fresh)
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
            (_profile, (experiment, kept, _watch(watcher, index, pool)))
            for index, experiment in enumerate(wanted.values())
        ]
        pool.each(calls, read)
    kept.write()
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


def _profile(experiment: Experiment, kept: Kept, watch: Progress) -> Profile:
    key = _key(experiment)
    if key not in kept.known:
        kept.known[key] = _slim_profile(characterise(experiment, progress=watch))
    found: Profile = kept.known[key]
    return found


def _slim_profile(info: dict[str, Any]) -> Profile:
    """Without the lists over time, which no claim is about."""
    info["profile"].pop("over_time", None)
    return info


def _key(experiment: Experiment) -> str:
    """What a profile depends on."""
    config = experiment.config
    workload = {key: value for key, value in config["workload"].items() if key != "path"}
    # The key of a run depends on the content of its trace.
    content = content_key(experiment)
    return json.dumps([engine(), workload, content if "path" in config["workload"] else ""])
