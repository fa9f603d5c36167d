"""Kernel file systems on a served drive that loses its power under load."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from e2e.drive import LARGE, Server
from e2e.job import Job
from e2e.machine import need, need_mounts, run
from e2e.mounts import Attached

# Files on a drive at a time; old ones are written anew, so that it does not fill up.
FILES = 24


@dataclass(frozen=True)
class FileSystem:
    """How a file system is made and checked; `{}` stands for the drive."""

    name: str
    make: tuple[str, ...]
    checks: tuple[tuple[str, ...], ...]
    # Whether only the kernel replays its log, so that it has to be mounted before it is checked.
    replays: bool = False


EXT4 = FileSystem(
    "ext4",
    ("mke2fs", "-q", "-F", "-t", "ext4", "{}"),
    (("e2fsck", "-f", "-p", "{}"), ("e2fsck", "-f", "-n", "{}")),
)
XFS = FileSystem("xfs", ("mkfs.xfs", "-q", "-f", "{}"), (("xfs_repair", "-n", "{}"),), replays=True)
BTRFS = FileSystem(
    "btrfs", ("mkfs.btrfs", "-q", "-f", "{}"), (("btrfs", "check", "--readonly", "{}"),), replays=True
)


@dataclass
class Files:
    """Files that are on the drive for good, by their checksums."""

    sums: dict[str, bytes] = field(default_factory=dict)

    def put(self, name: str, data: bytes) -> None:
        """A file is on the drive from now on, with this content."""
        self.sums[name] = hashlib.sha256(data).digest()

    def check(self, names: Iterable[str], read: Path) -> None:
        """The files of a folder are what was put."""
        for name in names:
            found = hashlib.sha256((read / name).read_bytes()).digest()
            assert found == self.sums[name], f"{name} is not what was synced"


def ext4(job: Job) -> None:
    """Ext4 under load, and kills."""
    _file_system(job, EXT4)


def xfs(job: Job) -> None:
    """XFS under load, and kills."""
    _file_system(job, XFS)


def btrfs(job: Job) -> None:
    """Btrfs under load, and kills."""
    _file_system(job, BTRFS)


def make(system: FileSystem, attached: Attached) -> None:
    """Make a file system of a drive."""
    run(*(part.format(attached.drive) for part in system.make))


def check(system: FileSystem, attached: Attached) -> None:
    """Let a file system's own check look at the drive."""
    if system.replays:
        attached.up()
        attached.unmount()
    for words in system.checks:
        # e2fsck -p ends with 1 where it has mended what the kernel would have.
        run(*(part.format(attached.drive) for part in words), codes=(0, 1) if "-p" in words else (0,))


def _file_system(job: Job, system: FileSystem) -> None:
    """Kill the server under load, again and again: what was synced is there, and the file system whole."""
    need(system.make[0], system.checks[0][0])
    need_mounts(system.name)
    server = Server(job.folder / "drive.img", LARGE).start()
    attached = Attached(server, job.folder)
    make(system, attached)
    attached.up()
    files, chance = Files(), job.chance
    for round_ in job.rounds():
        new = [f"file-{number % FILES}" for number in range(3 * round_.number, 3 * round_.number + 3)]
        for name in new:
            _write(attached.mount / name, data := chance.randbytes(chance.randrange(1, 2 << 20)))
            files.put(name, data)
        _sync(attached.mount)
        copies = (
            f"while :; do cp {attached.mount}/file-0 {attached.mount}/x; rm {attached.mount}/x; sync; done"
        )
        load = subprocess.Popen(["sh", "-c", copies], stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.8))
        server.kill()
        load.kill()
        load.wait()
        attached.down()
        server.start()
        attached = Attached(server, job.folder)
        check(system, attached)
        attached.up()
        some = random.Random(round_.number).sample(sorted(files.sums), min(2, len(files.sums)))
        files.check(files.sums if round_.looks_at_all else {*new, *some}, attached.mount)
    attached.down()
    server.end()


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)
