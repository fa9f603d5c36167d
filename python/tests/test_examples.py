"""The committed examples run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def test_there_is_something_to_try() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(cli: Cli, path: Path) -> None:
    run = cli("run", path, "--set", "workload.generate.requests=500", "--json")
    assert run.returncode == 0, run.stderr
    assert all(record["requests"]["completed"] == 500 for record in json.loads(run.stdout))
