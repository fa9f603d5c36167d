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
    return [
        Advice(sentence, describe_runs(about, rows), distrust, len(about))
        for (distrust, sentence), about in found.items()
    ]


def describe_runs(some: Sequence[Row], everything: Sequence[Row]) -> str:
    """Says which runs are meant, as shortly as it can be said."""
    if len(some) == len(everything):
        return "all runs" if len(everything) > 1 else "the run"
    groups = groups_of(everything)
    parts = []
    for group, about in groups_of(some).items():
        text = _within_group(about, groups[group])
        # A name is given to the group only where there are several.
        parts.append(f"{_group_name(group, list(groups))}{text}")
    return "; ".join(parts)


def _group_name(group: tuple[str, ...], groups: Sequence[tuple[str, ...]]) -> str:
    telling = [part for index, part in enumerate(group) if len({other[index] for other in groups}) > 1]
    return f"{' / '.join(telling)}: " if telling else ""


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
