"""The committed examples run, and the bundled workload is what its page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
WORKLOADS = sorted((ROOT / "workloads").glob("*.nbdkit.zst"))


def test_there_is_something_to_try() -> None:
    assert EXAMPLES
    assert WORKLOADS


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(cli: Cli, path: Path) -> None:
    run = cli("run", path, "--set", "workload.generate.requests=500", "--json")
    assert run.returncode == 0, run.stderr
    assert all(record["requests"]["completed"] == 500 for record in json.loads(run.stdout))


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.name)
def test_the_bundled_workload_reads_as_its_page_says(cli: Cli, path: Path) -> None:
    page = (ROOT / "workloads" / "README.md").read_text(encoding="utf-8")
    said = re.search(r"- ([\d,]+) requests in", page)
    assert said is not None
    [summary] = json.loads(cli("trace", "info", path, "--json").stdout)
    assert summary["requests"] == int(said[1].replace(",", ""))
