"""One machine's share of a sweep, and the journal that it keeps in a folder which several machines use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eraseblock import _core

# Each share writes to a file of its own, so that no machine appends to what another one appends to.
FOLDER = "shards"
_JOURNALS = "*-of-*.jsonl"
_LOCKS = "*-of-*.lock"
_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True)
class Shard:
    """Share `number` of `of`, from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @staticmethod
    def parse(text: str, option: str) -> Shard:
        """From text such as `2/4`; what is wrong is said of `option`."""
        found = _SHARD.fullmatch(text.strip())
        shard = Shard(int(found[1]), int(found[2])) if found else None
        if shard is None or not 1 <= shard.number <= shard.of:
            raise _core.ConfigError(
                f"{option}: found `{text}`, expected a share such as 2/4: the second of four, counted from 1"
            )
        return shard

    def share(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys of a sweep that are its own; the shares of all shards together have each once.

        Keys are hashes: dealt out in their order, no share has all runs of a scheme, and any machine comes
        to the same shares.
        """
        return set(sorted(set(keys))[self.number - 1 :: self.of])

    def journal(self, folder: Path) -> Path:
        """Where its runs are stored."""
        return folder / FOLDER / f"{self.number}-of-{self.of}.jsonl"


def journals(folder: Path) -> list[Path]:
    """The journals of all shards in a folder."""
    return sorted((folder / FOLDER).glob(_JOURNALS))


def locks(folder: Path) -> list[Path]:
    """The locks that shards have had there."""
    return sorted((folder / FOLDER).glob(_LOCKS))


def name_of(path: Path) -> str:
    """The shard of a journal or lock, for people."""
    return f"shard {path.stem.replace('-of-', '/')}"
