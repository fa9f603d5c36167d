"""What to take of the designs of one contest, by how much, and whether that can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eraseblock.results import units
from eraseblock.results.contest import BASELINES, Contest, Design
from eraseblock.results.evidence import Evidence, evidence
from eraseblock.results.headline import Column
from eraseblock.results.wording import LEVEL, gap, listed, named, relative, shown, why_none

# A smaller gain is not worth another step of an axis, or a larger buffer.
WORTH = 0.05


@dataclass(frozen=True)
class Verdict:
    """One contest, decided or not."""

    contest: Contest
    column: Column
    # The winner; none where no run is to be trusted, or none has the figure.
    best: Design | None
    # What it is measured by, if that is another one.
    reference: Design | None
    evidence: Evidence
    # The first sentence, and those that qualify it; empty where there is nothing to choose.
    answer: str
    details: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The buffer size, and what else tells the contest from others."""
        settings = [f"{key} {value}" for key, value in self.contest.settings.items()]
        return ", ".join([size_of(self.contest.buffer_bytes), *settings])

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join((f"{self.place}: {self.answer}", *self.details)) if self.answer else ""

    @property
    def clear(self) -> bool:
        """Whether the winner is better than what it is measured by, bursts or not."""
        return self.reference in self.contest.entrants(self.column) and not self.evidence.level


def size_of(buffer_bytes: int) -> str:
    """A drive that has no buffer is no drive with a small one."""
    return units.size(buffer_bytes) if buffer_bytes else "no buffer"


def verdict_of(contest: Contest, column: Column) -> Verdict:
    """Decide a contest by one figure."""
    entrants = [one for one in contest.ordered(column) if one in contest.entrants(column)]
    ranked = [one for one in entrants if one.value(column) is not None]
    alive = [one for one in entrants if not one.wore_out]
    if column.endless and 0 < len(alive) < len(entrants):
        ended = [one for one in entrants if one.wore_out]
        answer = f"take {listed(alive, 'or')}: outlived the run; {_ended(ended, column)}."
        return Verdict(contest, column, None, None, Evidence("unknown"), answer)
    if not ranked:
        answer = f"no verdict, as {why_none(contest.designs, column)}." if len(contest.designs) > 1 else ""
        return Verdict(contest, column, None, None, Evidence("unknown"), answer)
    best = ranked[0]
    reference = contest.reference(best)
    if reference is best:
        reference = None
    told = Evidence("unknown") if reference is None else evidence(best, reference, column)
    answer, details = "", list[str]()
    if len(contest.designs) > 1:
        if contest.numbers is not None:
            answer = _curve(contest, column, ranked)
            if not answer and contest.cut_short:
                answer = _Race(contest, column, ranked, ()).won()
        else:
            level = [one for one in ranked[1:] if evidence(best, one, column).level]
            race = _Race(contest, column, ranked, level)
            if len(ranked) > 1 and all(evidence(best, one, column).finding == "equal" for one in ranked):
                answer = f"it makes no difference: {shown(best, column)} with all {len(ranked)}."
            else:
                answer = race.won() if reference is None else race.against(reference, told)
                details = race.details(reference)
        if contest.cut_short and not column.endless:
            details.append(
                f"Worn out before others had served as much, and left out: {listed(contest.cut_short)}."
            )
    return Verdict(contest, column, best, reference, told, answer, tuple(details))


@dataclass(frozen=True)
class _Race:
    """A contest in its order by one figure."""

    contest: Contest
    column: Column
    # Best first; those that are not to be trusted, or knew the future, are none of them.
    ranked: Sequence[Design]
    # Those that may not be told from the best.
    level: Sequence[Design]

    def won(self) -> str:
        """The best is what others are measured by, or there is nothing to measure by."""
        if len(self.ranked) > 1 and not self.level and self.ranked[1].row.kind not in BASELINES:
            following = self.ranked[1]
            told = evidence(self.ranked[0], following, self.column)
            behind = f", behind {told.how}{f' only: {told.doubt}' if told.doubt else ''}" if told.how else ""
            return f"{self._take(None)}; the next is {self._figure(following)}{behind}."
        return f"{self._take(None)}; nothing beats it." if len(self.ranked) > 1 else f"{self._take(None)}."

    def against(self, reference: Design, told: Evidence) -> str:
        """The best beats what it is measured by, more or less surely."""
        best, other = self.ranked[0], self._figure(reference)
        if reference not in self.ranked:
            return f"{self._take(None)}; {named(reference)} {self._excuse(reference)}, so it is no measure."
        if told.finding == "equal":
            return f"nothing beats {other}: {named(best)} is level with it."
        if told.level:
            figure = shown(best, self.column)
            return f"nothing clearly beats {other}: {named(best)}, {figure}, is ahead {told.how} only."
        if told.finding == "unknown":
            return f"{self._take(reference)}; whether that would come again, {_silent(best, reference)}."
        ahead = f"ahead of {named(reference)} {told.how}"
        return f"{self._take(reference)}; {f'{ahead} only: {told.doubt}' if told.doubt else ahead}."

    def _excuse(self, design: Design) -> str:
        """Why others cannot be measured by a design."""
        if not all(row.trusted for row in design.rows):
            return "is not to be trusted"
        if design in self.contest.cut_short:
            return "wore out on the way"
        return "knew the future" if not design.competes else "has no such figure"

    def details(self, reference: Design | None) -> list[str]:
        """Who is level with the best, and where it is a reconstruction, who is the best that is none."""
        best = self.ranked[0]
        level = [one for one in self.level if one is not reference]
        known = next((one for one in self.ranked if not one.row.reconstruction), None)
        if not best.row.reconstruction or known is None or known is reference:
            return [f"Level with it: {listed(level)}."] if level else []
        if known not in level:
            others = [f"Level with it: {listed(level)}."] if level else []
            return [f"No reconstruction: {self._figure(known)}.", *others]
        more = f", and {len(level) - 1} more" if len(level) > 1 else ""
        return [f"Level with it, no reconstruction: {named(known)}{more}."]

    def _take(self, reference: Design | None) -> str:
        """The best, told against the reference and the other baselines."""
        best = self.ranked[0]
        others = [reference, *(self.contest.baseline(kind, best) for kind in BASELINES)]
        measures = dict.fromkeys(one for one in others if one is not None and one is not best)
        gaps = [gap(best, one, self.column) for one in measures if one in self.ranked]
        which = f"{named(best)} (a reconstruction)" if best.row.reconstruction else named(best)
        return f"take {which}: {', '.join([shown(best, self.column), *gaps])}"

    def _figure(self, design: Design) -> str:
        return f"{named(design)} ({shown(design, self.column)})"


def _ended(designs: Sequence[Design], column: Column) -> str:
    """The figures of the best of those whose drives reached the end of their life."""
    shown_ones = [
        f"{named(one)} {'with some seeds' if one.value(column) is None else shown(one, column)}"
        for one in designs[:3]
    ]
    more = len(designs) - len(shown_ones)
    return f"worn out: {', '.join(shown_ones)}{f' and {more} more' if more else ''}"


def _silent(one: Design, other: Design) -> str:
    """Why runs do not tell whether they would come out so again."""
    if one.by_seed.keys() != other.by_seed.keys():
        return "runs with other seeds do not tell"
    return "one run does not tell" if len(one.rows) < 2 else "seeds that change nothing do not tell"


def _curve(contest: Contest, column: Column, ranked: Sequence[Design]) -> str:
    """How the figure moves along an axis of numbers."""
    numbers = dict(zip(contest.designs, contest.numbers or [], strict=True))
    along = sorted(ranked, key=lambda one: numbers[one])
    if len(along) < 2:
        return ""
    first, last, best = along[0], along[-1], ranked[0]
    subject = f"{contest.axis}: {column.name}"
    if all(evidence(best, one, column).finding == "equal" for one in ranked[1:]):
        return f"{subject} stays at {shown(best, column)}, whatever the value."
    ends = f"{shown(first, column)} at {first.name}, {shown(last, column)} at {last.name}"
    if best is not first and best is not last:
        return f"{subject} is best at {best.name} ({shown(best, column)}); {ends}."
    away = relative(first.value(column), last.value(column))
    text = f"{subject} {ends}"
    if away != LEVEL:
        text += f" ({away.replace(' below', ' less').replace(' above', ' more')})"
    enough = _enough(along if best is last else along[::-1], column)
    return f"{text}." if enough is None else f"{text}; within 5 % of the best from {enough.name} on."


def _enough(towards_best: Sequence[Design], column: Column) -> Design | None:
    """The first from which on all are within 5 % of the last; none where that says nothing."""
    goal = towards_best[-1].value(column)
    found = None
    for one in reversed(towards_best[:-1]):
        value = one.value(column)
        if not goal or value is None or abs(value - goal) > WORTH * abs(goal):
            break
        found = one
    return None if found is towards_best[0] else found
