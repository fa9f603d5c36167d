"""File systems by tools that need no kernel: FAT by mtools, NTFS by those of ntfs-3g."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.drive import SMALL, Server
from e2e.file_systems import FILES, Files
from e2e.job import Job
from e2e.machine import need, run
from e2e.mounts import Attached


@dataclass(frozen=True)
class Tools:
    """Programs that make a file system on a drive, put a file into it, and get it back."""

    programs: tuple[str, ...]
    make: Callable[[Path], None]
    check: Callable[[Path], None]
    # From the drive: a file here, and its name there.
    put: Callable[[Path, Path, str], None]
    get: Callable[[Path, Path, str], None]


FAT = Tools(
    ("mkfs.vfat", "fsck.vfat", "mcopy"),
    make=lambda drive: _run("mkfs.vfat", "-F", "32", drive),
    check=lambda drive: _run("fsck.vfat", "-n", drive),
    put=lambda drive, here, name: _run("mcopy", "-o", "-i", drive, here, f"::{name}"),
    get=lambda drive, back, name: _run("mcopy", "-n", "-o", "-i", drive, f"::{name}", back),
)


def _ntfs_check(drive: Path) -> None:
    said = run("ntfsfix", "-n", drive)
    assert "Mounting volume... OK" in said or "processed successfully" in said, said


NTFS = Tools(
    ("mkntfs", "ntfsfix", "ntfscp", "ntfscat"),
    # Twice forced: it is no block device.
    make=lambda drive: _run("mkntfs", "-F", "-F", "-q", "-Q", drive),
    check=_ntfs_check,
    put=lambda drive, here, name: _run("ntfscp", "-f", drive, here, name),
    get=lambda drive, back, name: _run("sh", "-c", f"ntfscat -f '{drive}' '{name}' > '{back}'"),
)


def _run(*command: str | Path) -> None:
    run(*command)


def vfat(job: Job) -> None:
    """FAT with tools that need no kernel: what was synced is there after kills."""
    _tools(job, FAT)


def ntfs(job: Job) -> None:
    """NTFS with tools that need no kernel: what was synced is there after kills."""
    _tools(job, NTFS)


def _tools(job: Job, tools: Tools) -> None:
    need(*tools.programs)
    server = Server(job.folder / "drive.img", SMALL).start()
    attached = Attached(server, job.folder)
    tools.make(attached.drive)
    back = job.folder / "back"
    back.mkdir()
    files = Files()
    for round_ in job.rounds():
        name = f"file-{round_.number % FILES}"
        data = random.Random(round_.number).randbytes(100_000 * (round_.number % 10 + 1))
        (here := job.folder / "here").write_bytes(data)
        tools.put(attached.drive, here, name)
        files.put(name, data)
        run("sync", attached.drive)
        server.kill()
        attached.down()
        server.start()
        attached = Attached(server, job.folder)
        tools.check(attached.drive)
        some = random.Random(round_.number).sample(sorted(files.sums), min(2, len(files.sums)))
        for one in files.sums if round_.looks_at_all else {name, *some}:
            tools.get(attached.drive, back / one, one)
            files.check([one], back)
    attached.down()
    server.end()
