"""Says what a page was made with: the engine, and the commit of the source tree."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from eraseblock.toolkit import engine
from eraseblock_reproduction.data import folder


@dataclass(frozen=True)
class Made:
    """What figures are known by: two pages by the same engine have the same."""

    engine: str
    # Of the source tree; empty where it is not under git.
    commit: str

    @property
    def sentence(self) -> str:
        """For the foot of a page."""
        commit = f", commit {self.commit}" if self.commit else ""
        return f"engine {self.engine}{commit}"


def made() -> Made:
    """What pages are made with now."""
    return Made(engine(), _commit())


def _commit() -> str:
    call = ["git", "log", "-1", "--format=%h", "--abbrev=12"]
    try:
        done = subprocess.run(call, cwd=folder(), capture_output=True, text=True, check=False, timeout=10)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
