"""A narrow terminal gets fewer columns: no name is cut, and what is left out is said."""

from __future__ import annotations

import io
from pathlib import Path
from typing import cast

import pytest
from conftest import SMALL_DRIVE, Cli
from rich.console import Console

import eraseblock
from eraseblock.readings.wording import ChoiceRow
from eraseblock.results.record import Record
from eraseblock.results.view import rows_of
from eraseblock.terminal.sensitivity import _fitting
from eraseblock.terminal.table import print_results

WORK = """
[workload.generate]
kind = "uniform"
requests = 200
footprint = "1 MiB"
interval = "3 ms"
"""


@pytest.mark.parametrize(("width", "gone"), [(100, ""), (60, "pages/flush"), (40, "WAF")])
def test_names_of_schemes_stay_whole(tmp_path: Path, width: int, gone: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(SMALL_DRIVE + WORK, encoding="utf-8")
    records = eraseblock.run(file, sets=["buffer.scheme=[w-tinylfu, opt]", "buffer.size=128KiB"])
    printed = io.StringIO()
    print_results(Console(file=printed, width=width), rows_of(cast(list[Record], records)))
    lines = printed.getvalue().splitlines()
    header = next(line for line in lines if "buffer" in line and "scheme" in line)
    assert "mean" in header
    assert any(" w-tinylfu " in line for line in lines)
    assert any(" opt ‡ " in line for line in lines)
    assert max(map(len, lines)) <= width
    assert ("no room for" in " ".join(lines)) == bool(gone)
    assert not gone or gone not in header


@pytest.mark.parametrize("width", [100, 80, 60])
def test_names_of_choices_stay_whole(width: int) -> None:
    name = "buffer.write_back"
    row = ChoiceRow(name, "its own rule → true, false", ["+3.4 %"] * 5, True, False, False, 2, [], "", False)
    printed = io.StringIO()
    console = Console(file=printed, width=width)
    table, sentence = _fitting(console, ["mean", "p99", "hits", "erases", "WAF"], [row])
    console.print(table)
    lines = printed.getvalue().splitlines()
    assert any(f" {name} " in line for line in lines)
    assert max(map(len, lines)) <= width
    assert all(
        ("WAF" in line) != ("WAF" in sentence) for line in lines if "choice" in line and "mean" in line
    )


def test_what_cannot_be_done_is_said_plainly(cli: Cli, tmp_path: Path) -> None:
    surplus = cli("list", "buffers", "hbm", "lru")
    assert (surplus.returncode, surplus.stdout) == (2, "")
    assert "more than this command takes: lru" in surplus.stderr
    (tmp_path / "x.toml").write_text(SMALL_DRIVE + WORK, encoding="utf-8")
    unnamed = cli("run", tmp_path / "x.toml", "--events", "")
    assert unnamed.returncode == 2
    assert "--events: the name is empty" in unnamed.stderr
    folder = cli("run", tmp_path / "x.toml", "--events", f"{tmp_path}/logs/")
    assert folder.returncode == 0
    assert [path.name for path in (tmp_path / "logs").iterdir()]
