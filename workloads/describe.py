#!/usr/bin/env python3
"""Describes a log of nbdkit's log filter in Markdown: its mix, sizes, footprint and reuse, phase by phase.

usage: describe.py PHASES.tsv [PAGE.md] < LOG

With PAGE.md: compares instead of printing, and fails where the page does not hold these very figures.

  cd workloads
  zstd -dc pgbench-ext4.nbdkit.zst | python3 describe.py pgbench-ext4.phases.tsv
  zstd -dc pgbench-ext4.nbdkit.zst | python3 describe.py pgbench-ext4.phases.tsv README.md
"""

import re
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

PAGE = 4096
MIB = 1024 * 1024
RECENT_MIB = (1, 4, 16, 64)
KINDS = ("Read", "Write", "Zero", "Trim", "Flush")
# "2026-11-21 11:00:34.921362 connection=1 Read id=3 offset=0x0 count=0x1000 ..."
CALL = re.compile(r"(\S+ \S+) connection=\d+ (Read|Write|Zero|Trim|Flush) id=(\d+) (.*)\.\.\.$")
RETURN = re.compile(r"\S+ \S+ connection=\d+ \.\.\.(?:Read|Write|Zero|Trim|Flush) id=(\d+) return=0$")
# The server's own life and the client's coming and going: no requests.
OTHER = re.compile(r"\S+ \S+ (?:connection=\d+ (?:Connect|Disconnect) |Ready |Fork|(?:\.\.\.)?Preconnect )")


@dataclass
class Phase:
    """A part of the run."""

    name: str
    start: datetime
    end: datetime


@dataclass
class Tally:
    """What is counted of one kind of request."""

    requests: int = 0
    bytes: int = 0
    small: int = 0
    large: int = 0
    sequential: int = 0
    accesses: int = 0
    pages: set[int] = field(default_factory=set)
    next_offset: int = -1

    def add(self, offset: int, length: int) -> None:
        """Counts one request of `length` bytes at byte `offset`."""
        self.requests += 1
        self.bytes += length
        self.small += length <= 2 * PAGE
        self.large += length >= 16 * PAGE
        self.sequential += self.next_offset == offset
        self.next_offset = offset + length
        touched = range(offset // PAGE, (offset + length + PAGE - 1) // PAGE)
        self.accesses += len(touched)
        self.pages.update(touched)


@dataclass
class Rewrites:
    """How soon pages are written again: what a write buffer can live on."""

    page_writes: int = 0
    recent: Counter[int] = field(default_factory=Counter)
    written_at: dict[int, int] = field(default_factory=dict)

    def add(self, offset: int, length: int) -> None:
        """Counts each page of one write."""
        for page in range(offset // PAGE, (offset + length + PAGE - 1) // PAGE):
            if page in self.written_at:
                since = (self.page_writes - self.written_at[page]) * PAGE
                self.recent.update(mib for mib in RECENT_MIB if since <= mib * MIB)
            self.written_at[page] = self.page_writes
            self.page_writes += 1


@dataclass
class Log:
    """What is counted over the whole log."""

    phases: list[Phase]
    total: dict[str, Tally] = field(default_factory=lambda: {kind: Tally() for kind in KINDS})
    by_phase: dict[str, dict[str, Tally]] = field(default_factory=dict)
    times: list[datetime] = field(default_factory=list)
    rewrites: Rewrites = field(default_factory=Rewrites)
    first_byte: int = sys.maxsize
    end_byte: int = 0
    unaligned: int = 0
    fua: int = 0
    under_way_max: int = 0


def stop(message: str, status: int = 2) -> NoReturn:
    """Ends with one line for the user; 2 says that the call or the input is wrong."""
    sys.stderr.write(f"describe.py: {message}\n")
    sys.exit(status)


def moment(text: str) -> datetime:
    """The time stamp at the start of a line."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f")


def read_phases(path: Path) -> list[Phase]:
    """The phases of the run; the file's last line says when the last one ended."""
    try:
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        starts = [(moment(at), name) for at, name in rows]
    except (OSError, ValueError) as error:
        stop(f"{path}: {error}; expected lines of time, tab, name of the phase")
    return [Phase(name, start, end) for (start, name), (end, _) in pairwise(starts)]


def read_log(lines: Iterable[str], phases: list[Phase]) -> Log:
    """Counts every request of the log."""
    log = Log(phases, by_phase={phase.name: {kind: Tally() for kind in KINDS} for phase in phases})
    under_way: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if returned := RETURN.match(line):
            under_way.remove(returned[1])
        elif call := CALL.match(line):
            at, kind, ident = moment(call[1]), call[2], call[3]
            under_way.add(ident)
            log.under_way_max = max(log.under_way_max, len(under_way))
            if log.times and at < log.times[-1]:
                stop(f"line {number}: time runs backwards, from {log.times[-1]} to {at}")
            log.times.append(at)
            phase = next((phase for phase in phases if phase.start <= at < phase.end), None)
            if phase is None:
                stop(f"line {number}: {at} lies in no phase")
            keys = dict(pair.split("=") for pair in call[4].split())
            offset, length = int(keys.get("offset", "0"), 16), int(keys.get("count", "0"), 16)
            log.fua += keys.get("fua") == "1"
            log.unaligned += offset % PAGE != 0 or length % PAGE != 0
            if kind != "Flush":
                log.first_byte = min(log.first_byte, offset)
                log.end_byte = max(log.end_byte, offset + length)
            if kind == "Write":
                log.rewrites.add(offset, length)
            log.total[kind].add(offset, length)
            log.by_phase[phase.name][kind].add(offset, length)
        elif not OTHER.match(line):
            stop(f"line {number}: found {line.strip()!r}, expected a line of nbdkit's log filter")
    if not log.times:
        stop("no request in the log")
    return log


def row(*cells: str) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def share(part: int, whole: int) -> str:
    """A percentage with one digit."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def facts(log: Log) -> list[str]:
    """What holds for the log as a whole."""
    requests, seconds = len(log.times), (log.times[-1] - log.times[0]).total_seconds()
    busiest = Counter(at.replace(microsecond=0) for at in log.times).most_common(1)[0][1]
    again = (f"{mib} MiB {share(log.rewrites.recent[mib], log.rewrites.page_writes)}" for mib in RECENT_MIB)
    footprint = len(log.total["Read"].pages | log.total["Write"].pages) * PAGE / MIB
    return [
        f"- {requests:,} requests in {seconds:.1f} s, {requests / seconds:.0f} a second; "
        f"{busiest:,} in the busiest second",
        f"- first request {log.times[0]} UTC, last {log.times[-1]} UTC; time never runs backwards",
        f"- addresses from byte {log.first_byte:,} to {log.end_byte:,}",
        f"- footprint (4 KiB pages read or written): {footprint:.1f} MiB",
        f"- page writes to a page that was also among the last so many MiB written: {', '.join(again)}",
        f"- requests not aligned to 4 KiB: {log.unaligned}; with FUA: {log.fua}",
        f"- most requests under way at once: {log.under_way_max}",
    ]


def kind_table(log: Log) -> list[str]:
    """A column for each kind of request that occurs."""
    kinds = [kind for kind in KINDS if log.total[kind].requests]
    tallies = [log.total[kind] for kind in kinds]
    moving = [of for of in tallies if of.pages]  # a flush moves nothing

    def figures(name: str, cells: list[str]) -> str:
        return row(name, *cells, *[""] * (len(kinds) - len(cells)))

    return [
        row("", *(kind.lower() for kind in kinds)),
        row("---", *["---:"] * len(kinds)),
        figures("requests", [f"{of.requests:,}" for of in tallies]),
        figures("share of requests", [share(of.requests, len(log.times)) for of in tallies]),
        figures("bytes", [f"{of.bytes:,}" for of in moving]),
        figures("mean size, bytes", [f"{of.bytes / of.requests:,.0f}" for of in moving]),
        figures("8 KiB or less", [share(of.small, of.requests) for of in moving]),
        figures("64 KiB or more", [share(of.large, of.requests) for of in moving]),
        figures(
            "begin where the last of their kind ended", [share(of.sequential, of.requests) for of in moving]
        ),
        figures("different pages, MiB", [f"{len(of.pages) * PAGE / MIB:.1f}" for of in moving]),
        figures("times each page", [f"{of.accesses / len(of.pages):.1f}" for of in moving]),
    ]


def phase_table(log: Log) -> list[str]:
    """A row for each phase: requests of each kind that occurs, then what they moved."""
    kinds = [kind for kind in KINDS if log.total[kind].requests]
    moving = [kind for kind in kinds if log.total[kind].pages]
    columns = [*(kind.lower() for kind in kinds), *(f"MiB {kind.lower()}" for kind in moving)]
    lines = [row("phase", "from s", "for s", *columns), row("---", *["---:"] * (2 + len(columns)))]
    for phase in log.phases:
        tallies = log.by_phase[phase.name]
        start, length = phase.start - log.phases[0].start, phase.end - phase.start
        cells = [f"{start.total_seconds():.1f}", f"{length.total_seconds():.1f}"]
        cells += [f"{tallies[kind].requests:,}" for kind in kinds]
        cells += [f"{tallies[kind].bytes / MIB:.1f}" for kind in moving]
        lines.append(row(phase.name, *cells))
    return lines


def main() -> None:
    """Reads the log from standard input; prints its description, or compares it with a page."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` may stop reading
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(__doc__ or "")
        return
    if len(arguments) not in (1, 2):
        stop("expected PHASES.tsv [PAGE.md] and the log on standard input (-h for help)")
    log = read_log(sys.stdin, read_phases(Path(arguments[0])))
    text = "\n".join([*facts(log), "", *kind_table(log), "", *phase_table(log), ""])
    if len(arguments) == 1:
        sys.stdout.write(text)
    elif text not in Path(arguments[1]).read_text():
        stop(f"{arguments[1]} does not hold the figures of this log; put these there:\n{text}", status=1)


if __name__ == "__main__":
    main()
