"""Who may work in a folder of results: one process for all of it, or one for each shard of its sweep."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from eraseblock import _core
from eraseblock.results import shards
from eraseblock.results.shards import Shard

NAME = "runs.lock"
# How long another shard may look whether the holder of a lock is alive.
_LOOK_S = 5.0


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep all other processes away; the system drops the lock of a process that dies."""
    with _held(folder / NAME, folder):
        # A shard that comes now reads who is here, and goes; those that came before are found by their locks.
        for path in shards.locks(folder):
            with _held(path, folder, f" on {shards.name_of(path)}"):
                pass
            with suppress(OSError):
                path.unlink()
        yield


@contextmanager
def one_of_several(folder: Path, shard: Shard) -> Iterator[None]:
    """Keep away whoever would work on the same shard, or on all of the folder."""
    journal = shard.journal(folder)
    with _held(journal.with_suffix(".lock"), folder, f" on shard {shard}"):
        whole = folder / NAME
        # What a killed process left there is of nobody. To hold the lock where there is nothing would keep
        # shards from one another that start at the same time.
        if whole.exists() and whole.stat().st_size:
            with _held(whole, folder, patience_s=_LOOK_S):
                pass
        yield


@contextmanager
def _held(path: Path, folder: Path, what: str = "", patience_s: float = 0) -> Iterator[None]:
    from filelock import FileLock, Timeout

    _core.check_replaceable(str(path))
    lock = FileLock(path)
    try:
        lock.acquire(timeout=patience_s)
    except Timeout:
        raise _core.InputError(
            f"{folder}: {_holder(path)} is at work in this folder{what}; "
            "wait until it has ended, or name another folder"
        ) from None
    try:
        holder = {"process": os.getpid(), "host": socket.gethostname(), "since": f"{datetime.now():%F %T}"}
        path.write_text(json.dumps(holder, separators=(",", ":")), encoding="utf-8")
        yield
        path.write_bytes(b"")
    finally:
        lock.release()


def _holder(path: Path) -> str:
    with suppress(OSError, ValueError, KeyError):
        holder = json.loads(path.read_bytes())
        return f"process {holder['process']} on {holder['host']} (since {holder['since']})"
    return "another process"
