"""`eraseblock reproduce` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from conftest import Cli

from eraseblock_reproduction import data
from eraseblock_reproduction.answers import answers, counts, failed
from eraseblock_reproduction.charts import charts_of, is_wide
from eraseblock_reproduction.plan import plan
from eraseblock_reproduction.running import execute
from eraseblock_reproduction.traces import Survey, Trace

EXACT = {
    ("hbm", "table1.1"): {"page-hits": 6, "page-sequential": 0, "block-hits": 2, "block-sequential": 1}
    | {"hybrid-hits": 3, "hybrid-sequential": 1},
    ("bplru", "table1"): {"lru": 12, "block-lru": 7, "no-hits": 0},
    ("multibank", "fig3.2"): {"striping": 700, "non-striping": 800},
}


@pytest.mark.parametrize(("paper", "figure"), EXACT)
def test_worked_examples_are_exact(paper: str, figure: str, cli: Cli) -> None:
    done = cli("reproduce", paper, figure, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    [found] = json.loads(done.stdout)["papers"]
    [one] = found["figures"]
    assert [source["kind"] for source in one["workloads"]] == ["own"]
    claims = {claim["id"]: claim for claim in one["claims"] if claim["kind"] == "exact"}
    values = {name.partition("-")[2]: claim["value"] for name, claim in claims.items()}
    assert values == EXACT[paper, figure]
    assert {(claim["verdict"], claim["on"]) for claim in claims.values()} == {("reproduced", "own")}


def test_a_claim_is_told_in_full(cli: Cli) -> None:
    [found] = json.loads(cli("reproduce", "bplru", "table1", "--json").stdout)["papers"]
    # Worked examples are no results.
    assert (found["results"], found["figures"][0]["counts"]) == (
        {},
        {"reproduced": 3, "contradicts itself": 1},
    )
    assert {claim["shows"] for claim in found["figures"][0]["claims"]} == {"worked example"}
    [first] = [claim for claim in found["figures"][0]["claims"] if claim["id"] == "table1-lru"]
    assert first == {
        "id": "table1-lru",
        "section": "3.1",
        "says": "LRU causes 12 merges",
        "shows": "worked example",
        "kind": "exact",
        "quantity": "merges",
        "stated": "12",
        "verdict": "reproduced",
        "on": "own",
        "workloads": ["bplru-table-1"],
        "ours": "12",
        "value": 12.0,
        "seeds": 1,
        "lowest": 12.0,
        "highest": 12.0,
        "holds": 1,
        "points": 1,
    }


def test_a_folder_keeps_runs_and_gets_the_report(cli: Cli, tmp_path: Path) -> None:
    folder, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    first = cli("reproduce", "multibank", "3.2", "-o", str(folder), "--page", str(page))
    assert first.returncode == 0
    assert "striping answers the two" in first.stdout
    again = cli("reproduce", "multibank", "3.2", "-o", str(folder))
    assert "3 of 3 runs found" in again.stderr
    report = (folder / "report.html").read_text()
    assert "Two requests on two banks" in report
    assert json.loads((folder / "reproduction.json").read_text())["papers"][0]["results"] == {}
    assert "[multibank](papers/multibank.md)" in page.read_text()
    assert "- Worked examples: 2 of 2 as stated." in (page.parent / "papers" / "multibank.md").read_text()
    rows = (page.parent / "papers" / "multibank.csv").read_text().splitlines()
    says = "striping answers the two requests in 700 us on average"
    assert rows[1].startswith(f"fig3.2-striping,3.2,3.3,worked example,,{says}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hmb"], "there is no paper `hmb`; did you mean `hbm`?"),
        (["hbm", "table1.2"], "reproduce hbm: there is no figure `table1.2`; did you mean `table4.2`?"),
        ([], "name a paper (hbm, epo, bplru, multibank, supa), `beyond`, or say --all"),
        (["hbm", "--all"], "--all: stands for every paper; leave out --all or `hbm`"),
        (["hbm", "table1.1", "--fresh"], "--fresh: is about a folder of results; name it with -o"),
        (["hbm", "table1.1", "--traces", "/nowhere"], "--traces /nowhere: no such folder"),
        (["hbm", "table1.1", "--jobs", "0"], "--jobs: found 0, expected 1 or more"),
    ],
)
def test_wrong_calls(arguments: list[str], message: str, cli: Cli) -> None:
    done = cli("reproduce", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_runs_that_fail_are_told_once(tmp_path: Path) -> None:
    # An own trace that is gone when it is to be run.
    gone = Trace(tmp_path / "gone.spc", "0" * 64, 3_699_194, 3_046_112, 653_082)
    paper = data.paper("hbm")
    planned = plan([(paper, paper.figure("4.1"))], Survey((gone,)))
    execute(planned)
    found = answers(planned)
    assert len(failed(found)) == 1
    assert "gone.spc: no such file" in failed(found)[0]
    assert counts(found[0].answers) == {"undecided": 27}
    [figure] = found[0].as_json()["figures"]
    assert (figure["runs"], list(figure["failed"].values())) == (0, [32])


def test_papers_are_listed(cli: Cli) -> None:
    assert "table1.1" in cli("list", "papers", "hbm").stdout
    listed = json.loads(cli("list", "papers", "--json").stdout)
    assert [paper["name"] for paper in listed] == list(data.PAPERS)
    assert all(paper["figures"] for paper in listed)
    assert "did you mean `hbm`?" in cli("list", "papers", "hbn").stderr


def test_what_needs_hardware_is_listed(cli: Cli) -> None:
    done = cli("reproduce", "supa", "14", "--json")
    assert done.returncode == 0
    [paper] = json.loads(done.stdout)["papers"]
    assert set(paper["results"]) == {"undecided"}
    assert all(
        claim["reason"].startswith("needs hardware: A Samsung SSD") for claim in paper["figures"][0]["claims"]
    )


def test_figures_are_drawn() -> None:
    paper = data.paper("bplru")
    planned = plan([(paper, paper.figure("7"))], Survey())
    [figure] = planned.figures
    kept = [run.settings["buffer"]["size"] in ("4 MiB", "16 MiB") for run in figure.runs]
    figure.experiments = [one for one, keep in zip(figure.experiments, kept, strict=True) if keep]
    figure.runs = [one for one, keep in zip(figure.runs, kept, strict=True) if keep]
    execute(planned)
    [answered] = answers(planned)
    charts = charts_of(answered.figures[0])
    assert [chart.title for chart in charts] == [
        "write throughput (MB/s)",
        "block erases",
        "Stated reductions, increases, ratios and differences, and ours (%)",
    ]
    pictures = [vl_convert.vegalite_to_svg(chart.spec) for chart in charts]
    assert all("bplru" in picture and "16 MiB" in picture for picture in pictures[:2])
    assert "BPLRU erases 41 % less than FAB with 16 MB" in pictures[2]


def test_figures_far_apart_are_drawn_by_their_ratios() -> None:
    def panel(*figures: float) -> list[dict[str, Any]]:
        return [{"workload": "w", "y": figure} for figure in figures]

    assert is_wide(panel(0.1, 10))
    assert not is_wide(panel(1, 10))
    # Nothing has no ratio.
    assert not is_wide(panel(0, 10))
    # Panels have scales of their own.
    assert not is_wide([*panel(1, 2), {"workload": "v", "y": 900}])


def test_lines_are_named_by_what_tells_them_apart() -> None:
    paper = data.paper("multibank")
    planned = plan([(paper, paper.figure("3.2"))], Survey())
    execute(planned)
    [answered] = answers(planned)
    [chart] = charts_of(answered.figures[0])
    values = chart.spec["data"]["values"]
    ours = {value["series"]: value["y"] for value in values if "says" not in value}
    assert ours == {"dynamic, striping_unit 1": 700, "dynamic, striping_unit 2": 700, "non-striping": 800}
    stated = {value["series"]: value["y"] for value in values if "says" in value}
    assert stated == {"dynamic, striping_unit 1": 700, "non-striping": 800}
