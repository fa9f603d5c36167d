"""What a question comes to: a sentence, what takes the ground from it, and the figures behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from eraseblock.results.advice import one_for, shape_of

# How the figures are drawn: a line along numbers, or a bar for each name.
Shape = Literal["line", "bars"]


@dataclass(frozen=True)
class Picture:
    """The figures of a table, to be drawn."""

    shape: Shape
    title: str
    # Columns of the table.
    x: str
    y: str
    # A column whose values get lines or parts of bars of their own, if there is one.
    by: str | None = None
    # Columns of times that add up to y: bars are made of them.
    parts: tuple[str, ...] = ()
    # What is asked for, on the y axis.
    goal: float | None = None
    # Each step of x is the double of the one before, as with sizes.
    doubling: bool = False


@dataclass(frozen=True)
class Table:
    """Figures as numbers, and as people read them."""

    # Titles by the keys of the rows, in order.
    columns: Mapping[str, str]
    # Numbers and names by key; times in ns, sizes in bytes, shares from 0 to 1.
    rows: Sequence[Mapping[str, Any]]
    # The same for the eye.
    shown: Sequence[Sequence[str]]
    # The row that the answer takes, if it takes one.
    taken: int | None = None

    def doubted(self, index: int) -> bool:
        """Whether the figures of a row are not to be trusted; most tables have no such row."""
        return self.rows[index].get("trusted") is False


@dataclass(frozen=True)
class Answer:
    """One question answered. Names stand in backquotes."""

    question: str
    sentence: str
    # Why not to rely on it.
    doubts: tuple[str, ...]
    table: Table
    picture: Picture
    # Commands that make the same runs.
    commands: tuple[str, ...]
    # What the sentence says, as values.
    result: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """All of it but how it is drawn."""
        whole = asdict(self)
        del whole["picture"]
        whole["table"] = [dict(row) for row in self.table.rows]
        return whole


def doubts_of_all(answers: Sequence[Answer]) -> list[tuple[str, str]]:
    """Each doubt once, behind what it is about: `that`, or of several answers their questions."""
    alike: dict[str, dict[str, str]] = {}
    for answer in answers:
        for doubt in answer.doubts:
            alike.setdefault(shape_of(doubt), {})[answer.question] = doubt
    return [
        ("that" if len(answers) == 1 else ", ".join(told), one_for([*told.values()]))
        for told in alike.values()
    ]


def paragraph(answers: Sequence[Answer]) -> str:
    """All answers in one paragraph, then the doubts."""
    together: dict[str, list[str]] = {}
    for about, doubt in doubts_of_all(answers):
        together.setdefault(about, []).append(doubt)
    doubts = [f"Do not rely on {about}: {'; '.join(some)}." for about, some in together.items()]
    return " ".join([*(answer.sentence for answer in answers), *doubts])


def as_json(answers: Sequence[Answer], trace: str, device: str) -> dict[str, Any]:
    """Everything for programs."""
    return {
        "trace": trace,
        "device": device,
        "paragraph": paragraph(answers),
        "answers": [answer.as_json() for answer in answers],
    }
