"""Says first what a study came to: where a clever buffer pays, and how much."""

from __future__ import annotations

from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.sentences import WORDS, percent
from eraseblock_reproduction.beyond.tables import Table
from eraseblock_reproduction.beyond.worth import Worth, worths

_NONE = "-"


def headline(answer: StudyAnswer) -> list[str]:
    """Who gains from a clever buffer and who does not; the groups that gain most come first."""
    found = sorted(worths(answer), key=_held_out)
    told = [one for one in found if one.held_out is not None]
    if not told:
        return []
    base, word = _baseline(answer)
    pays = [one for one in told if one.pays]
    rest = [one for one in told if not one.pays]
    sentences = []
    if pays:
        sentences.append(
            f"A clever buffer pays with {_list([_gain(one) for one in pays])}: mean response time relative "
            f"to `{base}` of the scheme that is best on all other families of workloads."
        )
    if rest:
        sentences.append(
            f"It is not shown to pay with {_list([_gain(one) for one in rest])}. Whoever knew the best "
            "scheme of each contest beforehand would come to "
            f"{_list([f'{percent(one.hindsight)} ({one.group})' for one in rest])}."
        )
    best = [
        f"`{gain.name}` {_ends(gain.ratio, gain.ends)} ({one.group})"
        for one in told
        for gain in one.gains[:1]
    ]
    sentences.append(
        f"The best over all families, with intervals that are right for all schemes together: {_list(best)}."
    )
    families = len(told[0].held_out.chosen) if told[0].held_out else 0
    return [
        *sentences,
        f"Workloads are {families} families here, by the kind of work; {word}s as the table groups them.",
    ]


def worth_table(answer: StudyAnswer) -> Table | None:
    """The same with its numbers, a row for each group."""
    rows = []
    for one in worths(answer):
        held = one.held_out
        first = one.gains[0] if one.gains else None
        rows.append(
            (
                one.group if one.members == (one.group,) else f"{one.group}: {', '.join(one.members)}",
                _NONE if held is None else _ends(held.ratio, held.ends),
                ", ".join(f"{name} {count}" for name, count in one.chosen) or _NONE,
                _NONE if first is None else f"{first.name} {_ends(first.ratio, first.ends)}",
                percent(one.hindsight),
            )
        )
    if not rows:
        return None
    base, word = _baseline(answer)
    head = (
        word,
        "chosen on other families",
        "which",
        "best, all corrected",
        "best of each contest, with hindsight",
    )
    return Table(f"Where a clever buffer pays: mean response time relative to {base}", head, tuple(rows))


def _baseline(answer: StudyAnswer) -> tuple[str, str]:
    contest = next(one for one in answer.study.contests if one.of == "buffer")
    return contest.baseline, WORDS[contest.at]


def _held_out(one: Worth) -> float:
    return 1.0 if one.held_out is None else one.held_out.ratio


def _gain(one: Worth) -> str:
    assert one.held_out is not None
    return f"{one.group} ({_ends(one.held_out.ratio, one.held_out.ends)})"


def _ends(ratio: float, ends: tuple[float, float] | None) -> str:
    return percent(ratio) if ends is None else f"{percent(ratio)} [{percent(ends[0])}, {percent(ends[1])}]"


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
