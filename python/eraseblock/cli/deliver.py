"""Runs experiments for a command and hands out what came of them: table or JSON, files, errors, exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eraseblock import _core
from eraseblock.experiments import Experiment
from eraseblock.results.store import make_folder, records_json, save_results
from eraseblock.sweep import Outcome, Record, run_all
from eraseblock.terminal.console import err, out, say_error
from eraseblock.terminal.progress import ProgressBar


@dataclass(frozen=True)
class Delivery:
    """Where the results of one command go."""

    as_json: bool
    folder: Path | None

    def run(self, experiments: Sequence[Experiment], *, jobs: int | None, verify: bool) -> list[Outcome]:
        """Run everything under a progress bar."""
        if self.folder is not None:
            make_folder(self.folder)
        with ProgressBar(len(experiments)) as bar:
            return run_all(experiments, jobs=jobs, verify=verify, watcher=bar)

    def finish(
        self, outcomes: Sequence[Outcome], failures: Sequence[Outcome], refusals: Sequence[Outcome] = ()
    ) -> int:
        """Print and write the records, name what did not run, and return the exit code."""
        records = [outcome.record for outcome in outcomes if outcome.record is not None]
        if records:
            self._print(records)
            self._save(records)
        for sentence, runs in _by_sentence(refusals).items():
            say_error(f"refused {_runs(runs)}: {sentence}")
        for sentence, runs in _by_sentence(failures).items():
            say_error(sentence if len(runs) == len(outcomes) else f"{sentence} ({_runs(runs)})")
        if any(isinstance(outcome.error, _core.SimulationError) for outcome in failures):
            return 1
        return 0 if records and not failures else 2

    def _print(self, records: Sequence[Record]) -> None:
        if self.as_json:
            sys.stdout.write(records_json(records))
            return
        from eraseblock.results.view import rows_of
        from eraseblock.terminal.table import print_results

        print_results(out(), rows_of(records))

    def _save(self, records: Sequence[Record]) -> None:
        if self.folder is not None:
            report = save_results(records, self.folder)
            console = err() if self.as_json else out()
            console.print(f"report: {report}", soft_wrap=True)


def _by_sentence(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Each sentence once, with the runs that it stopped."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(str(outcome.error), []).append(outcome)
    return found


def _runs(outcomes: Sequence[Outcome]) -> str:
    names = dict.fromkeys(_name(outcome.experiment) for outcome in outcomes)
    shown = list(names)[:3]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more


def _name(experiment: Experiment) -> str:
    config = experiment.config
    scheme, mapping = config["buffer"]["scheme"], config["ftl"]["mapping"]
    kind = [part["kind"] if isinstance(part, dict) else part for part in (scheme, mapping)]
    return f"{kind[0]} of {config['buffer']['size']} on {kind[1]}"
