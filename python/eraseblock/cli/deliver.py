"""Runs experiments for a command and hands out what came of them: table or JSON, files, errors, exit code."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eraseblock import _core
from eraseblock.cli.options import RunOptions
from eraseblock.experiments import Experiment
from eraseblock.results.missing import Missing, as_missing
from eraseblock.results.store import fleet_json, records_json
from eraseblock.running import Finished, finished
from eraseblock.sweeps import Outcome
from eraseblock.terminal.caller import CommandLine
from eraseblock.terminal.console import err, out, say_error

if TYPE_CHECKING:
    from eraseblock.terminal.showing import Showing

_NUMBER = re.compile(r"\d[\d.,]*(?: ?[kKMGT]i?B)?")
# Tells failures from refusals.
Judge = Callable[[Sequence[Outcome]], tuple[list[Outcome], list[Outcome]]]


def deliver(
    experiments: Sequence[Experiment],
    options: RunOptions,
    judge: Judge,
    left_out: Mapping[str, list[str]] | None = None,
) -> int:
    """Run everything under a progress bar, hand out what came of it, and return the exit code.

    What was left out beforehand, and why, is named with what did not run.
    """
    options.showing()  # A misspelt column is told before anything runs.
    if options.explain:
        from eraseblock.explain.sentence import asked

        experiments = asked(experiments)
    if options.bounds:
        from eraseblock.explain.sentence import asked
        from eraseblock.results.nearness import METRIC

        experiments = asked(experiments, METRIC)
    handling = replace(options.handling(), each_volume=True)
    with finished(experiments, handling, CommandLine()) as done:
        for sentence in (done.found, done.left_out):
            if sentence:
                say_error(sentence)
        failures, refusals = judge(done.outcomes)
        failures += done.failed_readings
        # Names cost a look at all configurations, which nobody needs where all went well.
        names = _names([*done.outcomes, *done.failed_readings]) if refusals or failures else {}
        # Where every run fails there is nothing that one was left out of.
        none_ran = failures and not (done.records or done.handed_in or refusals)
        missing = [
            *as_missing({} if none_ran else left_out or {}),
            *_missing(refusals, names, refused=True),
            *_missing(failures, names, refused=False),
        ]
        # Written before anything is printed: whoever reads stdout may go, or its disk may be full.
        report = done.write(missing)
        _print(done, report, options)
        _say_missing(missing, failures, len(done.outcomes))
        if done.handed_in:
            say_error(done.handed_in)
    if any(isinstance(outcome.error, _core.SimulationError) for outcome in failures):
        return 1
    # A shard of few runs may have none.
    return 0 if (done.records or done.handed_in) and not failures else 2


def _print(done: Finished, report: Path | None, options: RunOptions) -> None:
    if not done.records:
        return
    as_json = options.as_json
    if as_json:
        sys.stdout.write(_json(done))
    elif not done.handed_in:
        _print_tables(done, options.showing())
        if options.bounds:
            from eraseblock.results.fleet import volume_of
            from eraseblock.results.nearness import sentences
            from eraseblock.results.view import rows_of

            whole = [one for one in done.records if volume_of(one) is None]
            if len(whole) < len(done.records):
                out().print(
                    "bounds on the erases of each volume: --json, or results.json with -o", markup=False
                )
            for sentence in sentences(rows_of(whole)) if whole else ():
                out().print(sentence, markup=False)
        if options.explain and not done.handed_in:
            from eraseblock.results.view import names_of
            from eraseblock.terminal.explain import print_explanations

            print_explanations(out(), done.records, names_of([one["config"] for one in done.records]))
    if report is not None:
        console = err() if as_json else out()
        # As it is: a name may have brackets, which would be taken for markup.
        console.print(f"report: {report}", soft_wrap=True, markup=False)


def _json(done: Finished) -> str:
    if done.analysis is None:
        if any(outcome.experiment.of_fleet for outcome in done.outcomes):
            from eraseblock.results.fleet import totals_of

            return fleet_json(totals_of(done.records), done.records)
        return records_json(done.records)
    from eraseblock.outputs import analysis_json

    return analysis_json(done.analysis)


def _print_tables(done: Finished, showing: Showing) -> None:
    from eraseblock.results.view import rows_of
    from eraseblock.terminal.sheets import print_sheets

    print_sheets(out(), rows_of(done.records), showing)
    if done.analysis is not None:
        from eraseblock.terminal.sensitivity import print_sensitivity

        print_sensitivity(out(), done.analysis)


def _say_missing(missing: Sequence[Missing], failures: Sequence[Outcome], runs: int) -> None:
    """Name what did not run, and why."""
    for one in missing:
        which = _some(one.runs)
        if one.refused:
            say_error(f"refused {which}: {one.sentence}")
        else:
            all_of_them = _count(one.sentence, failures) == runs
            say_error(one.sentence if all_of_them else f"{one.sentence} ({which})")


def _missing(outcomes: Sequence[Outcome], names: dict[int, str], *, refused: bool) -> list[Missing]:
    """Each sentence once, with the runs that it stopped.

    Of many volumes, sentences that differ in numbers alone are one.
    """
    found: dict[str, dict[str, None]] = {}
    sentences: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        alike, run = str(outcome.error), names[id(outcome)]
        if outcome.experiment.of_fleet:
            alike = _NUMBER.sub("#", alike)
            run = f"volume {outcome.experiment.config['workload']['volumes']}: {run}"
        found.setdefault(alike, {})[run] = None
        sentences.setdefault(alike, {})[str(outcome.error)] = None
    return [Missing(refused, _first(list(sentences[alike])), list(runs)) for alike, runs in found.items()]


def _first(sentences: Sequence[str]) -> str:
    more = len(sentences) - 1
    return f"{sentences[0]} (and {more} alike, with other numbers)" if more else sentences[0]


def _count(sentence: str, outcomes: Sequence[Outcome]) -> int:
    return sum(str(outcome.error) == sentence for outcome in outcomes)


def _some(runs: Sequence[str]) -> str:
    more = f"; and {len(runs) - 3} more" if len(runs) > 3 else ""
    return "; ".join(runs[:3]) + more


def _names(outcomes: Sequence[Outcome]) -> dict[int, str]:
    """What tells each run from the others."""
    from eraseblock.results.view import names_of

    names = names_of([outcome.experiment.config for outcome in outcomes])
    return {id(outcome): name for outcome, name in zip(outcomes, names, strict=True)}
