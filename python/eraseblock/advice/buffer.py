"""Which buffer, and how large."""

from __future__ import annotations

from eraseblock.advice.answer import Answer, Picture, Table
from eraseblock.advice.case import Case, doubts_of, passed_over, short_size
from eraseblock.results import units
from eraseblock.results.conclusion import Conclusion, conclusions_of
from eraseblock.results.headline import HITS, MEAN, WAF, Column, column_named
from eraseblock.results.units import bytes_of
from eraseblock.results.verdict import WORTH, Verdict
from eraseblock.results.wording import why_none

ABOUT = "Which buffer to take, and how large?"
# Sizes that are tried, as multiples of the drive's own.
_MULTIPLES = (1 / 16, 1 / 4, 1, 4)
# A drive without a buffer is tried with this one's multiples.
_USUAL = 16 << 20
# Rows of the table for each size.
_ROWS = 3


def ask(case: Case) -> Answer:
    """Compare the schemes that differ at four sizes; take the smallest that is nearly as good as any."""
    own = bytes_of(case.config()["buffer"]["size"]) or _USUAL
    page = bytes_of(case.config()["nand"]["page_size"])
    sizes = list(dict.fromkeys(short_size(max(page, int(own * one))) for one in _MULTIPLES))
    rows, command = case.runs(sizes=sizes)
    conclusion = conclusions_of(rows)[0]
    column = conclusion.column
    decided = [
        one for one in conclusion.verdicts if one.best is not None and one.best.value(column) is not None
    ]
    if not decided:
        table, picture = _table(conclusion, column, None)
        some = [design for one in conclusion.verdicts for design in one.contest.designs]
        sentence = f"Buffer: which to take cannot be said, as {why_none(some, column)}."
        return Answer("buffer", sentence, doubts_of(rows), table, picture, (command,))
    enough = _enough(decided, column)
    best = enough.best
    assert best is not None
    answer = enough.answer.removeprefix("take ").rstrip(".")
    sentence = f"Buffer: {units.size(enough.contest.buffer_bytes)}; {_taken(enough, answer)}."
    sentence += "".join(f" {one}" for one in enough.details if "no reconstruction" in one.lower())
    sentence += _worth(decided, enough, column) + passed_over(
        enough.contest.designs, enough.contest.cut_short
    )
    decisive = [*best.rows, *(enough.reference.rows if enough.reference else ())]
    table, picture = _table(conclusion, column, enough)
    result = {
        "buffer": best.name,
        "size_bytes": enough.contest.buffer_bytes,
        "by": column.path,
        "value": best.value(column),
    }
    return Answer("buffer", sentence, doubts_of(decisive), table, picture, (command,), result)


def _taken(verdict: Verdict, answer: str) -> str:
    return f"take {answer}" if verdict.answer.startswith("take ") else answer


def _enough(decided: list[Verdict], column: Column) -> Verdict:
    """The smallest size from which on a larger one brings under 5 %."""
    ordered = sorted(decided, key=lambda one: one.contest.buffer_bytes)
    for index, one in enumerate(ordered):
        later = [_value(other, column) for other in ordered[index:]]
        best = max(later) if column.good == "high" else min(later)
        if abs(_value(one, column) - best) <= WORTH * abs(best):
            return one
    return ordered[-1]


def _value(verdict: Verdict, column: Column) -> float:
    value = None if verdict.best is None else verdict.best.value(column)
    assert value is not None
    return value


def _worth(decided: list[Verdict], enough: Verdict, column: Column) -> str:
    """What the sizes come to, each with its best."""
    ordered = sorted(decided, key=lambda one: one.contest.buffer_bytes)
    if len(ordered) < 2:
        return ""
    parts = [
        f"{column.show(_value(one, column))} at {units.size(one.contest.buffer_bytes)}" for one in ordered
    ]
    last = "" if enough is not ordered[-1] else "; more than that was not tried, and may pay"
    return f" With the best of each size it is {', '.join(parts)}{last}."


def _table(conclusion: Conclusion, column: Column, enough: Verdict | None) -> tuple[Table, Picture]:
    columns = list(dict.fromkeys((column, MEAN, column_named("p99", "advise"), HITS, WAF)))
    rows, shown, taken = list[dict[str, object]](), list[list[str]](), None
    for verdict in conclusion.verdicts:
        contest = verdict.contest
        ordered = contest.ordered(column)
        reference = verdict.reference
        some = [one for one in ordered if one in ordered[:_ROWS] or one is reference or one is verdict.best]
        for design in some:
            if verdict is enough and design is verdict.best:
                taken = len(rows)
            size = contest.buffer_bytes
            figures = {one.title: design.value(one) for one in columns}
            trusted = design in contest.ranked
            rows.append({"size_bytes": size, "buffer": design.name, **figures, "trusted": trusted})
            name = f"{design.name} †" if design.row.reconstruction else design.name
            shown.append([units.size(size), name, *(one.show(design.value(one)) for one in columns)])
    titles = {"size_bytes": "size", "buffer": "buffer", **{one.title: one.title for one in columns}}
    title = f"{column.name[:1].upper()}{column.name[1:]} by size of the buffer"
    picture = Picture("line", title, "size_bytes", column.title, by="buffer", doubling=True)
    return Table(titles, rows, shown, taken), picture
