"""The committed examples and experiments run."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import eraseblock

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
EXPERIMENTS = sorted((ROOT / "reproduction" / "experiments").glob("*.toml"))
MOST_REQUESTS = 50_000


def test_there_is_something_to_try() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(cli: Cli, path: Path) -> None:
    generated = "generate" in tomllib.loads(path.read_text())["workload"]
    some = "workload.generate.requests=500" if generated else "workload.first=500"
    run = cli("run", path, "--set", some, "--json")
    assert run.returncode == 0, run.stderr
    assert all(record["requests"]["completed"] == 500 for record in json.loads(run.stdout))


def without_nulls(value: Any) -> Any:
    """What TOML can hold."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return value


def test_there_are_findings_to_try() -> None:
    assert len(EXPERIMENTS) >= 8


def flash_blocks(nand: dict[str, Any]) -> int:
    parts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    return math.prod(nand[part] for part in parts)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.name)
def test_experiments_run(path: Path) -> None:
    """All points resolve; the first and the last run, on their first requests."""
    points = eraseblock.resolve(path)
    assert len(points) > 1, "an experiment compares"
    for point in (points[0], points[-1]):
        config = without_nulls(point.config)
        workload = config["workload"]
        workload["first"] = 300
        if "path" in workload:
            workload["path"] = str(path.parent / workload["path"])
        generate = workload.get("generate", {})
        if generate.get("kind") == "standin" or "requests" in generate:
            # All of a workload is made, whatever part of it is run.
            generate["requests"] = min(generate.get("requests", MOST_REQUESTS), MOST_REQUESTS)
        if flash_blocks(config["nand"]) > 1 << 18:
            # To fill it takes several seconds.
            config["precondition"]["state"] = "empty"
        [record] = eraseblock.run(config)
        assert record["requests"]["completed"] == 300


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.name)
def test_experiments_name_what_they_try(path: Path) -> None:
    """A comment before the first key says whose finding it is."""
    head = path.read_text(encoding="utf-8").split("\n\n")[0]
    assert head
    assert all(line.startswith("#") for line in head.splitlines())
