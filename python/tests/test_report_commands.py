"""The commands of a report: their parts give the very configuration of the run."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast

import pytest

import eraseblock
from eraseblock.experiments import resolve_mapping
from eraseblock.report.commands import commands_of, toml_value
from eraseblock.results.record import Record


@pytest.fixture
def compared(trace: Path) -> list[Record]:
    compared = eraseblock.compare(
        trace,
        buffers=["lru", "bplru"],
        sizes=["128 KiB"],
        ftls=["bast"],
        device="hbm-2010",
        workload={"first": 300},
        sets=["nand.blocks_per_plane=300", 'ftl.exported="32 MiB"', "host.speedup=0.5"],
        verify=True,
    )
    return cast(list[Record], compared)


def test_a_comparison_is_made_again_by_options_and_sets(compared: list[Record], trace: Path) -> None:
    first, second = commands_of(compared)
    assert first["device"] == "hbm-2010"
    assert first["trace"] == str(trace)
    assert (first["size"], first["scheme"], first["ftl"]) == ("128KiB", "lru", "bast")
    assert first["options"] == [["--first", "300"]]
    assert sorted(first["sets"]) == [
        'ftl.exported="32 MiB"',
        "host.speedup=0.5",
        "nand.blocks_per_plane=300",
    ]
    assert first["verify"] is True
    assert second == {**first, "scheme": "bplru"}


def test_options_of_a_scheme_are_set_with_it(compared: list[Record]) -> None:
    changed = copy.deepcopy(compared[1])
    changed["config"]["buffer"]["scheme"]["padding"] = False
    [parts] = commands_of([changed])
    assert 'buffer.scheme={ kind = "bplru", padding = false }' in parts["sets"]


def test_options_of_a_format_stand_beside_it(compared: list[Record]) -> None:
    changed = copy.deepcopy(compared[0])
    changed["config"]["workload"]["format"] = {"kind": "blkparse", "action": "queue"}
    [parts] = commands_of([changed])
    assert ["--format", "blkparse"] in parts["options"]
    assert 'workload.format.action="queue"' in parts["sets"]


def test_what_a_comparison_cannot_say_becomes_an_experiment(records: list[Record]) -> None:
    [parts] = commands_of(records[:1])
    assert resolved(parts["toml"]) == {**records[0]["config"], "preset": None}


def test_a_preset_that_is_gone_becomes_an_experiment(compared: list[Record]) -> None:
    changed = copy.deepcopy(compared[0])
    changed["config"]["preset"] = "a-drive-of-tomorrow"
    [parts] = commands_of([changed])
    assert resolved(parts["toml"]) == {**changed["config"], "preset": None}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", '"a b"'),
        (True, "true"),
        (0.5, "0.5"),
        ([1, "x"], '[1, "x"]'),
        ({"kind": "lru", "none": None}, '{ kind = "lru" }'),
    ],
)
def test_values_are_written_in_one_line(value: Any, text: str) -> None:
    assert toml_value(value) == text


def resolved(toml: str) -> dict[str, Any]:
    import tomllib

    [experiment] = resolve_mapping(tomllib.loads(toml), "again")
    return experiment.config
