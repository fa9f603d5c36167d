"""All schemes on all FTLs: searches, makes plain what was found, and judges it anew.

What is told comes from seeds that decided nothing, and from longer runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from eraseblock_reproduction.adversaries.bench import FTLS, MEASURES, ORDINARY, Asked, Bench
from eraseblock_reproduction.adversaries.search import AIM, Search, worst
from eraseblock_reproduction.adversaries.shrink import shrinking
from eraseblock_reproduction.adversaries.space import LONG, LONGER, Workload, workload_of
from eraseblock_reproduction.adversaries.stored import Line, Stored

# Is told of each step as it ends.
Told = Callable[[str], None]
# So many of a scheme's worst are run with another seed, twice as long.
JUDGED = 4
# A plainer workload keeps so much of the ratio.
KEEPS = 0.95
# Of all plain workloads so many of a scheme's worst are run with one more seed, twice as long.
LIKELY = 3
# The seed by which what is worst is made plain, the one that it has to stand after that, and those that
# decide nothing; with the lengths of the runs.
CHOSEN, LASTING, HELD_OUT = 2, (3, LONGER), ((11, LONG), (12, LONG), (13, LONGER))
_PLAIN = {"parts": 1, "first.kind": "uniform", "first.span": 4, "first.size": 1, "first.reads": 0}


def left_out(bench: Bench, schemes: Sequence[str]) -> dict[str, str]:
    """Schemes that cannot be set against others, and why."""
    asked = Asked("page", workload_of(_PLAIN))
    bench.runs([asked], schemes)
    told = {}
    for name in schemes:
        run = bench.run(asked, name)
        if not run.counts:
            told[name] = run.refused or "it is told the workload beforehand"
    return told


def survey(bench: Bench, stored: Stored, told: Told) -> None:
    """Do what is not stored yet."""
    searches = {
        ftl: Search(bench, ftl, stored.schemes, stored.effort, stored.seed).go_on(
            stored.tried.setdefault(ftl, [])
        )
        for ftl in FTLS
    }
    while searches:
        for ftl in list(searches):
            new = next(searches[ftl], None)
            if new is None:
                del searches[ftl]
                continue
            stored.keep_tried(ftl, new)
            told(f"{ftl}: {len(stored.tried[ftl])} workloads")
    for ftl in FTLS:
        if ftl not in stored.plain:
            stored.keep_plain(ftl, _plain(bench, stored, ftl))
            told(f"{ftl}: what is worst, made plain")
    for ftl in FTLS:
        if not all((scheme, ftl, MEASURES[0]) in stored.found for scheme in stored.schemes):
            stored.keep_found(_told(bench, stored, ftl))
            told(f"{ftl}: judged anew")


def _plain(bench: Bench, stored: Stored, ftl: str) -> list[Line]:
    """Each scheme's worst workload on an FTL, made plain; all side by side, from one filled drive."""
    aims = [_Aim(bench, scheme, ftl, AIM) for scheme in stored.schemes]
    candidates = [[one.workload for one in worst(stored.tried[ftl], aim.scheme, AIM, JUDGED)] for aim in aims]
    bench.pairs(
        pair for aim, some in zip(aims, candidates, strict=True) for one in some for pair in aim.pairs(one)
    )
    starts = [
        max(some, key=lambda one: aim.ratio(one) or 0) for aim, some in zip(aims, candidates, strict=True)
    ]
    return [
        {"scheme": aim.scheme, "ftl": ftl, "point": plain.point, "from": start.point}
        for aim, start, plain in zip(aims, starts, _shrunk(bench, aims, starts), strict=True)
    ]


def _told(bench: Bench, stored: Stored, ftl: str) -> list[Line]:
    """Of all plain workloads and those known before, each scheme's worst on an FTL by each measure."""
    plain = (one for some in stored.plain.values() for one in some)
    pool = list(dict.fromkeys([*plain, *stored.known]))
    # On the other FTL, too: what is bad there may be bad here, and the page says how bad it is there.
    for each in FTLS:
        bench.runs([Asked(each, one, CHOSEN, LONG) for one in pool], stored.schemes)
    aims = [_Aim(bench, scheme, ftl, measure) for measure in MEASURES for scheme in stored.schemes]
    likely = [sorted(pool, key=lambda one: -(aim.ratio(one) or 0))[:LIKELY] for aim in aims]
    bench.pairs(
        pair
        for aim, some in zip(aims, likely, strict=True)
        for one in some
        for pair in aim.pairs(one, *LASTING)
    )
    both = [(aim, max(some, key=aim.lasting)) for aim, some in zip(aims, likely, strict=True)]
    bench.pairs(pair for aim, one in both for seed in HELD_OUT for pair in aim.pairs(one, *seed))
    return [aim.line(one) for aim, one in both]


def _shrunk(bench: Bench, aims: Sequence[_Aim], starts: Sequence[Workload]) -> list[Workload]:
    """All made plain, step by step side by side."""
    least = [KEEPS * (aim.ratio(start) or 0) for aim, start in zip(aims, starts, strict=True)]
    best = [aim.best(start) or aim.scheme for aim, start in zip(aims, starts, strict=True)]
    ways = [shrinking(start) for start in starts]
    plain: dict[int, Workload] = {}
    asked = {number: next(way) for number, way in enumerate(ways)}
    while asked:
        some = [(number, one) for number, workloads in asked.items() for one in workloads]
        # It stays as bad to the same ordinary scheme.
        bench.pairs(
            (aims[number].asked(one), name)
            for number, one in some
            for name in (aims[number].scheme, best[number])
        )
        for number, workloads in list(asked.items()):
            ratios = [aims[number].ratio(one, others=[best[number]]) or 0 for one in workloads]
            bad = (one for one, ratio in zip(workloads, ratios, strict=True) if ratio >= least[number])
            try:
                asked[number] = ways[number].send(next(bad, None))
            except StopIteration as end:
                plain[number] = end.value
                del asked[number]
    return [plain[number] for number in range(len(aims))]


@dataclass(frozen=True)
class _Aim:
    """Whose worst workload is made plain and judged, where, and by what."""

    bench: Bench
    scheme: str
    ftl: str
    measure: str

    @property
    def elsewhere(self) -> _Aim:
        """The same on the other FTL."""
        [other] = [ftl for ftl in FTLS if ftl != self.ftl]
        return replace(self, ftl=other)

    def asked(self, workload: Workload, seed: int = CHOSEN, length: float = LONG) -> Asked:
        return Asked(self.ftl, workload, seed, length)

    def pairs(
        self, workload: Workload, seed: int = CHOSEN, length: float = LONG
    ) -> Iterator[tuple[Asked, str]]:
        """What has to be run for a ratio."""
        asked = self.asked(workload, seed, length)
        return ((asked, name) for name in dict.fromkeys([self.scheme, *ORDINARY]))

    def ratio(
        self,
        workload: Workload,
        seed: int = CHOSEN,
        length: float = LONG,
        others: Sequence[str] = ORDINARY,
    ) -> float | None:
        return self.bench.ratio(self.asked(workload, seed, length), self.scheme, self.measure, others)

    def best(self, workload: Workload, seed: int = CHOSEN, length: float = LONG) -> str | None:
        return self.bench.best(self.asked(workload, seed, length), self.scheme, self.measure)

    def lasting(self, workload: Workload) -> float:
        """The smaller one of two: what does not hold with another seed and longer does not count."""
        return min(self.ratio(workload) or 0, self.ratio(workload, *LASTING) or 0)

    def line(self, workload: Workload) -> Line:
        """What is told."""
        asked = self.asked(workload, *HELD_OUT[0])
        return {
            "scheme": self.scheme,
            "ftl": self.ftl,
            "measure": self.measure,
            "words": workload.words,
            "point": workload.point,
            "chosen": [_rounded(self.ratio(workload)), _rounded(self.ratio(workload, *LASTING))],
            "held_out": [_rounded(self.ratio(workload, *seed)) for seed in HELD_OUT],
            "erases": _rounded(self.bench.ratio(asked, self.scheme, "erases")),
            "elsewhere": _rounded(self.elsewhere.ratio(workload)),
            "best": self.best(workload, *HELD_OUT[0]),
            "figures": {name: self._figures(asked, name) for name in dict.fromkeys([self.scheme, *ORDINARY])},
        }

    def _figures(self, asked: Asked, name: str) -> Mapping[str, float | None]:
        return {key: _rounded(value) for key, value in self.bench.run(asked, name).figures.items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
