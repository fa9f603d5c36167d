"""Chooses runs by their settings, and says what a run is apart from certain settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from eraseblock.toolkit import number_of
from eraseblock_reproduction.data import Selection
from eraseblock_reproduction.workloads import Source

# Settings in which runs of the same point differ.
_SEEDS = re.compile(r"^(how\..*\.)?seed$")
# What a run was made with, in figures that set a served drive beside the simulation.
DRIVE = "drive"
SIMULATED, SERVED = "simulated", "served"
# What only calls a run something.
_NAMES = ("name", "preset", "case")
# What most settings are: it takes far longer to ask whether something is a mapping.
_SCALARS = (str, int, float, type(None))


@dataclass(eq=False)
class Run:
    """One run of a figure: its settings, where its workload is from, and what came out."""

    # As resolved, with the name of the workload in the place of its settings, which are in `how`.
    settings: Mapping[str, Any]
    source: Source
    record: Mapping[str, Any] | None = None
    # What `trace info` says of the workload.
    profile: Mapping[str, Any] | None = None
    # Why there is no record.
    error: str | None = None
    _leaves: list[tuple[str, str]] = field(default_factory=list)
    _identities: dict[frozenset[str], str] = field(default_factory=dict)

    @property
    def leaves(self) -> list[tuple[str, str]]:
        """Every setting by its dotted path, as text, without names."""
        if not self._leaves:
            found: list[tuple[str, str]] = []
            _flatten(self.settings, "", found)
            self._leaves = sorted(leaf for leaf in found if leaf[0] not in _NAMES)
        return self._leaves

    @property
    def is_served(self) -> bool:
        """Whether it is no simulation: its workload is played to a served drive."""
        return self.settings.get(DRIVE) == SERVED

    @property
    def seed(self) -> str:
        """What it differs in from other runs of the same point."""
        return ",".join(text for path, text in self.leaves if _SEEDS.match(path))

    def identity(self, axes: Iterable[str] = ()) -> str:
        """What it is apart from some settings and from seeds."""
        key = frozenset(axes)
        if key not in self._identities:
            left_out = key | {"how"} if "workload" in key else key
            inside = tuple(f"{axis}." for axis in left_out)
            self._identities[key] = ";".join(
                f"{path}={text}"
                for path, text in self.leaves
                if not (path in left_out or path.startswith(inside) or _SEEDS.match(path))
            )
        return self._identities[key]


def select(runs: Iterable[Run], *selections: Selection) -> list[Run]:
    """The runs that match all of these."""
    found = list(runs)
    for selection in selections:
        for path, one in selection.items():
            keys = path.split(".")
            found = [run for run in found if matches(_under(run.settings, keys), one)]
    return found


def named(selections: Sequence[Selection]) -> list[str]:
    """Each of several selections in few words: its first, and what tells it from the others.

    Names are as they are, numbers with what they are of.

    Example:
        >>> named([{"buffer.scheme": {"kind": "bplru", "padding": False}}, {"buffer.scheme": "bplru"}])
        ['bplru no padding', 'bplru']
        >>> named([{"nand": {"channels": 4}}, {"nand": {"channels": 8}}])
        ['channels 4', 'channels 8']
    """
    told = [
        list(
            dict.fromkeys(word for path, one in each.items() for word in words(path.rpartition(".")[2], one))
        )
        for each in selections
    ]
    return [_short(words, [other for other in told if other is not words]) for words in told]


def _short(words: list[str], others: Sequence[Sequence[str]]) -> str:
    """The first word, and of the rest those without which it could be one of the others."""
    kept = list(words)
    for word in words[1:]:
        without = [one for one in kept if one != word]
        if not any(set(without) <= set(other) for other in others):
            kept = without
    return " ".join(kept)


def words(key: str, value: object) -> list[str]:
    """A setting in words: names as they are, numbers with what they are of."""
    if isinstance(value, (dict, Mapping)):
        return [word for inner, one in value.items() for word in words(inner, one)]
    if isinstance(value, list):
        return [", ".join(" ".join(words(key, one)) for one in value)]
    if isinstance(value, bool):
        return [key if value else f"no {key}"]
    return [value] if isinstance(value, str) else [f"{key} {value}"]


def at(settings: object, path: str) -> object:
    """The value at a dotted path, or None."""
    return _under(settings, path.split("."))


def _under(settings: object, keys: Sequence[str]) -> object:
    for key in keys:
        if isinstance(settings, _SCALARS):
            return None
        settings = settings.get(key) if isinstance(settings, (dict, Mapping)) else None
    return settings


def matches(found: object, wanted: object) -> bool:
    """A list: any of them. A table: all of its keys. A name: the kind of a scheme, or the value itself."""
    if not isinstance(wanted, _SCALARS):
        if isinstance(wanted, list):
            return any(matches(found, one) for one in wanted)
        if isinstance(wanted, (dict, Mapping)):
            return isinstance(found, Mapping) and all(
                matches(found.get(key), one) for key, one in wanted.items()
            )
    if not isinstance(found, _SCALARS) and isinstance(found, (dict, Mapping)):
        found = found.get("kind")
    return plain(found) == plain(wanted)


def plain(value: object) -> object:
    """One spelling for each value: sizes and times as numbers with their kind, all else as it is."""
    return _quantity(value) if isinstance(value, str) and " " in value else value


# The runs of a paper have the same few settings thousands of times.
@cache
def _quantity(text: str) -> object:
    number = number_of(text)
    return text if number is None else (number, "time" if text.endswith("s") else "size")


def _flatten(settings: Mapping[str, Any], before: str, found: list[tuple[str, str]]) -> None:
    # A paper has some thousand runs of a hundred settings each.
    for key, value in settings.items():
        if isinstance(value, _SCALARS) or not isinstance(value, Mapping):
            found.append((before + key, str(plain(value))))
        else:
            _flatten(value, f"{before}{key}.", found)
