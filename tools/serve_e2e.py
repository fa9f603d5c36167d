"""Lets real programs at a served drive: nbdinfo, nbdcopy, nbdsh, qemu, fio, file systems and databases.

`make test-e2e` runs it. What a check needs and this machine lacks is installed with apt-get where that is
possible; what cannot be is skipped, and said. Ends with 1 if a check has failed; its drive is kept then.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from e2e import clients, databases, file_systems, page, recordings, user_space
from e2e.drive import take_down
from e2e.job import Job
from e2e.machine import LackingError

# How often the server under each file system and database is killed (--kills).
KILLS = 10
CHECKS: dict[str, Callable[[Job], None]] = {
    check.__name__: check
    for check in (
        *(clients.announced, clients.copied, clients.scripted, clients.virtual_machine, clients.hammered),
        *(file_systems.ext4, file_systems.xfs, file_systems.btrfs, user_space.vfat, user_space.ntfs),
        *(databases.sqlite, databases.postgresql, clients.full_disk),
        *(page.encrypted, page.guide),
        *(recordings.recorded_ext4, recordings.recorded_xfs, recordings.recorded_ntfs),
    )
}


class Kept:
    """How many kills each check has survived, in a file, so that another session goes on."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        there = path is not None and path.exists()
        self.survived: dict[str, int] = json.loads(path.read_text(encoding="utf-8")) if there and path else {}

    def note(self, name: str) -> None:
        """One more of this check."""
        self.survived[name] = self.survived.get(name, 0) + 1
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(self.survived), encoding="utf-8")
            part.replace(self._path)


def main() -> int:
    """Run all checks, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"some of {', '.join(CHECKS)}")
    parser.add_argument("--kills", type=int, default=KILLS, help="how often a server is killed under load")
    parser.add_argument("--kept", type=Path, help="a file that keeps the count of kills that were survived")
    asked = parser.parse_args()
    if unknown := [name for name in asked.checks if name not in CHECKS]:
        parser.error(f"there is no check {', '.join(unknown)} (known: {', '.join(CHECKS)})")
    # What is up is taken down then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    kept = Kept(asked.kept)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    begun = time.monotonic()
    for name in asked.checks or CHECKS:
        start, before = time.monotonic(), kept.survived.get(name, 0)
        folder = Path(tempfile.mkdtemp(prefix="eraseblock-e2e-"))
        job = Job(name, folder, asked.kills, min(before, asked.kills), partial(kept.note, name))
        outcome, why = "interrupted", ""
        try:
            outcome, why = _outcome(CHECKS[name], job)
        finally:
            if outcome != "failed":
                shutil.rmtree(folder, ignore_errors=True)
        if outcome == "failed":
            why = f"{why} (kept: {folder})"
        counts[outcome] += 1
        about = (CHECKS[name].__doc__ or "").splitlines()[0]
        killed = kept.survived.get(name, 0)
        kills = f" {killed} kills." if killed else ""
        sys.stdout.write(f"{outcome}  {time.monotonic() - start:5.1f} s  {name}: {about}{kills}{why}\n")
        sys.stdout.flush()
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    sys.stdout.write(f"{told}, in {time.monotonic() - begun:.0f} s\n")
    return 1 if counts["failed"] else 0


def _outcome(check: Callable[[Job], None], job: Job) -> tuple[str, str]:
    """Whether a check passed, and why not; nothing of it is up afterwards."""
    try:
        check(job)
    except LackingError as lacking:
        return "skipped", f" {lacking}"
    except (AssertionError, OSError, ValueError, sqlite3.Error, subprocess.TimeoutExpired) as error:
        return "failed", f" {error}"
    finally:
        take_down()
    return "passed", ""


if __name__ == "__main__":
    sys.exit(main())
