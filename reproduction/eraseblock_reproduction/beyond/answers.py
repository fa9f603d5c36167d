"""Runs the studies, and puts together what came out: contests, standings, and what had no figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from eraseblock.toolkit import Caller, Handling, Quiet, engine
from eraseblock_reproduction.beyond import stored
from eraseblock_reproduction.beyond.contests import Bout, bouts
from eraseblock_reproduction.beyond.hits import Hits, hits_of
from eraseblock_reproduction.beyond.study import Contest, Study
from eraseblock_reproduction.beyond.summary import Standing, standings
from eraseblock_reproduction.beyond.trials import MEASURES, Measure, Trial, essence, trials_of
from eraseblock_reproduction.running import run_or_find


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
    # That made the runs; not always that of today, as outcomes are stored.
    engine: str = ""

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


def run_studies(
    studies: Sequence[Study], handling: Handling | None = None, caller: Caller | None = None
) -> list[StudyAnswer]:
    """Run all of them; what the folder holds already is not run again."""
    experiments = [study.experiments() for study in studies]
    everything = [one for some in experiments for one in some]
    outcomes = run_or_find(everything, replace(handling or Handling(), trim=essence), caller or Quiet())
    found, start = [], 0
    for study, some in zip(studies, experiments, strict=True):
        own = outcomes[start : start + len(some)]
        start += len(some)
        engines = [outcome.record.get("engine") or {} for outcome in own if outcome.record]
        seconds = sum((one.get(part) or 0.0) for one in engines for part in ("wall_s", "fill_s"))
        found.append(answer(study, trials_of(own), seconds, engine()))
    return found


def stored_studies(studies: Sequence[Study]) -> list[StudyAnswer]:
    """Those that have a stored outcome, from that: nothing is run."""
    kept = [(study, stored.stored(study)) for study in studies]
    return [answer(study, one.trials, made_with=one.engine) for study, one in kept if one is not None]


def answer(study: Study, trials: Sequence[Trial], seconds: float = 0.0, made_with: str = "") -> StudyAnswer:
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
    return StudyAnswer(study, tuple(trials), tuple(results), seconds, made_with)


def _by_reason(found: Iterable[tuple[str, Trial]]) -> list[tuple[str, list[Trial]]]:
    reasons: dict[str, list[Trial]] = {}
    for reason, trial in found:
        reasons.setdefault(reason, []).append(trial)
    return sorted(reasons.items(), key=lambda pair: -len(pair[1]))
