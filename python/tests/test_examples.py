"""The committed examples run."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from conftest import Cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def test_there_is_something_to_try() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(cli: Cli, path: Path) -> None:
    generated = "generate" in tomllib.loads(path.read_text())["workload"]
    some = "workload.generate.requests=500" if generated else "workload.first=500"
    run = cli("run", path, "--set", some, "--json")
    assert run.returncode == 0, run.stderr
    assert all(record["requests"]["completed"] == 500 for record in json.loads(run.stdout))
