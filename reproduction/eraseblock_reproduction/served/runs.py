"""The runs of a plan that are no simulation: each is played to a served drive, or found where it is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eraseblock import EraseblockError, Experiment
from eraseblock.toolkit import Caller, Handling, Pool, Result, StoppedError, Watcher, content_key, engine
from eraseblock_reproduction.kept import Kept
from eraseblock_reproduction.plan import Plan
from eraseblock_reproduction.selection import DRIVE, SERVED, Run
from eraseblock_reproduction.served.playing import Told, play
from eraseblock_reproduction.slim import slim

NAME = "served.json"


def serve(plan: Plan, handling: Handling, caller: Caller) -> None:
    """Play what is to be served. The runs have the records of their simulations, and get their own."""
    wanted: dict[str, tuple[Experiment, list[Run]]] = {}
    for figure in plan.figures:
        for run, experiment in zip(figure.runs, figure.experiments, strict=True):
            if run.is_served and run.record is not None:
                key = json.dumps([engine(), content_key(experiment)])
                wanted.setdefault(key, (experiment, []))[1].append(run)
    if not wanted:
        return
    kept = Kept(handling.folder, NAME, fresh=handling.fresh)
    todo = [key for key in wanted if key not in kept.known]
    errors: dict[str, str] = {}
    with caller.watching(len(todo)) as watcher, Pool(handling.jobs) as pool:

        def ended(index: int, result: Result) -> None:
            try:
                played = slim(result())
            except EraseblockError as error:
                errors[todo[index]] = str(error)
            else:
                kept.keep(todo[index], played)
            if watcher is not None:
                watcher.finished(index)

        calls = [(play, (wanted[key][0], _told(watcher, index, pool))) for index, key in enumerate(todo)]
        pool.each(calls, ended)
    for key, (_, runs) in wanted.items():
        for run in runs:
            run.error = errors.get(key)
            run.record = None if key in errors else _record(run.record or {}, kept.known[key])


def _record(simulated: Mapping[str, Any], played: dict[str, Any]) -> dict[str, Any]:
    """What a served drive reports, and of the simulation's record what tells which run it is."""
    return {**simulated, **played, "config": {**simulated["config"], DRIVE: SERVED}}


def _told(watcher: Watcher | None, index: int, pool: Pool) -> Told:
    def told(done: int, total: int) -> None:
        if pool.stopped.is_set():
            raise StoppedError
        if watcher is not None:
            watcher.update(index, "serving", done, total)

    return told
