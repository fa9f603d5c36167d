"""Looks through a folder for the papers' own traces; they are told by what they hold, not by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eraseblock import EraseblockError, InputError
from eraseblock.toolkit import Pool, Result, characterise, workloads_of

# The share of the pages that is followed: counts and checksum need none.
_SAMPLE = 1e-6


@dataclass(frozen=True)
class Trace:
    """A file of requests: what it is known by."""

    path: Path
    # Of the unpacked content.
    sha256: str
    requests: int
    reads: int
    writes: int


@dataclass(frozen=True)
class Survey:
    """What a folder holds."""

    traces: tuple[Trace, ...] = ()
    # Files that hold no requests that can be read.
    others: tuple[Path, ...] = ()


def survey(folder: Path, jobs: int | None = None) -> Survey:
    """Read every file of a folder and of those in it."""
    if not folder.is_dir():
        raise InputError(f"--traces {folder}: no such folder")
    paths = sorted(path.resolve() for path in folder.rglob("*") if path.is_file())
    found: dict[Path, Trace] = {}

    def read(index: int, result: Result) -> None:
        try:
            found[paths[index]] = result()
        except EraseblockError:
            return

    with Pool(jobs) as pool:
        pool.each([(_trace, (path,)) for path in paths], read)
    traces = [found[path] for path in paths if path in found]
    return Survey(tuple(traces), tuple(path for path in paths if path not in found))


def _trace(path: Path) -> Trace:
    [experiment] = workloads_of([str(path)], source=str(path))
    info = characterise(experiment, sample=_SAMPLE)
    if not info["requests"]:
        raise InputError(f"{path}: no requests")
    return Trace(path, info["sha256"], info["requests"], info["reads"], info["writes"])


@dataclass(frozen=True)
class Match:
    """A trace that has to do with a workload of a paper: `own`, `part` or `alike`."""

    kind: str
    trace: Trace
    # What told it, and what it is said to be.
    told_by: str
    what: str
    # Settings of the workload that go with it.
    settings: Mapping[str, Any]


def match(entry: Mapping[str, Any], traces: Sequence[Trace]) -> list[Match]:
    """The traces that are a workload's own, whole or in part, or like it; the best first."""
    own = entry.get("own", {})
    settings = own.get("settings", {})
    matches = [
        Match("own", trace, by, own["name"], settings) for trace in traces if (by := _is_whole(own, trace))
    ]
    for kind, parts in (("part", own.get("parts", [])), ("alike", entry.get("alike", []))):
        matches += [
            Match(kind, trace, "SHA-256", part["what"], part.get("settings", settings))
            for part in parts
            for trace in traces
            if trace.sha256 == part["sha256"]
        ]
    return matches


def _is_whole(own: Mapping[str, Any], trace: Trace) -> str:
    """What tells that this is the whole trace; empty if nothing does."""
    if own.get("sha256") == trace.sha256:
        return "SHA-256"
    counts = {key: own[key] for key in ("requests", "reads", "writes") if key in own}
    if "requests" not in counts or "file" in own:
        return ""
    same = all(getattr(trace, key) == value for key, value in counts.items())
    return "its counts of " + ", ".join(counts) if same else ""
