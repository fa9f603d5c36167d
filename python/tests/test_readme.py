"""The README shows what the program really prints."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, Cli
from rich.console import Console

from eraseblock.results.store import read_records
from eraseblock.results.view import rows_of
from eraseblock.terminal.sheets import print_sheets
from eraseblock.terminal.showing import Showing

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_demo_prints_the_table_of_the_readme(tmp_path: Path) -> None:
    shown = re.search(r"and prints\n\n```\n(.*?)\n```\n", README, re.DOTALL)
    command = re.search(r"The command it ran was\n\n((?:    .*\n)+)", README)
    assert shown is not None
    assert command is not None
    [program, *arguments] = shlex.split(command[1].replace("\\\n", " "))
    assert program == ".venv/bin/eraseblock"
    arguments[arguments.index("-o") + 1] = str(tmp_path)
    # As wide as it is on a pipe, whatever the terminal of the test.
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    run = subprocess.run(
        [COMMAND, *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
        timeout=600,
        check=True,
    )
    printed = [line.rstrip() for line in run.stdout.splitlines()]
    # The README shows some of the sizes; the last line of both names the folder of the report.
    rows = [line for line in shown[1].splitlines()[:-1] if line]
    left = iter(printed)
    assert all(row in left for row in rows), "run `make figures`, and name the change in CHANGELOG.md"
    assert sum(" ms" in row or " us" in row for row in rows) >= 8
    assert any(row.startswith("  In short: ") for row in rows)
    # All of it, the answer included, is seen without scrolling.
    records = rows_of(read_records(tmp_path))

    def sheets(width: int) -> list[str]:
        text = io.StringIO()
        print_sheets(Console(highlight=False, width=width, file=text), records, Showing())
        return [line.rstrip() for line in text.getvalue().splitlines()]

    assert sheets(100) == printed[:-1]
    assert len(sheets(120)) < 47
    assert len(sheets(80)) < 55


def test_the_readme_is_short() -> None:
    assert len(README.encode()) <= 6_000


def test_errors_are_those_of_the_readme() -> None:
    examples = re.findall(r"```\n\$ eraseblock (.*)\n(eraseblock: .*)\n```", README)
    assert examples
    for arguments, error in examples:
        run = subprocess.run(
            [COMMAND, *shlex.split(arguments)],
            cwd=ROOT,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (run.returncode, run.stderr) == (2, f"{error}\n")


QUESTIONS = re.findall(r"\| `eraseblock (compare|run) (.+)` \|", (ROOT / "docs" / "questions.md").read_text())


def test_there_are_questions() -> None:
    assert len(QUESTIONS) > 8


@pytest.mark.slow
@pytest.mark.parametrize(("command", "rest"), QUESTIONS, ids=[rest for _, rest in QUESTIONS])
def test_questions_are_answered_by_their_commands(cli: Cli, trace: Path, command: str, rest: str) -> None:
    (trace.parent / "mysql.load.zst").write_bytes(trace.read_bytes())
    work = '[workload]\npath = "small.spc"\n'
    (trace.parent / "experiment.toml").write_text(f'preset = "hbm-2010"\n{work}', encoding="utf-8")
    (trace.parent / "examples").symlink_to(ROOT / "examples")
    some: tuple[str, ...] = ("--first", "300") if command == "compare" else ("--set", "workload.first=300")
    if "examples/buffers" in rest:
        some = ("--set", "workload.generate.requests=300")
    if "examples/readings" in rest:
        # Each reading of the FTL fills a drive of its own.
        small = ("nand.blocks_per_plane=8442", 'ftl.exported="1 GiB"')
        some = (*some, *(word for setting in small for word in ("--set", setting)))
    # A part of the default drive is in its steady state in that part of the time.
    default = command == "compare" and ("--device" not in rest or "nvme-tlc" in rest)
    part = ["nand.channels=1", "nand.blocks_per_plane=43"] if default else []
    if part and "ftl.exported" not in rest:
        part.append('ftl.exported="1875 MB"')
    less = [word for setting in part for word in ("--set", setting)]
    answer = cli(command, *shlex.split(rest), *some, *less)
    assert answer.returncode == 0, answer.stderr
    assert "requests ·" in answer.stdout
