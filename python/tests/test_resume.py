"""A sweep that is killed, interrupted or cut off goes on with the same command, and disturbs no other one."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import COMMAND, SMALL_DRIVE, spc_lines
from test_terminal import LONG, read_until, start_on_terminal

HUNDRED = f"""\
{SMALL_DRIVE}
mapping = ["page", "bast"]

[buffer]
size = ["128 KiB", "256 KiB", "512 KiB", "1 MiB", "2 MiB"]
scheme = ["none", "lru", "fab", "bplru", {{ kind = "bplru", padding = false }}]

[workload]
path = ["a.spc", "b.spc"]
format = "spc"
"""
# From Ctrl-C to the end, where other tests may keep the processors busy.
AT_ONCE_S = 1.0


@pytest.fixture
def hundred(tmp_path: Path) -> Path:
    """A folder with an experiment of 100 runs of some milliseconds."""
    lines = spc_lines(4000)
    (tmp_path / "a.spc").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "b.spc").write_text("".join(lines[:3000]), encoding="utf-8")
    (tmp_path / "x.toml").write_text(HUNDRED, encoding="utf-8")
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def stored(folder: Path) -> list[str]:
    """Keys of the runs whose lines are whole, in the order in which they ended."""
    path = folder / "runs.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line)["run"]["key"] for line in lines if b'"run":{' in line[:60]]


def start_quietly(folder: Path, output: str) -> subprocess.Popen[bytes]:
    """The sweep of a hundred runs; nobody reads what it prints, nor waits for it to be read."""
    return subprocess.Popen(
        [COMMAND, "run", "x.toml", "-o", output, "--jobs", "2", "--json"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def changed_at(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@pytest.mark.slow
def test_a_hundred_runs_killed_ten_times(hundred: Path) -> None:
    whole = start_quietly(hundred, "whole")
    dice = random.Random(20)
    # Eight kills on the way, each some runs and a moment after the last; then two while results are written.
    marks = [*sorted(dice.sample(range(1, 98), 8)), 100, 100]
    for mark in marks:
        before = stored(hundred / "cut")
        written = changed_at(hundred / "cut/results.json")
        process = start_quietly(hundred, "cut")
        end = time.monotonic() + 60
        while len(stored(hundred / "cut")) < mark or (
            mark == 100 and changed_at(hundred / "cut/results.json") == written
        ):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.02 if mark < 100 else 0.3))
        process.kill()
        assert process.wait() == -signal.SIGKILL
        after = stored(hundred / "cut")
        assert after[: len(before)] == before
        assert len(after) >= mark
    last = start(hundred, "run", "x.toml", "-o", "cut", "--json")
    records, said = last.communicate(timeout=120)
    assert last.returncode == 0
    assert said.startswith("eraseblock: 100 of 100 runs found in cut\n")
    assert len(json.loads(records)) == 100
    assert set(Counter(stored(hundred / "cut")).values()) == {1}
    assert len(stored(hundred / "cut")) == 100
    assert whole.wait(120) == 0
    for name in ("results.json", "results.parquet"):
        assert (hundred / "cut" / name).read_bytes() == (hundred / "whole" / name).read_bytes(), name
    assert sorted(stored(hundred / "cut")) == sorted(stored(hundred / "whole"))


def test_one_process_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    first = start(tmp_path, "run", "long.toml", "-o", "out")
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "out/runs.lock").exists() or not (tmp_path / "out/runs.lock").read_text():
            assert time.monotonic() < end
            time.sleep(0.01)
        second = start(tmp_path, "run", "long.toml", "-o", "out")
        printed, said = second.communicate(timeout=60)
        assert (second.returncode, printed) == (2, "")
        assert said.startswith(f"eraseblock: out: process {first.pid} on ")
        assert "is at work in this folder" in said
    finally:
        first.kill()
        first.communicate()
    # The lock of a process that is gone holds nobody up.
    (tmp_path / "long.toml").write_text(LONG.replace("5_000_000", "2_000"), encoding="utf-8")
    third = start(tmp_path, "run", "long.toml", "-o", "out")
    assert third.communicate(timeout=60)[1] == ""
    assert third.returncode == 0


@pytest.mark.parametrize(("end", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_sweep_keeps_what_has_ended(tmp_path: Path, end: signal.Signals, code: int) -> None:
    text = LONG.replace("5_000_000", "[2_000, 2_001, 5_000_000, 5_000_001]")
    (tmp_path / "long.toml").write_text(text, encoding="utf-8")
    process = start(tmp_path, "run", "long.toml", "-o", "out", "--json")
    limit = time.monotonic() + 60
    while len(stored(tmp_path / "out")) < 2:
        assert time.monotonic() < limit
        time.sleep(0.01)
    began = time.monotonic()
    process.send_signal(end)
    printed, said = process.communicate(timeout=30)
    assert time.monotonic() - began < AT_ONCE_S
    assert (process.returncode, printed) == (code, "")
    assert said == (
        "eraseblock: interrupted; 2 of 4 runs are stored in out; the same command goes on from there\n"
    )
    again = start(tmp_path, "report", "out")
    assert "2 of 4 runs of the sweep in out have ended" in again.communicate(timeout=120)[1]


def packed(path: Path) -> Path:
    """A trace that takes many seconds to read, and none to write: 400 times the same packed lines."""
    lines = [line.rpartition(",")[0] + ",0.0\n" for line in spc_lines(20_000)]
    member = gzip.compress("".join(lines).encode())
    path.write_bytes(member * 400)
    return path


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        ("replay", LONG),
        ("fill", f'preset = "nvme-tlc"\n{LONG.removeprefix(SMALL_DRIVE)}'),
        ("read", f"{SMALL_DRIVE}\n[workload]\npath = 'big.spc.gz'\nformat = 'spc'\n"),
    ],
)
def test_ctrl_c_ends_every_phase_at_once(tmp_path: Path, phase: str, text: str) -> None:
    packed(tmp_path / "big.spc.gz")
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    # Not from a drive that another test has filled.
    process, terminal = start_on_terminal(tmp_path, "run", "x.toml", "-o", "out", "--no-cache")
    assert process.stdout is not None
    try:
        assert phase.encode() in read_until(terminal, phase.encode(), 60)
        time.sleep(0.2)
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert time.monotonic() - began < AT_ONCE_S
        assert b"0 of 1 runs are stored in out" in read_until(terminal, b"goes on from there", 5)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(terminal)


def test_an_interrupted_fresh_sweep_does_not_advise_to_start_anew(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LONG, encoding="utf-8")
    process, terminal = start_on_terminal(tmp_path, "run", "x.toml", "-o", "out", "--fresh")
    assert process.stdout is not None
    try:
        read_until(terminal, b"requests/s", 60)
        process.send_signal(signal.SIGINT)
        assert b"the same command without --fresh goes on from there" in read_until(terminal, b"there", 60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(terminal)


def test_ctrl_c_ends_the_reading_of_a_trace_at_once(tmp_path: Path) -> None:
    packed(tmp_path / "big.spc.gz")
    process = start(tmp_path, "trace", "info", "big.spc.gz", "--format", "spc")
    try:
        time.sleep(1.5)
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert time.monotonic() - began < AT_ONCE_S
        assert (process.returncode, said) == (130, "eraseblock: interrupted\n")
    finally:
        process.kill()
        process.wait()


def test_a_library_that_never_looks_up_is_not_waited_for() -> None:
    # `sum` of a range keeps Python's lock for minutes, and no handler of a signal runs meanwhile.
    program = (
        "from eraseblock import interrupts; interrupts.raise_interrupts(); "
        "print(1, flush=True); sum(range(10**12))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    time.sleep(0.2)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - began < AT_ONCE_S
    assert (process.returncode, said) == (130, "eraseblock: interrupted\n")


def test_progress_tells_what_was_found(tmp_path: Path) -> None:
    text = LONG.replace("5_000_000", "2_000")
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    first = start(tmp_path, "run", "x.toml", "-o", "out", "--json")
    first.communicate(timeout=60)
    assert first.returncode == 0
    arguments = ("--set", "workload.generate.requests=[2_000, 5_000_000]")
    process, terminal = start_on_terminal(tmp_path, "run", "x.toml", "-o", "out", *arguments)
    assert process.stdout is not None
    try:
        assert b"run 2/2 (1 found)" in read_until(terminal, b"(1 found)", 60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(terminal)
