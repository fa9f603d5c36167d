"""`--sensitivity` from end to end: orders that a choice reverses, or nothing does; folders and the page."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, SMALL_SETS, Cli

import eraseblock
from eraseblock.readings.analysis import _Facts
from eraseblock.results.record import Analysis
from eraseblock.results.store import read_records

# The drive of the BPLRU paper's Table 1: eight pages of buffer, four pages a block, BAST with two log blocks.
TABLE_1 = """\
[nand]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 16
pages_per_block = 4
page_size = "2 KiB"
program_order = "ascending"
timing = { read = "50us", program = "800us", erase = "1500us", transfer = "50us" }

[ftl]
exported = "64 KiB"
mapping = { kind = "bast", log_blocks = 2, partial_merge = false }

[buffer]
size = "16 KiB"
scheme = [{ kind = "bplru", padding = false, compensation = false }, "fab"]

[host]
end_of_run = "flush"

[workload]
path = "pages.spc"
"""
PAPER = [0, 4, 8, 12, 16, 1, 5, 9, 13, 17, 2, 6, 10, 14]
# Writes that cost block LRU 8 erases where room is made first, 14 where the block moves first; FAB 10.
TELLING = [16, 6, 19, 9, 2, 11, 7, 14, 18, 5, 3, 9, 14, 7, 17, 12]
TOUCH_FIRST = 'bplru evict_order = "touch-first"'


@pytest.fixture
def table_1(tmp_path: Path) -> Path:
    return written(tmp_path, PAPER)


def written(folder: Path, pages: list[int]) -> Path:
    lines = (f"0,{4 * page},2048,w,{index / 10:.6f}\n" for index, page in enumerate(pages))
    (folder / "pages.spc").write_text("".join(lines), encoding="utf-8")
    path = folder / "table-1.toml"
    path.write_text(TABLE_1, encoding="utf-8")
    return path


def reading(analysis: Analysis, name: str) -> dict[str, Any]:
    return next(one for one in analysis["readings"] if one["reading"] == name)


def conclusion(analysis: Analysis, metric: str) -> dict[str, Any]:
    """The only one of a figure, where two schemes are compared."""
    [contest] = analysis["contests"]
    [found] = contest["rankings"][metric]["conclusions"]
    return dict(found)


def test_table_1_has_seven_merges_or_six(table_1: Path) -> None:
    analysis = eraseblock.sensitivity(table_1)
    [bplru, _] = analysis["runs"]
    assert bplru["figures"]["erases"] == 2 * 7
    [switched] = reading(analysis, TOUCH_FIRST)["runs"]
    assert (switched["run"], switched["figures"]["erases"]) == (0, 2 * 6)
    # FAB has six merges, too: the reading makes the two equal.
    found = conclusion(analysis, "erases")
    assert (found["better"], found["worse"]) == (1, 0)
    assert "levels" in [under["effect"] for under in found["under"]]


def test_an_order_that_a_reading_reverses(cli: Cli, tmp_path: Path) -> None:
    run = cli("run", written(tmp_path, TELLING), "--sensitivity", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    analysis = json.loads(run.stdout)
    assert [one["figures"]["erases"] for one in analysis["runs"]] == [8, 10]
    found = conclusion(analysis, "erases")
    assert (found["better"], found["worse"], found["ratio"]) == (0, 1, 0.8)
    place = analysis["readings"].index(reading(analysis, TOUCH_FIRST))
    assert {"reading": place, "effect": "reverses", "ratio": 1.4} in found["under"]
    shown = cli("run", tmp_path / "table-1.toml", "--sensitivity").stdout
    assert "erases: bplru beats fab (0.80x)" in shown
    assert f"{TOUCH_FIRST}: fab beats bplru (0.71x)" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_nothing_rests_on_what_wore_out_on_the_way() -> None:
    run: Any = {"trusted": True, "waf": 2.0}
    assert _Facts(run).figure("waf") == 2.0
    assert _Facts({**run, "end_of_life": {"unanswered": 0}}).figure("waf") == 2.0
    assert _Facts({**run, "end_of_life": {"unanswered": 9}}).figure("waf") is None


def test_where_nothing_moves(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, list(range(16)))
    sets = ("--set", 'ftl.mapping="page"', "--set", 'precondition.state="empty"')
    schemes = ("--set", 'buffer.scheme=["lru", "bplru"]')
    run = cli("run", path, "--sensitivity", *sets, *schemes, "--json")
    assert run.returncode == 0
    analysis = json.loads(run.stdout)
    names = [one["reading"] for one in analysis["readings"]]
    collection = ["free_blocks = 1.0", "free_blocks = 4.0", "step_pages = 1", "step_pages = 64"]
    collection += ['grain = "victim"', 'grain = "all"']
    assert len(names) == 3 + len(collection)
    assert {TOUCH_FIRST, "bplru pad_unwritten = false"} <= set(names)
    assert [name for name in names if name.startswith("page")] == [f"page {name}" for name in collection]
    assert analysis["counts"]["move"] == analysis["counts"]["level"] == 0
    for one in analysis["readings"]:
        assert one["reverses"] == 0
        assert all(change is None or change["largest"] == 0 for change in one["changes"].values())
    shown = cli("run", path, "--sensitivity", *sets, *schemes).stdout
    assert "bplru evict_order evict-first → touch-first" in " ".join(
        shown.split("without any effect: ")[1].split()
    )
    assert "Conclusions that depend" not in shown


def test_a_refused_reading_is_told_of(cli: Cli, table_1: Path) -> None:
    run = cli("run", table_1, "--sensitivity", "--set", 'buffer.scheme=["hbm", "fab"]')
    assert run.returncode == 0
    assert "refused: hbm beta = 0.1 (1 run): buffer.scheme.alpha: 1 is above beta, 0.1" in run.stdout


def test_a_folder_has_all_runs_and_the_analysis(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, TELLING)
    first = cli("run", path, "--sensitivity", "--jobs", "1", "-o", "one")
    cli("run", path, "--sensitivity", "--jobs", "4", "-o", "four")
    one, four = tmp_path / "one", tmp_path / "four"
    for name in ("results.json", "results.parquet", "sensitivity.json"):
        assert (one / name).read_bytes() == (four / name).read_bytes(), name
    # The results proper are those of the experiment; the page tells of the readings.
    assert len(read_records(one)) == 2
    page = (one / "report.html").read_text(encoding="utf-8")
    assert "Other readings of the papers" in page
    assert "fab beats bplru" in page

    again = cli("run", path, "--sensitivity", "-o", "one")
    runs = len((one / "runs.jsonl").read_text(encoding="utf-8").splitlines()) - 2
    assert f"runs found in {Path('one')}" in again.stderr
    assert again.stdout == first.stdout
    # Without the option: the same results, and an analysis that still holds; with other results it goes.
    plain = cli("run", path, "-o", "one")
    assert f"{runs - 3} that this sweep does not ask for" in plain.stderr
    assert "Other readings" in (one / "report.html").read_text(encoding="utf-8")
    cli("run", path, "--set", "seed=2", "-o", "one")
    assert not (one / "sensitivity.json").exists()
    assert "Other readings of the papers" not in (one / "report.html").read_text(encoding="utf-8")


def test_the_page_is_built_again_with_its_readings(cli: Cli, table_1: Path, tmp_path: Path) -> None:
    cli("run", table_1, "--sensitivity", "-o", "out")
    before = (tmp_path / "out/report.html").read_bytes()
    assert cli("report", "out", "-o", "elsewhere").returncode == 0
    assert (tmp_path / "elsewhere/report.html").read_bytes() == before
    (tmp_path / "out/sensitivity.json").write_text("{", encoding="utf-8")
    broken = cli("report", "out")
    assert broken.returncode == 2
    assert broken.stderr.startswith("eraseblock: out/sensitivity.json: not an analysis")
    # The runs are all there: saying the command again mends it, and without the option it goes.
    assert cli("run", table_1, "--sensitivity", "-o", "out").returncode == 0
    assert json.loads((tmp_path / "out/sensitivity.json").read_text(encoding="utf-8"))["runs"]
    (tmp_path / "out/sensitivity.json").write_text("{", encoding="utf-8")
    assert cli("run", table_1, "-o", "out").returncode == 0
    assert not (tmp_path / "out/sensitivity.json").exists()


def test_a_sensitivity_run_goes_on_where_it_was_stopped(cli: Cli, sweep_file: Path, tmp_path: Path) -> None:
    sets = ("--set", 'buffer.size="512 KiB"', "--set", "workload.generate.requests=2_500", "--jobs", "1")
    command = [COMMAND, "run", str(sweep_file), "--sensitivity", *sets, "-o", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "out/runs.jsonl"
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b'"run":') < 10:
        assert process.poll() is None, "it ended too soon"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    # What has ended so far of the experiment itself can be read; other readings are no part of it.
    assert len(read_records(tmp_path / "out")) == 8

    whole = cli(*command[1:])
    assert whole.returncode == 0, whole.stderr
    assert "runs found in out" in whole.stderr
    fresh = cli(*command[1:-1], "fresh")
    name = "sensitivity.json"
    assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "fresh" / name).read_bytes()
    assert whole.stdout.replace("out/report", "fresh/report") == fresh.stdout


def test_a_comparison_takes_it_too(cli: Cli, trace: Path) -> None:
    sets = (*SMALL_SETS, "--buffer-size", "512KiB", "--buffers", "bplru,lru")
    run = cli("compare", trace, *sets, "--sensitivity", "--json")
    assert run.returncode == 0
    analysis = json.loads(run.stdout)
    switched = {one["option"] for one in analysis["readings"]}
    assert {"buffer.scheme.evict_order", "ftl.mapping.victim", "buffer.write_back"} <= switched


def test_a_wrong_experiment_is_told_of_as_ever(cli: Cli, table_1: Path) -> None:
    run = cli("run", table_1, "--sensitivity", "--set", "buffer.scheme=bplruu")
    assert run.returncode == 2
    assert "did you mean" in run.stderr
    assert cli("run", table_1, "--sensitivity", "--fresh").returncode == 2
