"""Writes files so that a crash leaves the old content or the new one, never a part.

Every file that a user gets from Python goes through `replace_file`, which replaces regular files alone.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from eraseblock import _core

_PART = ".part"


def check_replaceable(path: Path) -> None:
    """Refuse a path where something stands that is no regular file; worth asking before any work is done."""
    _core.check_replaceable(str(path))


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Put `parts` in the place of `path` in one step; on the disk when this returns."""
    check_replaceable(path)
    # A name of its own: a report may be built while a sweep builds it too.
    part = path.with_name(f"{path.name}.{os.getpid()}{_PART}")
    with naming(path):
        try:
            with part.open("wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            # Half a file takes room that a full disk has not, and after Ctrl-C nobody asks for it.
            with suppress(OSError):
                part.unlink()
            raise
    sync_folder(path.parent)


def drop_parts(path: Path) -> None:
    """Remove what processes that were killed left of `path`; only where no other one may write it."""
    for part in path.parent.glob(f"{glob.escape(path.name)}.*{_PART}"):
        part.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Make a failed write say which file it was for; the system names it only where opening fails."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Make new names in `folder` last."""
    if os.name != "posix":
        return  # elsewhere a folder cannot be opened, nor need it be
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
