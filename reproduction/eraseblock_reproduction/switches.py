"""Says what else could be run for a figure: each thing that is left open, done in another way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eraseblock import EraseblockError, Experiment, InputError
from eraseblock.toolkit import NULL, readings_of, resolve_mapping
from eraseblock_reproduction.data import Figure, Paper, Switch
from eraseblock_reproduction.selection import Run, at, matches


@dataclass
class Variant:
    """A figure's runs with one thing done in another way, or two."""

    # The ways, each by its name.
    names: tuple[str, ...]
    # What is left open, and the choice that this is one of the other ways of.
    open: str
    choice: str
    paper: Paper
    figure: Figure
    # The figure's runs with one seed each, and by their places those that are other runs now.
    runs: list[Run]
    experiments: dict[int, Experiment]
    # For each of the ways the places of the runs that it makes others.
    parts: tuple[frozenset[int], ...]
    records: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    # Why runs of it have no record, each reason once.
    errors: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The ways together."""
        return " + ".join(self.names)

    def of(self, runs: Sequence[Run], experiments: Mapping[int, Experiment]) -> Variant:
        """The same done with other runs in the same places, such as shorter ones; nothing is run yet."""
        return replace(self, runs=list(runs), experiments=dict(experiments), records={}, errors=[])

    def put(self, place: int, record: Mapping[str, Any] | None, error: object) -> None:
        """What came of the run in a place."""
        if record is not None:
            self.records[place] = record
        elif str(error) not in self.errors:
            self.errors.append(str(error))

    @property
    def compared(self) -> list[tuple[Run, Run]]:
        """Each run as it was and in another way, to be chosen by its settings before it.

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
    def left_out(self) -> set[int]:
        """The places of the runs that are on neither side."""
        kept = {id(before) for before, _ in self.compared}
        return {place for place, run in enumerate(self.runs) if id(run) not in kept}


def variants(
    paper: Paper, figure: Figure, runs: Sequence[Run], experiments: Sequence[Experiment]
) -> Iterator[Variant]:
    """Each choice that a scheme or a drive in these runs declares, and each switch of the paper.

    The runs have one seed each.
    """

    def made(name: str, open_: str, choice: str, others: dict[int, Experiment]) -> Variant:
        return Variant((name,), open_, choice, paper, figure, list(runs), others, (frozenset(others),))

    for reading in readings_of(experiments).readings:
        # Chance is what seeds are for.
        if not reading.choice.seed:
            yield made(reading.name, reading.choice.open, reading.choice.name, reading.experiments)
    for switch in paper.switches:
        if others := concerned(switch, figure, experiments):
            yield made(switch.name, switch.open, switch.choice or switch.name, others)


def both(
    one: Variant, other: Variant, experiments: Sequence[Experiment], places: Iterable[int]
) -> Variant | None:
    """Both ways at once, of the runs in these places.

    None where the second one changes nothing any more, or cannot be done.
    """
    chosen = sorted(places)
    changed = [one.experiments.get(place, experiments[place]) for place in chosen]
    try:
        again = _again(other, changed)
    except EraseblockError:
        # What the second way sets is not there under the first.
        return None
    if not again:
        return None
    found = {chosen[index]: experiment for index, experiment in again.items()}
    first = {place: one.experiments[place] for place in chosen if place in one.experiments}
    return replace(
        one,
        names=(*one.names, *other.names),
        open=f"{one.open}; {other.open}",
        choice=f"{one.choice} + {other.choice}",
        experiments={**first, **found},
        parts=(frozenset(first), frozenset(found)),
    )


def _again(way: Variant, experiments: Sequence[Experiment]) -> dict[int, Experiment]:
    """What a way makes of other runs of its figure."""
    for switch in way.paper.switches:
        if switch.name == way.name:
            return concerned(switch, way.figure, experiments)
    readings = {reading.name: reading.experiments for reading in readings_of(experiments).readings}
    return readings.get(way.name, {})


def concerned(switch: Switch, figure: Figure, experiments: Sequence[Experiment]) -> dict[int, Experiment]:
    """The runs of a figure that a switch makes others, by their places."""
    if switch.figures and figure.name not in switch.figures:
        return {}
    return {
        place: other
        for place, experiment in enumerate(experiments)
        if _concerns(switch, experiment) and (other := _switched(experiment, switch)) is not None
    }


def changes_any(switch: Switch, figure: Figure, experiments: Sequence[Experiment]) -> bool:
    """Whether a switch makes any run of a figure another one."""
    if switch.figures and figure.name not in switch.figures:
        return False
    return any(
        _concerns(switch, experiment) and _switched(experiment, switch) is not None
        for experiment in experiments
    )


def first_seeds(runs: Sequence[Run]) -> list[int]:
    """The places of the runs, of those that differ in seeds alone the first."""
    first: dict[str, int] = {}
    for place, run in enumerate(runs):
        first.setdefault(run.identity(), place)
    return list(first.values())


def _decides(run: Run) -> bool:
    return run.record is not None and bool(run.record.get("trusted", True))


def _concerns(switch: Switch, experiment: Experiment) -> bool:
    config = experiment.config
    return all(matches(at(config, path), wanted) for path, wanted in switch.where.items())


# Keys of one table that say the same in two ways.
_PAIRS = (("ftl.exported", "ftl.over_provisioning"), ("workload.path", "workload.generate"))
_SAME = {**dict(_PAIRS), **{other: one for one, other in _PAIRS}}


def _switched(experiment: Experiment, switch: Switch) -> Experiment | None:
    """The same run with the switch set; none if it is set so already."""
    config = experiment.config
    differs = False
    for path, value in switch.set.items():
        *way, last = path.split(".")
        table = config
        for key in way:
            if not isinstance(table.get(key), dict):
                raise InputError(f"claims.toml: switch `{switch.name}`: a run has no `{path}`")
            table = table[key]
        now = table.get(last)
        differs |= (type(now), now) != (type(value), value)
        table[last] = value
        # The run's own word for the same thing gives way, as a preset's does to a file's.
        other = _SAME.get(path)
        if other is not None and other not in switch.set and value != NULL:
            differs |= table.pop(other.rpartition(".")[2], None) is not None
    if not differs:
        return None
    # What the run leaves unset stays so: its preset may set it.
    [found] = resolve_mapping(config, f"switch `{switch.name}`")
    before = json.loads(experiment.text)
    return None if found.config == before else Experiment(found.text, experiment.base, reading=switch.name)
