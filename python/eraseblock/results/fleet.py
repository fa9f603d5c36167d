"""What the volumes of a trace come to together, each of which had a drive of its own."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from eraseblock.results import units
from eraseblock.results.headline import ERASES, MEAN, P99, WAF, WRITES, Column
from eraseblock.results.view import VOLUMES, Row, rows_of
from eraseblock.results.wording import WORE_OUT, relative

# More volumes than this are told together; each of them where all runs are asked for.
FEW = 4
# Settings that are not the drive's: runs that differ in them are no rivals.
_NO_DESIGN = ("workload.", "host.", "precondition.", "seed")
# Figures whose spread over the volumes is told: what tables call them, where a record has them, and how they
# are shown.
SPREAD: dict[str, Column] = {
    "mean_response_ns": MEAN,
    "p99_response_ns": P99,
    "waf": WAF,
    "erases": ERASES,
}


class Worst(TypedDict):
    """The volume with the highest figure."""

    volume: int
    value: float


class Spread(TypedDict):
    """A figure over the volumes that have it: by nearest rank, and the highest."""

    volumes: int
    median: float
    p90: float
    worst: Worst


class Totals(TypedDict):
    """One design on all volumes of a trace. Ratios are those of sums; None where nothing is divided by.

    Keys:
        requests: answered requests.
        read_bytes, write_bytes: whole pages that hosts read and wrote, in bytes.
        flash_reads, flash_writes: pages; erases: blocks.
        waf: pages programmed for each page that hosts wrote.
        hit_ratio: pages that buffers answered, of those that hosts read and wrote.
        mean_response_ns: over all requests, in ns; None where nothing is timed.
        untrusted: volumes whose figures are not to be trusted.
        spread: by figure, None where no volume has it.
    """

    trace: str
    sha256: str
    preset: str | None
    ftl: str
    scheme: str
    buffer_bytes: int
    settings: dict[str, str]
    volumes: int
    requests: int
    read_bytes: int
    write_bytes: int
    flash_reads: int
    flash_writes: int
    erases: int
    waf: float | None
    hit_ratio: float | None
    mean_response_ns: float | None
    untrusted: int
    spread: dict[str, Spread | None]


@dataclass(frozen=True, eq=False)
class Fleet:
    """The runs of one design, one for each volume, in their order."""

    rows: tuple[Row, ...]

    @property
    def row(self) -> Row:
        """The first of them."""
        return self.rows[0]

    @property
    def settings(self) -> dict[str, str]:
        """What tells it from other designs, beside scheme, FTL and size."""
        return _without_volumes(self.row.settings)

    @property
    def name(self) -> str:
        """The design, for sentences."""
        more = [value if key == "preset" else f"{key} = {value}" for key, value in self.settings.items()]
        return ", ".join([self.row.scheme, *more])

    @property
    def contest(self) -> tuple[object, ...]:
        """What rivals have in common: what is written, and what it is written to."""
        row = self.row
        fixed = [(key, value) for key, value in self.settings.items() if key.startswith(_NO_DESIGN)]
        sha256 = row.record["trace"].get("sha256")
        return row.trace, sha256, row.drive, row.ftl, row.buffer_bytes, *fixed

    def on(self, numbers: Collection[int | None]) -> Fleet:
        """The same on some of its volumes."""
        return Fleet(tuple(row for row in self.rows if volume_of(row.record) in numbers))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The volumes."""
        return tuple(volume_of(row.record) or 0 for row in self.rows)

    def values(self, path: str) -> list[tuple[float, int]]:
        """A figure of each volume that has it, with the volume's number."""
        found = [(row.figure(path), number) for row, number in zip(self.rows, self.numbers, strict=True)]
        return [(float(value), number) for value, number in found if value is not None]

    def totals(self) -> Totals:
        """What it comes to."""
        record, pages = self.row.record, self._sum("host_pages.read") + self._sum("host_pages.write")
        nand = record["config"]["nand"]
        page = units.bytes_of(str(nand.get("mapping_unit") or nand["page_size"]))
        hits = math.fsum((row.figure("hit_ratio.all") or 0) * _pages(row) for row in self.rows)
        timed = [one for row in self.rows if (one := row.figure("response_ns.all")) is not None]
        answers = sum(one["count"] for one in timed)
        return Totals(
            trace=self.row.trace,
            sha256=str(record["trace"].get("sha256")),
            preset=record["config"].get("preset"),
            ftl=self.row.ftl,
            scheme=self.row.scheme,
            buffer_bytes=self.row.buffer_bytes,
            settings=self.settings,
            volumes=len(self.rows),
            requests=self._sum("requests.completed"),
            read_bytes=self._sum("host_pages.read") * page,
            write_bytes=self._sum("host_pages.write") * page,
            flash_reads=self._sum("flash.reads.total"),
            flash_writes=self._sum("flash.programs.total"),
            erases=self._sum("flash.erases.total"),
            waf=_ratio(self._sum("flash.programs.total"), self._sum("host_pages.write")),
            hit_ratio=_ratio(hits, pages),
            mean_response_ns=_ratio(math.fsum(one["mean"] * one["count"] for one in timed), answers),
            untrusted=sum(not row.trusted for row in self.rows),
            spread={name: _spread(self.values(column.path)) for name, column in SPREAD.items()},
        )

    def _sum(self, path: str) -> int:
        return sum(row.figure(path) or 0 for row in self.rows)


def fleets_of(rows: Sequence[Row]) -> list[Fleet]:
    """The designs that ran on several volumes of a trace, one drive for each, in the order of their runs."""
    found: dict[tuple[str, ...], dict[int, Row]] = defaultdict(dict)
    for row in rows:
        number = volume_of(row.record)
        if number is not None:
            settings = [f"{key}={value}" for key, value in _without_volumes(row.settings).items()]
            sha256 = str(row.record["trace"].get("sha256"))
            design = (row.trace, sha256, row.drive, row.ftl, row.scheme, str(row.buffer_bytes), *settings)
            found[design].setdefault(number, row)
    return [Fleet(tuple(volumes.values())) for volumes in found.values() if len(volumes) > 1]


@dataclass(frozen=True)
class Sheet:
    """The fleets of one trace as tables of texts: their heads, and their rows."""

    title: str
    totals: tuple[list[str], list[list[str]]]
    spread: tuple[list[str], list[list[str]]]
    # Columns from the left that name a design.
    names: int


def sheets_of(fleets: Sequence[Fleet]) -> list[Sheet]:
    """What tables of fleets hold, one for each trace."""
    traces: dict[str, list[Fleet]] = {}
    for fleet in fleets:
        traces.setdefault(fleet.row.trace, []).append(fleet)
    return [_sheet(trace, designs) for trace, designs in traces.items()]


def _sheet(trace: str, designs: Sequence[Fleet]) -> Sheet:
    totals = [fleet.totals() for fleet in designs]
    drives = list(dict.fromkeys(fleet.row.drive for fleet in designs))
    volumes, requests = (max(one[key] for one in totals) for key in ("volumes", "requests"))
    title = [trace, f"{volumes:,} volumes, a drive for each", f"{units.count(requests)} requests"]
    found = {
        "drive": [fleet.row.drive for fleet in designs],
        "FTL": [fleet.row.ftl_in_full for fleet in designs],
        "buffer": [_buffer(fleet.row.buffer_bytes) for fleet in designs],
    }
    heads = {head: cells for head, cells in found.items() if len(set(cells)) > 1}
    heads["scheme"] = [fleet.name for fleet in designs]
    names = [list(cells) for cells in zip(*heads.values(), strict=True)]
    spread = []
    for cells, one in zip(names, totals, strict=True):
        shown = [(column, figures) for name, column in SPREAD.items() if (figures := one["spread"][name])]
        for place, (column, figures) in enumerate(shown):
            worst = figures["worst"]
            values = (figures["median"], figures["p90"], worst["value"])
            own = cells if place == 0 else [""] * len(cells)
            # Where most are as bad, none is the worst.
            alike = figures["volumes"] > 1 and figures["median"] == worst["value"]
            which = "-" if alike else f"volume {worst['volume']}"
            spread.append([*own, column.title, *map(column.show, values), which])
    return Sheet(
        title=" · ".join([*title, *(drives if len(drives) == 1 else [])]),
        totals=(
            [*heads, "volumes", "written", "flash writes", "erases", "WAF", "hits", "mean"],
            [[*cells, *_cells(one)] for cells, one in zip(names, totals, strict=True)],
        ),
        spread=([*heads, "of volumes", "median", "p90", "worst", "which"], spread),
        names=len(heads),
    )


def _cells(one: Totals) -> list[str]:
    return [
        f"{one['volumes']:,}" + (f" ({one['untrusted']:,} !)" if one["untrusted"] else ""),
        units.size(one["write_bytes"]),
        units.count(one["flash_writes"]),
        units.count(one["erases"]),
        units.ratio(one["waf"]),
        units.share(one["hit_ratio"]),
        units.duration(one["mean_response_ns"]),
    ]


def _buffer(bytes_: int) -> str:
    return units.size(bytes_) if bytes_ else "none"


def totals_of(records: Sequence[Mapping[str, Any]]) -> list[Totals]:
    """The totals of all designs that ran on several volumes, one drive for each."""
    return [fleet.totals() for fleet in fleets_of(rows_of([dict(record) for record in records]))]


def volume_of(record: Mapping[str, Any]) -> int | None:
    """The volume that a run had alone, if it had one."""
    number = record["config"]["workload"].get("volumes")
    return number if isinstance(number, int) else None


def sentences_of(fleets: Sequence[Fleet]) -> list[str]:
    """For rivals on the same volumes: which is ahead in all, by how much, and on how many volumes."""
    contests: dict[tuple[Any, ...], list[Fleet]] = defaultdict(list)
    for fleet in fleets:
        if all(not row.offline for row in fleet.rows):
            contests[fleet.contest].append(fleet)
    sentences = []
    for rivals in contests.values():
        if len(rivals) < 2:
            continue
        shared = set.intersection(*(set(one.numbers) for one in rivals))
        row = rivals[0].row
        about = (
            f"{row.trace}, {len(shared):,} volumes on {row.drive}, {row.ftl}, "
            f"buffer {_buffer(row.buffer_bytes)}"
        )
        runs = [row for one in rivals for row in one.rows]
        doubtful = sum(not row.trusted for row in runs)
        if any(len(one.rows) > len(shared) for one in rivals):
            sentences.append(f"{about}: not all designs ran on the same volumes; totals differ in that, too")
        elif doubtful == len(runs):
            sentences.append(f"{about}: no verdict, as no run is to be trusted")
        elif shared:
            trusted = shared - {volume_of(one.record) for one in runs if not one.trusted}
            if not trusted:
                sentences.append(f"{about}: no verdict, as on no volume all runs are to be trusted")
                continue
            known = trusted - _cut_short(runs)
            if not known:
                sentences.append(f"{about}: no verdict, as on each volume with trusted runs alone {WORE_OUT}")
                continue
            doubt = (
                f"; {doubtful:,} of {len(runs):,} runs are not to be trusted, and their volumes "
                f"({len(shared) - len(trusted):,}) do not count"
            )
            ended = f"; of {len(trusted) - len(known):,} volumes, which do not count, {WORE_OUT}"
            sentences.append(
                f"{about}: {_ahead([one.on(known) for one in rivals])}{doubt if doubtful else ''}"
                f"{ended if known < trusted else ''}"
            )
    return sentences


def _cut_short(runs: Sequence[Row]) -> set[int | None]:
    """The volumes on which a drive wore out before a rival's had served as much: it did less in all."""
    of: dict[int | None, list[Row]] = defaultdict(list)
    for one in runs:
        of[volume_of(one.record)].append(one)
    return {
        volume
        for volume, some in of.items()
        if any(one.figure("end_of_life.unanswered") for one in some)
        and len({one.figure("requests.completed") for one in some}) > 1
    }


def _ahead(rivals: Sequence[Fleet]) -> str:
    totals = [one.totals() for one in rivals]
    timed = all(one["mean_response_ns"] is not None for one in totals)
    column: Column = MEAN if timed else WRITES
    figures = [float(one["mean_response_ns"] or 0) if timed else one["flash_writes"] for one in totals]
    order = sorted(range(len(rivals)), key=lambda index: figures[index])
    best, second = order[:2]
    if figures[best] == figures[order[-1]]:
        return f"all designs have the same {column.name} over all ({column.show(figures[best])})"
    first: Counter[int] = Counter()
    for values in zip(*(sorted(one.values(column.path), key=lambda v: v[1]) for one in rivals), strict=False):
        least = min(value for value, _ in values)
        first.update(index for index, (value, _) in enumerate(values) if value == least)
    away = relative(figures[second], figures[best])
    return (
        f"`{rivals[best].name}` has the best {column.name} over all ({column.show(figures[best])}), {away} "
        f"`{rivals[second].name}` ({column.show(figures[second])}); it is first on {first[best]:,} volumes, "
        f"`{rivals[second].name}` on {first[second]:,}"
    )


def _without_volumes(settings: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if key != VOLUMES}


def _pages(row: Row) -> int:
    return int(row.figure("host_pages.read") or 0) + int(row.figure("host_pages.write") or 0)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _spread(values: Sequence[tuple[float, int]]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(value for value, _ in values)
    # Of equally bad volumes the lowest number.
    value, volume = min(values, key=lambda one: (-one[0], one[1]))
    worst = Worst(volume=volume, value=value)
    return Spread(volumes=len(values), median=_rank(ordered, 50), p90=_rank(ordered, 90), worst=worst)


def _rank(ordered: Sequence[float], percent: int) -> float:
    return ordered[-(-len(ordered) * percent // 100) - 1]
