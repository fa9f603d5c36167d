"""Runs experiments for a command and hands out what came of them: table or JSON, files, errors, exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eraseblock import _core
from eraseblock.events import logs_of
from eraseblock.experiments import Experiment
from eraseblock.results.missing import Missing
from eraseblock.results.runs import RunStore, opened
from eraseblock.results.store import Analysis, analysis_json, make_folder, records_json, write_results
from eraseblock.sweep import Outcome, Record, Way, run_all
from eraseblock.terminal.console import err, out, say_error
from eraseblock.terminal.progress import ProgressBar

if TYPE_CHECKING:
    from eraseblock.readings.plan import Plan

# Tells failures from refusals.
Judge = Callable[[Sequence[Outcome]], tuple[list[Outcome], list[Outcome]]]


@dataclass(frozen=True)
class Delivery:
    """Where the results of one command go."""

    as_json: bool
    folder: Path | None
    fresh: bool = False
    prune: bool = False
    # Run the other readings of the papers as well, and say which conclusions move.
    sensitivity: bool = False

    def run(
        self,
        experiments: Sequence[Experiment],
        *,
        jobs: int | None,
        verify: bool,
        judge: Judge,
        events: str | None = None,
    ) -> int:
        """Run everything under a progress bar, hand out what came of it, and return the exit code.

        What is stored has no log of its events: with `events`, everything is run.
        """
        plan = _readings(experiments) if self.sensitivity else None
        if plan is not None:
            experiments = plan.experiments
        logs = logs_of(events, experiments)
        if self.folder is None:
            if self.fresh or self.prune:
                option = "--fresh" if self.fresh else "--prune"
                raise _core.ConfigError(f"{option}: is about a folder of results; name it with -o")
            with ProgressBar(len(experiments)) as bar:
                outcomes = run_all(experiments, Way(jobs, verify, bar, events=logs))
            return self._judge(outcomes, judge, plan)
        make_folder(self.folder)
        with opened(self.folder, fresh=self.fresh or logs is not None, prune=self.prune) as store:
            for notice in store.notices:
                say_error(notice)
            try:
                with ProgressBar(len(experiments)) as bar:
                    outcomes = run_all(experiments, Way(jobs, verify, bar, events=logs), store)
            except KeyboardInterrupt:
                all_anew = "--fresh" if self.fresh else "--events" if logs else None
                again = f"the same command without {all_anew}" if all_anew else "the same command"
                raise KeyboardInterrupt(
                    f"{store.done()} of {len(experiments)} runs are stored in {self.folder}; "
                    f"{again} goes on from there"
                ) from None
            self._tell(store, len(experiments))
            return self._judge(outcomes, judge, plan, store)

    def _judge(
        self, outcomes: Sequence[Outcome], judge: Judge, plan: Plan | None, store: RunStore | None = None
    ) -> int:
        """Tell failures from refusals; of other readings, refusals are part of their analysis."""
        if plan is None:
            return self._finish(outcomes, *judge(outcomes), store)
        from eraseblock.readings.analysis import analyse

        own, others = outcomes[: len(plan.runs)], outcomes[len(plan.runs) :]
        failures, refusals = judge(own)
        failures += [one for one in others if isinstance(one.error, _core.SimulationError)]
        return self._finish(own, failures, refusals, store, analyse(plan, outcomes))

    def _tell(self, store: RunStore, runs: int) -> None:
        """What a reader of the results should know of the folder they came from."""
        if store.found:
            say_error(f"{store.found} of {runs} runs found in {self.folder}")
        if sentence := store.left_out().sentence(store.folder):
            say_error(sentence)

    def _finish(
        self,
        outcomes: Sequence[Outcome],
        failures: Sequence[Outcome],
        refusals: Sequence[Outcome],
        store: RunStore | None = None,
        analysis: Analysis | None = None,
    ) -> int:
        """Print and write the records, name what did not run, and return the exit code."""
        records = [outcome.record for outcome in outcomes if outcome.record is not None]
        # Failures of other readings are none of the outcomes.
        names = _names([*outcomes, *failures]) if refusals or failures else {}
        missing = [*_missing(refusals, names, refused=True), *_missing(failures, names, refused=False)]
        # Written before anything is printed: whoever reads stdout may go, or its disk may be full.
        report = self._save(records, store, analysis, missing) if records and store is not None else None
        if records:
            self._print(records, analysis)
        if report is not None:
            console = err() if self.as_json else out()
            # As it is: a name may have brackets, which would be taken for markup.
            console.print(f"report: {report}", soft_wrap=True, markup=False)
        for one in missing:
            runs = _some(one.runs)
            if one.refused:
                say_error(f"refused {runs}: {one.sentence}")
            else:
                all_of_them = _count(one.sentence, failures) == len(outcomes)
                say_error(one.sentence if all_of_them else f"{one.sentence} ({runs})")
        if any(isinstance(outcome.error, _core.SimulationError) for outcome in failures):
            return 1
        return 0 if records and not failures else 2

    def _print(self, records: Sequence[Record], analysis: Analysis | None) -> None:
        if self.as_json:
            sys.stdout.write(records_json(records) if analysis is None else analysis_json(analysis))
            return
        from eraseblock.results.view import rows_of
        from eraseblock.terminal.table import print_results

        print_results(out(), rows_of(records))
        if analysis is not None:
            from eraseblock.terminal.sensitivity import print_sensitivity

            print_sensitivity(out(), analysis)

    def _save(
        self,
        records: Sequence[Record],
        store: RunStore,
        analysis: Analysis | None,
        missing: Sequence[Missing],
    ) -> Path:
        report = write_results(records, store.folder, analysis, missing)
        store.delivered()
        return report


def _readings(experiments: Sequence[Experiment]) -> Plan:
    from eraseblock.readings.plan import plan

    return plan(experiments)


def _missing(outcomes: Sequence[Outcome], names: dict[int, str], *, refused: bool) -> list[Missing]:
    """Each sentence once, with the runs that it stopped."""
    found: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        found.setdefault(str(outcome.error), {})[names[id(outcome)]] = None
    return [Missing(refused, sentence, list(runs)) for sentence, runs in found.items()]


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
