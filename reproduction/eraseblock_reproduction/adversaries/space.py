"""The workloads among which the worst is looked for: one part or two, each of a few figures.

Every figure is one of a short list, the plainest first; what is searched goes back towards the plain ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

# A figure of each kind.
Point = Mapping[str, Any]

# Pages of the drive (2 KiB), of its blocks, and of the buffer.
PAGE = 2 << 10
BLOCK_PAGES = 64
BUFFER_PAGES = 1024
# Buffers of pages asked for: while it is searched, when it is judged, and to see if that was enough.
SHORT, LONG, LONGER = 10, 20, 40
# Share that is warm-up: a drive that was overwritten at random takes a while to become that of the workload.
_SHORT_WARM_UP, _WARM_UP = 0.2, 0.6
# These are write buffers: so much of what is asked for has to be written.
LEAST_WRITTEN = 0.25

_PART: Mapping[str, Sequence[Any]] = {
    "kind": ("uniform", "sequential", "zipf"),
    # In buffers.
    "span": (4, 1, 2, 16, 8, 0.5, 0.25, 3, 1.5, 1.25, 0.75, 6, 12),
    # In pages.
    "size": (1, 64, 4, 16, 2, 8, 32),
    # Share of requests.
    "reads": (0, 1, 0.5, 0.25, 0.75),
    "theta": (0.99, 1.2, 0.8, 1.5, 0.6),
    # Whether each request begins where a block does.
    "aligned": (False, True),
}
GRID: Mapping[str, Sequence[Any]] = {
    "parts": (1, 2),
    **{f"first.{name}": values for name, values in _PART.items()},
    **{f"second.{name}": values for name, values in _PART.items()},
    # Of the requests those that are of the second part.
    "share": (0.5, 0.1, 0.01, 0.25, 0.75, 0.9, 0.05, 0.02),
    # Mixed at random, or in turn: so many turns in a short run, and in longer ones more.
    "turns": (0, 10, 5),
    # The second part lies behind the first, or begins where it does.
    "apart": (True, False),
}


@dataclass(frozen=True)
class Part:
    """A generator with a region of its own."""

    kind: str
    span: float
    size: int
    reads: float
    theta: float | None
    aligned: bool

    def generator(self, requests: int, start: float, seed: int | None) -> dict[str, Any]:
        """Its table in an experiment; it begins so many buffers behind the start of the drive."""
        table: dict[str, Any] = {
            "kind": self.kind,
            "requests": requests,
            "footprint": _bytes(self.span * BUFFER_PAGES),
            "size": _bytes(self.size),
        }
        if self.theta is not None:
            table["theta"] = self.theta
        if self.aligned:
            table["align"] = _bytes(BLOCK_PAGES)
        if self.reads:
            table["read_share"] = self.reads
        if start:
            table["start"] = _bytes(start * BUFFER_PAGES)
        return table if seed is None else {**table, "seed": seed}

    def words(self, reaches: float | None = None) -> str:
        """What it does; where each turn begins anew, it reaches so many buffers far.

        Example:
            >>> Part("sequential", 1.25, 64, 0, None, False).words()
            'writes of 64 pages, in a loop over 1.25 buffers'
        """
        mix = f"{100 * (1 - self.reads):.0f} % writes"
        mix = "writes" if self.reads == 0 else "reads" if self.reads == 1 else mix
        size = "1 page" if self.size == 1 else f"{self.size} pages"
        at = " at the start of each block," if self.aligned else ""
        if self.kind == "sequential" and reaches is not None and reaches < self.span:
            return f"{mix} of {size}, one behind the other over the same {_buffers(round(reaches, 2))}"
        places = {
            "uniform": "at random",
            "sequential": "in a loop",
            "zipf": f"by Zipf's law ({self.theta})",
        }[self.kind]
        return f"{mix} of {size},{at} {places} over {_buffers(self.span)}"


@dataclass(frozen=True)
class Workload:
    """One part, or two of which each has its share of the requests."""

    first: Part
    second: Part | None = None
    share: float = 0.0
    turns: int = 0
    apart: bool = True

    @property
    def written(self) -> float:
        """Share of the pages asked for that are written."""
        parts = [(self.first, 1 - self.share)]
        if self.second is not None:
            parts.append((self.second, self.share))
        pages = sum(weight * part.size for part, weight in parts)
        return sum(weight * part.size * (1 - part.reads) for part, weight in parts) / pages

    def counts(self, length: float) -> tuple[int, int]:
        """Requests of each part, in each turn, for so many buffers of pages in all."""
        turns = self._turns(length)
        second = 0 if self.second is None else self.second.size
        mean = (1 - self.share) * self.first.size + self.share * second
        requests = length * BUFFER_PAGES / mean / turns
        of_second = 0 if self.second is None else max(1, round(requests * self.share))
        return max(1, round(requests * (1 - self.share))), of_second

    def settings(self, length: float = LONG, seed: int = 1) -> dict[str, Any]:
        """The keys of an experiment that are the workload's."""
        each, turns = self.counts(length), self._turns(length)
        warm_up = _SHORT_WARM_UP if length <= SHORT else _WARM_UP
        return {
            "workload.generate": self._generator(each, turns, seed),
            "host.warm_up": round(sum(each) * turns * warm_up),
        }

    def _turns(self, length: float) -> int:
        """Turns are as long in a longer run."""
        return round(self.turns * length / SHORT) or 1

    def _generator(self, each: tuple[int, int], turns: int, seed: int) -> dict[str, Any]:
        if self.second is None:
            return self.first.generator(each[0], 0, seed)
        start = self.first.span if self.apart else 0
        parts = [
            ("a", self.first.generator(each[0], 0, None)),
            ("b", self.second.generator(each[1], start, None)),
        ]
        if not self.turns:
            return {"kind": "mixed", "order": "shuffle", "seed": seed, "streams": dict(parts)}
        streams = {f"{name}{turn}": table for turn in range(turns) for name, table in parts}
        return {"kind": "mixed", "order": "phases", "seed": seed, "streams": streams}

    @property
    def words(self) -> str:
        """The workload in a sentence."""
        if self.second is None:
            return self.first.words()
        place = "behind them" if self.apart else "in the same place"
        first, second = self.first.words(), self.second.words()
        ways = "mixed at random"
        if self.turns:
            # A turn begins where the one before it began.
            far = [
                count * part.size / BUFFER_PAGES
                for count, part in zip(self.counts(SHORT), (self.first, self.second), strict=True)
            ]
            first, second = self.first.words(far[0]), self.second.words(far[1])
            ways = f"in turns of {_buffers(SHORT / self.turns)} together"
        share = f"{100 * self.share:g} % of the requests"
        return f"{first}; {share} are {second} {place}; {ways}"

    @property
    def point(self) -> dict[str, Any]:
        """The figures that it has, for a file."""
        found: dict[str, Any] = {"parts": 1 if self.second is None else 2, **_figures("first", self.first)}
        if self.second is not None:
            found |= _figures("second", self.second)
            found |= {"share": self.share, "turns": self.turns, "apart": self.apart}
        return found


def workload_of(point: Point) -> Workload:
    """The workload with these figures; those that it has no use for are passed over."""
    first = _part("first", point)
    if point["parts"] == 1:
        return Workload(first)
    return Workload(first, _part("second", point), point["share"], point["turns"], point["apart"])


def drawn(random: Random) -> dict[str, Any]:
    """A point in which every figure is drawn; all figures are there, whether they have a use or not."""
    return {name: random.choice(values) for name, values in GRID.items()}


def possible(workload: Workload) -> bool:
    """Whether enough is written."""
    return workload.written >= LEAST_WRITTEN


def _part(name: str, point: Point) -> Part:
    kind = point[f"{name}.kind"]
    return Part(
        kind,
        point[f"{name}.span"],
        point[f"{name}.size"],
        point[f"{name}.reads"],
        point.get(f"{name}.theta", _PART["theta"][0]) if kind == "zipf" else None,
        # One request behind the other has no other beginnings.
        point.get(f"{name}.aligned", False) if kind != "sequential" else False,
    )


def _figures(name: str, part: Part) -> dict[str, Any]:
    table = {key: getattr(part, key) for key in _PART}
    if part.kind != "zipf":
        del table["theta"]
    if part.kind == "sequential":
        del table["aligned"]
    return {f"{name}.{key}": value for key, value in table.items()}


def _buffers(many: float) -> str:
    return f"{many:g} {'buffer' if many <= 1 else 'buffers'}"


def _bytes(pages: float) -> str:
    size = round(pages * PAGE)
    return f"{size >> 20} MiB" if size % (1 << 20) == 0 else f"{size >> 10} KiB"
