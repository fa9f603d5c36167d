"""Turns the record of a run into what contests are about: sums over consecutive parts of its workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

from eraseblock import Experiment
from eraseblock.toolkit import Config, Outcome, Record, bytes_of, split_errors
from eraseblock_reproduction.beyond.study import KEYS

# A run is cut into this many parts of about equally many requests.
PARTS = 10
# Of a load: the drive may keep what it was given in its buffer.
PROTECTED = "power-loss protection"


@dataclass(frozen=True)
class Measure:
    """A figure of which less is better, or more."""

    name: str
    title: str
    # Where the figure of the whole run is in a record, and where its sums over steps of the run.
    path: str
    steps: str
    # The total that the steps lack, if they leave out the end of the run.
    total: str | None = None
    # The best that any buffer could have.
    bound: str | None = None
    # More is better.
    more: bool = False
    # What differs in the contests that it decides.
    of: tuple[str, ...] = ("buffer", "ftl")

    @property
    def best(self) -> str:
        """What a winner has."""
        return f"{'Most' if self.more else 'Least'} {self.title}"


MEASURES = (
    Measure("response", "mean response time", "response_ns.all.mean", "response_sum_ns"),
    Measure("erases", "erases", "flash.erases.total", "erases", "flash.erases.total", "bound.erases"),
    Measure("waf", "pages programmed", "waf", "programs", "flash.programs.total", "bound.waf"),
    # FTLs have little say in it: they are told apart by the others.
    Measure("hits", "hits", "hit_ratio.all", "hit_pages", bound="bound.hit_ratio", more=True, of=("buffer",)),
)


@dataclass(frozen=True)
class Design:
    """What was run, apart from seeds."""

    workload: str
    buffer: str
    ftl: str
    load: str

    def without(self, key: str) -> tuple[str, ...]:
        """Everything but one part: designs that have it in common are of one contest."""
        return tuple(getattr(self, one) for one in KEYS if one != key)


@dataclass(frozen=True)
class Figures:
    """What came out by one measure."""

    # Of the whole run; the mean over seeds.
    value: float
    # Sums over the parts, those of one seed behind those of the other.
    parts: tuple[float, ...]
    bound: float | None


@dataclass(frozen=True)
class Trial:
    """What became of a design: its figures, or why it has none."""

    design: Design
    figures: Mapping[str, Figures]
    # It was told the workload beforehand: no design that could win.
    offline: bool = False
    # Why its figures are not to be relied on.
    distrust: str = ""
    # The engine does not build it, or it failed.
    error: str = ""
    refused: bool = False
    # Bytes of flash, and those of them that the host sees.
    flash: tuple[int, int] | None = None
    # Its workload comes from a generator, and was not recorded.
    made: bool = False

    @property
    def competes(self) -> bool:
        """Whether it can win."""
        return bool(self.figures) and not self.offline and not self.distrust


def essence(record: Record) -> Record:
    """The little of a record that trials are made of."""
    kept: Record = {key: record[key] for key in ("trusted", "reasons", "offline", "engine") if key in record}
    found = {measure.name: _figures(record, measure) for measure in MEASURES}
    figures = {name: one for name, one in found.items() if one is not None}
    return {**kept, "figures": figures, "flash": _flash(record)}


def trials_of(outcomes: Sequence[Outcome]) -> list[Trial]:
    """One trial for each design; runs that differ in seeds alone are taken together."""
    failures, _ = split_errors(outcomes)
    failed = {id(outcome) for outcome in failures}
    found: dict[Design, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(design_of(outcome.experiment), []).append(outcome)
    return [_trial(design, some, failed) for design, some in found.items()]


def design_of(experiment: Experiment) -> Design:
    """What an experiment is of."""
    config = experiment.config
    return Design(
        workload=workload_of(config),
        buffer=config["buffer"]["scheme"]["kind"],
        ftl=config["ftl"]["mapping"]["kind"],
        load=load_of(config),
    )


def load_of(config: Config) -> str:
    """How requests come, and whether the drive may keep what it was given in its buffer.

    Example:
        >>> load_of({"host": {"replay": "closed", "max_outstanding": 4}, "buffer": {"battery": True}})
        '4 under way, power-loss protection'
    """
    host = config["host"]
    load = f"{host['max_outstanding']} under way" if host["replay"] == "closed" else "as recorded"
    return load + (f", {PROTECTED}" if config["buffer"]["battery"] else "")


def workload_of(config: Config) -> str:
    """The name of a recording or of a stand-in."""
    if config.get("case"):
        return str(config["case"])
    workload = config["workload"]
    generate = workload.get("generate")
    if generate:
        return str(generate.get("name") or generate["kind"])
    return Path(workload["path"]).name.partition(".")[0]


def _trial(design: Design, outcomes: Sequence[Outcome], failed: set[int]) -> Trial:
    for outcome in outcomes:
        if outcome.error is not None:
            return Trial(design, {}, error=str(outcome.error), refused=id(outcome) not in failed)
    records = [outcome.record for outcome in outcomes if outcome.record is not None]
    distrust = [reason for record in records if not record["trusted"] for reason in record["reasons"]]
    figures = {
        measure.name: _together([record["figures"][measure.name] for record in records])
        for measure in MEASURES
        if all(measure.name in record["figures"] for record in records)
    }
    return Trial(
        design,
        figures,
        offline=bool(records[0]["offline"]),
        distrust=distrust[0] if distrust else "",
        flash=records[0]["flash"],
        made=bool(outcomes[0].experiment.config["workload"].get("generate")),
    )


def _flash(record: Record) -> tuple[int, int] | None:
    """Bytes of the array, and those that the drive exports; None if the workload was not fitted to them."""
    nand, exported = record["config"].get("nand"), _at(record, "trace.fit.drive_bytes")
    if nand is None or exported is None:
        return None
    keys = (
        "channels",
        "chips_per_channel",
        "dies_per_chip",
        "planes_per_die",
        "blocks_per_plane",
        "pages_per_block",
    )
    pages = prod(nand[key] for key in keys)
    return pages * bytes_of(nand["page_size"]), exported


def _figures(record: Record, measure: Measure) -> Figures | None:
    host = record["config"]["host"]
    if measure.name == "response" and host["replay"] == "closed":
        return _response(record["series"], host["max_outstanding"])
    value = _at(record, measure.path)
    steps = record["series"].get(measure.steps)
    if value is None or not steps:
        return None
    parts = cut(steps)
    if measure.total is not None:
        # What the drive did at the end of the run belongs to its last part.
        parts[-1] += _at(record, measure.total) - sum(steps)
    return Figures(value, tuple(parts), None if measure.bound is None else _at(record, measure.bound))


def _response(series: Mapping[str, Any], under_way: int) -> Figures | None:
    """Response times where so many requests are always under way, by Little's law.

    Their mean is that number x the time of the run / requests. The record's own leave out how long the host
    waits until there is room for the next request.
    """
    ends = series["end_ns"]
    if not ends:
        return None
    times = [under_way * (end - start) for start, end in pairwise([0, *ends])]
    return Figures(sum(times) / sum(series["requests"]), tuple(cut(times)), None)


def cut(steps: Sequence[float]) -> list[float]:
    """Sums over consecutive parts that have the same number of steps, to within one.

    Example:
        >>> cut([1] * 25)[:4]
        [2, 3, 2, 3]
    """
    count = min(PARTS, len(steps))
    ends = [part * len(steps) // count for part in range(count + 1)]
    return [sum(steps[start:end]) for start, end in pairwise(ends)]


def _together(each: Sequence[Figures]) -> Figures:
    """Of several seeds."""
    bounds = [one.bound for one in each if one.bound is not None]
    return replace(
        each[0],
        value=sum(one.value for one in each) / len(each),
        parts=tuple(part for one in each for part in one.parts),
        bound=sum(bounds) / len(bounds) if bounds else None,
    )


def _at(record: Record, path: str) -> Any:
    value: Any = record
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
