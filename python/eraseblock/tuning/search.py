"""Asks Optuna which designs to run next, a few at a time, and tells it what came of them.

The same seed asks for the same designs, however many processors run them; so a search that was stopped goes
on where its runs are stored, and a longer one begins with the runs of a shorter one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eraseblock import _core
from eraseblock.tuning.goals import Design
from eraseblock.tuning.space import Point, Space

# Runs designs, in their order.
Evaluate = Callable[[Sequence[Point]], Sequence[Design]]

# Designs that are asked for together: enough for several processors, few enough to learn from.
BATCH = 4
# So many are drawn at random before there is anything to learn from.
_STARTUP = 16
# The search has seen the space where it is asked so often in vain for a design that it has not tried.
_IN_VAIN = 200


def search(space: Space, goals: int, runs: int, seed: int, evaluate: Evaluate) -> list[Design]:
    """Run so many designs of the space, or all if there are no more; each once."""
    optuna = _optuna()
    sampler = optuna.samplers.TPESampler(
        seed=seed,
        n_startup_trials=_STARTUP,
        multivariate=True,
        constant_liar=True,
        constraints_func=lambda trial: trial.user_attrs.get("excess", (0.0,)),
    )
    study = optuna.create_study(directions=["minimize"] * goals, sampler=sampler)
    known: dict[tuple[str, ...], Design] = {}
    while len(known) < min(runs, space.designs):
        asked = _ask(study, space, known, min(BATCH, runs - len(known)))
        if not asked:
            asked = _untried(study, space, known, min(BATCH, runs - len(known)))
        points = [point for _, point in asked]
        for (trial, point), design in zip(asked, evaluate(points), strict=True):
            known[tuple(point.values())] = design
            _tell(optuna, study, trial, design)
    return list(known.values())


def _ask(
    study: Any, space: Space, known: Mapping[tuple[str, ...], Design], count: int
) -> list[tuple[Any, Point]]:
    """Designs that have not been run; fewer where the sampler comes back to those that have."""
    found: dict[tuple[str, ...], tuple[Any, Point]] = {}
    vain = 0
    while len(found) < count and vain < _IN_VAIN:
        trial = study.ask()
        point = {key: trial.suggest_categorical(key, list(values)) for key, values in space.choices.items()}
        name = tuple(point.values())
        if name in found or name in known:
            vain += 1
            if name in known:
                _tell(_optuna(), study, trial, known[name])
            continue
        found[name] = (trial, point)
    return list(found.values())


def _untried(
    study: Any, space: Space, known: Mapping[tuple[str, ...], Design], count: int
) -> list[tuple[Any, Point]]:
    """The first designs in the order of the space that have not been run."""
    from itertools import islice, product

    rest = (values for values in product(*space.choices.values()) if values not in known)
    found = list[tuple[Any, Point]]()
    for values in islice(rest, count):
        point = dict(zip(space.choices, values, strict=True))
        study.enqueue_trial(point)
        trial = study.ask()
        for key, choices in space.choices.items():
            trial.suggest_categorical(key, list(choices))
        found.append((trial, point))
    return found


def _tell(optuna: Any, study: Any, trial: Any, design: Design) -> None:
    if design.refused is not None:
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return
    trial.set_user_attr("excess", tuple(design.excess) or (0.0,))
    study.tell(trial, list(design.values))


def _optuna() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import optuna
    except ImportError as error:
        raise _core.ConfigError("tune needs Optuna: pip install 'eraseblock[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
