"""What a check is asked for, and how far it has come."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """One check: where it may write, and how often it kills its server under load."""

    name: str
    folder: Path
    # Kills, and how many of them came before, in a session that was interrupted.
    kills: int
    before: int
    # Called when a drive is whole after a kill.
    survived: Callable[[], None]

    @property
    def chance(self) -> random.Random:
        """Moments and sizes: the same for each session that begins after so many kills."""
        return random.Random(f"{self.name} {self.before}")

    def rounds(self) -> Iterator[Round]:
        """The kills that are left, each with its place among them."""
        for number in range(self.kills - self.before):
            yield Round(number, last=self.before + number + 1 == self.kills)
            self.survived()


@dataclass(frozen=True)
class Round:
    """A kill under load, and what is looked at after it."""

    number: int
    last: bool

    @property
    def looks_at_all(self) -> bool:
        """Whether everything on the drive is read; else what is new, and some of the rest."""
        return self.last or self.number % 20 == 19
