"""Reads the studies: which experiment each runs, over which schemes, and what is set against what."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from eraseblock import ConfigError, Experiment, InputError, resolve
from eraseblock.toolkit import known, nearest
from eraseblock_reproduction import data

# What the studies are called beside the papers: `eraseblock reproduce beyond`.
NAME = data.BEYOND
TITLE = "Beyond the papers"
FILE_NAME = "studies.toml"
# What designs differ in; each has its own column in the tables.
KEYS = ("workload", "buffer", "ftl", "load")


@dataclass(frozen=True)
class Contest:
    """Designs that differ in one thing are set against each other, at every value of another."""

    # What differs: `buffer` or `ftl`.
    of: str
    # What tells the contests of one workload from each other, such as `ftl` or `load`.
    at: str
    # What all others are given relative to.
    baseline: str


@dataclass(frozen=True)
class Study:
    """One question, and the experiment that is to answer it."""

    name: str
    title: str
    asks: str
    # What a reader has to know of the experiment.
    note: str
    path: Path
    # Settings that take every scheme there is, by the kind of their values.
    every: Mapping[str, str]
    contests: tuple[Contest, ...]
    # Schemes that the sentences name whether they lead or not.
    named: tuple[str, ...]
    # Options of schemes, by the setting and the name, where all are to have the same means.
    options: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    # Settings of the loads under which all is run.
    loads: tuple[Mapping[str, Any], ...] = ({},)
    # What contests are at, in groups by what they do: each with the FTLs or loads that are in it.
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # The family of each workload: those of the same kind of work are no independent witnesses.
    families: Mapping[str, str] = field(default_factory=dict)

    def family(self, workload: str) -> str:
        """The kind of work that a workload is; one that has no family is one of its own."""
        return self.families.get(workload, workload)

    def experiments(self, buffers: Sequence[str] | None = None) -> list[Experiment]:
        """All runs, or those of some buffers; a scheme that is registered later is among them by itself."""
        axes = {key: self._axis(key, known(kind)) for key, kind in self.every.items()}
        if buffers is not None:
            axes["buffer.scheme"] = self._axis("buffer.scheme", buffers)
        return [one for load in self.loads for one in resolve(self.path, sets={**axes, **load})]

    def _axis(self, key: str, names: Sequence[str]) -> list[Any]:
        options = self.options.get(key, {})
        return [{"kind": name, **options[name]} if name in options else name for name in names]


def studies() -> dict[str, Study]:
    """All studies by name."""
    return dict(read(data.folder() / NAME / FILE_NAME))


def chosen(name: str | None) -> list[Study]:
    """The study of this name, or all of them."""
    everything = studies()
    if name is None:
        return list(everything.values())
    if name.lower() not in everything:
        raise ConfigError(
            f"reproduce {NAME}: there is no study `{name}`{nearest(name, list(everything))} "
            f"(known: {', '.join(everything)})"
        )
    return [everything[name.lower()]]


@cache
def read(path: Path) -> Mapping[str, Study]:
    """The studies of a file."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        families = _families(tables.get("families", {}))
        return {name: _study(name, table, path.parent, families) for name, table in tables["studies"].items()}
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except KeyError as error:
        raise InputError(f"{path}: {error} is missing") from error
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def _families(tables: Mapping[str, Sequence[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for family, workloads in tables.items():
        for workload in workloads:
            if workload in found:
                raise ValueError(f"families: `{workload}` is in `{found[workload]}` and in `{family}`")
            found[workload] = family
    return found


def _study(name: str, table: Mapping[str, Any], folder: Path, families: Mapping[str, str]) -> Study:
    contests: Sequence[Mapping[str, str]] = table["contests"]
    for contest in contests:
        for key in (contest["of"], contest["at"]):
            if key not in KEYS:
                raise ValueError(f"{name}: contests: there is no `{key}`{nearest(key, KEYS)}")
    every: Mapping[str, str] = table.get("every", {})
    options = table.get("options", {})
    groups: Mapping[str, Sequence[str]] = table.get("groups", {})
    if "ftl.mapping" in every:
        members = [one for some in groups.values() for one in some]
        for one in members:
            if one not in known("ftls"):
                raise ValueError(f"{name}: groups: there is no `{one}`{nearest(one, known('ftls'))}")
        if groups and (left := [one for one in known("ftls") if members.count(one) != 1]):
            raise ValueError(f"{name}: groups: each FTL is in one; not so: {', '.join(left)}")
    for key, schemes in options.items():
        if key not in every:
            raise ValueError(f"{name}: options: `{key}` takes no schemes here{nearest(key, list(every))}")
        for scheme in schemes:
            if scheme not in known(every[key]):
                found = nearest(scheme, known(every[key]))
                raise ValueError(f"{name}: options: {key}: there is no `{scheme}`{found}")
    return Study(
        name=name,
        title=table["title"],
        asks=table["asks"],
        note=table["note"],
        path=(folder / table["experiment"]).resolve(),
        every=every,
        contests=tuple(Contest(one["of"], one["at"], one["baseline"]) for one in contests),
        named=tuple(table.get("named", ())),
        options=options,
        loads=tuple(table.get("loads", ({},))),
        groups=groups,
        families=families,
    )
