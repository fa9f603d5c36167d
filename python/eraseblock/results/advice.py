"""Gathers what runs warn of and why some are not to be trusted: each sentence once, with its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eraseblock.results.units import size
from eraseblock.results.view import Row, groups_of


@dataclass(frozen=True)
class Advice:
    """One sentence and the runs it is about."""

    sentence: str
    runs: str
    distrust: bool
    count: int


def advice_of(rows: Sequence[Row]) -> list[Advice]:
    """Reasons for distrust first, then warnings, each in the order in which they first appear."""
    found: dict[tuple[bool, str], list[Row]] = {}
    for distrust, key in ((True, "reasons"), (False, "warnings")):
        for row in rows:
            for sentence in row.record.get(key) or []:
                found.setdefault((distrust, str(sentence)), []).append(row)
    whole = _Whole.of(rows)
    return [
        Advice(sentence, whole.describe(about), distrust, len(about))
        for (distrust, sentence), about in found.items()
    ]


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
        parts = []
        for group, about in groups_of(some).items():
            # A name is given to the group only where there are several.
            name = " / ".join(group[part] for part in self.telling if group[part])
            text = _within_group(about, self.groups[group])
            parts.append(f"{name}: {text}" if name else text)
        return "; ".join(parts)


def _within_group(some: Sequence[Row], everything: Sequence[Row]) -> str:
    if len(some) == len(everything):
        return "all runs"
    parts = []
    for scheme in dict.fromkeys(row.scheme for row in some):
        about = [row for row in some if row.scheme == scheme]
        if len(about) == sum(row.scheme == scheme for row in everything):
            parts.append(scheme)
        else:
            parts.append(f"{scheme} at {', '.join(size(row.buffer_bytes) for row in about)}")
    return ", ".join(parts)
