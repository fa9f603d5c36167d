"""What is answered before the command tree is built: the same bytes, and few imports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import SMALL_DRIVE, Cli

from eraseblock.cli import main, quick
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


def test_a_run_imports_what_it_prints_with_and_no_more(cli: Cli, trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(f"{SMALL_DRIVE}\n[workload]\npath = '{trace}'\nfirst = 20\n", encoding="utf-8")
    run = cli("run", file, "--json", PYTHONPROFILEIMPORTTIME="1")
    assert run.returncode == 0
    loaded = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "eraseblock.running" in loaded
    unused = {"rich", "polars", "altair", "jinja2", "eraseblock.outputs", "eraseblock.readings"}
    assert loaded.isdisjoint(unused)


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
