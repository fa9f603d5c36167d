"""Gathers what runs warn of and why some are not to be trusted: each sentence once, with its runs.

Sentences that differ in their numbers alone are one, with ranges.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eraseblock.results.units import size, sizes
from eraseblock.results.view import Row, groups_of

# Runs of more groups than this are counted.
_GROUPS = 4
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Advice:
    """One sentence and the runs it is about."""

    sentence: str
    runs: str
    distrust: bool
    count: int


def advice_of(rows: Sequence[Row]) -> list[Advice]:
    """Reasons for distrust first, then warnings, each in the order in which they first appear."""
    found: dict[tuple[bool, str], dict[str, list[Row]]] = {}
    for distrust, key in ((True, "reasons"), (False, "warnings")):
        for row in rows:
            for sentence in map(str, row.record.get(key) or []):
                alike = found.setdefault((distrust, shape_of(sentence)), {})
                alike.setdefault(sentence, []).append(row)
    whole = _Whole.of(rows)
    gathered = []
    for (distrust, _), alike in found.items():
        about = [row for some in alike.values() for row in some]
        gathered.append(Advice(one_for(list(alike)), whole.describe(about), distrust, len(about)))
    return gathered


def shape_of(sentence: str) -> str:
    """What is the same of sentences that differ in their numbers alone."""
    return _NUMBER.sub("#", sentence)


def one_for(sentences: Sequence[str]) -> str:
    """One sentence for several that differ in their numbers alone."""
    columns = iter(zip(*(_NUMBER.findall(sentence) for sentence in sentences), strict=True))

    def span(_: re.Match[str]) -> str:
        numbers = sorted(set(next(columns)), key=float)
        return numbers[0] if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"

    return _NUMBER.sub(span, sentences[0])


@dataclass(frozen=True)
class _Whole:
    """All runs in their groups, looked through once: each run may have a sentence of its own."""

    groups: dict[tuple[str, str, str], list[Row]]
    runs: int
    # Parts of a group's name in which the groups differ.
    telling: list[int]

    @staticmethod
    def of(rows: Sequence[Row]) -> _Whole:
        groups = groups_of(rows)
        telling = [part for part in range(3) if len({group[part] for group in groups}) > 1]
        return _Whole(groups, len(rows), telling)

    def describe(self, some: Sequence[Row]) -> str:
        """Say which runs are meant, as shortly as it can be said."""
        if len(some) == self.runs:
            return "all runs" if self.runs > 1 else "the run"
        groups = groups_of(some)
        if len(groups) > _GROUPS:
            return f"{len(some)} of {self.runs} runs"
        parts = []
        for group, about in groups.items():
            # A name is given to the group only where there are several.
            name = " / ".join(group[part] for part in self.telling if group[part])
            text = _within_group(about, self.groups[group])
            parts.append(f"{name}: {text}" if name else text)
        return "; ".join(parts)


def _within_group(some: Sequence[Row], everything: Sequence[Row]) -> str:
    if len(some) == len(everything):
        return "all runs"
    whole: list[str] = []
    at_sizes: dict[str, list[str]] = {}
    for scheme in dict.fromkeys(row.scheme for row in some):
        about = [row for row in some if row.scheme == scheme]
        if len(about) == sum(row.scheme == scheme for row in everything):
            whole.append(scheme)
        else:
            at_sizes.setdefault(_sizes(about, everything), []).append(scheme)
    parts = [*whole, *(f"{', '.join(schemes)} at {sizes}" for sizes, schemes in at_sizes.items())]
    return ", ".join(parts)


def _sizes(some: Sequence[Row], everything: Sequence[Row]) -> str:
    """As in "4, 16 MiB"; many that follow one another as in "1 to 16 MiB"."""
    there = sorted({row.buffer_bytes for row in everything})
    asked = sorted({row.buffer_bytes for row in some})
    first = there.index(asked[0])
    if len(asked) > 2 and there[first : first + len(asked)] == asked:
        return sizes(asked[0], asked[-1])
    each = [size(row.buffer_bytes) for row in some]
    if len({one.partition(" ")[2] for one in each}) > 1:
        return ", ".join(each)
    return ", ".join([*(one.partition(" ")[0] for one in each[:-1]), each[-1]])
