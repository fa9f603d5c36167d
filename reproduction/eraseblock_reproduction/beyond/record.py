"""What came out of a study, as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from eraseblock_reproduction.beyond.answers import Result, StudyAnswer
from eraseblock_reproduction.beyond.contests import Bout, Place, ends
from eraseblock_reproduction.beyond.headline import headline
from eraseblock_reproduction.beyond.hits import Share
from eraseblock_reproduction.beyond.many import OPEN
from eraseblock_reproduction.beyond.sentences import sentences
from eraseblock_reproduction.beyond.study import Contest
from eraseblock_reproduction.beyond.summary import Standing
from eraseblock_reproduction.intervals import Estimate


def study_json(answer: StudyAnswer) -> dict[str, Any]:
    """Everything about a study."""
    return {
        "study": answer.study.name,
        "title": answer.study.title,
        "asks": answer.study.asks,
        "note": answer.study.note,
        "runs": len(answer.trials),
        "engine": answer.engine,
        "headline": headline(answer),
        "sentences": sentences(answer),
        "refused": {reason: [vars(one.design) for one in some] for reason, some in answer.refusals},
        "failed": answer.errors,
        "untrusted": [{**vars(one.design), "reason": one.distrust} for one in answer.distrusted],
        "contests": [_result_json(one) for one in answer.results],
    }


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
        table["open"] = [one.name(bout.contest) for one in bout.places if one.stands == OPEN]
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
