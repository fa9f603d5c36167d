"""What is answered before the command tree is built: the same bytes, and few imports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import SMALL_DRIVE, Cli

from eraseblock.cli import main, quick, straight
from eraseblock.names import registry

KINDS = list(registry())
FIRST = [["list", kind, registry()[kind][0]["name"]] for kind in KINDS]
# What the quick way knows, and what it has to leave to the other.
CALLS = [
    ["--version"],
    ["-V"],
    ["list"],
    ["list", "--json"],
    *(["list", kind] for kind in KINDS),
    *FIRST,
    *([*call, "--json"] for call in FIRST),
    ["list", "--json", "buffers", "lru"],
    ["list", "buffers", "--json", "lru"],
    ["list", "bufers"],
    ["list", "buffers", "lruu"],
    ["list", "papers"],
    ["list", "papers", "hbm", "--json"],
]
LEFT = [
    [],
    ["list", "--help"],
    ["list", "buffers", "--help"],
    ["list", "buffers", "lru", "more"],
    ["list", "--jsn"],
    ["list", "--json=true"],
    ["list", "--json", "--json"],
    ["list", "-"],
    ["list", "--", "buffers"],
    ["list", ""],
    ["--version", "list"],
    ["lst"],
]


@pytest.mark.parametrize("call", CALLS + LEFT, ids=" ".join)
@pytest.mark.parametrize("columns", ["", "60"])
def test_both_ways_give_the_same(
    call: list[str], columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    code, said = main(call), capsys.readouterr()
    monkeypatch.setattr(quick, "answer", lambda _: False)
    assert (main(call), capsys.readouterr()) == (code, said)


@pytest.mark.parametrize("call", LEFT, ids=" ".join)
def test_what_is_not_known_is_left_to_the_command_tree(
    call: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not quick.answer(call)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "call", [["--version"], ["list"], ["list", "buffers"], ["list", "settings", "nand"], ["list", "--json"]]
)
def test_little_is_imported(call: list[str], cli: Cli) -> None:
    run = cli(*call, PYTHONPROFILEIMPORTTIME="1")
    assert run.returncode == 0
    # Names alone: times would differ with the machine.
    loaded = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "eraseblock.cli.quick" in loaded
    slow = {"cyclopts", "rich", "attrs", "dataclasses", "inspect", "importlib.metadata", "pathlib", "polars"}
    assert loaded.isdisjoint(slow)
    assert "eraseblock.cli.app" not in loaded


@pytest.fixture
def one(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of one run, in the current folder."""
    monkeypatch.chdir(tmp_path)
    file = Path("one.toml")
    text = f"{SMALL_DRIVE}\n[buffer]\nsize = '64 KiB'\n[workload]\npath = '{trace}'\nfirst = 200\n"
    file.write_text(text, encoding="utf-8")
    return file


# What follows `run one.toml`.
STRAIGHT = [
    ["--json"],
    ["--json", "--set", "seed=7", "--verify", "--no-cache"],
    ["--set", "host.replay=untimed", "--set", "bounds=false", "--json"],
    # Wrong in the file, in the trace, on the drive.
    ["--json", "--set", "buffer.siez=8KiB"],
    ["--json", "--set", "workload.path=none.spc"],
    ["--json", "--set", "buffer.size=1B"],
]
TREE = [
    [],
    ["--json", "--set", "seed=[1,2]"],
    ["--json", "--jobs", "1"],
    ["--json", "--set", "seed"],
    ["--json", "--set"],
    ["--json", "--json"],
    ["--json", "two.toml"],
    ["--jsn"],
]


def _without_speed(said: str) -> str:
    return "\n".join(line.partition('"engine": ')[0] for line in said.splitlines())


@pytest.mark.parametrize("rest", STRAIGHT, ids=" ".join)
def test_a_run_is_the_same_without_the_command_tree(
    rest: list[str], one: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = main(["run", str(one), *rest]), capsys.readouterr()
    monkeypatch.setattr(straight, "found", lambda _: None)
    assert main(["run", str(one), *rest]) == code
    whole = capsys.readouterr()
    assert (_without_speed(whole.out), whole.err) == (_without_speed(said.out), said.err)
    assert bool(said.out) == (code == 0)


def test_a_long_run_says_without_the_command_tree_that_it_goes_on(
    one: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eraseblock.terminal.progress.EVERY_S", 0.0)
    assert straight.found(["run", str(one), "--json"]) is not None
    assert main(["run", str(one), "--json"]) == 0
    assert "eraseblock: 0 of 1 runs have ended\n" in capsys.readouterr().err


@pytest.mark.parametrize("rest", TREE, ids=" ".join)
@pytest.mark.usefixtures("one")
def test_what_is_more_than_one_plain_run_is_left_to_the_command_tree(rest: list[str]) -> None:
    assert straight.found(["run", "one.toml", "--json"]) is not None
    assert straight.found(["run", "one.toml", *rest]) is None
    assert straight.found(["run", *rest]) is None
    assert straight.found(["run", "./one.toml", "--json"]) is None
    assert straight.found(["run", "none.toml", "--json"]) is None


def test_a_run_imports_what_it_prints_with_and_no_more(cli: Cli, one: Path) -> None:
    for call, used, unused in (
        ([], "json", {"eraseblock.running", "cyclopts", "pathlib", "dataclasses"}),
        (["--jobs", "1"], "eraseblock.running", {"eraseblock.outputs", "eraseblock.readings"}),
    ):
        run = cli("run", one, "--json", *call, PYTHONPROFILEIMPORTTIME="1")
        assert run.returncode == 0
        loaded = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
        assert used in loaded
        assert loaded.isdisjoint(unused | {"rich", "polars", "altair", "jinja2"})


def test_a_terminal_gets_bold_names_and_its_own_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "70")
    main(["list", "victims"])
    plain = capsys.readouterr().out
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    main(["list", "victims"])
    shown = capsys.readouterr().out
    assert "\x1b" not in plain
    assert "\x1b[1mgreedy\x1b[0m" in shown
    for code in ("\x1b[1m", "\x1b[2m", "\x1b[0m"):
        shown = shown.replace(code, "")
    assert shown == plain
    assert max(map(len, plain.splitlines())) == 70
    monkeypatch.setenv("TERM", "dumb")
    main(["list", "victims"])
    assert capsys.readouterr().out == plain
