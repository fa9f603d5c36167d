"""What shells need: `-` for stdin and stdout, completion, a manual page, `-V`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from eraseblock import _core
from eraseblock.cli import main
from eraseblock.cli.app import build_app
from eraseblock.cli.man import page


def call(*words: str, given: bytes = b"", folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "eraseblock", *words],
        input=given,
        cwd=folder,
        capture_output=True,
        check=False,
    )


@pytest.mark.skipif(os.name != "posix", reason="closed by a shell of POSIX")
@pytest.mark.parametrize(
    "words", ["--version", "list buffers", "trace info none.spc", "compare none.spc --json"]
)
def test_a_closed_stdout_is_told_in_one_line(words: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m eraseblock {words}"
    said = subprocess.run(f"{command} >&-", shell=True, capture_output=True, text=True, check=False)
    expected = "eraseblock: stdout is closed; send it somewhere, if only to /dev/null\n"
    assert (said.returncode, said.stderr) == (2, expected)
    both = subprocess.run(f"{command} >&- 2>&-", shell=True, capture_output=True, check=False)
    assert both.returncode == 2


def test_a_trace_goes_through_pipes() -> None:
    made = call("trace", "generate", "uniform", "--requests", "50", "-o", "-")
    assert (made.returncode, bool(made.stdout)) == (0, True), made.stderr
    assert b"50 requests" in made.stderr, "what is said goes to stderr"
    lines = call("trace", "convert", "-", "-", "--to", "spc", given=made.stdout)
    assert lines.returncode == 0, lines.stderr
    assert len(lines.stdout.splitlines()) == 50
    again = call("trace", "info", "-", "--json", given=lines.stdout)
    [found] = json.loads(again.stdout)
    assert (found["name"], found["requests"]) == ("stdin", 50)


def test_a_trace_goes_to_the_file_that_stdout_is(tmp_path: Path) -> None:
    """Which is no link to be replaced, as its name in /dev would have it."""
    made, copied = tmp_path / "made.ebt", tmp_path / "copied.spc"
    for path, words in (
        (made, ["generate", "uniform", "--requests", "50", "--output=/dev/stdout"]),
        (made, ["generate", "uniform", "--requests", "50", "-o", "/dev/stdout"]),
        (copied, ["convert", str(made), "/dev/stdout", "--to", "spc"]),
    ):
        with path.open("wb") as file:
            command = [sys.executable, "-m", "eraseblock", "trace", *words]
            done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, check=True)
        assert b"stdout" in done.stderr
        assert b"/eraseblock-" not in done.stderr, "a file that is gone is not named"
    assert len(copied.read_text("utf-8").splitlines()) == 50


def test_what_came_through_a_pipe_is_named_so(tmp_path: Path) -> None:
    made = call("trace", "generate", "uniform", "--requests", "50", "-o", "-")
    words = ["--question", "tail", "--device", "hbm-2010", "--set", "precondition.state=empty", "--json"]
    done = call("advise", "-", *words, "-o", str(tmp_path / "out"), given=made.stdout)
    assert done.returncode == 0, done.stderr
    [command] = json.loads(done.stdout)["answers"][0]["commands"]
    assert command.startswith("eraseblock compare - --device")
    again = call(*shlex.split(command)[1:], "--json", given=made.stdout)
    [record] = json.loads(again.stdout)
    [stored] = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert record["key"] == stored["key"]
    assert record["config"]["workload"]["path"] == stored["config"]["workload"]["path"] == "stdin"
    for file in (tmp_path / "out").iterdir():
        assert b"/eraseblock-" not in file.read_bytes(), f"{file.name} names a file that is gone"
    nonsense = call("compare", "-", "--buffers", "lru", given=b"nonsense\n")
    assert nonsense.stderr.startswith(b"eraseblock: stdin: "), nonsense.stderr


def test_an_experiment_comes_from_stdin() -> None:
    text = b'preset = "hbm-2010"\nprecondition.state = "empty"\n'
    text += b'workload.generate = { kind = "uniform", requests = 20, footprint = "1 MiB" }\n'
    done = call("run", "-", "--json", given=text)
    assert json.loads(done.stdout)[0]["requests"]["submitted"] == 20


def test_paths_of_an_experiment_from_stdin_start_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "two.spc").write_text("0,8,4096,w,0.0\n0,16,4096,w,0.1\n", encoding="utf-8")
    text = b'preset = "hbm-2010"\nprecondition.state = "empty"\nworkload.path = "two.spc"\n'
    done = call("run", "-", "--json", given=text, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["requests"]["submitted"] == 2


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no file system in memory here")
def test_an_experiment_in_memory_is_no_pipe(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        (Path(folder) / "two.spc").write_text("0,8,4096,w,0.0\n0,16,4096,w,0.1\n", encoding="utf-8")
        file = Path(folder) / "experiment.toml"
        text = 'preset = "hbm-2010"\nprecondition.state = "empty"\nworkload.path = "two.spc"\n'
        file.write_text(text, encoding="utf-8")
        done = call("run", str(file), "--json", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[0]["requests"]["submitted"] == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["compare", "-", "-"], "-: stdin can be read once"),
        (["report", "-"], "-: is stdin where"),
        (["trace", "info", "-"], "-: nothing came through stdin"),
    ],
)
def test_dashes_that_mean_nothing_are_told(words: list[str], sentence: str) -> None:
    done = call(*words)
    assert done.returncode == 2
    assert sentence in done.stderr.decode()


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    call("trace", "info", "-", given=b"nonsense\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("compare", "advise", "buffer-size", "question"):
        assert word in script
    if (program := shutil.which(shell)) is not None:
        checked = subprocess.run([program, "-n"], input=script, text=True, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_the_manual_has_every_command() -> None:
    text = page(build_app(None))
    for name in ("COMPARE", "ADVISE", "TUNE", "TRACE CONVERT", "IMAGE CREATE", "SERVE"):
        assert f".SH {name}\n" in text
    assert "│" not in text
    if (groff := shutil.which("groff")) is not None:
        run = subprocess.run(
            [groff, "-man", "-ww", "-z", "-Tutf8"], input=text, text=True, capture_output=True, check=False
        )
        assert run.stderr == ""


def test_the_version_is_short_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.strip() == _core.version()
