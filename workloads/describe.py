#!/usr/bin/env python3
"""Describes logs of nbdkit's log filter in Markdown: mix, sizes, footprint and reuse, phase by phase.

usage: describe.py NAME.nbdkit.zst   prints the figures; the phases are in NAME.phases.tsv beside it
       describe.py --write           puts the figures of every recording here into its page and into README.md
       describe.py --check           fails where a page here does not hold the figures of its recording

It reads packed logs with polars, which `make` installs: .venv/bin/python workloads/describe.py --check
"""

import difflib
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import polars

FOLDER = Path(__file__).resolve().parent
ENDING = ".nbdkit.zst"
FIGURES = re.compile(r"(<!-- figures: by describe.py -->\n).*?(<!-- end of figures -->)", re.DOTALL)
# The cells of the index that people write: name, program, file system, workload of the paper.
INDEX_CELLS = 4

PAGE = 4096
MIB = 1024 * 1024
RECENT_MIB = (1, 4, 16, 64)
KINDS = ("Read", "Write", "Trim", "Flush")
# "2026-11-21 11:00:34.921362 connection=1 Read id=3 offset=0x0 count=0x1000 ..."
CALL = re.compile(r"(\S+ \S+) connection=\d+ (Read|Write|Trim|Flush) id=(\d+) (.*)\.\.\.$")
RETURN = re.compile(r"\S+ \S+ connection=\d+ \.\.\.(?:Read|Write|Trim|Flush) id=(\d+) return=0$")
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
    sha256: str = ""
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
    return datetime.fromisoformat(text)


def read_phases(path: Path) -> list[Phase]:
    """The phases of the run; the file's last line says when the last one ended."""
    try:
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        starts = [(moment(at), name) for at, name in rows]
    except (OSError, ValueError) as error:
        stop(f"{path}: {error}; expected lines of time, tab, name of the phase")
    return [Phase(name, start, end) for (start, name), (end, _) in pairwise(starts)]


def read_recording(path: Path) -> Log:
    """Unpacks a log and counts its requests."""
    if not path.name.endswith(ENDING):
        stop(f"{path}: expected a file whose name ends in {ENDING}")
    phases = read_phases(path.with_name(path.name.removesuffix(ENDING) + ".phases.tsv"))
    try:
        lines = polars.read_lines(path).to_series().to_list()
    except (OSError, polars.exceptions.PolarsError) as error:
        stop(f"{path}: {error}")
    log = read_log(lines, phases)
    log.sha256 = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    return log


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


def footprint_mib(log: Log) -> float:
    """The 4 KiB pages that were read or written."""
    return len(log.total["Read"].pages | log.total["Write"].pages) * PAGE / MIB


def facts(log: Log) -> list[str]:
    """What holds for the log as a whole."""
    requests, seconds = len(log.times), (log.times[-1] - log.times[0]).total_seconds()
    busiest = Counter(at.replace(microsecond=0) for at in log.times).most_common(1)[0][1]
    again = (f"{mib} MiB {share(log.rewrites.recent[mib], log.rewrites.page_writes)}" for mib in RECENT_MIB)
    return [
        f"- sha256 of the unpacked log: `{log.sha256}`",
        f"- {requests:,} requests in {seconds:.1f} s, {requests / seconds:.0f} a second; "
        f"{busiest:,} in the busiest second",
        f"- first request {log.times[0]} UTC, last {log.times[-1]} UTC; time never runs backwards",
        f"- addresses from byte {log.first_byte:,} to {log.end_byte:,}",
        f"- footprint (4 KiB pages read or written): {footprint_mib(log):.1f} MiB",
        f"- page writes to a page that was also among the last so many MiB written: {', '.join(again)}",
        f"- requests not aligned to 4 KiB: {log.unaligned}; with FUA: {log.fua}",
        f"- most requests under way at once: {log.under_way_max}",
    ]


def kind_table(log: Log) -> list[str]:
    """A column for each kind of request that occurs."""
    kinds = [kind for kind in KINDS if log.total[kind].requests]
    tallies = [log.total[kind] for kind in kinds]
    moving = [of for of in tallies if of.pages]  # a flush moves nothing

    def line(name: str, cells: list[str]) -> str:
        return row(name, *cells, *[""] * (len(kinds) - len(cells)))

    return [
        row("", *(kind.lower() for kind in kinds)),
        row("---", *["---:"] * len(kinds)),
        line("requests", [f"{of.requests:,}" for of in tallies]),
        line("share of requests", [share(of.requests, len(log.times)) for of in tallies]),
        line("bytes", [f"{of.bytes:,}" for of in moving]),
        line("mean size, bytes", [f"{of.bytes / of.requests:,.0f}" for of in moving]),
        line("8 KiB or less", [share(of.small, of.requests) for of in moving]),
        line("64 KiB or more", [share(of.large, of.requests) for of in moving]),
        line(
            "begin where the last of their kind ended", [share(of.sequential, of.requests) for of in moving]
        ),
        line("different pages, MiB", [f"{len(of.pages) * PAGE / MIB:.1f}" for of in moving]),
        line("times each page", [f"{of.accesses / len(of.pages):.1f}" for of in moving]),
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


def figures(log: Log) -> str:
    """Everything that a page says in figures."""
    return "\n".join([*facts(log), "", *kind_table(log), "", *phase_table(log), ""])


def index_cells(log: Log, path: Path) -> list[str]:
    """What the index says of a recording in figures."""
    requests = [log.total[kind].requests for kind in KINDS]
    return [
        f"{len(log.times):,}",
        *(f"{100 * count / len(log.times):.0f}" if count else "" for count in requests),
        f"{log.total['Write'].bytes / MIB:,.0f}",
        f"{footprint_mib(log):,.0f}",
        f"{(log.times[-1] - log.times[0]).total_seconds():.0f}",
        f"{path.stat().st_size / MIB:.2f}",
    ]


def fill_in(page: Path, name: str, block: str) -> str:
    """The page with its figures replaced."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    if not FIGURES.search(text):
        stop(f"{page}: no place for the figures of {name}; give it {FIGURES.pattern.replace('.*?', ' ')!r}")
    return FIGURES.sub(lambda found: f"{found[1]}{block}{found[2]}", text)


def fill_in_index(text: str, name: str, cells: list[str]) -> str:
    """The index with the row of one recording replaced."""
    lines = text.splitlines()
    rows = [number for number, line in enumerate(lines) if line.startswith(f"| [`{name}`]({name}.md) |")]
    if len(rows) != 1:
        stop(f"README.md: expected one row that begins with '| [`{name}`]({name}.md) |', found {len(rows)}")
    written = [cell.strip() for cell in lines[rows[0]].strip("|").split("|")][:INDEX_CELLS]
    lines[rows[0]] = row(*written, *cells)
    return "\n".join(lines) + "\n"


def pages() -> dict[Path, str]:
    """Each page of this folder as it should be."""
    index = FOLDER / "README.md"
    result = {}
    text = index.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob(f"*{ENDING}")):
        name = path.name.removesuffix(ENDING)
        log = read_recording(path)
        text = fill_in_index(text, name, index_cells(log, path))
        page = FOLDER / f"{name}.md"
        result[page] = fill_in(page, name, figures(log))
    return {index: text, **result}


def check(page: Path, wanted: str) -> bool:
    """Shows where a page differs from what it should be."""
    present = page.read_text(encoding="utf-8")
    names = (f"{page.name} as it is", "with the figures of the recording")
    sys.stderr.writelines(
        difflib.unified_diff(present.splitlines(keepends=True), wanted.splitlines(keepends=True), *names, n=0)
    )
    return present == wanted


def main() -> int:
    """Does what the call asks for."""
    match sys.argv[1:]:
        case ["-h" | "--help"]:
            sys.stdout.write(__doc__ or "")
        case ["--write"]:
            for page, text in pages().items():
                page.write_text(text, encoding="utf-8")
        case ["--check"]:
            if [page for page, text in pages().items() if not check(page, text)]:
                stop("pages differ from the recordings; --write puts the figures right", status=1)
        case [path] if not path.startswith("-"):
            sys.stdout.write(figures(read_recording(Path(path))))
        case _:
            stop("expected NAME.nbdkit.zst, --write or --check (-h for help)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
