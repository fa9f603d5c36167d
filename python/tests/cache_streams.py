"""Streams of page reads, and W-TinyLFU with the rules in which libCacheSim and this project differ."""

from __future__ import annotations

import math
import random
import struct
from collections import OrderedDict
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
# As many as each stream has; the numbers of its pages are below that.
ACCESSES = 100_000


def zipf(accesses: int = ACCESSES, pages: int = 20_000, theta: float = 0.9) -> list[int]:
    """Independent reads, Zipf-distributed, the popular pages scattered."""
    source = random.Random(1)
    names = list(range(pages))
    source.shuffle(names)
    weights = list(accumulate(rank**-theta for rank in range(1, pages + 1)))
    return source.choices(names, cum_weights=weights, k=accesses)


def recorded(spc: Path, accesses: int = ACCESSES) -> list[int]:
    """The last pages of 2 KiB that a recorded workload touches, in order, numbered as they come up."""
    pages: list[int] = []
    for line in spc.read_text().splitlines():
        _, sector, size, _, _ = line.split(",")
        pages += range(int(sector) // 4, -(-(int(sector) * 512 + int(size)) // 2048))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(page, len(numbers)) for page in pages[-accesses:]]


def write_oracle(stream: list[int], path: Path) -> None:
    """Write a stream as oracleGeneral, each access with the number of the next one to its page."""
    following: dict[int, int] = {}
    nexts = [-1] * len(stream)
    for at in range(len(stream) - 1, -1, -1):
        nexts[at] = following.get(stream[at], -1)
        following[stream[at]] = at
    pack = struct.Struct("<IQIq").pack
    path.write_bytes(b"".join(pack(0, page, 2048, after) for page, after in zip(stream, nexts, strict=True)))


@dataclass(frozen=True)
class Rules:
    """What W-TinyLFU implementations decide differently; the defaults are this project's."""

    # Pages stay in the window until the whole cache is full; then they fill probation up to a fifth
    # of the main part, and after it the
    # protected segment. A hit that makes probation longer than its fifth evicts from it.
    late_fill: bool = False
    # Hits in the window are counted.
    window_hits: bool = True
    # A page is counted again when it drops out of the window.
    candidates: bool = False
    # Accesses for each page after which counts are halved; of the cache, or of its main part, and
    # then of its hits only.
    sample: int = 10
    only_main_hits: bool = False
    most: int = 15
    # Counters are shared: ten for each page among 14.4 times as many as the main part has pages.
    sketch: bool = False


LIBCACHESIM = Rules(
    late_fill=True,
    window_hits=False,
    candidates=True,
    sample=32,
    only_main_hits=True,
    most=2**32 - 1,
    sketch=True,
)
# libCacheSim's seeds of XXH64.
SEEDS = (0x12345678, 0x12344321)
WORD = 2**64 - 1


def xxh64(number: int, seed: int) -> int:
    """The lower half of XXH64 of a number of eight bytes."""

    def turn(value: int, by: int) -> int:
        return (value << by | value >> (64 - by)) & WORD

    one, two, three, four, five = (
        11400714785074694791,
        14029467366897019727,
        1609587929392839161,
        9650029242287828579,
        2870177450012600261,
    )
    value = (seed + five + 8) & WORD
    value ^= turn(number * two & WORD, 31) * one & WORD
    value = (turn(value, 27) * one + four) & WORD
    value = (value ^ value >> 33) * two & WORD
    value = (value ^ value >> 29) * three & WORD
    return (value ^ value >> 32) & 0xFFFFFFFF


class WTinyLfu:
    """W-TinyLFU with exact counts, in plain dictionaries; the last page of each is the one used last."""

    def __init__(self, capacity: int, rules: Rules) -> None:
        self.rules = rules
        self.capacity = capacity
        self.window_size = max(1, capacity // 100)
        self.main_size = capacity - self.window_size
        self.protected_size = self.main_size * 4 // 5
        self.window: OrderedDict[int, None] = OrderedDict()
        self.probation: OrderedDict[int, None] = OrderedDict()
        self.protected: OrderedDict[int, None] = OrderedDict()
        self.counters = math.ceil(-math.log(0.001) / 0.480453013918201 * self.main_size)
        self.counts = [0] * (self.counters if rules.sketch else ACCESSES)
        self.known: dict[int, list[int]] = {}
        self.seen = 0

    def read(self, page: int) -> bool:
        """Whether the page was held; it is then, or else came in."""
        in_window = page in self.window
        hit = in_window or page in self.probation or page in self.protected
        if not in_window or self.rules.window_hits:
            self._count(page)
        if (hit and not in_window) or not self.rules.only_main_hits:
            self._age()
        if in_window:
            self.window.move_to_end(page)
        elif hit:
            self._promote(page)
        else:
            self._make_room()
            self.window[page] = None
        return hit

    def _places(self, page: int) -> list[int]:
        """The counters of a page; itself, where none are shared."""
        if not self.rules.sketch:
            return [page]
        if page not in self.known:
            start, step = xxh64(page, SEEDS[0]), xxh64(page, SEEDS[1])
            self.known[page] = [(start + n * step) % 2**32 % self.counters for n in range(10)]
        return self.known[page]

    def _estimate(self, page: int) -> int:
        return min([self.counts[place] for place in self._places(page)])

    def _count(self, page: int) -> None:
        counts, most = self.counts, self.rules.most
        for place in self._places(page):
            if counts[place] < most:
                counts[place] += 1

    def _age(self) -> None:
        self.seen += 1
        size = self.main_size if self.rules.only_main_hits else self.capacity
        if self.seen >= self.rules.sample * size:
            self.seen = 0 if self.rules.only_main_hits else self.seen // 2
            self.counts = [count // 2 for count in self.counts]

    def _promote(self, page: int) -> None:
        self.probation.pop(page, None)
        self.protected.pop(page, None)
        self.protected[page] = None
        while len(self.protected) > self.protected_size:
            last, _ = self.protected.popitem(last=False)
            self.probation[last] = None
        while self.rules.late_fill and len(self.probation) > self.main_size // 5:
            self.probation.popitem(last=False)

    def _make_room(self) -> None:
        main = len(self.probation) + len(self.protected)
        full = len(self.window) + main == self.capacity
        while full if self.rules.late_fill else len(self.window) == self.window_size:
            candidate, _ = self.window.popitem(last=False)
            left = self._admit(candidate)
            if self.rules.candidates:
                self._count(candidate)
            if left or not self.rules.late_fill:
                return

    def _admit(self, candidate: int) -> bool:
        """Bring a candidate before the main part; whether a page left."""
        if len(self.probation) + len(self.protected) < self.main_size:
            self._enter_main(candidate)
            return False
        part = self.probation or self.protected
        victim = next(iter(part))
        if self._estimate(candidate) > self._estimate(victim):
            del part[victim]
            self._enter_main(candidate)
        return True

    def _enter_main(self, page: int) -> None:
        full = len(self.probation) >= self.main_size // 5 and len(self.protected) < self.protected_size
        part = self.protected if self.rules.late_fill and full else self.probation
        part[page] = None
