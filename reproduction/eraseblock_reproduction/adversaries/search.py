"""Searches, for all schemes together, the workloads on which they are furthest behind the ordinary ones.

The first workloads are drawn at random. Then each scheme in its turn gets one of its own, by mean response:
from Optuna's sampler, or by changing one or two figures of its worst so far. Every scheme runs on all of
them, as what is bad for one is mostly bad for those of its kind. The same seed finds the same, whatever
runs at once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any

from eraseblock import ConfigError
from eraseblock_reproduction.adversaries.bench import MEASURES, ORDINARY, Asked, Bench
from eraseblock_reproduction.adversaries.space import GRID, Point, Workload, drawn, possible, workload_of

# What workloads are asked for by.
AIM = MEASURES[0]
# So many workloads are asked for before any of them is run: what is found is stored so often.
BATCH = 10
# Of a scheme's worst so far so many are changed.
_LEADERS = 4
# So often a workload is asked for that has not been tried.
_IN_VAIN = 50
# What stands for a ratio where there is none.
_NONE = -5.0


@dataclass(frozen=True)
class Effort:
    """How many workloads are tried: drawn at random, and then for each scheme in turn."""

    drawn: int = 40
    rounds: int = 2


@dataclass(frozen=True)
class Tried:
    """A workload, and what each scheme came to by each measure; those without figures are left out."""

    point: Point
    costs: Mapping[str, Sequence[float]]

    @property
    def workload(self) -> Workload:
        """The workload."""
        return workload_of(self.point)

    def ratio(self, scheme: str, measure: str) -> float | None:
        """How many times the cost of the best ordinary scheme, itself apart, it has."""
        at = MEASURES.index(measure)
        others = [self.costs[name][at] for name in ORDINARY if name != scheme and name in self.costs]
        if scheme not in self.costs or not others or not min(others):
            return None
        return self.costs[scheme][at] / min(others)


@dataclass(frozen=True)
class Search:
    """One search on one FTL."""

    bench: Bench
    ftl: str
    schemes: Sequence[str]
    effort: Effort
    seed: int

    @property
    def trials(self) -> int:
        """Workloads in all."""
        return self.effort.drawn + self.effort.rounds * len(self.schemes)

    def go_on(self, found: list[Tried]) -> Iterator[list[Tried]]:
        """What is found beyond what was found already, which ends where a batch does."""
        while len(found) < self.trials:
            points = list[Point]()
            known = {one.workload for one in found}
            for number in range(len(found), min(len(found) + BATCH, self.trials)):
                point = self._next(number, found, known)
                known.add(workload_of(point))
                points.append(point)
            new = self._tried(points)
            found.extend(new)
            yield new

    def _next(self, number: int, found: Sequence[Tried], known: set[Workload]) -> Point:
        name = f"{self.seed} {self.ftl} {number}"
        random = Random(name)
        point = None
        beyond = number - self.effort.drawn
        if beyond >= 0:
            turn, at = divmod(beyond, len(self.schemes))
            if (turn + at) % 2:
                point = _changed(worst(found, self.schemes[at], AIM, _LEADERS), known, random)
            else:
                point = _asked(found, self.schemes[at], known, name)
        while point is None:
            point = drawn(random)
            workload = workload_of(point)
            if not possible(workload) or workload in known:
                point = None
        return point

    def _tried(self, points: Sequence[Point]) -> list[Tried]:
        asked = [Asked(self.ftl, workload_of(point)) for point in points]
        self.bench.runs(asked, self.schemes)
        tried = []
        for point, one in zip(points, asked, strict=True):
            runs = {name: self.bench.run(one, name) for name in self.schemes}
            costs = {
                name: [float(f"{run.cost(measure):.6g}") for measure in MEASURES]
                for name, run in runs.items()
                if run.counts
            }
            tried.append(Tried(point, costs))
        return tried


def worst(found: Sequence[Tried], scheme: str, measure: str, many: int) -> list[Tried]:
    """Those with the largest ratios, the first of equals."""
    able = [one for one in found if one.ratio(scheme, measure) is not None]
    return sorted(able, key=lambda one: -_value(one, scheme, measure))[:many]


def _value(one: Tried, scheme: str, measure: str) -> float:
    ratio = one.ratio(scheme, measure)
    return math.log(ratio) if ratio else _NONE


def _asked(found: Sequence[Tried], scheme: str, known: set[Workload], seed: str) -> Point | None:
    """A workload that Optuna asks for, and that was not tried."""
    optuna = _optuna()
    space = _distributions(optuna)
    number = int.from_bytes(sha256(seed.encode()).digest()[:4])
    with warnings.catch_warnings():
        # To take several figures together is called experimental.
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=number, n_startup_trials=1, multivariate=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for one in found:
        params = {name: _told(name, one.point[name]) for name in GRID}
        value = _value(one, scheme, AIM)
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=value))
    for _ in range(_IN_VAIN):
        asked = study.ask(space)
        point = {name: _meant(name, value) for name, value in asked.params.items()}
        workload = workload_of(point)
        if possible(workload) and workload not in known:
            return point
        study.tell(asked, _NONE)
    return None


def _changed(leaders: Sequence[Tried], known: set[Workload], random: Random) -> Point | None:
    """One of the worst so far with one or two figures changed."""
    for _ in range(_IN_VAIN if leaders else 0):
        leader = random.choice(leaders)
        point = dict(leader.point)
        # Of figures that have no use nothing would change.
        for name in random.sample(sorted(leader.workload.point), random.choice((1, 2))):
            point[name] = random.choice([value for value in GRID[name] if value != point[name]])
        workload = workload_of(point)
        if possible(workload) and workload not in known:
            return point
    return None


def _distributions(optuna: Any) -> dict[str, Any]:
    """Numbers by their place in order of size, so that neighbours are near."""
    dist = optuna.distributions
    return {
        name: dist.IntDistribution(0, len(values) - 1)
        if _is_number(name)
        else dist.CategoricalDistribution(list(values))
        for name, values in GRID.items()
    }


def _is_number(name: str) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in GRID[name])


def _told(name: str, value: Any) -> Any:
    return sorted(GRID[name]).index(value) if _is_number(name) else value


def _meant(name: str, value: Any) -> Any:
    return sorted(GRID[name])[value] if _is_number(name) else value


def _optuna() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import optuna
    except ImportError as error:
        raise ConfigError("adversaries need Optuna: pip install 'eraseblock[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
