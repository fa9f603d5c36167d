"""Runs the studies, and puts together what came out: contests, standings, and what had no figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eraseblock.reproduction.beyond.contests import Bout, Place, bouts, ends
from eraseblock.reproduction.beyond.hits import Hits, Share, hits_of
from eraseblock.reproduction.beyond.study import Contest, Study
from eraseblock.reproduction.beyond.summary import Standing, standings
from eraseblock.reproduction.beyond.trials import MEASURES, Measure, Trial, essence, trials_of
from eraseblock.reproduction.intervals import Estimate
from eraseblock.reproduction.running import run_or_find


@dataclass(frozen=True)
class Result:
    """All contests of one kind by one measure."""

    contest: Contest
    measure: Measure
    bouts: tuple[Bout, ...]
    # Relative to the baseline; none of hits.
    standings: tuple[Standing, ...] = ()
    # Of hits alone: over all FTLs, or all loads of a kind.
    hits: tuple[Hits, ...] = ()

    def at(self, value: str) -> list[Standing]:
        """The standings at one of the values that contests are at, such as one load."""
        return standings([bout for bout in self.bouts if bout.at == value])

    @property
    def values(self) -> list[str]:
        """What contests are at: the FTLs, the loads."""
        return list(dict.fromkeys(bout.at for bout in self.bouts))


@dataclass(frozen=True)
class StudyAnswer:
    """What came out of a study."""

    study: Study
    trials: tuple[Trial, ...]
    results: tuple[Result, ...]
    seconds: float

    @property
    def errors(self) -> list[str]:
        """Why runs failed, each reason once."""
        return list(dict.fromkeys(one.error for one in self.trials if one.error and not one.refused))

    @property
    def refusals(self) -> list[tuple[str, list[Trial]]]:
        """What the engine does not build, by the reason."""
        return _by_reason((one.error, one) for one in self.trials if one.refused)

    @property
    def distrusted(self) -> list[Trial]:
        """What is shown and decides nothing."""
        return [one for one in self.trials if one.distrust]

    def result(self, of: str, measure: str) -> Result:
        """The contests of one kind by one measure."""
        return next(one for one in self.results if (one.contest.of, one.measure.name) == (of, measure))

    def ranked(self, contest: Contest) -> list[Result]:
        """The contests of one kind by the measures that have standings: all but hits."""
        return [one for one in self.results if one.contest is contest and not one.measure.more]

    def hits(self, contest: Contest) -> Result | None:
        """The contests of one kind by hits; None between FTLs."""
        return next((one for one in self.results if one.contest is contest and one.measure.more), None)

    def as_json(self) -> dict[str, Any]:
        """Everything about it."""
        from eraseblock.reproduction.beyond.sentences import sentences

        return {
            "study": self.study.name,
            "title": self.study.title,
            "asks": self.study.asks,
            "note": self.study.note,
            "runs": len(self.trials),
            "sentences": sentences(self),
            "refused": {reason: [vars(one.design) for one in some] for reason, some in self.refusals},
            "failed": self.errors,
            "untrusted": [{**vars(one.design), "reason": one.distrust} for one in self.distrusted],
            "contests": [_result_json(one) for one in self.results],
        }


def run_studies(
    studies: Sequence[Study], *, jobs: int | None = None, folder: Path | None = None, fresh: bool = False
) -> list[StudyAnswer]:
    """Run all of them; what the folder holds already is not run again."""
    experiments = [study.experiments() for study in studies]
    everything = [one for some in experiments for one in some]
    outcomes = run_or_find(everything, jobs, folder, fresh=fresh, trim=essence)
    found, start = [], 0
    for study, some in zip(studies, experiments, strict=True):
        own = outcomes[start : start + len(some)]
        start += len(some)
        engines = [outcome.record.get("engine") or {} for outcome in own if outcome.record]
        seconds = sum((one.get(part) or 0.0) for one in engines for part in ("wall_s", "fill_s"))
        found.append(answer(study, trials_of(own), seconds))
    return found


def answer(study: Study, trials: Sequence[Trial], seconds: float = 0.0) -> StudyAnswer:
    """Hold all contests of a study."""
    results = []
    for contest in study.contests:
        for measure in MEASURES:
            if contest.of not in measure.of:
                continue
            held = tuple(bouts(trials, contest, measure))
            if measure.more:
                results.append(Result(contest, measure, held, hits=tuple(hits_of(held))))
            else:
                results.append(Result(contest, measure, held, tuple(standings(held))))
    return StudyAnswer(study, tuple(trials), tuple(results), seconds)


def _by_reason(found: Iterable[tuple[str, Trial]]) -> list[tuple[str, list[Trial]]]:
    reasons: dict[str, list[Trial]] = {}
    for reason, trial in found:
        reasons.setdefault(reason, []).append(trial)
    return sorted(reasons.items(), key=lambda pair: -len(pair[1]))


def _result_json(result: Result) -> dict[str, Any]:
    contest = result.contest
    return {
        "of": contest.of,
        "at": contest.at,
        "baseline": contest.baseline,
        "measure": result.measure.name,
        "won": dict(Counter(one.best.name(contest) for one in result.bouts if one.best is not None)),
        "standings": [_standing_json(one) for one in result.standings],
        "bouts": [_bout_json(one, full=result.measure.name == "response") for one in result.bouts],
        **(
            {
                "by_workload": [_bout_json(one, full=True) for hits in result.hits for one in hits.bouts],
                "shares": [
                    {contest.at: hits.at, **_share_json(one)} for hits in result.hits for one in hits.shares
                ],
            }
            if result.measure.more
            else {}
        ),
    }


def _share_json(share: Share) -> dict[str, Any]:
    """How near a buffer comes to the hits of `opt`."""
    table = {key: value for key, value in vars(share).items() if key not in ("share", "ahead", "worst")}
    table |= _estimate_json("of_opt", share.share) | _estimate_json("more_than_baseline", share.ahead)
    table["worst"] = dict(zip(("workload", "of_opt"), share.worst, strict=True))
    return table


def _standing_json(standing: Standing) -> dict[str, Any]:
    table = {key: value for key, value in vars(standing).items() if key not in ("ratio", "worst")}
    if standing.ratio is not None:
        table |= {"ratio": standing.ratio.mean, "interval": ends(standing.ratio)}
        table["workloads"] = standing.ratio.seeds
    if standing.worst is not None:
        table["worst"] = dict(zip(("workload", "at", "ratio"), standing.worst, strict=True))
    return table


def _bout_json(bout: Bout, *, full: bool) -> dict[str, Any]:
    table: dict[str, Any] = {"workload": bout.workload, bout.contest.at: bout.at}
    if bout.best is not None:
        table |= {"best": bout.best.name(bout.contest), "second": bout.second.name(bout.contest)}
        table |= {"decided": bout.is_decided, "bound": bout.bound}
        table["as_good"] = [one.name(bout.contest) for one in bout.places if one.as_good]
    if full:
        table["figures"] = [_place_json(one, bout.contest) for one in (*bout.places, *bout.offline)]
    return table


def _place_json(place: Place, contest: Contest) -> dict[str, Any]:
    return {
        "name": place.name(contest),
        "value": _rounded(place.value),
        **_estimate_json("to_best", place.to_best),
        **_estimate_json("to_baseline", place.to_baseline),
        **_estimate_json("of_opt", place.to_opt),
    }


def _estimate_json(name: str, estimate: Estimate | None) -> dict[str, Any]:
    if estimate is None:
        return {}
    half = None if estimate.half is None else _rounded(estimate.half)
    return {name: _rounded(estimate.mean), f"{name}_half": half}


def _rounded(figure: float) -> float:
    """Six digits: there are tens of thousands of them."""
    return float(f"{figure:.6g}")
