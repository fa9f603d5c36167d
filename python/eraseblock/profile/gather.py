"""Asks the engine what workloads are like."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from eraseblock import _core
from eraseblock.comparison import DEFAULT_DEVICE, experiments_of
from eraseblock.experiments import Experiment, Sets, texts_of
from eraseblock.overrides import said_by
from eraseblock.pool import Progress
from eraseblock.settings import keys

Info = dict[str, Any]


def plan(
    traces: Sequence[Any],
    *,
    workload: Mapping[str, Any] | None = None,
    sets: Sets = (),
    source: str = "trace info",
) -> list[Experiment]:
    """One experiment for each trace, of which only the workload matters; messages are about `source`.

    Raises:
        ConfigError: a key or a value that is none, or a key of the drive.
    """
    tables = {key.partition(".")[0] for key in keys()}
    for text in texts_of(sets):
        key = said_by(text)[0]
        if key.partition(".")[0] in tables - {"workload"}:
            raise _core.ConfigError(
                f"--set {text}: does nothing here: {source} simulates no drive; leave it out (keys of the "
                "workload are workload.KEY)"
            )
    given = {f"workload.{key}": value for key, value in (workload or {}).items() if value is not None}
    return experiments_of(source, {"name": "trace", "preset": DEFAULT_DEVICE}, traces, given, sets)


def characterise(
    experiment: Experiment,
    *,
    page_size: str | None = None,
    sample: float | None = None,
    progress: Progress | None = None,
) -> Info:
    """What the workload of an experiment is like; what `progress` raises ends it."""
    text = _core.trace_info(
        experiment.text, str(experiment.base), page_size, sample, progress, experiment.given
    )
    info: Info = json.loads(text)
    return info
