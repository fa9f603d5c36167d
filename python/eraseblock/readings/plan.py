"""The other readings of an experiment: each choice of its schemes and its drive, one at a time."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from eraseblock.experiments import Config, Experiment
from eraseblock.names import registry

Part = Literal["buffer", "ftl", "drive"]

# So many other seeds tell a choice from chance.
SEEDS = 3
# What names a run, and decides nothing in it.
LABELS = ("name", "preset")
_SCHEMES: tuple[tuple[Part, str, str], ...] = (
    ("buffer", "buffers", "buffer.scheme"),
    ("ftl", "ftls", "ftl.mapping"),
    ("ftl", "allocators", "ftl.allocator"),
    ("ftl", "victims", "ftl.victim"),
    ("ftl", "levellers", "ftl.wear"),
)


@dataclass(frozen=True)
class Choice:
    """Something that a paper leaves open, and the values that its readers can defend."""

    part: Part
    # The scheme, or the preset of the drive.
    owner: str
    # Path in the configuration.
    option: str
    values: tuple[Any, ...]
    open: str
    # It only draws other random numbers.
    seed: bool = False

    @property
    def name(self) -> str:
        """A scheme's option after its name, a drive's by its path."""
        return self.option if self.part == "drive" else f"{self.owner} {self.option.split('.', 2)[-1]}"


@dataclass
class Reading:
    """One choice set to one value."""

    choice: Choice
    value: Any
    # By the number of the run that it stands in for; runs that it does not concern are not in it.
    experiments: dict[int, Experiment] = field(default_factory=dict)
    # The values that it takes the place of.
    before: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Such as `hbm tie = "lowest-block"`."""
        return f"{self.choice.name} = {json.dumps(self.value)}"


@dataclass
class Plan:
    """An experiment's own runs, and those of the other readings."""

    runs: Sequence[Experiment]
    readings: list[Reading]
    # Choices that the experiment varies itself.
    axes: list[Choice]

    @cached_property
    def experiments(self) -> list[Experiment]:
        """Everything that has to be run: the experiment's own runs first, then the others, each once."""
        others = {one.text: one for reading in self.readings for one in reading.experiments.values()}
        return [*self.runs, *others.values()]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where in `experiments` the run with a configuration stands."""
        return {one.text: place for place, one in enumerate(self.experiments) if one.reading is not None}


def plan(runs: Sequence[Experiment]) -> Plan:
    """The other readings of these runs: of buffers, FTLs, drives; a scheme's seeds after its choices."""
    configs = [run.config for run in runs]
    concerned: dict[Choice, list[int]] = defaultdict(list)
    for number, config in enumerate(configs):
        for choice in _choices_of(config):
            concerned[choice].append(number)
    result = Plan(runs, [], [])
    for part in ("buffer", "ftl", "drive"):
        for choice, numbers in concerned.items():
            if choice.part != part:
                continue
            if _is_axis([configs[number] for number in numbers], choice.option):
                result.axes.append(choice)
            else:
                result.readings += _readings(choice, {number: runs[number] for number in numbers})
    return result


def _choices_of(config: Config) -> Iterator[Choice]:
    """What the schemes and the drive of one run leave open."""
    entries = registry()
    for part, kind, path in _SCHEMES:
        scheme = _value(config, path)
        if scheme is None:
            continue
        entry = next(entry for entry in entries[kind] if entry["name"] == scheme["kind"])
        for choice in entry.get("choices", ()):
            # A path is that of an option which mappings share, such as those of garbage collection.
            option = choice["option"]
            yield _choice(part, entry["name"], option if "." in option else f"{path}.{option}", choice)
        for option in entry["options"]:
            if option["name"] == "seed":
                values = tuple(range(1, SEEDS + 2))
                yield Choice(part, entry["name"], f"{path}.seed", values, "nothing: chance alone", seed=True)
    if config["precondition"]["state"] == "steady":
        # The only thing that the drive itself leaves to chance.
        values = tuple(range(1, SEEDS + 2))
        yield Choice("drive", "drive", "seed", values, "nothing: chance alone", seed=True)
    for device in entries["devices"]:
        if device["name"] == config["preset"]:
            for choice in device.get("choices", ()):
                yield _choice("drive", device["name"], choice["option"], choice)


def _choice(part: Part, owner: str, path: str, choice: dict[str, Any]) -> Choice:
    values = (choice["default"], *choice["others"])
    return Choice(part, owner, path, values, choice["open"])


def _is_axis(configs: Sequence[Config], option: str) -> bool:
    """Whether runs that are the same in all else differ in this option: then the experiment is about it."""
    if len({json.dumps(_value(config, option)) for config in configs}) == 1:
        return False
    found: dict[str, set[str]] = defaultdict(set)
    for config in configs:
        rest = without(config, option)
        found[json.dumps(rest, sort_keys=True)].add(json.dumps(_value(config, option)))
    return any(len(values) > 1 for values in found.values())


def _readings(choice: Choice, runs: dict[int, Experiment]) -> list[Reading]:
    """Each value that not all of the runs have already."""
    readings = []
    for value in choice.values:
        reading = Reading(choice, value)
        for number, run in runs.items():
            config = run.config
            present = _value(config, choice.option)
            others = [other for other in choice.values if other != present]
            if value not in (others[:SEEDS] if choice.seed else others):
                continue
            _set(config, choice.option, value)
            text = json.dumps(config, ensure_ascii=False, separators=(",", ":"))
            reading.experiments[number] = Experiment(text, run.base, reading=reading.name)
            if present not in reading.before:
                reading.before.append(present)
        if reading.experiments:
            readings.append(reading)
    return readings


def without(config: Config, *paths: str) -> Config:
    """The configuration without some keys, and without what only names the run."""
    rest = copy.deepcopy(config)
    for path in (*LABELS, *paths):
        *way, last = path.split(".")
        table = rest
        for key in way:
            table = table[key]
        table.pop(last, None)
    return rest


def _value(config: Config, path: str) -> Any:
    value: Any = config
    for key in path.split("."):
        value = value[key]
    return value


def _set(config: Config, path: str, value: Any) -> None:
    *way, last = path.split(".")
    for key in way:
        config = config[key]
    config[last] = value
