"""Which rows and columns the table of results has, and in which order."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_SETS, Cli
from results_made_up import record, rows
from rich.console import Console

from eraseblock.names import known
from eraseblock.results.headline import NAMED, column_named
from eraseblock.terminal.console import out
from eraseblock.terminal.progress import ProgressLines
from eraseblock.terminal.showing import Showing
from eraseblock.terminal.table import print_results
from eraseblock.terminal.verdicts import print_verdicts

BASELINES = ("none", "lru")
# Registered after them, it would be the best of those made up.
LATER = ("cold-groups", "ensemble", "opt")
OTHERS = [name for name in known("buffers") if name not in (*BASELINES, *LATER)]


def printed(*records: dict[str, Any], showing: Showing | None = None, width: int = 120) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    print_results(console, rows(*records), showing)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def schemes(lines: list[str]) -> list[str]:
    """The names in the column of schemes, down to the bound."""
    words = [{*line.split()} for line in lines if " vs " not in line]
    return [name for found in words for name in (*known("buffers"), "bound") if name in found]


def everybody(size: str = "4 MiB") -> list[dict[str, Any]]:
    """All schemes, from 30 ms downwards, the baselines the worst."""
    some = [record(name, 30.0 - number, size=size) for number, name in enumerate(OTHERS)]
    return [record("none", 90, size=size), record("lru", 60, size=size), *some]


def test_the_best_come_first_and_the_baselines_are_there() -> None:
    lines = printed(*everybody())
    best = OTHERS[::-1][:8]
    assert schemes(lines) == [*best, "lru", "none", "bound"]
    assert f"{len(OTHERS) - 8} more: --all" in lines[-1]
    assert schemes(printed(*everybody(), showing=Showing(top=3))) == [*best[:3], "lru", "none", "bound"]
    every = schemes(printed(*everybody(), showing=Showing(everything=True)))
    assert every == [*OTHERS[::-1], "lru", "none", "bound"]


def test_columns_that_are_asked_for_are_all_there() -> None:
    names = ("erases", "mean", "WAF", "hits", "copies", "merged", "padded", "reads", "wear-max")
    asked = [column_named(name, "--columns") for name in names]
    some = [record("lru", 9), record("fab", 7)]

    def heads(*, terminal: bool, width: int) -> list[str]:
        console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
        print_results(console, rows(*some), Showing(columns=tuple(asked)))
        assert isinstance(console.file, io.StringIO)
        assert console.width == width
        text = console.file.getvalue()
        assert "\u2026" not in text
        return text.splitlines()[1].split()

    titles = [one.title for one in asked]
    whole = heads(terminal=False, width=60)
    assert [word for word in whole if word in titles] == titles
    # A terminal cannot be widened: the last ones go, and what compares before them.
    narrow = heads(terminal=True, width=60)
    assert 1 < len(narrow) < len(whole)
    assert narrow[2:] == titles[: len(narrow) - 2]


def test_each_of_several_ftls_has_its_best_and_its_measure() -> None:
    ftls = ("page", "dftl", "bast", "fast")
    runs = [
        record(name, 30.0 - number + 100 * place, ftl=ftl)
        for place, ftl in enumerate(ftls)
        for number, name in enumerate(("lru", *OTHERS))
    ]
    shown = [line.split() for line in printed(*runs)]
    for ftl in ftls:
        assert any(ftl in words and "lru" in words for words in shown), ftl
        assert any(ftl in words and OTHERS[-1] in words for words in shown), ftl
    # Where a number is asked for there are no others.
    few = [line.split() for line in printed(*runs, showing=Showing(top=1))]
    assert not any("fast" in words for words in few)


def test_a_bound_is_that_of_its_seeds_and_of_who_allows_most() -> None:
    def run(scheme: str, seed: int, hits: float) -> dict[str, Any]:
        one = record(scheme, 5, seed=seed)
        one["bound"] = {**one["bound"], "hit_ratio": hits}
        return one

    lines = printed(run("lru", 1, 0.5), run("lru", 2, 0.7), run("fab", 1, 0.2), run("fab", 2, 0.2))
    [bound] = [line for line in lines if " bound " in line]
    assert "60.0 %" in bound


def test_no_best_is_marked_among_figures_that_print_alike() -> None:
    lines = printed(record("lru", 5.0001, hits=0.50001), record("fab", 5.0002, hits=0.2))
    [lru] = [line for line in lines if "50.0 %" in line]
    assert "5 ms*" not in lru
    assert "50.0 %*" in lru


def test_lines_end_where_their_text_does(capsys: pytest.CaptureFixture[str]) -> None:
    print_results(out(), rows(record("lru", 9), record("fab", 7)))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 4
    assert not [line for line in lines if line != line.rstrip()]


def test_whatever_the_sizes_it_fits_on_a_screen() -> None:
    sizes = ("1 MiB", "4 MiB", "16 MiB", "64 MiB")
    records = [one for size in sizes for one in everybody(size)]
    lines = printed(*records)
    console = Console(file=io.StringIO(), width=120)
    print_verdicts(console, rows(*records))
    assert isinstance(console.file, io.StringIO)
    assert len(lines) + len(console.file.getvalue().splitlines()) <= 45
    assert schemes(lines).count("lru") == schemes(lines).count("none") == schemes(lines).count("bound") == 4
    # The best that is no reconstruction is among the few, too.
    assert schemes(lines).count("supa") == 4


def test_distance_from_lru_stands_behind_what_decides() -> None:
    lines = printed(record("lru", 10), record("fab", 6.2), record("none", 41), record("supa", 12))
    header = next(line for line in lines if "scheme" in line)
    assert header.split()[:5] == ["buffer", "scheme", "mean", "vs", "lru"]
    cells = {
        words[-9 if name == "fab" else -8]: line
        for line in lines
        for words in [line.split()]
        for name in words
        if name in ("fab",)
    }
    assert any("6.20 ms*" in line and "-38 %" in line for line in lines), cells
    assert any("none" in line and "4.1x" in line for line in lines)
    assert any("supa" in line and "+20 %" in line for line in lines)


def test_columns_are_chosen_and_sorted_by() -> None:
    some = (record("lru", 10, hits=0.3, erases=5), record("fab", 8, hits=0.2, erases=9))
    lines = printed(*some, showing=Showing(columns=(NAMED["erases"], NAMED["hits"]), sort=NAMED["hits"]))
    header = next(line for line in lines if "scheme" in line)
    assert header.split() == ["buffer", "scheme", "erases", "hits", "vs", "lru"]
    assert schemes(lines) == ["lru", "fab", "bound"]
    # What decides is compared even where its column is not wanted.
    lines = printed(*some, showing=Showing(columns=(NAMED["erases"],)))
    assert "mean vs lru" in lines[1]


def test_columns_have_names_and_places() -> None:
    assert column_named("READ-p99", "--sort") is NAMED["read-p99"]
    assert column_named("flash.erases.total", "--sort") is NAMED["erases"]


def test_a_sweep_is_one_table_with_its_key_as_a_column() -> None:
    victims = ("greedy", "fifo", "cat", "random")
    lines = printed(*(record("lru", 10 - number, victim=name) for number, name in enumerate(victims)))
    assert sum("made-up.spc" in line for line in lines) == 1
    assert "lru" in lines[0]
    assert lines[1].split()[:4] == ["ftl.victim", "mean", "vs", "greedy"]
    assert [line.split()[0] for line in lines[3:7]] == [*victims[::-1]]
    # Numbers stay in their order: the figure is a curve along them.
    lines = printed(*(record("lru", mean, spare=part) for part, mean in ((0.07, 9), (0.28, 5), (0.5, 7))))
    assert [line.split()[0] for line in lines[3:6]] == ["0.07", "0.28", "0.5"]


def test_a_row_not_to_be_trusted_is_marked_though_no_column_names_its_scheme() -> None:
    by_key = printed(record("lru", 10, victim="greedy"), record("lru", 9, victim="fifo", reasons=["never"]))
    assert "scheme" not in by_key[1]
    assert [line.split()[:2] for line in by_key if " ! " in line] == [["fifo", "!"]]
    by_ftl = printed(record("lru", 10), record("lru", 9, ftl="fast", reasons=["never"]))
    assert ["fast", "!"] in [line.split()[:2] for line in by_ftl]
    by_drive = printed(record("lru", 10), record("lru", 9, drive="nvme-tlc", reasons=["never"]))
    assert ["nvme-tlc", "!"] in [line.split()[:2] for line in by_drive]


def test_drives_are_named() -> None:
    assert "hbm-2010 · FTL page" in printed(record("lru", 10))[0]
    lines = printed(record("lru", 10), record("lru", 1, drive="nvme-tlc", ftl="bast"))
    assert "hbm-2010 (FTL page), nvme-tlc (FTL bast)" in lines[0]
    assert lines[1].split()[0] == "drive"
    assert [line[:8] for line in lines if line.startswith(("hbm", "nvme"))] == ["hbm-2010", "nvme-tlc"]


def test_runs_that_differ_in_their_seeds_are_one_row() -> None:
    lines = printed(*(record("lru", mean, seed=seed) for seed, mean in ((1, 10), (2, 20), (3, 30))))
    assert "means of 3 seeds" in lines[0]
    assert sum("20 ms" in line for line in lines) == 1


def test_a_misspelt_column_is_told_before_anything_runs(cli: Cli, trace: Path) -> None:
    for option, name, meant in (("--sort", "p98", "p99"), ("--columns", "mean,erasse", "erases")):
        run = cli("compare", trace, *SMALL_SETS, option, name)
        assert (run.returncode, run.stdout) == (2, "")
        assert f"{option}: there is no column" in run.stderr
        assert f"did you mean `{meant}`?" in run.stderr
    for options, said in (
        (("--sort", "pages/flush"), "--sort: `pages/flush` has no better end"),
        (("--top", "0"), "--top: found 0, expected 1 or more"),
        (("--top", "3", "--all"), "--top and --all exclude each other"),
    ):
        run = cli("compare", trace, *SMALL_SETS, *options)
        assert (run.returncode, run.stdout) == (2, "")
        assert said in run.stderr


def test_a_comparison_ends_in_a_verdict(cli: Cli, trace: Path) -> None:
    options = ("--buffers", "none,lru,fab", "--buffer-size", "128KiB,512KiB", "--columns", "mean,read-p99")
    run = cli("compare", trace, *SMALL_SETS, *options)
    assert run.returncode == 0
    table, title, verdict = run.stdout.partition("Which buffer to take on hbm-2010, by mean response")
    assert "read-p99" in table
    assert title
    assert "128 KiB: " in verdict
    assert "512 KiB: " in verdict
    # An eighth of the drives is filled in an eighth of the time.
    part = ("--set", "nand.channels=1", "--set", 'ftl.exported="7500 MB"')
    both = cli("compare", trace, "--device", "hbm-2010,nvme-tlc", "--buffers", "lru", *part, "--json")
    assert [one["config"]["preset"] for one in json.loads(both.stdout)] == ["hbm-2010", "nvme-tlc"]


def test_a_long_sweep_says_now_and_then_on_a_pipe_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 30))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    with ProgressLines(4) as bar:
        for index in range(4):
            bar.update(index, "replay", 1, 2)
            bar.finished(index)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "eraseblock: 1 of 4 runs have ended, some 3 min left"
    assert len(said) == 4


def test_a_dash_without_a_trace_behind_it_is_told(process: Cli) -> None:
    run = process("compare", "-")
    assert run.returncode == 2
    assert run.stderr == "eraseblock: -: nothing came through stdin\n"


def test_a_drive_that_outlived_its_run_is_not_one_without_a_figure() -> None:
    lifetime = column_named("lifetime", "--columns")
    assert (lifetime.show(None), lifetime.show(0), lifetime.show(1 << 20)) == ("not reached", "0 B", "1 MiB")


def test_the_head_names_the_fewest_and_the_most_requests() -> None:
    few = record("none", 5, requests={"submitted": 300, "completed": 300})
    assert "made-up.spc · 300 to 1,000 requests" in printed(few, record("lru", 10))[0]
    assert "made-up.spc · 1,000 requests" in printed(record("lru", 10), record("fab", 9))[0]
