"""What goes to a worker and what comes back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from eraseblock import _core
from eraseblock.sweeps import OneRun


@dataclass(frozen=True)
class Content:
    """A file, or requests of the caller's memory, by what is in it."""

    # Of all bytes of the file, packed as it may be; of requests their own hash.
    sha256: str
    name: str
    # Where the caller sees the file, from the root; none for requests.
    path: str | None = None
    size: int = 0


def content_of(path: Path) -> Content:
    """What is in a file now; reads all of it."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Content(digest.hexdigest(), path.name, str(path), file.tell())


def plugin_name(sha256: str) -> str:
    """What the scheduler calls content that it keeps: sent by two callers it is one."""
    return f"eraseblock-{sha256}"


@dataclass(frozen=True)
class Task:
    """A run, without the requests that it replays."""

    # With its folder from the root.
    run: OneRun
    # That folder as the caller has it, for messages.
    home: str
    # The caller's engine: another one would give other records.
    engine: str
    content: Content | None = None


@dataclass(frozen=True)
class Ended:
    """How a task ended: one of these is there; none where nobody waits for it any more.

    Errors come as values: as exceptions, each would stand in the worker's log with all of its task.
    """

    record: str | None = None
    # How long the run took.
    seconds: float = 0.0
    error: _core.EraseblockError | None = None
    # The worker neither sees the file nor has been sent it.
    lacks: bool = False
    # The worker's engine, where it is another one.
    engine: str | None = None
