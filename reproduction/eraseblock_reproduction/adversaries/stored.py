"""What the search has found, stored as it is found: the same command goes on where it was stopped.

What a former search found is known to the next: nothing bad is forgotten because it was looked for anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from eraseblock import InputError
from eraseblock.toolkit import check_writable, engine
from eraseblock_reproduction.adversaries.bench import FTLS, MEASURES
from eraseblock_reproduction.adversaries.search import Effort, Tried
from eraseblock_reproduction.adversaries.space import Workload, workload_of

TRIED_NAME, PLAIN_NAME, FOUND_NAME = "tried.jsonl", "plain.jsonl", "found.jsonl"
# The worst workloads of former searches.
KNOWN_NAME = "known.jsonl"
_FORMAT = "eraseblock adversaries 1"
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """A scheme's worst workload on an FTL by one measure, made plain."""

    line: Line

    @property
    def scheme(self) -> str:
        """Whose."""
        return str(self.line["scheme"])

    @property
    def ftl(self) -> str:
        """On which FTL."""
        return str(self.line["ftl"])

    @property
    def measure(self) -> str:
        """By what it is worst."""
        return str(self.line["measure"])

    @property
    def workload(self) -> Workload:
        """The workload."""
        return workload_of(self.line["point"])

    @property
    def held_out(self) -> Sequence[float]:
        """How many times the cost of the best ordinary scheme it has, with seeds that decided nothing."""
        return [float(one) for one in self.line["held_out"]]

    @property
    def ratio(self) -> float:
        """The middle one of these."""
        return median(self.held_out)

    @property
    def best(self) -> str:
        """The best ordinary scheme there."""
        return str(self.line["best"])

    @property
    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """What it and others came to, by scheme, with the first of these seeds."""
        figures: Mapping[str, Mapping[str, Any]] = self.line["figures"]
        return figures


class Stored:
    """Three files, each begun with what it is made with: what was tried, made plain, and told."""

    def __init__(
        self, folder: Path, effort: Effort, seed: int, schemes: Sequence[str], left_out: Mapping[str, str]
    ) -> None:
        self.effort, self.seed, self.schemes = effort, seed, schemes
        self._folder = folder
        self._head = {
            "format": _FORMAT,
            "engine": engine(),
            "seed": seed,
            "effort": asdict(effort),
            "schemes": list(schemes),
            "left_out": dict(left_out),
        }
        self.known = known(folder)
        self.tried: dict[str, list[Tried]] = {}
        for line in self._begun(TRIED_NAME):
            self.tried.setdefault(line["ftl"], []).append(Tried(line["point"], line["costs"]))
        self.plain: dict[str, list[Workload]] = {}
        for line in self._begun(PLAIN_NAME):
            self.plain.setdefault(line["ftl"], []).append(workload_of(line["point"]))
        lines = self._begun(FOUND_NAME)
        self.found = {(one["scheme"], one["ftl"], one["measure"]): Found(one) for one in lines}

    def keep_tried(self, ftl: str, tried: Sequence[Tried]) -> None:
        """Store a batch, in one piece."""
        lines = [{"ftl": ftl, "point": one.point, "costs": one.costs} for one in tried]
        self._add(TRIED_NAME, lines)

    def keep_plain(self, ftl: str, lines: Sequence[Line]) -> None:
        """Store what is worst on an FTL, made plain."""
        self.plain[ftl] = [workload_of(line["point"]) for line in lines]
        self._add(PLAIN_NAME, lines)

    def keep_found(self, lines: Sequence[Line]) -> None:
        """Store what came of it."""
        self.found |= {(line["scheme"], line["ftl"], line["measure"]): Found(line) for line in lines}
        self._add(FOUND_NAME, lines)

    def _add(self, name: str, lines: Sequence[Line]) -> None:
        with (self._folder / name).open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))

    def _begun(self, name: str) -> list[Line]:
        path = self._folder / name
        if not path.exists():
            check_writable(self._folder)
            self._add(name, [self._head])
            return []
        head, lines = _read(path)
        if json.loads(json.dumps(self._head)) != head:
            raise InputError(
                f"{path}: made with another engine, effort, seed or list of buffers; --fresh makes it "
                "anew, -o FOLDER keeps it apart"
            )
        return lines


def known(folder: Path) -> list[Workload]:
    """The worst workloads of former searches."""
    path = folder / KNOWN_NAME
    workloads = []
    for number, line in enumerate(_read(path)[1] if path.exists() else [], 2):
        try:
            workloads.append(workload_of(line["point"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}, line {number}: no workload of this search: {error!r}") from error
    return workloads


def forget(folder: Path) -> None:
    """Remove what a folder holds; its worst workloads are known from now on, as well as those that were.

    Raises:
        InputError: Those that were known cannot be read. Nothing is removed then.
    """
    workloads = known(folder)
    # What was found with an older format is of no use.
    with suppress(InputError, KeyError, TypeError, ValueError):
        workloads += [one.workload for one in stored(folder)[1]]
    if workloads:
        lines = [{"format": _FORMAT}, *({"point": one.point} for one in dict.fromkeys(workloads))]
        written = folder / f"{KNOWN_NAME}.new"
        written.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        written.replace(folder / KNOWN_NAME)
    for name in (TRIED_NAME, PLAIN_NAME, FOUND_NAME):
        (folder / name).unlink(missing_ok=True)


def is_whole(folder: Path, effort: Effort, seed: int, schemes: Sequence[str]) -> bool:
    """Whether all of this is there, whatever engine made it."""
    if not (folder / FOUND_NAME).exists():
        return False
    head, found = stored(folder)
    able = [name for name in schemes if name not in head["left_out"]]
    there = {(one.scheme, one.ftl, one.measure) for one in found}
    asked = {"seed": seed, "effort": asdict(effort), "schemes": able}
    return all(head[key] == value for key, value in asked.items()) and there == set(
        product(able, FTLS, MEASURES)
    )


def stored(folder: Path) -> tuple[Line, list[Found]]:
    """What a folder holds, whatever made it: with what it was made, and what was found."""
    head, found = _read(folder / FOUND_NAME)
    return head, [Found(one) for one in found]


def _read(path: Path) -> tuple[Line, list[Line]]:
    try:
        head, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if head["format"] != _FORMAT:
            raise ValueError(f"its format is not `{_FORMAT}`")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not what `reproduce adversaries` writes: {error}") from error
    return head, lines
