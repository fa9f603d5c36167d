"""The report: one file that needs nothing from outside and holds every figure, plot, setting and warning."""

from __future__ import annotations

import copy
import html
import json
import re
from pathlib import Path

import polars
import pytest

import eraseblock
from eraseblock.report.page import build_page

CHARTS = ("mean", "p99", "hits", "erases", "waf", "flush", "lengths", "programs")


def specs_of(page: str) -> dict[str, dict[str, object]]:
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    specs: dict[str, dict[str, object]] = json.loads(found[1])
    return specs


@pytest.fixture(scope="module")
def page(results_folder: Path) -> str:
    return (results_folder / "report.html").read_text(encoding="utf-8")


def test_it_stands_alone(page: str) -> None:
    assert len(page) < 6_000_000
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", without_scripts)
    assert "@import" not in without_scripts
    assert "url(" not in without_scripts


def test_every_panel_has_every_plot_with_every_scheme(page: str) -> None:
    specs = specs_of(page)
    assert list(specs) == [f"panel{panel}-{chart}" for panel in (1, 2) for chart in CHARTS]
    for name, spec in specs.items():
        text = json.dumps(spec)
        for scheme in ("lru", "fab", "bplru"):
            assert f'"{scheme}"' in text, (name, scheme)


def test_plots_show_the_records(page: str, records: list[eraseblock.Record]) -> None:
    text = json.dumps(specs_of(page)["panel2-erases"])
    wanted = [
        r["flash"]["erases"]["total"] for r in records if r["config"]["ftl"]["mapping"]["kind"] == "bast"
    ]
    assert len(wanted) == 12
    for erases in wanted:
        assert f'"y": {float(erases)}' in text


def test_every_setting_and_identity_is_shown(page: str, records: list[eraseblock.Record]) -> None:
    for text in (
        "nand.timing.read",
        "host.replay",
        "precondition.state",
        "buffer.size",
        "workload.generate.kind",
    ):
        assert f"<dt>{text}</dt>" in page
    assert records[0]["trace"]["sha256"] in page
    assert "128 KiB · 512 KiB · 2 MiB" in page


def test_advice_and_distrust_are_told(records: list[eraseblock.Record]) -> None:
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
    assert page.count('class="flag"') == 1


def test_records_without_time_leave_their_plots_out(records: list[eraseblock.Record]) -> None:
    untimed = copy.deepcopy(records[:12])
    for record in untimed:
        for kind in record["response_ns"].values():
            kind.update(dict.fromkeys(("mean", "p50", "p90", "p99", "p999", "max")))
    assert list(specs_of(build_page(untimed))) == [f"panel1-{chart}" for chart in CHARTS[2:]]


def test_names_cannot_break_the_page(records: list[eraseblock.Record]) -> None:
    evil = copy.deepcopy(records[:4])
    for record in evil:
        record["trace"]["name"] = "</script><script>alert(1)</script>"
        record["name"] = "<b>"
    page = build_page(evil)
    assert "<script>alert(1)" not in page
    assert "&lt;b&gt;" in page


def test_one_buffer_size_gives_bars(records: list[eraseblock.Record]) -> None:
    spec = specs_of(build_page(records[:4]))["panel1-waf"]
    assert spec["mark"]["type"] == "bar"  # type: ignore[index]


def test_the_data_frame_has_a_row_for_each_run(
    results_folder: Path, records: list[eraseblock.Record]
) -> None:
    frame = eraseblock.load_results(results_folder)
    assert frame.height == len(records) == 24
    assert frame["waf"].to_list() == pytest.approx([record["waf"] for record in records], nan_ok=True)
    assert frame["config.buffer.size"].unique().sort().to_list() == ["128 KiB", "2 MiB", "512 KiB"]
    assert frame.schema["flush_pages.after_padding.cdf_by_page"] == polars.List(polars.List(polars.Float64))
    assert json.loads((results_folder / "results.json").read_text(encoding="utf-8")) == records
