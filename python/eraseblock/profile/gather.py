"""Asks the engine what workloads are like."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eraseblock import _core
from eraseblock.comparison import DEFAULT_DEVICE, in_options
from eraseblock.experiments import Experiment, Sets, resolve_mapping

Info = dict[str, Any]


def plan(
    traces: Sequence[str],
    *,
    workload: Mapping[str, Any] | None = None,
    sets: Sets = (),
    source: str = "trace info",
) -> list[Experiment]:
    """One experiment for each trace, of which only the workload matters; messages are about `source`."""
    table: dict[str, Any] = {"path": list(traces)}
    table.update({key: value for key, value in (workload or {}).items() if value is not None})
    config = {"name": "trace", "preset": DEFAULT_DEVICE, "workload": table}
    try:
        return resolve_mapping(config, source, sets)
    except _core.ConfigError as error:
        raise in_options(error, source) from None


def characterise(
    experiment: Experiment,
    *,
    page_size: str | None = None,
    sample: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Info:
    """What the workload of an experiment is like; `progress` is told how many requests are read."""
    watch = None if progress is None else lambda _phase, done, _total: progress(done)
    text = _core.trace_info(experiment.text, str(experiment.base), page_size, sample, watch)
    info: Info = json.loads(text)
    return info
