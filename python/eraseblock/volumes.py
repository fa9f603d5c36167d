"""A run for each volume of a trace: the trace is read once, and its volumes stay apart while they are run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eraseblock import _core
from eraseblock.experiments import Experiment
from eraseblock.pool import Pool, Progress, Result, StoppedError


def wants_each(experiment: Experiment) -> bool:
    """Whether it stands for a run of each volume, or of some."""
    # Most do not, and a look at the text costs less than reading it.
    if '"each' not in experiment.text and '"busiest' not in experiment.text:
        return False
    volumes = experiment.config["workload"].get("volumes")
    return isinstance(volumes, str) and volumes.startswith(("each", "busiest"))


def each_volume(experiments: Sequence[Experiment], told: Progress | None = None) -> list[Experiment]:
    """The experiments, those that stand for several volumes replaced by one for each.

    All experiments of a volume stand where the first one of its trace stood, in their order.

    Args:
        experiments: those of a sweep.
        told: of how the reading gets on.

    Raises:
        InputError: the trace cannot be read, or a volume that is named is not there.
    """
    numbers: dict[str, list[int]] = {}
    found: list[Experiment] = []
    with Pool(1) as pool:
        for one in experiments:
            if not wants_each(one):
                found.append(one)
                continue
            trace = json.dumps([one.config["workload"], str(one.base)])
            if trace not in numbers:
                numbers[trace] = _volumes_of(one, pool, told)
            found += [_only(one, number) for number in numbers[trace]]
    return found


def _volumes_of(experiment: Experiment, pool: Pool, told: Progress | None) -> list[int]:
    found: list[int] = []

    def progress(phase: str, done: int, total: int) -> None:
        if pool.stopped.is_set():
            raise StoppedError
        if told is not None:
            told(phase, done, total)

    def ended(_: int, result: Result) -> None:
        found.extend(result())

    # In a thread, so that Ctrl-C ends the waiting.
    call = (experiment.text, str(experiment.base), progress, experiment.given)
    pool.each([(_core.volumes, call)], ended)
    return found


def _only(experiment: Experiment, number: int) -> Experiment:
    config: dict[str, Any] = experiment.config
    config["workload"]["volumes"] = number
    return replace(experiment, text=json.dumps(config, ensure_ascii=False), of_fleet=True)
