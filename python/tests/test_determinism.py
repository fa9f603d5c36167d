"""The same configuration, trace and seed give the same bytes, with any number of workers and on every run."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Cli


def without_engine(text: str) -> str:
    records = json.loads(text)
    for record in records:
        del record["engine"]
    return json.dumps(records)


def test_workers_and_repetition_change_nothing(cli: Cli, sweep_file: Path) -> None:
    first, second, third = (cli("run", sweep_file, "--json", "--jobs", jobs) for jobs in ("1", "2", "2"))
    assert [first.returncode, second.returncode, third.returncode] == [0, 0, 0]
    assert len(json.loads(first.stdout)) == 24
    assert without_engine(first.stdout) == without_engine(second.stdout) == without_engine(third.stdout)


def test_another_seed_changes_something(cli: Cli, sweep_file: Path) -> None:
    arguments = ("run", sweep_file, "--set", "buffer.scheme='lru'", "--json")
    assert without_engine(cli(*arguments).stdout) != without_engine(
        cli(*arguments, "--set", "workload.generate.seed=2").stdout
    )
