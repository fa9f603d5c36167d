"""Says what each run's workload is: the paper's own trace where it is at hand, else what stands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from eraseblock import InputError
from eraseblock_reproduction.data import Table
from eraseblock_reproduction.traces import Match, Trace, match

Kind = Literal["own", "part", "alike", "recording", "stand-in", "generator"]
# How far a trace may be from the paper's own to be run in the place of the substitute.
Take = Literal["own", "parts", "alike"]
_TAKEN: Mapping[Take, tuple[str, ...]] = {
    "own": ("own",),
    "parts": ("own", "part"),
    "alike": ("own", "part", "alike"),
}
_WORDS: Mapping[Kind, str] = {
    "own": "the paper's own",
    "part": "a part of the paper's own",
    "alike": "a trace of the same kind",
    "recording": "a recording of real programs",
    "stand-in": "a stand-in",
    "generator": "a generator",
}
# Keys that tell where a workload comes from; all others stay when it is replaced.
_ORIGIN = ("generate", "path", "format")


@dataclass(frozen=True)
class Source:
    """What was run for a workload of a paper."""

    workload: str
    # What the paper calls it.
    called: str
    kind: Kind
    # The stand-in, the recording, the trace.
    name: str
    why: str = ""
    told_by: str = ""
    sha256: str = ""
    requests: int | None = None
    path: Path | None = None
    # Settings of the workload that go with a trace, such as its `fit`, in the place of the experiment's.
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether it is what the paper ran, whole."""
        return self.kind == "own"

    @property
    def sentence(self) -> str:
        """What it is, for people."""
        told = f", told by {self.told_by}" if self.told_by else ""
        counts = f"; {self.requests:,} requests, SHA-256 {self.sha256}" if self.sha256 else ""
        return f"{_WORDS[self.kind]}: {self.name}{told}{counts}"

    def as_json(self) -> dict[str, Any]:
        """Every part of it that is known."""
        table = {key: value for key, value in asdict(self).items() if value not in (None, "", ())}
        return {**table, "path": str(self.path), "settings": dict(self.settings)} if self.path else table


def source_of(name: str, entry: Table, traces: Sequence[Trace], take: Take) -> Source:
    """What to run for a workload, given the traces at hand."""
    for found in match(entry, traces):
        if found.kind in _TAKEN[take]:
            return _of_trace(name, entry, found)
    own = entry.get("own", {})
    if "file" in own:
        return Source(name, entry["as"], "own", own["name"], entry["why"], requests=own.get("requests"))
    kinds: tuple[Kind, ...] = ("recording", "stand-in", "generator")
    for kind in kinds:
        if value := entry.get(kind.replace("-", "_")):
            return Source(name, entry["as"], kind, str(value), entry["why"])
    raise InputError(f"workloads.toml: {name}: nothing stands for it")


def named(name: str, entry: Table, traces: Sequence[Trace], source: Source) -> list[str]:
    """Sentences on traces at hand that have to do with a workload and are not run."""
    return [
        f"{found.trace.path.name} ({found.what}; {found.trace.requests:,} requests) is "
        f"{_WORDS['part' if found.kind == 'part' else 'alike']}, for {name}; it is not run, "
        f"unless --take {'parts' if found.kind == 'part' else 'alike'} asks for it"
        for found in match(entry, traces)
        if found.kind != "own" and found.trace.path != source.path
    ]


def name_of(settings: Mapping[str, Any], names: Sequence[str], entries: Mapping[str, Table]) -> str:
    """Which of a figure's workloads a run's settings stand for."""
    generate = settings.get("generate")
    made = generate and (generate.get("name") or generate["kind"])
    origin = str(made or Path(str(settings["path"])).name)
    found = [name for name in names if origin in _origins(entries[name])]
    if len(found) != 1:
        raise InputError(f"workloads.toml: `{origin}` is {found or 'none'} of {', '.join(names)}")
    return found[0]


def replaced(settings: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """The settings of a workload with a trace in its place; what does not say where it is from stays."""
    kept = {key: value for key, value in settings.items() if key not in _ORIGIN}
    return {"path": str(source.path), "format": "auto", **kept, **dict(source.settings)}


def _of_trace(name: str, entry: Table, found: Match) -> Source:
    trace = found.trace
    kinds: Mapping[str, Kind] = {"own": "own", "part": "part", "alike": "alike"}
    return Source(
        workload=name,
        called=entry["as"],
        kind=kinds[found.kind],
        name=f"{trace.path.name} ({found.what})",
        told_by=found.told_by,
        sha256=trace.sha256,
        requests=trace.requests,
        path=trace.path,
        settings=tuple(sorted(found.settings.items())),
    )


def _origins(entry: Table) -> set[str]:
    own = entry.get("own", {})
    names = [entry.get("stand_in"), entry.get("generator"), entry.get("recording"), own.get("file")]
    return {Path(str(name)).name for name in names if name}
