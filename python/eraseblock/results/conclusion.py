"""What all contests on a workload and a drive come to: the sentences below a table, and above a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eraseblock.results import units
from eraseblock.results.bursts import bursts_of
from eraseblock.results.contest import BUFFER, Contest, Design, contests_of, measure_of
from eraseblock.results.evidence import TIE
from eraseblock.results.headline import ERASES, FLUSHES, HITS, WAF, WRITES, Column
from eraseblock.results.verdict import WORTH, Verdict, verdict_of
from eraseblock.results.view import Row
from eraseblock.results.wording import WORE_OUT, named, percent, percents

# From so many times as many pages at a time on, that is why.
_TOGETHER = 2.0
# Designs that agree in these do the same.
_ALL = (
    *("response_ns.all.mean", "response_ns.all.max", "hit_ratio.all"),
    *("flash.reads.total", "flash.programs.total", "flash.erases.total"),
)


@dataclass(frozen=True)
class Conclusion:
    """All verdicts on one workload and one drive, and what they come to. Names stand in backquotes."""

    trace: str
    drive: str
    # The figure that decides.
    column: Column
    # One for each buffer size, in the order of the runs.
    verdicts: tuple[Verdict, ...]
    # One design for all sizes, where there are several; else empty.
    summary: str
    # Why, and how far from what could be.
    overall: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is decided, and by which figure."""
        contests = [one.contest for one in self.verdicts]
        # Where a contest has one design alone, there is nothing to choose.
        choices = {one.choice for one in contests if len(one.designs) > 1} or {BUFFER}
        choice = choices.pop() if len(choices) == 1 else BUFFER if BUFFER in choices else "design"
        return f"Which {choice} to take on {self.drive}, by {self.column.name}"

    @property
    def sentences(self) -> list[str]:
        """The answer in short, the verdicts, and what they come to."""
        texts = (self.summary, *(one.text for one in self.verdicts), *self.overall)
        return [text for text in texts if text]


def conclusions_of(rows: Sequence[Row], column: Column | None = None) -> list[Conclusion]:
    """What runs come to, for each workload and drive; by the figure that counts, or by another one."""
    together: dict[tuple[str, str], list[Contest]] = {}
    for contest in contests_of(rows):
        together.setdefault((contest.trace, contest.drive), []).append(contest)
    return [_conclusion(*key, contests, column) for key, contests in together.items()]


def drives_of(conclusions: Sequence[Conclusion]) -> list[str]:
    """A sentence for each workload that ran on several drives: what each comes to at its best."""
    traces: dict[str, list[Conclusion]] = {}
    for one in conclusions:
        traces.setdefault(one.trace, []).append(one)
    sentences = []
    for trace, some in traces.items():
        column = some[0].column
        if column.endless and any(verdict.best is None for one in some for verdict in one.verdicts):
            # A drive that outlives the run has no figure to be told beside others.
            continue
        whose = f" under {trace}" if len(traces) > 1 else ""
        if len(some) > 1 and not _served_alike([verdict for one in some for verdict in one.verdicts], column):
            sentences.append(f"Drives{whose} are not held against one another: {WORE_OUT}.")
            continue
        parts = []
        for one in some:
            decided = [verdict for verdict in one.verdicts if verdict.best is not None]
            if len(some) > 1 and decided and one.column is column:
                value, verdict = _extreme(decided, column)
                assert verdict.best is not None
                parts.append(f"{one.drive} {column.show(value)} (`{verdict.best.name}`, {verdict.place})")
        if len(parts) > 1:
            sentences.append(f"Drives at their best{whose}, by {column.name}: {', '.join(parts)}.")
    return sentences


def _served_alike(verdicts: Sequence[Verdict], column: Column) -> bool:
    """Whether the best of each did the same work, or lived as long as it could, if that is what counts."""
    bests = [one.best for one in verdicts if one.best is not None]
    return column.endless or not any(one.cut_off for one in bests) or len({one.served for one in bests}) < 2


def _apart(verdicts: Sequence[Verdict]) -> str:
    what = "Cases" if any(one.contest.settings for one in verdicts) else "Sizes"
    return f"{what} are not held against one another: {WORE_OUT}."


def _extreme(verdicts: Sequence[Verdict], column: Column) -> tuple[float, Verdict]:
    sign = -1 if column.good == "high" else 1
    pairs = [(value, one) for one in verdicts if one.best and (value := one.best.value(column)) is not None]
    return min(pairs, key=lambda pair: sign * pair[0])


def _conclusion(trace: str, drive: str, contests: Sequence[Contest], column: Column | None) -> Conclusion:
    column = column or measure_of(contests)
    verdicts = tuple(verdict_of(contest, column) for contest in contests)
    alike = _served_alike(verdicts, column)
    size = _worth_of_size(verdicts, column) if alike else [_apart(verdicts)]
    if not any(one.answer for one in verdicts):
        return Conclusion(trace, drive, column, verdicts, "", tuple(size))
    why = _why(verdicts)
    # Where another setting is chosen, the same buffer is in all designs.
    others = [contest for contest in contests if contest.choice != BUFFER]
    bound = [] if others else _bound(verdicts, column)
    overall = (*size, *why, *bursts_of(contests, column), *bound, *_same(contests), *_caution(verdicts))
    return Conclusion(trace, drive, column, verdicts, _one_for_all(verdicts) if alike else "", overall)


def _one_for_all(verdicts: Sequence[Verdict]) -> str:
    """The design that is never far behind the best, whatever the size."""
    decided = [one for one in verdicts if one.best is not None and len(one.contest.designs) > 1]
    outlived = any(one.column.endless and one.best is None for one in verdicts)
    if outlived or len(decided) < 2 or any(one.contest.numbers is not None for one in decided):
        return ""
    behind = _behind(decided[0])
    for verdict in decided[1:]:
        here = _behind(verdict)
        behind = {name: max(behind[name], here[name], key=_lag) for name in behind if name in here}
    if not behind:
        return ""
    sizes = {one.contest.buffer_bytes for one in decided}
    where = "all sizes" if len(sizes) == len(decided) else f"all {len(decided)} cases"
    lag, first = min(behind.values(), key=_lag)
    known = [pair for pair in behind.values() if not pair[1].row.reconstruction]
    if known and min(known, key=_lag)[0] <= lag + TIE:
        lag, first = min(known, key=_lag)
    text = f"In short: one for {where} is {_which(first)}, {_far(lag)}"
    if first.row.reconstruction and known:
        lag, second = min(known, key=_lag)
        text += f"; no reconstruction: {named(second)}, {percent(lag)}"
    return f"{text}."


def _far(lag: float) -> str:
    return "the best or within 1 % of it" if lag <= TIE else f"at most {percent(lag)} off each best"


def _which(design: Design) -> str:
    return f"{named(design)} (a reconstruction)" if design.row.reconstruction else named(design)


def _behind(verdict: Verdict) -> dict[str, tuple[float, Design]]:
    """By which part each design is behind the best of its contest."""
    best = None if verdict.best is None else verdict.best.value(verdict.column)
    found = {}
    for one in verdict.contest.entrants(verdict.column):
        value = one.value(verdict.column)
        if value is not None and best is not None and (best or value == best):
            found[one.name] = (abs(value - best) / abs(best or 1.0), one)
    return found


def _lag(pair: tuple[float, Design]) -> float:
    return pair[0]


def _worth_of_size(verdicts: Sequence[Verdict], column: Column) -> list[str]:
    """What a larger buffer brings, each size with its best design."""
    known = [
        (one.contest.buffer_bytes, value)
        for one in verdicts
        if not one.contest.settings and one.best and (value := one.best.value(column)) is not None
    ]
    bests = dict(sorted(known))
    if len(bests) < 2 or len(bests) < len(verdicts):
        return []
    (small, first), *larger = bests.items()
    sign = 1 if column.good == "high" else -1
    # Of equally good ones the largest.
    large, best = max(larger, key=lambda one: (sign * one[1], one[0]))
    if sign * (best - first) <= TIE * abs(first):
        return [f"A larger buffer than {units.size(small)} brings nothing."]
    near = [size for size, value in bests.items() if abs(value - best) <= WORTH * abs(best)]
    text = f"A larger buffer {'brings little' if near[0] == small else 'pays'}: {column.show(first)} at"
    text = f"{text} {units.size(small)}, {column.show(best)} at {units.size(large)}, each with its best"
    if near[0] == small:
        return [f"{text}."]
    beyond = near[0] != max(bests)
    return [f"{text}; beyond {units.size(near[0])} it brings under 5 %." if beyond else f"{text}."]


def _why(verdicts: Sequence[Verdict]) -> list[str]:
    """What the winners do less of, or more, than what they are measured by."""
    clear = [one for one in verdicts if one.clear and one.best and one.reference]
    pairs = [(one.best, one.reference) for one in clear if one.best and one.reference]
    parts = []
    for column, does in ((ERASES, "{} fewer erases"), (WRITES, "{} fewer programs")):
        saved = [_saved(best, other, column) for best, other in pairs]
        known = [one for one in saved if one is not None]
        if known and len(known) == len(saved) and min(known) > TIE:
            parts.append(does.format(percents(known)))
    hits = [(best.value(HITS) or 0.0, other.value(HITS) or 0.0) for best, other in pairs]
    if hits and all(ours > theirs * (1 + TIE) for ours, theirs in hits):
        parts.append("more hits")
    elif parts and all(ours < theirs * (1 - TIE) for ours, theirs in hits):
        parts.append("though fewer hits")
    if not parts:
        return []
    others = {other.name for _, other in pairs}
    whom = f"`{others.pop()}`" if len(others) == 1 else "what they are measured by"
    return [f"Why{_where(clear, verdicts)}: {_together(pairs)}{', '.join(parts)} than {whom}."]


def _where(some: Sequence[Verdict], verdicts: Sequence[Verdict]) -> str:
    """Of which cases something is said, if not of all."""
    if len(some) == len(verdicts):
        return ""
    sizes = sorted(one.contest.buffer_bytes for one in some)
    every = sorted({one.contest.buffer_bytes for one in verdicts})
    if len(every) == len(verdicts) and sizes[0]:
        first = every.index(sizes[0])
        together = every[first : first + len(sizes)] == sizes
        ends = [units.sizes(sizes[0], sizes[-1])] if together else [units.size(one) for one in sizes]
        return f" at {', '.join(ends)}"
    if len(some) == 1:
        return f" ({some[0].place})"
    return f" in {len(some)} of {len(verdicts)} cases"


def _together(pairs: Sequence[tuple[Design, Design]]) -> str:
    """That the winners write more pages at a time, as in "14 to 64 pages leave at once, not 1; "."""
    flushes = [(best.value(FLUSHES), other.value(FLUSHES)) for best, other in pairs]
    known = [(ours, theirs) for ours, theirs in flushes if ours and theirs]
    if len(known) < len(pairs) or any(ours < _TOGETHER * theirs for ours, theirs in known):
        return ""
    ours, theirs = (sorted(values) for values in zip(*known, strict=True))
    spans = [_ends(values[0], values[-1]) for values in (ours, theirs)]
    return f"{spans[0]} pages leave at once, not {spans[1]}; "


def _ends(least: float, most: float) -> str:
    ends = (f"{one:.0f}" if one >= 10 else f"{one:.1f}".removesuffix(".0") for one in (least, most))
    return " to ".join(dict.fromkeys(ends))


def _saved(best: Design, other: Design, column: Column) -> float | None:
    ours, theirs = best.value(column), other.value(column)
    return None if ours is None or not theirs else (theirs - ours) / theirs


def _bound(verdicts: Sequence[Verdict], column: Column) -> list[str]:
    """How far the winners are from what no scheme could better."""
    parts = []
    for one in (column,) if column.bound else (WAF, HITS):
        found = [
            (value, bound)
            for verdict in verdicts
            if verdict.best is not None
            and (value := verdict.best.value(one)) is not None
            and (bound := verdict.best.figure(one.bound)) is not None
        ]
        if found and len(found) == len(verdicts):
            values, bounds = (sorted(some) for some in zip(*found, strict=True))
            parts.append(f"{one.title} {_span(one, bounds)} (here {_span(one, values)})")
    return [f"Bound for any buffer: {', '.join(parts)}."] if parts else []


def _span(column: Column, values: Sequence[float]) -> str:
    first, last = column.show(values[0]), column.show(values[-1])
    return first if first == last else f"{first} to {last}"


def _same(contests: Sequence[Contest]) -> list[str]:
    """Designs that do the same in every contest."""
    figures: dict[str, list[tuple[object, ...]]] = {}
    for contest in contests:
        for one in contest.designs:
            figures.setdefault(one.name, []).append(tuple(one.figure(path) for path in _ALL))
    alike: dict[str, list[str]] = {}
    for name, found in figures.items():
        alike.setdefault(repr(found), []).append(f"`{name}`")
    groups = [" = ".join(names) for names in alike.values() if len(names) > 1]
    return [f"Equal in every figure: {', '.join(groups)}."] if groups and len(alike) > 1 else []


def _caution(verdicts: Sequence[Verdict]) -> list[str]:
    """What takes the ground from all of it."""
    decided = [design for one in verdicts for design in (one.best, one.reference) if design is not None]
    rows = [row for design in decided for row in design.rows if row.figure("host_pages.write")]
    if rows and not any(row.figure("flash.erases.total") for row in rows):
        return ["Mind: these erased no block, so none of this has the cost of garbage collection in it."]
    return []
