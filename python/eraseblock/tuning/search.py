"""Asks Optuna which designs to run next, a few at a time, and tells it what came of them.

The same seed asks for the same designs, however many processors run them; so a search that was stopped goes
on where its runs are stored, and a longer one begins with the runs of a shorter one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, product, zip_longest
from random import Random
from typing import Any

from eraseblock import _core
from eraseblock.tuning.goals import Design, front
from eraseblock.tuning.space import Point, Space

# Runs designs, in their order.
Evaluate = Callable[[Sequence[Point]], Sequence[Design]]

# Designs that are asked for together: enough for several processors, few enough to learn from.
BATCH = 4
# So many are run before there is anything to learn from.
_STARTUP = 16
# After that so many of each batch differ from the best so far in one choice.
_NEAR = 2
# The best with so many different names are looked around.
_LEADERS = 4
# The search has seen the space where it is asked so often in vain for a design that it has not tried.
_IN_VAIN = 200
# What stands for the figures of a design that has none; less than nothing for one without an end.
_REFUSED = 1e30


def search(space: Space, goals: int, runs: int, seed: int, evaluate: Evaluate) -> list[Design]:
    """Run so many designs of the space, or all if there are no more; each once."""
    optuna = _optuna()
    sampler = optuna.samplers.TPESampler(
        seed=seed,
        n_startup_trials=_STARTUP,
        multivariate=True,
        constant_liar=True,
    )
    study = optuna.create_study(directions=["minimize"] * goals, sampler=sampler)
    known: dict[tuple[str, ...], Design] = {}
    for values in _spread(space, seed):
        study.enqueue_trial(dict(zip(space.choices, values, strict=True)), skip_if_exists=True)
    while len(known) < min(runs, space.designs):
        count = min(BATCH, runs - len(known))
        asked = _neighbours(study, space, known, min(count, _NEAR)) if len(known) >= _STARTUP else []
        asked += _ask(study, space, known, asked, count - len(asked))
        if not asked:
            asked = _untried(study, space, known, count)
        points = [point for _, point in asked]
        for (trial, point), design in zip(asked, evaluate(points), strict=True):
            known[tuple(point.values())] = design
            _tell(study, trial, design)
    return list(known.values())


def _ask(
    study: Any,
    space: Space,
    known: Mapping[tuple[str, ...], Design],
    asked: list[tuple[Any, Point]],
    count: int,
) -> list[tuple[Any, Point]]:
    """Designs that were neither run nor asked for; fewer where the sampler comes back to those that were."""
    others = {tuple(point.values()) for _, point in asked}
    found: dict[tuple[str, ...], tuple[Any, Point]] = {}
    vain = 0
    while len(found) < count and vain < _IN_VAIN:
        trial = study.ask()
        point = {key: trial.suggest_categorical(key, list(values)) for key, values in space.choices.items()}
        name = tuple(point.values())
        if name in found or name in known or name in others:
            vain += 1
            if (design := known.get(name)) is not None:
                _tell(study, trial, design)
            continue
        found[name] = (trial, point)
    return list(found.values())


def _spread(space: Space, seed: int) -> list[tuple[str, ...]]:
    """Designs to begin with, in which each value of each choice stands equally often."""
    random = Random(seed)
    columns = []
    for values in space.choices.values():
        column = list[str]()
        while len(column) < _STARTUP:
            column += random.sample(list(values), len(values))
        columns.append(column[:_STARTUP])
    return list(dict.fromkeys(zip(*columns, strict=True)))


def _neighbours(
    study: Any, space: Space, known: Mapping[tuple[str, ...], Design], count: int
) -> list[tuple[Any, Point]]:
    """Designs that differ in one choice from the best of those that differ in names, in turn.

    The next value of a number comes first; a scheme may be best with another size than the best so far.
    """
    names = list(space.choices.values())
    leaders = _leaders(space, list(known.values()))
    lists = [_changes(names, tuple(leader.point.values())) for leader in leaders]
    found = dict.fromkeys(
        near for some in zip_longest(*lists) for near in some if near is not None and near not in known
    )
    return _enqueued(study, space, list(found)[:count])


def _leaders(space: Space, designs: Sequence[Design]) -> list[Design]:
    """Of those that no other betters the best, then the best with other names."""
    words = [key for key, values in space.choices.items() if not all(value[:1].isdigit() for value in values)]
    best = front(designs)
    ordered = [*best, *sorted((one for one in designs if one.fits), key=lambda one: one.values)]
    leaders: dict[tuple[str, ...], Design] = {}
    for one in ordered:
        leaders.setdefault(tuple(one.point[key] for key in words), one)
    return list(leaders.values())[:_LEADERS]


def _changes(names: Sequence[Sequence[str]], at: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A design with one choice changed, by how far the new value is from the old one."""
    changes = [
        (abs(values.index(at[key]) - step), key, (*at[:key], value, *at[key + 1 :]))
        for key, values in enumerate(names)
        for step, value in enumerate(values)
        if value != at[key]
    ]
    return [near for _, _, near in sorted(changes, key=lambda one: one[:2])]


def _untried(
    study: Any, space: Space, known: Mapping[tuple[str, ...], Design], count: int
) -> list[tuple[Any, Point]]:
    """The first designs in the order of the space that have not been run."""
    rest = (values for values in product(*space.choices.values()) if values not in known)
    return _enqueued(study, space, list(islice(rest, count)))


def _enqueued(study: Any, space: Space, designs: Sequence[tuple[str, ...]]) -> list[tuple[Any, Point]]:
    """Trials of these designs."""
    found = list[tuple[Any, Point]]()
    for values in designs:
        point = dict(zip(space.choices, values, strict=True))
        study.enqueue_trial(point)
        trial = study.ask()
        for key, choices in space.choices.items():
            trial.suggest_categorical(key, list(choices))
        found.append((trial, point))
    return found


def _tell(study: Any, trial: Any, design: Design) -> None:
    """What exceeds the budget comes behind all that does not, and what cannot be built behind that."""
    excess = design.excess if design.refused is None else (_REFUSED,)
    trial.set_constraint("budget", max(excess, default=0.0))
    values = design.values if design.refused is None else [_REFUSED] * len(study.directions)
    study.tell(trial, [max(value, -_REFUSED) for value in values])


def _optuna() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import optuna
    except ImportError as error:
        raise _core.ConfigError("tune needs Optuna: pip install 'eraseblock[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
