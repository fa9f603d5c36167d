"""Options that several commands share, and lists written as `a,b`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

from cyclopts import Parameter

from eraseblock import _core

if TYPE_CHECKING:
    from eraseblock.running import Handling
    from eraseblock.terminal.showing import Showing

Sets = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        negative="",
        consume_multiple=False,
        help="Override a key, as in --set host.speedup=2; a list is an axis; may be repeated.",
    ),
]
Jobs = Annotated[int | None, Parameter(help="Runs at a time; default: one per processor.")]
Verify = Annotated[
    bool, Parameter(negative="", help="Check every read, and the laws of the drive after each run.")
]
AsJson = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON to stdout, and nothing else.")
]
Output = Annotated[
    Path | None,
    Parameter(
        name=["--output", "-o"],
        help="Folder for results.json, results.parquet and report.html. Each run is stored there as it ends: "
        "the same command goes on where it was stopped, and runs nothing twice.",
    ),
]
Sensitivity = Annotated[
    bool,
    Parameter(
        negative="",
        help="Repeat the runs with each choice that the papers of their schemes and drive leave open "
        "switched, one at a time, and say which conclusions move.",
    ),
]
Explain = Annotated[
    bool,
    Parameter(
        negative="",
        help="Say what the slowest requests wait for: room in the buffer, dies, the bus, merges, collection; "
        "with a waterfall of the slowest.",
    ),
]
Bounds = Annotated[
    bool,
    Parameter(
        negative="",
        help="Say how few erases any buffer of the size could cause under a mapping of whole blocks, and how "
        "near the best comes; longer runs.",
    ),
]
# Text, since a path forgets that it ended in a slash, which asks for a folder.
Events = Annotated[
    str | None,
    Parameter(
        help="Log every decision of the buffer here, a line of JSON each; packed where the "
        "name ends in .gz or .zst. For several runs: a folder, with a file for each."
    ),
]
Fresh = Annotated[
    bool, Parameter(negative="", help="With -o: run everything anew, whatever the folder holds of it.")
]
Prune = Annotated[
    bool,
    Parameter(
        negative="", help="With -o: drop what the folder holds of other sweeps, traces and engine versions."
    ),
]
Shards = Annotated[
    str | None,
    Parameter(
        name="--shard",
        help="With -o: only a share of the runs, as in 2/4, the second of four; the others run on other "
        "machines. When all have ended, the same command without it makes the results.",
    ),
]
Clusters = Annotated[
    str | None,
    Parameter(
        name="--cluster",
        help="Run on the workers of the Dask scheduler at this address, as in tcp://host:8786, or of the "
        "one that a scheduler file (.json) names; needs eraseblock[cluster].",
    ),
]

Sort = Annotated[
    str | None, Parameter(help="Column that decides and sorts, as in p99; default: mean, untimed: writes.")
]
Columns = Annotated[
    str | None, Parameter(help="Columns of the table, as in mean,read-p99,WAF; a wrong one lists all.")
]
Top = Annotated[int | None, Parameter(help="So many of the best for each buffer size, beside the baselines.")]
All = Annotated[bool, Parameter(name="--all", negative="", help="Every run in the table.")]
NoCache = Annotated[
    bool,
    Parameter(
        negative="",
        help="Fill every drive anew. Otherwise one that took longer than a second is kept in "
        "$ERASEBLOCK_CACHE, else ~/.cache/eraseblock (up to $ERASEBLOCK_CACHE_SIZE, else 4 GiB; 0: none), "
        "and later commands start from it.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What `compare` and `run` have in common: how runs are made, and where their results go."""

    set_: Sets = None
    jobs: Jobs = None
    verify: Verify = False
    as_json: AsJson = False
    output: Output = None
    fresh: Fresh = False
    prune: Prune = False
    sensitivity: Sensitivity = False
    explain: Explain = False
    bounds: Bounds = False
    events: Events = None
    sort: Sort = None
    columns: Columns = None
    top: Top = None
    all_: All = False
    no_cache: NoCache = False
    shard: Shards = None
    cluster: Clusters = None

    def handling(self) -> Handling:
        """The same for the engine."""
        from eraseblock.results.shards import Shard
        from eraseblock.running import Handling

        return Handling(
            jobs=check_jobs(self.jobs),
            verify=self.verify,
            events=check_events(self.events),
            folder=self.output,
            fresh=self.fresh,
            prune=self.prune,
            cluster=self.cluster,
            shard=None if self.shard is None else Shard.parse(self.shard, "--shard"),
            sensitivity=self.sensitivity,
            cache=not self.no_cache,
        )

    def showing(self) -> Showing:
        """What the table shows."""
        from eraseblock.results.headline import column_named
        from eraseblock.terminal.showing import Showing

        columns = tuple(column_named(name, "--columns") for name in split(self.columns, "--columns"))
        sort = None if self.sort is None else column_named(self.sort, "--sort")
        if sort is not None and sort.good is None:
            raise _core.ConfigError(f"--sort: `{sort.title}` has no better end; sort by another column")
        if self.top is not None and self.top < 1:
            raise _core.ConfigError(f"--top: found {self.top}, expected 1 or more")
        if self.top is not None and self.all_:
            raise _core.ConfigError("--top and --all exclude each other; leave one of them out")
        return Showing(columns, sort, self.top, self.all_)


Running = Annotated[RunOptions | None, Parameter(name="*")]


def split(text: str | None, option: str) -> list[str]:
    """The parts of `a,b`; none where the option was not given."""
    if text is None:
        return []
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise _core.ConfigError(f"{option}: `{text}` has an empty name; write it like a,b")
    return parts


def beside(path: Path) -> TextIO:
    """Where to say what became of a file that is written: not into the file, should it be stdout."""
    with suppress(OSError, ValueError):
        if os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno())):
            return sys.stderr
    return sys.stdout


def check_jobs(jobs: int | None) -> int | None:
    """A number of jobs that can be."""
    if jobs is not None and jobs < 1:
        raise _core.ConfigError(f"--jobs: found {jobs}, expected 1 or more")
    return jobs


def check_events(events: str | None) -> str | None:
    """A name that can be a file or a folder."""
    if events is not None and not events.strip():
        raise _core.ConfigError(
            "--events: the name is empty; name a file, as in --events decisions.jsonl.zst, or a folder"
        )
    return events
