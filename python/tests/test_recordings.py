"""The recorded workloads are what their pages say, and each can be recorded anew."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Cli, Run

FOLDER = Path(__file__).resolve().parents[2] / "workloads"
RECORDINGS = sorted(FOLDER.glob("*.nbdkit.zst"))
NAMES = [path.name.removesuffix(".nbdkit.zst") for path in RECORDINGS]


def describe(*arguments: str | Path) -> Run:
    command = [sys.executable, FOLDER / "describe.py", *arguments]
    return subprocess.run(command, text=True, capture_output=True, timeout=600, check=False)


def record(*arguments: str | Path) -> Run:
    command = ["bash", FOLDER / "record.sh", *arguments]
    return subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)


def test_there_is_a_recording_of_each_workload_that_can_be_recorded() -> None:
    assert NAMES
    assert sorted(path.stem for path in (FOLDER / "record").glob("*.sh")) == NAMES


def test_pages_hold_the_figures_of_the_recordings() -> None:
    run = describe("--check")
    assert run.returncode == 0, run.stderr
    assert not run.stderr


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_the_engine_reads_every_request_of_a_recording(cli: Cli, path: Path) -> None:
    page = path.with_name(path.name.removesuffix(".nbdkit.zst") + ".md").read_text(encoding="utf-8")
    said = re.search(r"- ([\d,]+) requests in", page)
    assert said is not None
    [summary] = json.loads(cli("trace", "info", path, "--json").stdout)
    assert summary["requests"] == int(said[1].replace(",", ""))


def test_recordings_are_small_enough_to_keep() -> None:
    sizes = [path.stat().st_size for path in RECORDINGS]
    assert max(sizes) <= 2 << 20
    assert sum(sizes) <= 12 << 20


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ((), "expected NAME.nbdkit.zst"),
        (("--wriet",), "expected NAME.nbdkit.zst"),
        (("pgbench-ext4.md",), "expected a file whose name ends in .nbdkit.zst"),
        (("nothing.nbdkit.zst",), "nothing.phases.tsv"),
    ],
)
def test_describe_answers_a_wrong_call(arguments: tuple[str, ...], answer: str) -> None:
    run = describe(*arguments)
    assert run.returncode == 2
    assert answer in run.stderr
    assert "Traceback" not in run.stderr


def test_a_damaged_recording_is_not_described(tmp_path: Path) -> None:
    log = tmp_path / "bad.nbdkit.zst"
    (tmp_path / "bad.phases.tsv").write_text("2026-01-01 00:00:00.0\tall\n2026-01-01 00:01:00.0\tend\n")
    log.write_bytes(b"not packed at all\n")
    run = describe(log)
    assert run.returncode == 2
    assert "line 1: found 'not packed at all'" in run.stderr
    log.write_bytes(RECORDINGS[0].read_bytes()[:5000])
    run = describe(log)
    assert run.returncode == 2
    assert "bad.nbdkit.zst" in run.stderr
    assert "Traceback" not in run.stderr


def test_record_lists_every_workload() -> None:
    run = record("-h")
    assert run.returncode == 0, run.stderr
    assert all(f"  {name} " in run.stdout for name in NAMES)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ((), "expected NAME... FOLDER"),
        (("-x",), "unknown option -x"),
        (("-b", "fast", "all", "out"), "-b fast: expected a whole number above 0"),
        (("pgbench", "out"), "no workload 'pgbench'; there are: browser-ntfs"),
    ],
)
def test_record_answers_a_wrong_call(arguments: tuple[str, ...], answer: str) -> None:
    run = record(*arguments)
    assert run.returncode == 2
    assert answer in run.stderr
