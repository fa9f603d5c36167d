"""Ctrl-C and SIGTERM at any moment: no traceback, the code that a shell expects, nothing half written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import spc_lines

import eraseblock
from eraseblock.results.files import replace_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
# Moments after the start of the process, in seconds: over its imports, and into its work.
MOMENTS = [0.02 * step for step in range(1, 31)]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_no_moment_shows_a_traceback(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "a.spc").write_text("".join(spc_lines(20_000)), encoding="utf-8")
    command = [sys.executable, "-m", "eraseblock", "trace", "convert", "a.spc", "b.ebt", "--force"]
    for moment in MOMENTS[number == signal.SIGTERM :: 2]:
        process = subprocess.Popen(
            command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(moment)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
        # Python itself starts and ends without us; what it says then is of its own files.
        assert process.returncode in (code, 1, -number, 0), (moment, said)
        assert said in ("eraseblock: interrupted\n", "") or "eraseblock/" not in said, (moment, said)
        left = {path.name for path in tmp_path.iterdir()} - {"a.spc", "b.ebt"}
        assert not left, (moment, left)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["interrupts", "_core", "cli", "cli.app", "cli.compare", "events"])
def test_imports_are_ended_at_once(number: signal.Signals, module: str) -> None:
    # It comes while the command line imports this module; nothing is imported before it is heeded.
    program = f"""
import os, sys
import eraseblock.__main__ as command
class Signal:
    def find_spec(name, *_):
        if name == "eraseblock.{module}":
            try:
                os.kill(os.getpid(), {int(number)})
            except BaseException:
                pass  # as in a callback of the importer, where nothing can be raised
ours = [name for name in sys.modules if name.startswith("eraseblock.")]
assert ours == ["eraseblock.__main__"], ours
sys.meta_path.insert(0, Signal)
sys.argv[1:] = ["compare"]
command.main()
"""
    process = subprocess.run(
        [sys.executable, "-c", program], text=True, capture_output=True, timeout=60, check=False
    )
    assert (process.returncode, process.stderr) == (128 + number, "eraseblock: interrupted\n")


def test_a_started_part_goes_with_the_interrupt(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    path = tmp_path / "report.html"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        replace_file(path, parts())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_package_is_a_command() -> None:
    def call(argument: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "eraseblock", argument]
        return subprocess.run(command, text=True, capture_output=True, check=False)

    for flag in ("--version", "-V"):
        run = call(flag)
        assert (run.returncode, run.stderr) == (0, "")
        assert re.fullmatch(r"\d+\.\d+\.\d+\n", run.stdout)
    wrong = call("compre")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("eraseblock: ")


def test_every_public_name_is_there() -> None:
    assert set(dir(eraseblock)) >= set(eraseblock.__all__)
    for name in eraseblock.__all__:
        assert getattr(eraseblock, name) is not None
    assert not hasattr(eraseblock, "no_such_name")
