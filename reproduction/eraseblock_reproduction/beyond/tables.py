"""The tables of a study, as text: the same in the terminal, in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eraseblock_reproduction.beyond.answers import Result, StudyAnswer
from eraseblock_reproduction.beyond.contests import Bout
from eraseblock_reproduction.beyond.hits import Hits
from eraseblock_reproduction.beyond.sentences import (
    WORDS,
    first_of,
    percent,
    share_text,
    with_interval,
    within,
)
from eraseblock_reproduction.beyond.study import Contest
from eraseblock_reproduction.beyond.summary import Standing
from eraseblock_reproduction.intervals import Estimate

_NONE = "-"
# How many of those that are as good as the best are named.
_NAMED = 4


@dataclass(frozen=True)
class Table:
    """Cells as text; all columns but the first ones, which are names, are numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    # Columns of names at the left.
    names: int = 1


def standings_tables(answer: StudyAnswer) -> list[Table]:
    """How each scheme stands: by all measures, or at each load by one measure after the other."""
    tables = []
    for contest in answer.study.contests:
        results = answer.ranked(contest)
        if contest.at == "load":
            tables += [_by_load(result) for result in results]
        else:
            tables.append(_by_measure(contest, {one.measure.name: one for one in results}))
            if contest.of == "buffer":
                tables.append(_firsts(results))
        if (hits := answer.hits(contest)) is not None:
            tables += [
                table for one in hits.hits for table in (_most_hits(contest, one), _shares(contest, one))
            ]
    return tables


def contests_tables(answer: StudyAnswer) -> list[Table]:
    """Who wins each contest between buffers, by each measure."""
    tables = []
    for result in answer.results:
        # Hits have tables of their own.
        if result.contest.of != "buffer" or result.measure.more:
            continue
        head = (
            "workload",
            result.contest.at,
            "best",
            "next",
            "ahead of it",
            "as good as the best",
            "to opt",
            "to bound",
        )
        rows = tuple(_bout_row(bout) for bout in result.bouts)
        tables.append(Table(result.measure.best, head, rows, names=4))
    return tables


def winners_tables(answer: StudyAnswer) -> list[Table]:
    """Who answers fastest where, and how far ahead of the next one: a row for each workload."""
    tables = []
    for contest in answer.study.contests:
        if contest.of != "buffer":
            continue
        result = answer.result("buffer", "response")
        rows = []
        for workload in dict.fromkeys(bout.workload for bout in result.bouts):
            cells = {bout.at: _winner(bout) for bout in result.bouts if bout.workload == workload}
            rows.append((workload, *(cells.get(value, _NONE) for value in result.values)))
        title = "Who answers fastest, and how far ahead of the next one (?: not told from it)"
        tables.append(Table(title, ("workload", *result.values), tuple(rows)))
    return tables


def _winner(bout: Bout) -> str:
    if bout.best is None:
        return _NONE
    told = "" if bout.is_decided else "?"
    return f"{bout.best.name(bout.contest)} {100 * (bout.lead or 0.0):.1f} %{told}"


def pairs_table(answer: StudyAnswer) -> Table | None:
    """The best pair of buffer and FTL for each workload."""
    if not any(contest.of == "ftl" for contest in answer.study.contests):
        return None
    rows = []
    response = answer.result("buffer", "response")
    for workload in dict.fromkeys(bout.workload for bout in response.bouts):
        held = [bout for bout in response.bouts if bout.workload == workload and bout.best is not None]
        ranked = sorted(held, key=lambda bout: bout.best.value if bout.best else 0.0)
        if ranked and ranked[0].best is not None:
            best = ranked[0].best
            rows.append(
                (
                    workload,
                    best.trial.design.buffer,
                    best.trial.design.ftl,
                    f"{best.value / 1e6:.3g} ms",
                    _ratio(best.to_baseline),
                )
            )
    head = ("workload", "buffer", "FTL", "mean response time", "relative to lru on that FTL")
    return Table("The fastest pair of buffer and FTL", head, tuple(rows), names=3)


def _by_measure(contest: Contest, results: Mapping[str, Result]) -> Table:
    found = {name: {one.name: one for one in result.standings} for name, result in results.items()}
    rows = []
    for one in found["response"].values():
        counts = [_NONE, _NONE] if one.offline else [str(one.best), str(one.as_good)]
        rows.append(
            (
                _name(one),
                str(one.contests),
                *counts,
                *(_standing(found[name].get(one.name)) for name in results),
                _NONE if one.worst is None else f"{percent(one.worst[2])} ({one.worst[0]}, {one.worst[1]})",
            )
        )
    measures = (f"{one.measure.title} to {contest.baseline}" for one in results.values())
    word = WORDS[contest.of]
    head = (word, "contests", "best", "as good", *measures, "worst response time")
    return Table(f"Every {word}, over all workloads", head, tuple(rows))


def _firsts(results: Sequence[Result]) -> Table:
    """Who is ahead over all workloads at each FTL."""
    contest = results[0].contest
    rows = []
    for value in results[0].values:
        firsts = [first_of(result.at(value)) for result in results]
        rows.append((value, *("-" if one is None else f"{one.name} {_standing(one)}" for one in firsts)))
    measures = (f"{result.measure.title} to {contest.baseline}" for result in results)
    word = WORDS[contest.at]
    title = f"The {WORDS[contest.of]} that is ahead over all workloads, at each {word}"
    return Table(title, (word, *measures), tuple(rows))


def _by_load(result: Result) -> Table:
    loads = {load: {one.name: one for one in result.at(load)} for load in result.values}
    rows = [
        (
            _name(one),
            _NONE if one.offline else f"{one.best} of {one.contests}",
            *(_standing(some.get(one.name)) for some in loads.values()),
        )
        for one in result.standings
    ]
    word = WORDS[result.contest.of]
    title = f"{result.measure.title.capitalize()} relative to {result.contest.baseline}, at each load"
    return Table(title, (word, "best", *loads), tuple(rows))


def _most_hits(contest: Contest, hits: Hits) -> Table:
    """Who has the most hits under each workload, and how near to `opt` that is."""
    rows = []
    for bout in hits.bouts:
        if bout.best is None:
            continue
        opt = next((one.value for one in bout.offline), None)
        base = next((one for one in bout.places if one.name(bout.contest) == bout.contest.baseline), None)
        rows.append(
            (
                bout.workload,
                bout.best.name(bout.contest),
                bout.second.name(bout.contest),
                _ahead(bout.second.to_best),
                _as_good(bout),
                f"{100 * bout.best.value:.2f} %",
                _NONE if opt is None else f"{100 * opt:.2f} %",
                share_text(bout.best.to_opt),
                _NONE if base is None else share_text(base.to_opt),
            )
        )
    head = (
        "workload",
        "most hits",
        "next",
        "relative to the most",
        "as good as the most",
        "hit ratio",
        "that of opt",
        "share of opt's hits",
        f"{contest.baseline}'s share",
    )
    title = f"Most hits under each workload, mean over the {WORDS[contest.at]}s that all buffers have"
    title += f": {hits.at}" if hits.at else ""
    return Table(title, head, tuple(rows), names=3)


def _shares(contest: Contest, hits: Hits) -> Table:
    base = contest.baseline
    rows = tuple(
        (
            one.name,
            str(one.workloads),
            str(one.best),
            str(one.as_good),
            share_text(one.share),
            _points(one.ahead),
            f"{100 * one.worst[1]:.1f} % ({one.worst[0]})",
        )
        for one in hits.shares
    )
    head = (
        "buffer",
        "workloads",
        "most",
        "as good",
        "share of opt's hits",
        f"more than {base}",
        "smallest share",
    )
    title = "How near every buffer comes to the hits of opt, mean over workloads"
    return Table(f"{title}: {hits.at}" if hits.at else title, head, rows)


def _points(ahead: Estimate | None) -> str:
    """A difference of shares, in points of a hundred."""
    if ahead is None:
        return _NONE
    return f"{100 * ahead.mean:+.1f}{within(ahead)}"


def _as_good(bout: Bout) -> str:
    """Those that are as good as the best, the first few by name."""
    good = [one.name(bout.contest) for one in bout.places if one.as_good][1:]
    return ", ".join(good[:_NAMED]) + (f" and {len(good) - _NAMED} more" if len(good) > _NAMED else "")


def _name(one: Standing) -> str:
    return one.name + (" (knows the future)" if one.offline else "")


def _standing(one: Standing | None) -> str:
    return _NONE if one is None or one.ratio is None else with_interval(one)


def _bout_row(bout: Bout) -> tuple[str, ...]:
    contest = bout.contest
    if bout.best is None:
        return (bout.workload, bout.at, _NONE, _NONE, _NONE, f"{len(bout.places)} compete", _NONE, _NONE)
    opt = next((one.to_best for one in bout.offline), None)
    return (
        bout.workload,
        bout.at,
        bout.best.name(contest),
        bout.second.name(contest),
        _ahead(bout.second.to_best),
        _as_good(bout),
        _NONE if opt is None or opt.mean <= 0 else percent(1 / opt.mean),
        _NONE if bout.bound is None else percent(bout.bound),
    )


def _ahead(estimate: Estimate | None) -> str:
    """By how much the next one is behind the best."""
    if estimate is None:
        return _NONE
    return f"{percent(estimate.mean)}{within(estimate)}"


def _ratio(estimate: Estimate | None) -> str:
    return _NONE if estimate is None else _ahead(estimate)
