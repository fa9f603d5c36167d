"""Tells a folder of results from one in which somebody else's files have the same names."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from eraseblock import _core
from eraseblock.results.journal import begins_journal
from eraseblock.results.shards import journals

# What is made from runs, in the order in which people would look for it. The files of runs guard themselves.
NAMES = (
    "report.html",
    "results.json",
    "results.parquet",
    "engine.json",
    "sensitivity.json",
    "missing.json",
    "fleet.json",
    "reproduction.json",
    "advice.html",
)
_JOURNAL = "runs.jsonl"
_GENERATOR = b'<meta name="generator" content="eraseblock '
_RECORDS = (b'[\n{"key": "', b"[]\n")
_CLAIMS = b'{\n  "version": "'
# All of these stand at the beginning of their files.
_HEAD_BYTES = 4096


def check_owner(folder: Path) -> None:
    """Refuse a folder that has a file under a name of ours, and nothing that eraseblock wrote."""
    theirs = [name for name in NAMES if os.path.lexists(folder / name)]
    for name in theirs:
        _core.check_replaceable(str(folder / name))
    if theirs and not is_ours(folder):
        raise _core.InputError(
            f"{folder}: holds a {theirs[0]} that eraseblock did not write, and would be replaced; "
            "name another folder, or move the file away"
        )


def is_ours(folder: Path) -> bool:
    """Whether a journal of runs, results or a report of eraseblock is there."""
    claims = _head(folder / "reproduction.json")
    return (
        any(begins_journal(path) for path in (folder / _JOURNAL, *journals(folder)))
        or _GENERATOR in _head(folder / "report.html")
        or _head(folder / "results.json").startswith(_RECORDS)
        or (claims.startswith(_CLAIMS) and b'"papers": [' in claims)
    )


def _head(path: Path) -> bytes:
    if not path.is_file():
        return b""  # a pipe would be waited for
    with suppress(OSError), path.open("rb") as file:
        return file.read(_HEAD_BYTES)
    return b""
