"""The report: one file that needs nothing from outside and holds every run, figure, setting and warning."""

from __future__ import annotations

import copy
import html
import json
import re
from dataclasses import replace
from pathlib import Path

import polars
import pytest
from report_page import column, data_of, details_of, figures
from results_made_up import record as made_up
from results_made_up import rows
from time_report import many

import eraseblock
from eraseblock.report import page as page_module
from eraseblock.report.details import detail
from eraseblock.report.page import build_page
from eraseblock.report.verdicts import verdicts_of
from eraseblock.results.conclusion import conclusions_of
from eraseblock.results.record import Record
from eraseblock.results.store import read_records
from eraseblock.results.view import rows_of

LIMIT = 6_000_000


@pytest.fixture(scope="module")
def page(results_folder: Path) -> str:
    return (results_folder / "report.html").read_text(encoding="utf-8")


def test_it_stands_alone(page: str) -> None:
    assert len(page.encode()) < LIMIT
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", without_scripts)
    assert "@import" not in without_scripts
    assert "url(" not in without_scripts


def test_how_fast_the_simulator_was_is_not_in_it(records: list[Record]) -> None:
    slow = copy.deepcopy(records)
    for one in slow:
        one["engine"] = {"wall_s": 9.0, "kind": "slow"}
    assert build_page(slow) == build_page(records)


def test_every_figure_of_every_run_is_in_it(page: str, records: list[Record]) -> None:
    data = data_of(page)
    assert data["count"] == len(records) == 24
    assert figures(data, "flash.erases.total") == [r["flash"]["erases"]["total"] for r in records]
    for path in ("waf", "hit_ratio.all", "response_ns.all.p99", "wear.erases_mean"):
        wanted = []
        for record in records:
            value = record
            for key in path.split("."):
                value = value[key]
            wanted.append(value)
        assert figures(data, path) == pytest.approx(wanted, rel=1e-8)
    assert not [
        one["path"] for one in data["figures"] if "series" in one["path"] or "wear.map" in one["path"]
    ]


def test_runs_are_told_apart_by_what_differs(page: str, records: list[Record]) -> None:
    axes = {axis["id"]: axis for axis in data_of(page)["axes"]}
    assert axes["ftl"]["labels"] == ["page", "bast"]
    assert axes["scheme"]["labels"] == ["none", "lru", "fab", "bplru"]
    assert axes["size"]["labels"] == ["128 KiB", "512 KiB", "2 MiB"]
    assert axes["size"]["numbers"] == [131072, 524288, 2097152]
    assert [axes["size"]["labels"][place] for place in axes["size"]["of"]] == [
        record["config"]["buffer"]["size"] for record in records
    ]
    assert len(axes) == 4


def test_a_setting_that_differs_is_an_axis_in_the_order_of_its_numbers(
    records: list[Record],
) -> None:
    changed = copy.deepcopy(records[:3])
    for record, speedup in zip(changed, (10, 0.5, 2), strict=True):
        record["config"]["host"]["speedup"] = speedup
    axis = next(axis for axis in data_of(build_page(changed))["axes"] if axis["id"] == "host.speedup")
    assert (axis["labels"], axis["of"]) == (["0.5", "2", "10"], [2, 0, 1])


def test_a_setting_that_another_one_tells_is_no_axis_of_its_own(records: list[Record]) -> None:
    changed = [copy.deepcopy(records[1]) for _ in range(3)]
    for number, (record, victim) in enumerate(
        zip(
            changed,
            ({"kind": "greedy"}, {"kind": "rga", "seed": 1}, {"kind": "random", "seed": 1}),
            strict=True,
        )
    ):
        record["key"] = f"{number:032x}"
        record["config"]["ftl"]["victim"] = victim
    page = build_page(changed)
    varying = [
        axis["id"] for axis in data_of(page)["axes"] if len(axis["labels"]) > 1 and not axis.get("implied")
    ]
    assert varying == ["ftl.victim.kind"]
    assert "3 runs, 3 values of ftl.victim.kind" in page


def test_drives_are_told_apart_by_their_names(records: list[Record]) -> None:
    changed = [copy.deepcopy(records[1]) for _ in range(2)]
    changed[1]["config"] |= {"preset": "other", "nand": {**changed[1]["config"]["nand"], "channels": 64}}
    axes = data_of(build_page(changed))["axes"]
    varying = [axis for axis in axes if len(axis["labels"]) > 1 and not axis.get("implied")]
    assert [(axis["title"], axis["labels"]) for axis in varying] == [("Drive", ["hbm-2010", "other"])]


def test_it_opens_with_the_sentences_of_compare(page: str, records: list[Record]) -> None:
    told = re.sub("</?b>", "", page)
    for conclusion in conclusions_of(rows_of(records)):
        assert html.escape(conclusion.title) in page
        for sentence in conclusion.sentences:
            assert html.escape(sentence.replace("`", "")) in told


def test_every_setting_and_identity_is_in_it(page: str, records: list[Record]) -> None:
    data = data_of(page)
    config = {one["key"]: one for one in data["config"]}
    for key in ("nand.timing.read", "host.replay", "precondition.state", "workload.generate.kind"):
        assert config[key]["values"], key
    assert config["buffer.size"]["values"] == ["128 KiB", "512 KiB", "2 MiB"]
    # A key that only some schemes have is told from one with a value.
    kinds = [record["config"]["buffer"]["scheme"] for record in records]
    padding = column(config["buffer.scheme.padding"]["of"], 24)
    assert [place is not None for place in padding] == ["padding" in kind for kind in kinds]
    identity = {one["key"]: one["values"] for one in data["traces"]}
    assert identity["sha256"] == [records[0]["trace"]["sha256"]]


def test_each_run_brings_its_course(page: str, records: list[Record]) -> None:
    details = details_of(page)
    assert len(details) == 24
    record, shown = records[17], details[17]
    histogram = record["response_ns"]["all"]["histogram"]
    assert shown["latency"]["all"]["count"] == [count for _, count in histogram]
    assert shown["latency"]["all"]["upper"] == pytest.approx([upper for upper, _ in histogram], rel=1e-4)
    assert shown["series"]["requests"] == record["series"]["requests"]
    assert shown["series"]["programs"] == record["series"]["programs"]
    ends = [sum(shown["series"]["end_ticks"][: step + 1]) for step in range(len(record["series"]["end_ns"]))]
    times = [tick * shown["series"]["end_unit_ns"] for tick in ends]
    last = record["series"]["end_ns"][-1]
    assert times == pytest.approx(record["series"]["end_ns"], abs=last / 10_000)
    assert shown["wear"]["max"] == record["wear"]["map"]["max"]


def test_merged_steps_keep_their_sums(records: list[Record]) -> None:
    fine, coarse = detail(records[17]), detail(records[17], merge=4)
    for key in ("requests", "programs", "erases", "host_pages"):
        assert sum(coarse["series"][key]) == sum(fine["series"][key])
        assert len(coarse["series"][key]) == -(-len(fine["series"][key]) // 4)
    assert max(coarse["series"]["backlog_max"]) == max(fine["series"]["backlog_max"])
    assert sum(coarse["series"]["end_ticks"]) == sum(fine["series"]["end_ticks"])
    assert max(map(max, coarse["wear"]["max"])) == max(map(max, fine["wear"]["max"]))
    assert coarse["wear"]["blocks_per_cell"] == 4 * fine["wear"]["blocks_per_cell"]


def test_older_results_without_a_course_are_shown(records: list[Record]) -> None:
    old = copy.deepcopy(records[:4])
    for record in old:
        del record["series"], record["wear"]["map"]
        for kind in record["response_ns"].values():
            del kind["histogram"]
    page = build_page(old)
    assert [sorted(one) for one in details_of(page)] == [["lengths"]] * 4
    assert figures(data_of(page), "waf") == pytest.approx([record["waf"] for record in old])


@pytest.mark.slow
def test_a_set_of_any_size_stays_within_the_limit(
    records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = build_page(many(records, 1500))
    data = data_of(page)
    assert len(page.encode()) < LIMIT
    assert data["count"] == len(details_of(page)) == 1500
    assert data["merged"] > 1
    monkeypatch.setattr(page_module, "MOST_RUNS", 30)
    page = build_page(many(records, 34))
    assert (data_of(page)["count"], data_of(page)["left_out"]) == (30, 4)
    assert "4 further runs are not in this page" in page


def test_advice_and_distrust_are_told(records: list[Record]) -> None:
    changed = copy.deepcopy(records)
    for record in changed:
        record["trusted"], record["reasons"] = True, []
    changed[1]["trusted"] = False
    changed[1]["reasons"] = ["the backlog grew to <9> requests"]
    for record in changed:
        record["warnings"] = ["garbage collection never ran; start from a full drive"]
    page = build_page(changed)
    assert html.escape("the backlog grew to <9> requests") in page
    assert "lru at 128 KiB" in page
    assert "garbage collection never ran" in page
    notes = data_of(page)["notes"]
    assert notes["trusted"] == [1, 0, *[1] * 22]
    assert [notes["sentences"][place] for place in notes["reasons"][1]] == changed[1]["reasons"]


def test_figures_that_no_run_has_are_left_out(records: list[Record]) -> None:
    untimed = copy.deepcopy(records[:12])
    for record in untimed:
        for kind in record["response_ns"].values():
            kind.update(dict.fromkeys(("mean", "p50", "p90", "p99", "p999", "max")))
    paths = [figure["path"] for figure in data_of(build_page(untimed))["figures"]]
    assert "response_ns.all.mean" not in paths
    assert "hit_ratio.all" in paths


def test_names_cannot_break_the_page(records: list[Record]) -> None:
    evil = copy.deepcopy(records[:4])
    for record in evil:
        record["trace"]["name"] = "</script><script>alert(1)</script>"
        record["name"] = "<b>"
        record["reasons"] = ["<img src=x>"]
    page = build_page(evil)
    assert "<script>alert(1)" not in page
    assert "&lt;b&gt;" in page
    assert "<img src=x>" not in page


def test_runs_of_several_results_are_told_apart(records: list[Record]) -> None:
    data = data_of(build_page([*records[:4], *records[:4]], ["old"] * 4 + ["new"] * 4))
    axis = data["axes"][-1]
    assert (axis["id"], axis["labels"], axis["of"]) == ("results", ["old", "new"], [0] * 4 + [1] * 4)
    assert len(set(data["keys"])) == 8


def test_the_same_records_give_the_same_page(records: list[Record], page: str) -> None:
    assert build_page(records) == page


def test_the_data_frame_has_a_row_for_each_run(results_folder: Path, records: list[Record]) -> None:
    frame = eraseblock.load_results(results_folder)
    assert frame.height == len(records) == 24
    assert frame["waf"].to_list() == pytest.approx([record["waf"] for record in records], nan_ok=True)
    assert frame["config.buffer.size"].unique().sort().to_list() == [128 << 10, 512 << 10, 2 << 20]
    assert frame.schema["flush_pages.after_padding.cdf_by_page"] == polars.List(polars.List(polars.Float64))
    assert not [
        name for name in frame.columns if "histogram" in name or name.startswith(("series", "wear.map"))
    ]
    assert frame["engine.wall_s"].to_list() == [record["engine"]["wall_s"] for record in records]
    assert read_records(results_folder) == records
    results = (results_folder / "results.json").read_text(encoding="utf-8")
    assert json.loads(results) == [{k: v for k, v in record.items() if k != "engine"} for record in records]


def test_what_a_sentence_is_about_stands_out() -> None:
    found = conclusions_of(
        rows(*(made_up(name, mean) for name, mean in (("none", 5), ("lru", 9), ("fab", 4))))
    )
    told = verdicts_of([replace(found[0], overall=("Why `lru` loses to `none`: `x` <b>.",))])
    assert told[0].sentences[-1] == "<b>Why lru loses to none:</b> <b>x</b> &lt;b&gt;."
