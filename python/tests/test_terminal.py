"""On a terminal a bar shows progress; on a pipe nothing does; Ctrl-C ends a run at once."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

from conftest import COMMAND, SMALL_DRIVE

LONG = f"""\
{SMALL_DRIVE}
[workload.generate]
kind = "uniform"
requests = 5_000_000
footprint = "16 MiB"
interval = "3 ms"
"""


def start_on_terminal(folder: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *arguments],
        cwd=folder,
        stdin=other_end,
        stdout=subprocess.PIPE,
        stderr=other_end,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
        start_new_session=True,
    )
    os.close(other_end)
    return process, terminal


def read_until(terminal: int, wanted: bytes, seconds: float) -> bytes:
    seen = b""
    end = time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    return seen


def test_a_terminal_sees_rate_and_time_left_and_ctrl_c_works(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    process, terminal = start_on_terminal(tmp_path, "run", "long.toml", "--json")
    assert process.stdout is not None
    try:
        seen = read_until(terminal, b"requests/s", 60)
        assert b"requests/s" in seen
        assert b"run 1/1" in seen
        assert b"%" in seen
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        seen = read_until(terminal, b"interrupted", 10)
        assert process.wait(10) == 130
        assert time.monotonic() - start < 2
        assert b"interrupted" in seen
        assert b"Traceback" not in seen
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(terminal)


def test_a_pipe_sees_nothing_of_it(tmp_path: Path) -> None:
    text = LONG.replace("5_000_000", "20_000")
    (tmp_path / "short.toml").write_text(text, encoding="utf-8")
    run = subprocess.run(
        [COMMAND, "run", "short.toml", "--json"], cwd=tmp_path, capture_output=True, timeout=120, check=True
    )
    assert run.stderr == b""
    assert b"\x1b" not in run.stdout
