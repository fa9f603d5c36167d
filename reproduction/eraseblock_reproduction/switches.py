"""Says what else could be run for a figure: each thing that is left open, switched one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eraseblock import Experiment, InputError
from eraseblock.toolkit import NULL, readings_of, resolve_mapping
from eraseblock_reproduction.data import Figure, Paper, Switch
from eraseblock_reproduction.selection import Run, at, matches


@dataclass
class Variant:
    """A figure's runs with one thing done in another way."""

    name: str
    # What is left open.
    open: str
    paper: Paper
    figure: Figure
    # The figure's runs with one seed each, and by their places those that are other runs now.
    runs: list[Run]
    experiments: dict[int, Experiment]
    records: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    # Why runs of it have no record, each reason once.
    errors: list[str] = field(default_factory=list)

    @property
    def compared(self) -> list[tuple[Run, Run]]:
        """Each run as it was and under the switch, to be chosen by its settings before it.

        A run that was refused or cannot be trusted one way is on neither side: both have the same points.
        """
        pairs = []
        for place, run in enumerate(self.runs):
            other = run
            if place in self.experiments:
                other = Run(run.settings, run.source, self.records.get(place), run.profile)
                if not (_decides(run) and _decides(other)):
                    continue
            pairs.append((run, other))
        return pairs

    @property
    def left_out(self) -> int:
        """How many runs are on neither side."""
        return len(self.runs) - len(self.compared)


def variants(
    paper: Paper, figure: Figure, runs: Sequence[Run], experiments: Sequence[Experiment]
) -> Iterator[Variant]:
    """Each choice that a scheme or a drive in a figure's runs declares, and each switch of the paper."""
    places = _first_seeds(runs)
    kept = [runs[place] for place in places]
    base = [experiments[place] for place in places]
    for reading in readings_of(base).readings:
        # Chance is what seeds are for.
        if not reading.choice.seed:
            yield Variant(reading.name, reading.choice.open, paper, figure, kept, reading.experiments)
    for switch in paper.switches:
        if others := concerned(switch, figure, base):
            yield Variant(switch.name, switch.open, paper, figure, kept, others)


def concerned(switch: Switch, figure: Figure, experiments: Sequence[Experiment]) -> dict[int, Experiment]:
    """The runs of a figure that a switch makes others, by their places."""
    if switch.figures and figure.name not in switch.figures:
        return {}
    return {
        place: other
        for place, experiment in enumerate(experiments)
        if _concerns(switch, experiment) and (other := _switched(experiment, switch)) is not None
    }


def _decides(run: Run) -> bool:
    return run.record is not None and bool(run.record.get("trusted", True))


def _first_seeds(runs: Sequence[Run]) -> list[int]:
    """The places of the runs, of those that differ in seeds alone the first."""
    first: dict[str, int] = {}
    for place, run in enumerate(runs):
        first.setdefault(run.identity(), place)
    return list(first.values())


def _concerns(switch: Switch, experiment: Experiment) -> bool:
    config = experiment.config
    return all(matches(at(config, path), wanted) for path, wanted in switch.where.items())


# Keys of one table that say the same in two ways.
_PAIRS = (("ftl.exported", "ftl.over_provisioning"), ("workload.path", "workload.generate"))
_SAME = {**dict(_PAIRS), **{other: one for one, other in _PAIRS}}


def _switched(experiment: Experiment, switch: Switch) -> Experiment | None:
    """The same run with the switch set; none if it is set so already."""
    config = experiment.config
    for path, value in switch.set.items():
        *way, last = path.split(".")
        table = config
        for key in way:
            if not isinstance(table.get(key), dict):
                raise InputError(f"claims.toml: switch `{switch.name}`: a run has no `{path}`")
            table = table[key]
        table[last] = value
        # The run's own word for the same thing gives way, as a preset's does to a file's.
        other = _SAME.get(path)
        if other is not None and other not in switch.set and value != NULL:
            table.pop(other.rpartition(".")[2], None)
    # What the run leaves unset stays so: its preset may set it.
    [found] = resolve_mapping(config, f"switch `{switch.name}`")
    before = json.loads(experiment.text)
    return None if found.config == before else Experiment(found.text, experiment.base, reading=switch.name)
