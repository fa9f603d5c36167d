"""Which rows and columns of results a table shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eraseblock.results.contest import BASELINES, Contest, Design
from eraseblock.results.headline import COLUMNS, HITS, MEAN, WRITES, Column

# Lines for designs that fit on one screen, beside heads and sentences.
_SCREEN = 22
# For one buffer size at most, and at least: the best two, both baselines and the bound.
_MOST, _LEAST = 10, 5


@dataclass(frozen=True)
class Showing:
    """What the user wants to see; nothing given: what fits on a screen, by the figure that counts."""

    columns: tuple[Column, ...] = ()
    sort: Column | None = None
    # So many of the best for each size, beside the baselines.
    top: int | None = None
    everything: bool = False

    def columns_of(self, contests: Sequence[Contest]) -> list[Column]:
        """The columns, those of time left out where no run has times."""
        if self.columns:
            return list(self.columns)
        rows = [row for contest in contests for row in contest.rows]
        timed = any(row.figure(MEAN.path) is not None for row in rows)
        usual = COLUMNS if timed else (HITS, WRITES, *COLUMNS[3:])
        missing = [self.sort] if self.sort is not None and self.sort not in usual else []
        return [*missing, *usual]

    def designs_of(self, contest: Contest, column: Column, contests: int) -> list[Design]:
        """The designs of one contest, in their order: the best few, and all that they are measured by."""
        along = contest.numbers is not None and self.sort is None
        ordered = list(contest.designs) if along else contest.ordered(column)
        if self.everything or along:
            return ordered
        measures = [one for kind in BASELINES if (one := contest.baseline(kind)) is not None]
        if len(measures) < len(BASELINES) and (first := contest.reference()) is not None:
            measures = [*measures, first]
        bound = int(bool(contest.designs[0].row.figure("bound")))
        most = _MOST if contest.axis is None else _SCREEN
        room = min(most, max(_LEAST, _SCREEN // contests) - bound) - len(measures)
        best = ordered[: self.top if self.top is not None else max(1, room)]
        if (known := next((one for one in ordered if not one.row.reconstruction), None)) not in best:
            # Whoever passes over reconstructions finds the best of the others.
            best = [*best[:-1], known] if self.top is None and known is not None else best
        others = _of_each_ftl(contest, ordered) if self.top is None else []
        shown = {id(one) for one in (*best, *measures, *others)}
        return [one for one in ordered if id(one) in shown]


def _of_each_ftl(contest: Contest, ordered: Sequence[Design]) -> list[Design]:
    """Of each of several FTLs the best design, and what the others on it are measured by."""
    firsts = {design.row.ftl: design for design in reversed(ordered)}
    if len(firsts) < 2:
        return []
    measures = [contest.reference(design) for design in firsts.values()]
    return [*firsts.values(), *(one for one in measures if one is not None)]
