"""A scheme that was built without its paper is labelled so wherever its figures are shown."""

from __future__ import annotations

import io
from pathlib import Path
from typing import cast

import pytest
from conftest import SMALL_DRIVE
from rich.console import Console

import eraseblock
from eraseblock.names import source_of
from eraseblock.pages import scheme_page
from eraseblock.report.columns import axes_of
from eraseblock.results import view
from eraseblock.results.record import Record
from eraseblock.terminal.table import print_results

WORK = """
[workload.generate]
kind = "uniform"
requests = 200
footprint = "1 MiB"
interval = "3 ms"
"""


def test_tables_plots_and_pages_say_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(SMALL_DRIVE + WORK, encoding="utf-8")
    records = eraseblock.run(file, sets=["buffer.scheme=[lru, fifo]", "buffer.size=128KiB"])
    monkeypatch.setattr(view, "reconstructions", lambda kind: {"fifo"} if kind == "buffers" else set())
    rows = view.rows_of(cast(list[Record], records))
    axes = {axis["id"]: axis["labels"] for axis in axes_of(rows, ["", ""])}
    assert axes["scheme"] == ["lru", "fifo (reconstruction)"]
    printed = io.StringIO()
    print_results(Console(file=printed, width=100), rows)
    assert " fifo \u2020 " in printed.getvalue()
    assert "\u2020 reconstruction" in printed.getvalue()
    assert "lru \u2020" not in printed.getvalue()


def test_lists_and_pages_agree_with_the_registry() -> None:
    for entry in eraseblock.registry()["buffers"]:
        told = {**entry, "reconstruction": True}
        assert "> **A reconstruction**" in scheme_page(told)
        assert source_of(told).endswith("a reconstruction")
        assert ("> **A reconstruction**" in scheme_page(entry)) == entry["reconstruction"]


def test_pages_say_from_whose_description_a_scheme_is_built() -> None:
    after = {e["name"]: e["described_in"] for e in eraseblock.registry()["buffers"] if e["described_in"]}
    assert set(after) == {"lb-clock", "cflru", "fab", "clock", "arc", "s3-fifo", "w-tinylfu"}
    for entry in eraseblock.registry()["buffers"]:
        facts = scheme_page(entry).splitlines()[2]
        assert ("built after" in facts) == (entry["name"] in after)
        assert after.get(entry["name"], "") in facts
        # With neither the paper nor a full description of it, the scheme is a reconstruction.
        assert not (entry["reconstruction"] and entry["name"] in after)
