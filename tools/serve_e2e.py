"""Lets real programs at a served drive: nbdinfo, nbdcopy, nbdsh, qemu, fio, file systems and databases.

`make test-e2e` runs it, as many checks at a time as there are processors. What a check needs and this machine
lacks is installed with apt-get where that is possible; what cannot be is skipped, and said. Ends with 1 if a
check has failed; its drive is kept then.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import resource
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


# Those that take longest begin first, so that nothing waits for one of them in the end.
LONG = ("guide", "postgresql", "recorded_xfs", "recorded_ntfs", "recorded_ext4", "hammered")

# Bytes that the drives of checks which run at once may take.
ROOM = 8 << 30


class Kept:
    """How many kills each check has survived, in a file, so that another session goes on."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.survived: dict[str, int] = self._read()

    def _read(self) -> dict[str, int]:
        there = self._path is not None and self._path.exists()
        return json.loads(self._path.read_text(encoding="utf-8")) if there and self._path else {}

    def note(self, name: str) -> None:
        """One more of this check. Others may note theirs at the same time."""
        if self._path is None:
            self.survived[name] = self.survived.get(name, 0) + 1
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.survived = self._read()
            self.survived[name] = self.survived.get(name, 0) + 1
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(self.survived), encoding="utf-8")
            part.replace(self._path)


def main() -> int:
    """Run all checks, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"some of {', '.join(CHECKS)}")
    parser.add_argument("--kills", type=int, default=KILLS, help="how often a server is killed under load")
    parser.add_argument("--kept", type=Path, help="a file that keeps the count of kills that were survived")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="checks at a time")
    asked = parser.parse_args()
    if unknown := [name for name in asked.checks if name not in CHECKS]:
        parser.error(f"there is no check {', '.join(unknown)} (known: {', '.join(CHECKS)})")
    # What is up is taken down then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begun = time.monotonic()
    names = list(asked.checks or CHECKS)
    counts = _at_once(names, asked) if asked.jobs > 1 and len(names) > 1 else _in_turn(names, asked)
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    sys.stdout.write(f"{told}, in {time.monotonic() - begun:.0f} s ({_processor_s():.0f} s of processor)\n")
    return 1 if counts["failed"] else 0


def _at_once(names: list[str], asked: argparse.Namespace) -> dict[str, int]:
    """Run each check in a process of its own, some at a time; how many came to what."""
    waiting = [*(name for name in LONG if name in names), *(name for name in names if name not in LONG)]
    options = ["--jobs", "1", "--kills", str(asked.kills)]
    options += ["--kept", str(asked.kept)] if asked.kept is not None else []
    running: list[subprocess.Popen[str]] = []
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        while waiting or running:
            while waiting and len(running) < asked.jobs:
                command = [sys.executable, __file__, *options, waiting.pop(0)]
                running.append(subprocess.Popen(command, text=True, stdout=subprocess.PIPE))
            ended = [one for one in running if one.poll() is not None]
            for one in ended:
                running.remove(one)
                # The last line is its sum.
                said = (one.communicate()[0] or "").splitlines(keepends=True)[:-1]
                outcome = said[0].split()[0] if said else "failed"
                counts[outcome if outcome in counts else "failed"] += 1
                sys.stdout.write("".join(said) or f"failed  {one.args!r}: it ended with {one.returncode}\n")
                sys.stdout.flush()
            if not ended:
                time.sleep(0.1)
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.communicate()
    return counts


def _in_turn(names: list[str], asked: argparse.Namespace) -> dict[str, int]:
    """Run one check after the other; how many came to what."""
    kept = Kept(asked.kept)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in names:
        start, worked, before = time.monotonic(), _processor_s(), kept.survived.get(name, 0)
        folder = Path(tempfile.mkdtemp(prefix="eraseblock-e2e-", dir=_memory()))
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
        took = f"{time.monotonic() - start:5.1f} s, {_processor_s() - worked:5.1f} s of processor"
        sys.stdout.write(f"{outcome}  {took}  {name}: {about}{kills}{why}\n")
        sys.stdout.flush()
    return counts


def _memory() -> Path | None:
    """A file system in memory with room for the drives of all checks, if there is one.

    To write images of many pieces to a disk, and to remove them, can take longer than the checks. A server
    that is killed leaves the same on either.
    """
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > ROOM else None


def _processor_s() -> float:
    """Processor time of this process and all that it has waited for, whatever else runs on this machine."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


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
