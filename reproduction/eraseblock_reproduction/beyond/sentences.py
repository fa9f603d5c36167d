"""Says in sentences what came out of a study; every number and every name in them comes from the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from eraseblock_reproduction.beyond.answers import Result, StudyAnswer
from eraseblock_reproduction.beyond.contests import MARGIN, Bout, ends
from eraseblock_reproduction.beyond.hits import Share, moved
from eraseblock_reproduction.beyond.summary import Standing, over_workloads, spreads, standings, typical
from eraseblock_reproduction.beyond.trials import PARTS
from eraseblock_reproduction.intervals import Estimate

# Differences below this matter to nobody, even where they are certain.
MATTERS = 0.05
_ENOUGH = f"{100 * MATTERS:.0f} % or more (and its interval is on that side)"
_NAMED = 5
_FIRST = 3
WORDS = {"buffer": "buffer", "ftl": "FTL", "load": "load", "workload": "workload"}

METHOD = (
    f"Each run is cut into {PARTS} consecutive parts of equally many "
    "requests, the same for all schemes, and the differences between two schemes, part by part, give "
    "Student's 95 % interval of their mean. It says how much the difference varies along this "
    "workload. It says nothing about other programs; the parts follow each other on one drive and are "
    "not independent. Who is told from the best, and who is as good, goes by intervals that are right "
    "for all pairs of a contest together (max-T), as nobody knew beforehand who would be best; as good is "
    f"whose whole interval is within {100 * MARGIN:.0f} % of it. Other intervals are of one comparison "
    "each. Geometric means over workloads have an interval over the workloads: each counts once, however "
    "many contests it has. "
    "That one is about other workloads of these kinds. Where cleverness pays is told by families of "
    "workloads. Where a constant number of requests is always "
    "under way, the mean response time is that number times the time of the run, divided by the "
    "requests (Little's law): what the host waits for room in the buffer counts. Hits are given as a "
    "share of those of `opt`, which knows the future; what a part has more or less than that share makes "
    "its interval. Over workloads, it is the plain mean of the shares."
)


def sentences(answer: StudyAnswer) -> list[str]:
    """What came out, the most important first."""
    found: list[str] = []
    for contest in answer.study.contests:
        if contest.at == "load":
            found += _of_loads(answer, answer.result(contest.of, "response"))
        else:
            results = answer.ranked(contest)
            found += _of_response(answer, results[0])
            # How all schemes stand by the other measures is in the tables.
            found += [_who_wins(result) for result in results[1:]]
        if (hits := answer.hits(contest)) is not None:
            found += _of_hits(answer, hits)
    found += _of_flash(answer)
    found += _of_runs(answer)
    return [one for one in found if one]


def percent(ratio: float) -> str:
    """A ratio as a change."""
    change = 100 * (ratio - 1)
    if abs(change) < 0.05:
        return "0 %"
    if change >= 900:
        return f"{ratio:,.0f} times"
    return f"{change:+.1f} %" if abs(change) < 10 else f"{change:+,.0f} %"


def with_interval(standing: Standing) -> str:
    """How a scheme stands to the baseline, as a change with its interval."""
    assert standing.ratio is not None
    interval = ends(standing.ratio)
    text = percent(standing.ratio.mean)
    return text if interval is None else f"{text} [{percent(interval[0])}, {percent(interval[1])}]"


def side_of(standing: Standing) -> int:
    """-1 if it is shown to be ahead of the baseline, 1 if behind, 0 if neither."""
    interval = None if standing.ratio is None else ends(standing.ratio)
    if interval is None:
        return 0
    return -1 if interval[1] < 1 else 1 if interval[0] > 1 else 0


def _of_response(answer: StudyAnswer, result: Result) -> Iterator[str]:
    contest = result.contest
    held = [bout for bout in result.bouts if bout.best is not None]
    if not held:
        return
    yield _who_wins(result)
    yield _to_baseline(result.standings, contest.baseline, result.measure.title, answer.study.named)
    if contest.of == "buffer":
        yield _by_kind(answer, result)
        yield _where_it_matters(result)
        yield _to_opt(result, held)
    yield (
        f"What the choice of the {WORDS[contest.of]} comes to: the slowest takes "
        f"{_times(typical(spreads(held)))} as long as the fastest in the median contest."
    )


def _who_wins(result: Result) -> str:
    contest = result.contest
    held = [bout for bout in result.bouts if bout.best is not None]
    if not held:
        return ""
    decided = sum(bout.is_decided for bout in held)
    most = max(held, key=lambda bout: bout.lead or 0.0)
    text = (
        f"{result.measure.best}, by {WORDS[contest.of]}, in {len(held)} contests (one for each "
        f"workload and {WORDS[contest.at]}): {_winners(held)}. The winner is told from the next one in "
        f"{decided}; its lead is {_plain(_lead(held))} in the median"
    )
    if most.best is not None and most.lead:
        text += f" and {_plain(most.lead)} at most (`{most.best.name(contest)}` under {most.workload}"
        text += f" with `{most.at}`)"
    bounds = [(bout.workload, bout.bound) for bout in held if bout.bound and contest.of == "buffer"]
    if bounds and (mean := over_workloads(bounds)) is not None:
        text += f". Relative to the least that any buffer could have: {percent(mean.mean)}"
    return f"{text}."


def _of_loads(answer: StudyAnswer, result: Result) -> Iterator[str]:
    for load in result.values:
        held = [bout for bout in result.bouts if bout.at == load and bout.best is not None]
        if held:
            standings = result.at(load)
            yield f"{load}: {_does_it_matter(standings, held, result.contest.baseline, answer.study.named)}"
            told = _to_baseline(standings, result.contest.baseline, result.measure.title, answer.study.named)
            yield f"{load}: {told} Winners: {_winners(held)}."


def _does_it_matter(
    standings: Sequence[Standing], held: Sequence[Bout], baseline: str, named: Sequence[str]
) -> str:
    """Whether the papers' schemes still gain anything over the baseline."""
    ours = [(one, one.ratio.mean) for one in standings if one.name in named and one.ratio is not None]
    gain = [one for one, ratio in ours if side_of(one) < 0 and ratio <= 1 - MATTERS]
    loss = [one for one, ratio in ours if side_of(one) > 0 and ratio >= 1 + MATTERS]
    won = sum(_gains(bout) for bout in held)
    text = "does the scheme matter? Of the papers' schemes, over all workloads, "
    text += f"{_told(gain) or 'not one'} gains {_ENOUGH} on `{baseline}`; "
    text += f"{_told(loss) or 'not one'} loses as much"
    text += f". Some scheme or other is shown to gain that much under {won} of {len(held)} workloads."
    for one in standings:
        if one.name == "none" and one.ratio is not None:
            text += f" A drive without a buffer: {with_interval(one)}."
    return text


def _gains(bout: Bout) -> bool:
    """Whether the winner is shown to be ahead of the baseline by as much as matters."""
    lead = None if bout.best is None else bout.best.to_baseline
    return lead is not None and lead.high is not None and lead.high < 1 - MATTERS


def _to_baseline(standings: Sequence[Standing], baseline: str, title: str, named: Sequence[str]) -> str:
    """Who is ahead of the baseline, and who behind, over all workloads."""
    rivals = [one for one in standings if one.ratio is not None and one.name != baseline and not one.offline]
    ahead = [one for one in rivals if side_of(one) < 0]
    behind = [one for one in rivals if side_of(one) > 0]
    level = sum(side_of(one) == 0 for one in rivals)
    text = f"{title.capitalize()} relative to `{baseline}`, geometric mean over workloads: "
    text += f"shown to be less with {_told(ahead[:_NAMED])}" if ahead else "not shown to be less with any"
    text += _more(len(ahead) - _NAMED)
    if behind:
        text += f"; more with {_told(behind[-_NAMED:])}{_more(len(behind) - _NAMED)}"
    text += f"; {level} not told apart" if level else ""
    shown = {one.name for one in (*ahead[:_NAMED], *behind[-_NAMED:])}
    rest = [one for one in rivals if one.name in named and one.name not in shown]
    text += f". The papers' others: {_told(rest)}." if rest else "."
    for one in standings:
        if one.offline and one.ratio is not None:
            text += f" `{one.name}`, which knows the future: {with_interval(one)}."
    return text


def _by_kind(answer: StudyAnswer, result: Result) -> str:
    """Whether recordings and stand-ins agree on who is ahead."""
    made = {one.design.workload for one in answer.trials if one.made}
    kinds = {"recordings": {bout.workload for bout in result.bouts} - made, "stand-ins": made}
    if not all(kinds.values()):
        return ""
    told = []
    for kind, workloads in kinds.items():
        found = standings([bout for bout in result.bouts if bout.workload in workloads])
        first = [one for one in found if one.ratio is not None and not one.offline][:_FIRST]
        told.append(f"over the {len(workloads)} {kind} alone {_told(first)}")
    return f"The least {result.measure.title}, relative to `{result.contest.baseline}`: {'; '.join(told)}."


def _where_it_matters(result: Result) -> str:
    """At which FTLs some scheme gains as much as matters over all workloads, and at which not one does."""
    firsts = [(value, first_of(result.at(value))) for value in result.values]
    gains = [
        f"`{value}` (`{one.name}` {with_interval(one)})"
        for value, one in firsts
        if one is not None and one.ratio is not None and side_of(one) < 0 and one.ratio.mean <= 1 - MATTERS
    ]
    others = [f"`{value}`" for value, _ in firsts if not any(one.startswith(f"`{value}`") for one in gains)]
    text = f"The scheme with the least {result.measure.title} over all workloads gains {_ENOUGH} on "
    text += f"`{result.contest.baseline}` with {len(gains)} of {len(firsts)} {WORDS[result.contest.at]}s"
    text += f": {', '.join(gains)}" if gains else ""
    return f"{text}. It does not with {', '.join(others)}." if others else f"{text}."


def first_of(standings: Sequence[Standing]) -> Standing | None:
    """The one that is ahead of all others that a drive could have."""
    return next((one for one in standings if one.ratio is not None and not one.offline), None)


def _to_opt(result: Result, held: Sequence[Bout]) -> str:
    """How far the winners are from what knows the future."""
    told = [
        (bout.workload, 1 / place.to_best.mean)
        for bout in held
        for place in bout.offline
        if place.to_best is not None and place.to_best.mean > 0
    ]
    mean = over_workloads(told)
    if mean is None:
        return ""
    faster = sum(ratio < 1 for _, ratio in told)
    return (
        f"The winner's {result.measure.title}, relative to that of `opt`: {percent(mean.mean)} in the "
        f"geometric mean; less than that of `opt` in {faster} of {len(told)} contests, as `opt` has the most "
        "hits and nothing else."
    )


def _of_hits(answer: StudyAnswer, result: Result) -> Iterator[str]:
    """Who has the most hits where, and how near to those of `opt`."""
    contest = result.contest
    for hits in result.hits:
        held = [bout for bout in hits.bouts if bout.best is not None]
        if not held:
            continue
        told = (
            f"Most hits, by buffer, under {len(held)} workloads (means over the {WORDS[contest.at]}s that "
            f"all buffers have): {_winners(held)}. The winner is told from the next one under "
            f"{sum(bout.is_decided for bout in held)}; its lead is {_plain(_lead(held))} in the median."
        )
        near = _near_opt(hits.shares, contest.baseline, answer.study.named)
        start = f"{hits.at.capitalize()}: " if hits.at else ""
        yield from (f"{start}{one}" for one in (told, near) if one)
    yield _what_moves_hits(result)
    yield _most_and_fastest(result, answer.result(contest.of, "response"))


def _what_moves_hits(result: Result) -> str:
    """Whose hits depend on the FTL or the load: of buffers that go by where pages lie, or by what is idle."""
    found, cases = moved(result.bouts, MATTERS)
    if not cases:
        return ""
    text = "Apart from power-loss protection, the load" if result.contest.at == "load" else "The FTL"
    text += (
        f" changes hits by more than {100 * MATTERS:.0f} % in {sum(found.values())} of {cases} cases (one for"
    )
    text += " each buffer and workload)"
    return text + (f": {', '.join(f'`{name}` {count}' for name, count in found.items())}." if found else ".")


def _most_and_fastest(result: Result, response: Result) -> str:
    """How often the most hits are also the fastest; who is first among equals says nothing."""
    contest = result.contest
    fastest = {(bout.workload, bout.at): bout for bout in response.bouts}
    pairs = [(bout, fastest[bout.workload, bout.at]) for bout in result.bouts]
    both = [pair for pair in pairs if all(bout.best is not None for bout in pair)]
    same = sum(
        not set.isdisjoint(*({one.name(contest) for one in bout.firsts} for bout in pair)) for pair in both
    )
    if not both:
        return ""
    return (
        f"Hits are not all: a buffer with the most hits answers fastest in {same} of {len(both)} contests "
        f"(one for each workload and {WORDS[contest.at]})."
    )


def _near_opt(shares: Sequence[Share], baseline: str, named: Sequence[str]) -> str:
    """Every buffer's hits as a share of those that can be had."""
    if not shares:
        return ""
    most, fewest = shares[:_NAMED], shares[_NAMED:][-_NAMED:]
    ahead = [one for one in shares if one.side > 0]
    shown = {one.name for one in (*most, *fewest)}
    text = (
        "Hits as a share of those of `opt`, more than which nobody can have, mean over workloads: most with "
    )
    text += _told_shares(most)
    text += f"; fewest with {_told_shares(fewest)}" if fewest else ""
    rest = [one for one in shares if one.name in (baseline, *named) and one.name not in shown]
    text += f". Between them: {_told_shares(rest)}." if rest else "."
    text += f" More hits than `{baseline}` are shown with "
    return f"{text}{', '.join(f'`{one.name}`' for one in ahead) or 'not one'}."


def _told_shares(shares: Sequence[Share]) -> str:
    return ", ".join(f"`{one.name}` {share_text(one.share)}" for one in shares)


def share_text(share: Estimate | None) -> str:
    """A share with its interval."""
    if share is None:
        return "-"
    return f"{100 * share.mean:.1f} %{within(share)}"


def within(estimate: Estimate) -> str:
    """Half the interval of a ratio, in hundredths."""
    if estimate.half is None:
        return ""
    half = 100 * estimate.half
    return f" ± {half:.2g}" if half < 99.5 else f" ± {half:,.0f}"


def _of_flash(answer: StudyAnswer) -> Iterator[str]:
    """Whether FTLs that are set against each other had the same means."""
    if not any(contest.of == "ftl" for contest in answer.study.contests):
        return
    found: dict[str, set[tuple[int, int]]] = {}
    for trial in answer.trials:
        if trial.flash is not None:
            found.setdefault(trial.design.workload, set()).add(trial.flash)
    unlike = [workload for workload, some in found.items() if len(some) > 1]
    if unlike:
        yield f"FTLs do not have as much flash, or do not export as much, under {', '.join(unlike)}."
    elif found:
        spare = [flash / exported - 1 for some in found.values() for flash, exported in some]
        yield (
            "Under each workload all FTLs export as much, and have as much flash: "
            f"{_plain(min(spare))} to {_plain(max(spare))} more than they export."
        )


def _of_runs(answer: StudyAnswer) -> Iterator[str]:
    count = len(answer.trials)
    refused = sum(len(some) for _, some in answer.refusals)
    distrusted = len(answer.distrusted)
    yield (
        f"{count} designs: {refused} are not built by the engine, {distrusted} have figures that are not to "
        "be relied on and decide nothing. As good as the best is who is shown to be within "
        f"{100 * MARGIN:.0f} % of it."
    )


def _winners(held: Sequence[Bout]) -> str:
    won = Counter(bout.best.name(bout.contest) for bout in held if bout.best is not None)
    top = won.most_common(_NAMED)
    others = sum(won.values()) - sum(count for _, count in top)
    text = ", ".join(f"`{name}` {count}" for name, count in top)
    return f"{text},{_more(len(won) - len(top))} {others}" if others else text


def _told(standings: Sequence[Standing]) -> str:
    return ", ".join(f"`{one.name}` {with_interval(one)}" for one in standings)


def _more(count: int) -> str:
    return f" and {count} others" if count > 1 else " and another one" if count == 1 else ""


def _lead(held: Sequence[Bout]) -> float | None:
    """The winners' lead over the next one, in the median."""
    return typical([bout.lead for bout in held if bout.lead is not None])


def _plain(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3g} times"
