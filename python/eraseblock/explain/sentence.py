"""What the slowest requests of a run wait for, in a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from eraseblock.experiments import Experiment
from eraseblock.results import units
from eraseblock.results.record import Record

# The metric that tells it, and its parts in the order in which they are shown.
METRIC = "waits"
PARTS = ("admission", "slot", "ram", "die", "bus", "flash", "merge", "collection")
QUANTILES = {"all": "all", "p50": "slower half", "p90": "slowest 10 %", "p99": "slowest 1 %", "p999": "0.1 %"}
_WORDS = {
    "admission": "requests before them, as the drive works on {outstanding} at a time",
    "slot": "room in the buffer: until what leaves it is stored",
    "ram": "copies in the buffer's RAM",
    "die": "dies that are at work for other requests",
    "bus": "the bus",
    "flash": "the flash array's own reads and programs",
    "merge": "merges of log blocks",
    "collection": "garbage collection",
}
# From this share on, those that take at least as long as the 99th percentile are not told as a hundredth.
_TIES = 0.015
# A second part is named if it takes as much of the time.
_SECOND = 0.2


def asked(experiments: Sequence[Experiment], metric: str = METRIC) -> list[Experiment]:
    """The same experiments, each of which keeps the metric."""
    found = []
    for one in experiments:
        config = one.config
        if metric not in config["metrics"]:
            config["metrics"] = [*config["metrics"], metric]
        found.append(replace(one, text=json.dumps(config)))
    return found


def sentences(record: Record, kinds: Sequence[str] = ("read", "write")) -> list[str]:
    """A sentence for each kind of request: what its slowest hundredth, or more where many tie, waits for.

    Without time there is none, nor for a kind that the workload lacks.
    """
    waits = record.get(METRIC)
    if not waits:
        return []
    return [_sentence(record, kind, waits[kind]) for kind in kinds if waits.get(kind)]


def _sentence(record: Record, kind: str, split: Mapping[str, Any]) -> str:
    tail = split["p99"]
    slowest = _slowest(kind, tail["requests"] / split["all"]["requests"])
    head = f"{slowest} ({units.duration(tail['response'])} on average)"
    if not tail["response"]:
        return f"{head} wait for nothing."
    ordered = sorted(PARTS, key=lambda part: -tail[part])
    shares = {part: tail[part] / tail["response"] for part in ordered}
    first, second = ordered[:2]
    outstanding = record["config"]["host"]["max_outstanding"]

    def words(part: str) -> str:
        return _WORDS[part].format(outstanding=outstanding)

    text = f"{head} wait for {words(first)} ({units.share(shares[first])} of the time)"
    if shares[second] >= _SECOND:
        text += f", then for {words(second)} ({units.share(shares[second])})"
    usual = split["all"]
    if usual["response"] and tail["response"] >= 2 * usual["response"]:
        most = max(PARTS, key=lambda part: usual[part])
        if most != first:
            text += f"; all {kind}s together, for {words(most)}"
    return f"{text}."


def _slowest(kind: str, share: float) -> str:
    """Those that take at least as long as the 99th percentile: where many tie, more than a hundredth."""
    if share == 1:
        return f"All {kind}s"
    return f"The slowest {'1 %' if share < _TIES else units.share(share)} of {kind}s"
