"""Plays a workload to a served drive: what the drive has done by its own count and clock."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eraseblock import Experiment, InputError, SimulationError, trace
from eraseblock.toolkit import bytes_of, create_image
from eraseblock_reproduction.served import tethered
from eraseblock_reproduction.served.client import Client

_SECTOR = 512
_SOCKET, _REPORT = "socket", "report.json"
# How long one request, and the end of a server, may take.
_PATIENCE_S = 300
# The longest write.
_LONGEST = 32 << 20
# After so many requests it is told how many there were.
_OFTEN = 256

# Told how many of how many requests have been answered; what it raises ends the play.
Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Write:
    """One write of a workload, in bytes."""

    offset: int
    length: int
    fua: bool


def play(experiment: Experiment, told: Told) -> dict[str, Any]:
    """Let a host write a workload to the drive of an experiment, one request after the other, and flush it.

    What the drive reports of itself comes back, as a record has it. Its clock goes on while the host gets
    ready for the next request: counts are the same on any machine, times are not.

    Raises:
        EraseblockError: the drive cannot be served, or a request failed.
    """
    with TemporaryDirectory(prefix="eraseblock-served-") as name:
        folder = Path(name)
        writes = _writes(experiment, folder)
        with _served(experiment, folder) as server:
            with Client(folder / _SOCKET, _PATIENCE_S) as client:
                for done, write in enumerate(writes):
                    if done % _OFTEN == 0:
                        told(done, len(writes))
                    client.write(write.offset, _bytes()[: write.length], fua=write.fua)
                client.flush()
                client.leave()
            server.send_signal(signal.SIGTERM)
            if server.wait(timeout=_PATIENCE_S) != 0:
                raise SimulationError(_last_words(server))
        found: dict[str, Any] = json.loads((folder / _REPORT).read_text(encoding="utf-8"))["drive"]
        return found


def _writes(experiment: Experiment, folder: Path) -> list[Write]:
    """The requests of a workload, laid onto the drive as a simulation lays them."""
    config = experiment.config
    nand, workload = config["nand"], dict(config["workload"])
    path = experiment.base / workload.pop("path")
    if workload["ops"] != "write":
        raise InputError(f"{path}: a served drive is played writes alone; set `workload.ops` to `write`")
    written = folder / "workload.load"
    trace.convert(
        path,
        written,
        workload=workload,
        capacity=config["ftl"]["exported"],
        page_size=nand["page_size"],
        block_size=f"{bytes_of(nand['page_size']) * nand['pages_per_block']} B",
    )
    lines = written.read_text(encoding="utf-8").splitlines()
    # Above them stands where they are from.
    rows = (line.split(";") for line in lines if line.lstrip()[:1].isdigit())
    return [
        Write(int(sector) * _SECTOR, int(length) * _SECTOR, op.strip() == "WF")
        for _, sector, length, op, *_ in rows
    ]


@contextmanager
def _served(experiment: Experiment, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A server of the drive, that is gone afterwards."""
    config = experiment.config
    # The host that waits for each answer is the client.
    config["host"]["replay"] = "open"
    image = folder / "drive.img"
    create_image(image, Experiment(json.dumps(config), experiment.base))
    files = {"socket": _SOCKET, "control": "control", "report": _REPORT}
    options = [word for option, name in files.items() for word in (f"--{option}", str(folder / name))]
    # It ends when this process has gone, however that came: its input ends then.
    command = [sys.executable, "-m", tethered.__name__, str(folder), "serve", "--image", str(image), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        try:
            assert server.stdout is not None
            if not server.stdout.readline():
                raise SimulationError(_last_words(server))
            yield server
        finally:
            server.kill()


def _last_words(server: subprocess.Popen[str]) -> str:
    """Why a server has ended, in its own words."""
    said = server.communicate(timeout=_PATIENCE_S)[1].strip()
    return said.removeprefix("eraseblock: ") or f"the server ended with {server.returncode}"


@cache
def _bytes() -> memoryview:
    """What is written: nobody looks at it, but it is none that a drive could leave out."""
    return memoryview(random.Random(20).randbytes(_LONGEST))
