"""`--explain`: what responses are made of, told in words and pictures."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from eraseblock import api
from eraseblock.cli import main
from eraseblock.explain.sentence import PARTS, sentences

DRIVE: dict[str, Any] = {
    "preset": "hbm-2010",
    "metrics": ["waits"],
    "nand": {"blocks_per_plane": 1100},
    "ftl": {"exported": "128 MiB"},
    "buffer": {"size": "256 KiB", "scheme": "lru"},
    "precondition": {"state": "full"},
    "workload": {
        "generate": {
            "kind": "uniform",
            "requests": 3000,
            "footprint": "64 MiB",
            "read_share": 0.5,
            "interval": "3ms",
        }
    },
}


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return cast("dict[str, Any]", api.run(DRIVE, verify=True)[0])


def test_parts_add_up_to_responses(record: dict[str, Any]) -> None:
    for kind in ("read", "write"):
        split, responses = record["waits"][kind], record["response_ns"][kind]
        assert split["all"]["requests"] == responses["count"]
        assert split["all"]["response"] == pytest.approx(responses["mean"])
        for means in split.values():
            assert sum(means[part] for part in PARTS) == pytest.approx(means["response"])
        assert split["p99"]["response"] >= responses["p99"] * 0.999
    slowest = record["waits"]["slowest"]
    assert slowest[0]["response_ns"] == record["response_ns"]["all"]["max"]
    for one in slowest:
        assert sum(one["parts"].values()) == one["response_ns"] == one["pieces"][-1]["to_ns"]


def test_the_sentence_names_the_largest_part(record: dict[str, Any]) -> None:
    tail = record["waits"]["write"]["p99"]
    told = sentences(record, ["write"])[0]
    words = {"admission": "requests before them", "slot": "room in the buffer", "merge": "merges"}
    assert words[max(PARTS, key=lambda part: tail[part])] in told.partition(" of the time")[0]


@pytest.mark.parametrize(
    ("tail", "told"),
    [(10, "The slowest 1 % of reads"), (300, "The slowest 30.0 % of reads"), (1000, "All reads")],
)
def test_requests_that_tie_are_no_hundredth(record: dict[str, Any], tail: int, told: str) -> None:
    split = record["waits"]["read"]
    tied = {**split, "all": {**split["all"], "requests": 1000}, "p99": {**split["p99"], "requests": tail}}
    [text] = sentences({**record, "waits": {"read": tied}}, ["read"])
    assert text.startswith(f"{told} (")


def test_records_that_do_not_ask_have_none() -> None:
    assert "waits" not in api.run({**DRIVE, "metrics": []})[0]


def test_explain_is_printed_and_stored(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.toml"
    lines = ['preset = "hbm-2010"', 'buffer.size = "256 KiB"', 'precondition.state = "empty"']
    lines += ['workload.generate = { kind = "uniform", requests = 500, footprint = "8 MiB" }']
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main(["run", str(path), "--explain", "-o", str(tmp_path / "out")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The slowest 1 % of writes" in text
    assert "The slowest requests" in text
    [stored] = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert stored["waits"]["write"]["all"]["requests"] == 500
    assert main(["run", str(path), "--explain", "--set", "host.replay=untimed"]) == 0
    assert "cannot be said" in capsys.readouterr().out
