"""The report in a real browser, without a network: pointing, filtering, linking, saving, colours, widths."""

from __future__ import annotations

import copy
import csv
import json
import os
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from report_page import IN_CHROMIUM, data_of, displayed, every, look, one, press, texts, undisturbed, until
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from time_report import many, open_report, wait_until_drawn

import eraseblock
from eraseblock.report.page import build_page
from eraseblock.results.record import Record

pytestmark = IN_CHROMIUM
WIDTHS = (1400, 400)
HITS = "plot-0-hit_ratio_all"


@pytest.fixture
def downloads(chromium: webdriver.Chrome, tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir()
    behaviour = {"behavior": "allow", "downloadPath": str(folder)}
    chromium.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    return folder


@pytest.fixture
def browser(chromium: webdriver.Chrome, results_folder: Path) -> Iterator[webdriver.Chrome]:
    """The report of 24 runs, opened afresh; after each test nothing complained and nothing was fetched."""
    look(chromium)
    with undisturbed(chromium):
        open_report(chromium, results_folder / "report.html")
        yield chromium


def save(browser: webdriver.Chrome, card: str, kind: str, folder: Path) -> Path:
    """Press an item of a Save menu; returns the file."""
    before = set(folder.iterdir())
    menu = f"{card} .tools:has([data-save={kind}])"
    press(browser, f"{menu} summary")
    press(browser, f"{menu} [data-save={kind}]")

    def saved() -> set[Path]:
        """What has come. The browser may still be removing what it wrote first, under another name."""
        return {path for path in folder.iterdir() if path.suffix == f".{kind}"} - before

    until(lambda: bool(saved()))
    [path] = saved()
    until(lambda: path.stat().st_size > 0)
    return path


def go_to(browser: webdriver.Chrome, address: str) -> None:
    if browser.execute_script("return location.hash") == address:
        return
    browser.execute_script(
        "delete document.body.dataset.drawn; location.hash = arguments[0]", address.removeprefix("#")
    )
    wait_until_drawn(browser)


def key_of(record: Record) -> str:
    return str(record["key"])[:8]


def test_each_panel_has_every_plot(browser: webdriver.Chrome) -> None:
    assert len(every(browser, "#panels section")) == 2
    plots = every(browser, "#panels .plot")
    assert len(plots) == 16
    for plot in plots:
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
        until(lambda plot=plot: bool(plot.find_elements(By.TAG_NAME, "svg")))  # type: ignore[misc]
        assert plot.find_element(By.TAG_NAME, "svg").size["width"] > 200
    lines = every(browser, f"#{HITS} .mark-line path")
    points = every(browser, f"#{HITS} .mark-symbol path")
    # One of the lines is the best possible.
    assert (len(lines), len(points)) == (5, 12)


def test_plots_out_of_sight_are_drawn_while_nothing_else_happens(
    chromium: webdriver.Chrome, results_folder: Path
) -> None:
    look(chromium)
    open_report(chromium, results_folder / "report.html", "?idle")
    until(lambda: len(every(chromium, "#panels .plot:has(svg)")) == 16)


def test_pointing_at_a_plot_tells_the_run_and_its_figure(
    browser: webdriver.Chrome, records: list[Record]
) -> None:
    points = every(browser, f"#{HITS} .mark-symbol path")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", points[0])
    # Points are drawn in the order of the runs; no other is near the buffer of 2 MiB with LRU.
    ActionChains(browser).move_to_element(points[9]).perform()
    tip = WebDriverWait(browser, 10).until(lambda d: every(d, "#tip.visible"))[0]
    told = " ".join(tip.text.split())
    assert f"Hit ratio {100 * records[9]['hit_ratio']['all']:.1f} %" in told
    for words in ("Scheme lru", "Buffer size 2 MiB", "FTL page"):
        assert words in told
    assert one(browser, "#table tr.lit").get_attribute("data-run") == "9"


def test_a_click_on_a_point_opens_its_run(browser: webdriver.Chrome, records: list[Record]) -> None:
    point = every(browser, f"#{HITS} .mark-symbol path")[9]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
    ActionChains(browser).move_to_element(point).pause(0.3).click().perform()
    until(lambda: browser.current_url.endswith(f"#run={key_of(records[9])}"))
    until(lambda: texts(browser, "#runs .title") == ["Run 10: page · lru · 2 MiB"])


def test_the_legend_and_the_menus_filter_plots_and_table(
    browser: webdriver.Chrome, results_folder: Path
) -> None:
    assert texts(browser, "#shown") == ["24 runs"]
    press(browser, ".legend [data-value=fab]")
    until(lambda: len(every(browser, f"#{HITS} .mark-line path")) == 4)
    assert one(browser, ".legend [data-value=fab]").get_attribute("aria-pressed") == "false"
    assert texts(browser, "#shown") == ["18 of 24 runs"]
    press(browser, "[data-axis=size] summary")
    press(browser, "[data-axis=size] label:nth-of-type(1) input")
    until(lambda: len(every(browser, f"#{HITS} .mark-symbol path")) == 6)
    assert len(every(browser, "#table tr[data-run]")) == 12
    assert "128 KiB" not in " ".join(texts(browser, "#table td"))
    # The address holds the choice: another window shows the same.
    address = browser.execute_script("return location.hash")
    open_report(browser, results_folder / "report.html", address)
    assert texts(browser, "#shown") == ["12 of 24 runs"]
    press(browser, "[data-axis=size] summary")
    press(browser, "[data-axis=size] .row button:nth-of-type(2)")
    assert "No run is left." in texts(browser, "#panels")[0]
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    press(browser, "#panels button")
    assert texts(browser, "#shown") == ["24 runs"]


def test_another_axis_gives_colours_and_another_figure_is_drawn(browser: webdriver.Chrome) -> None:
    choose = (
        "const [select, value] = arguments; select.value = value; select.dispatchEvent(new Event('change'))"
    )
    selects = every(browser, "#choices select")
    browser.execute_script(choose, selects[2], "ftl")
    until(lambda: texts(browser, ".legend button") == ["page", "bast"])
    assert len(every(browser, "#panels section")) == 4
    browser.execute_script(choose, every(browser, "#choices select")[0], "wear.erases_max")
    until(lambda: texts(browser, "#panels h2") == ["Most erases of a block"])
    assert texts(browser, "#panels figcaption b") == ["none", "lru", "fab", "bplru"]
    until(lambda: len(every(browser, "#plot-1-wear_erases_max .mark-line path")) == 2)


def test_a_press_on_a_heading_sorts(browser: webdriver.Chrome, records: list[Record]) -> None:
    erases = [record["flash"]["erases"]["total"] for record in records]

    def order() -> list[int]:
        return [int(row.get_attribute("data-run") or "") for row in every(browser, "#table tr[data-run]")]

    heading = "[data-sort='flash.erases.total']"
    browser.execute_script("arguments[0].focus()", one(browser, heading))
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: [erases[run] for run in order()] == sorted(erases))
    assert one(browser, "th[aria-sort]").get_attribute("aria-sort") == "ascending"
    # The focus stays, so that the keyboard goes on.
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: [erases[run] for run in order()] == sorted(erases, reverse=True))


def test_the_best_of_each_size_are_marked(browser: webdriver.Chrome, records: list[Record]) -> None:
    first = records[:4]
    least = min(record["flash"]["erases"]["total"] for record in first)
    rows = [
        len(every(browser, f"#table tr[data-run='{run}'] td.best[title^='flash.erases.total']"))
        for run in range(4)
    ]
    assert rows == [int(record["flash"]["erases"]["total"] == least) for record in first]


def test_what_wore_out_early_is_the_best_of_nothing(
    chromium: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    changed = copy.deepcopy(records[:4])
    first = min(range(4), key=lambda run: changed[run]["flash"]["erases"]["total"])
    changed[first]["requests"]["completed"] -= 1
    changed[first]["end_of_life"] = {"host_bytes": 4096, "unanswered": 1}
    page = tmp_path / "report.html"
    page.write_text(build_page(changed), encoding="utf-8")
    look(chromium)
    open_report(chromium, page)
    assert every(chromium, "#table td.best")
    assert not every(chromium, f"#table tr[data-run='{first}'] td.best")


def test_the_table_is_saved(browser: webdriver.Chrome, downloads: Path, records: list[Record]) -> None:
    press(browser, ".legend [data-value=fab]")
    until(lambda: len(every(browser, "#table tr[data-run]")) == 18)
    shown = [record for record in records if "fab" not in json.dumps(record["config"]["buffer"])]
    with save(browser, "#table-tools", "csv", downloads).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == [key_of(record) for record in shown]
    assert [int(row["flash.erases.total"]) for row in rows] == [r["flash"]["erases"]["total"] for r in shown]
    assert [float(row["waf"]) for row in rows] == pytest.approx([record["waf"] for record in shown])
    assert [row["size"] for row in rows] == [record["config"]["buffer"]["size"] for record in shown]
    picture = ET.parse(save(browser, "#table-tools", "svg", downloads)).getroot()
    words = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("lru") == 6
    assert f"{shown[0]['flash']['erases']['total']:,}" in words
    assert_png(save(browser, "#table-tools", "png", downloads), least=(1000, 600))


def test_a_plot_is_saved(browser: webdriver.Chrome, downloads: Path, records: list[Record]) -> None:
    card = f"figure:has(#{HITS})"
    with save(browser, card, "csv", downloads).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == [key_of(record) for record in records[:12]]
    ratios = [record["hit_ratio"]["all"] for record in records[:12]]
    assert [float(row["hit_ratio.all"]) for row in rows] == pytest.approx(ratios)
    path = save(browser, card, "svg", downloads)
    words = ["".join(text.itertext()) for text in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    # It stands alone: a title and a legend, which the page has elsewhere.
    assert {"Hit ratio", "Scheme", "none", "lru", "fab", "bplru", "2 MiB"} <= set(words)
    assert_png(save(browser, card, "png", downloads), least=(1200, 600))


def assert_png(path: Path, least: tuple[int, int]) -> None:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert width >= least[0]
    assert height >= least[1]
    assert len(content) > 5000


def test_a_link_opens_the_page_of_a_run(
    browser: webdriver.Chrome, records: list[Record], results_folder: Path, downloads: Path
) -> None:
    record = records[17]
    open_report(browser, results_folder / "report.html", f"#run={key_of(record)}")
    assert texts(browser, "#runs .title") == ["Run 18: bast · lru · 512 KiB"]
    assert not one(browser, "#overview").is_displayed()
    figures = dict(zip(texts(browser, ".cards dt"), texts(browser, ".cards dd"), strict=True))
    assert figures["Block erases"] == f"{record['flash']['erases']['total']:,}"
    for plot in every(browser, "#runs .plot"):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
        until(lambda plot=plot: bool(plot.find_elements(By.TAG_NAME, "svg")))  # type: ignore[misc]
    cells = sum(map(len, record["wear"]["map"]["mean"]))
    assert len(every(browser, "#wear-17 .mark-rect.role-mark path")) == cells
    with save(browser, "figure:has(#series-hits)", "csv", downloads).open(
        newline="", encoding="utf-8"
    ) as file:
        ratios = [float(row["Hit ratio"]) for row in csv.DictReader(file) if row["Hit ratio"]]
    series = record["series"]
    wanted = [hit / all_ for hit, all_ in zip(series["hit_pages"], series["host_pages"], strict=True) if all_]
    assert ratios == pytest.approx(wanted)
    with save(browser, "figure:has(#latency)", "csv", downloads).open(newline="", encoding="utf-8") as file:
        counts = [int(row["count"]) for row in csv.DictReader(file)]
    assert counts == [count for _, count in record["response_ns"]["all"]["histogram"]]
    press(browser, ".crumbs a")
    until(lambda: one(browser, "#overview").is_displayed())
    assert texts(browser, "#shown") == ["24 runs"]


def test_every_view_of_response_times_is_drawn(browser: webdriver.Chrome, records: list[Record]) -> None:
    go_to(browser, f"#run={key_of(records[17])}")

    def shape() -> str:
        line = "document.querySelector('#latency .mark-line path, #latency .mark-area path')"
        return str(browser.execute_script(f"return {line}?.getAttribute('d')"))

    seen = {shape()}
    for choice in ("tail", "histogram", "write"):
        press(browser, f"figure:has(#latency) [data-value={choice}]")
        until(lambda: shape() not in {*seen, "None"})
        seen.add(shape())
    assert texts(browser, "#latency .mark-text.role-mark text")[0].startswith("50 %: ")


def test_runs_are_set_side_by_side(browser: webdriver.Chrome, records: list[Record]) -> None:
    for run in (1, 2, 3):
        press(browser, f"#table tr[data-run='{run}'] input")
    press(browser, "#compare a")
    wait_until_drawn(browser)
    assert texts(browser, "#runs .title") == ["3 runs side by side"]
    assert browser.current_url.endswith(f"#run={','.join(key_of(records[run]) for run in (1, 2, 3))}")
    until(lambda: len(every(browser, "#latency .mark-line path")) == 3)
    heads = texts(browser, "[aria-label='Main figures'] thead th")
    assert heads == ["Figure", "lru", "fab", "bplru"]
    erases = next(
        row for row in texts(browser, "[aria-label='Main figures'] tbody tr") if "Block erases" in row
    )
    assert all(f"{records[run]['flash']['erases']['total']:,}" in erases for run in (1, 2, 3))
    differing = texts(browser, "table.settings tbody th")
    assert "buffer.scheme.kind" in differing
    assert "buffer.size" not in differing


def test_a_single_run_is_told_by_its_own_page(
    chromium: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text(build_page(records[9:10]), encoding="utf-8")
    open_report(chromium, page)
    assert texts(chromium, "#runs .title") == ["Run 1: lru · 2 MiB"]
    assert every(chromium, "#latency svg")
    assert not every(chromium, ".crumbs")


def test_a_course_of_a_single_step_is_drawn(
    chromium: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    record = copy.deepcopy(records[9])
    for key, value in record["series"].items():
        if isinstance(value, list):
            record["series"][key] = value[:1]
    page = tmp_path / "report.html"
    page.write_text(build_page([record]), encoding="utf-8")
    look(chromium)
    # The plot is far below the window.
    open_report(chromium, page, "?idle")
    line = "return document.querySelector('#series-hits .mark-line path')?.getBBox().width ?? 0"
    until(lambda: chromium.execute_script(line) > 50)


def test_a_long_name_leaves_room_for_the_figures(
    chromium: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    changed = copy.deepcopy(records[:4])
    for record in changed[:2]:
        record["trace"]["name"] = "long" * 60
    page = tmp_path / "report.html"
    page.write_text(build_page(changed), encoding="utf-8")
    for width in WIDTHS:
        look(chromium, width)
        open_report(chromium, page)
        root = "document.documentElement"
        assert chromium.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth")
        name = "return document.querySelector('#table td.text').getBoundingClientRect().width"
        assert chromium.execute_script(name) < 400


def test_an_unknown_run_is_named(browser: webdriver.Chrome) -> None:
    go_to(browser, "#run=ffffffff")
    assert texts(browser, "#runs .title") == ["No such run"]
    assert "ffffffff" in texts(browser, "#runs .empty")[0]


def test_the_command_of_a_run_makes_it_again(
    browser: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    go_to(browser, f"#run={key_of(records[5])}")
    assert run_command(texts(browser, "#runs .command pre")[0], tmp_path) == [key_of(records[5])]


def test_the_command_of_a_plot_makes_all_its_runs_again(
    chromium: webdriver.Chrome, trace: Path, tmp_path: Path
) -> None:
    # A name that a shell would take apart, an option of a scheme, and sets.
    odd = trace.rename(trace.with_name("it's a trace $HOME.spc"))
    small = [
        "nand.blocks_per_plane=300",
        'ftl.exported="32 MiB"',
        'buffer.scheme=["lru", {kind="bplru", padding=false}]',
    ]
    compared = eraseblock.compare(odd, sizes=["128 KiB", "512 KiB"], device="hbm-2010", sets=small)
    records = cast(list[Record], compared)
    page = tmp_path / "report.html"
    page.write_text(build_page(records), encoding="utf-8")
    open_report(chromium, page)
    press(chromium, f"figure:has(#{HITS}) .tools summary")
    press(chromium, f"figure:has(#{HITS}) [data-save=command]")
    command = texts(chromium, "dialog pre")[0]
    assert command.count("eraseblock compare") == 2
    assert sorted(run_command(command, tmp_path)) == sorted(map(key_of, records))


def run_command(command: str, folder: Path) -> list[str]:
    """Run it in a shell; the keys of the runs in the report that came of it."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", command], cwd=folder, env=environment, check=True, capture_output=True)
    [last] = [path for path in folder.glob("out/*/report.html") if path.parent.name.endswith("again")]
    return [str(key) for key in data_of(last.read_text(encoding="utf-8"))["keys"]]


def test_untrusted_runs_are_marked_with_reasons(
    chromium: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    changed = copy.deepcopy(records[:12])
    for record in changed:
        record["trusted"], record["reasons"] = True, []
    changed[6]["trusted"], changed[6]["reasons"] = False, ["the backlog kept growing <b>"]
    page = tmp_path / "report.html"
    page.write_text(build_page(changed), encoding="utf-8")
    look(chromium)
    open_report(chromium, page)
    flag = one(chromium, "#table tr[data-run='6'] .flag")
    assert flag.get_attribute("title") == "the backlog kept growing <b>"
    assert len(every(chromium, "#table .flag")) == 1
    opacities = [
        point.get_attribute("fill-opacity") for point in every(chromium, "#plot-0-waf .mark-symbol path")
    ]
    assert [place for place, opacity in enumerate(opacities) if opacity == "0"] == [6]
    assert not every(chromium, "#table tr[data-run='6'] td.best")
    press(chromium, "#trusted")
    until(lambda: texts(chromium, "#shown") == ["11 of 12 runs"])
    go_to(chromium, f"#run={key_of(changed[6])}")
    assert "the backlog kept growing <b>" in texts(chromium, "#runs .note.distrust")[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_never_wider_than_the_window(
    browser: webdriver.Chrome, records: list[Record], width: int
) -> None:
    look(browser, width)
    for address in ("", f"#run={key_of(records[17])}", f"#run={key_of(records[1])},{key_of(records[2])}"):
        go_to(browser, address)
        inner, needed = browser.execute_script(
            "return [document.documentElement.clientWidth, document.documentElement.scrollWidth]"
        )
        assert needed <= inner <= width, address


@pytest.mark.parametrize("width", WIDTHS)
def test_light_and_dark_follow_the_system_or_the_reader(browser: webdriver.Chrome, width: int) -> None:
    def paper() -> str:
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    def label() -> str:
        # One script, not two calls: the plot may be drawn anew between them.
        find = "document.querySelector('.role-axis-label text')"
        return str(browser.execute_script(f"return {find}?.getAttribute('fill')"))

    look(browser, width)
    light, light_label = paper(), label()
    look(browser, width, "dark")
    until(lambda: paper() != light and label() not in (light_label, "None"))
    dark, dark_label = paper(), label()
    press(browser, "[data-theme-choice=light]")
    until(lambda: (paper(), label()) == (light, light_label))
    browser.refresh()
    wait_until_drawn(browser)
    assert (paper(), label()) == (light, light_label)
    press(browser, "[data-theme-choice=auto]")
    until(lambda: (paper(), label()) == (dark, dark_label))


def test_the_keyboard_opens_and_closes_a_menu(browser: webdriver.Chrome) -> None:
    browser.execute_script("arguments[0].focus()", one(browser, "[data-axis=size] summary"))
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: one(browser, "[data-axis=size] .sheet").is_displayed())
    browser.switch_to.active_element.send_keys(Keys.TAB)
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    until(lambda: not one(browser, "[data-axis=size] .sheet").is_displayed())
    assert browser.switch_to.active_element.tag_name == "summary"


def test_all_controls_have_names(browser: webdriver.Chrome, records: list[Record]) -> None:
    for address in ("", f"#run={key_of(records[17])}"):
        go_to(browser, address)
        controls = displayed(browser, "button, a, input, select, summary")
        assert len(controls) > 20
        for control in controls:
            assert control.accessible_name.strip(), control.get_attribute("outerHTML")


def test_500_runs_open_about_as_fast_as_24(
    chromium: webdriver.Chrome, records: list[Record], results_folder: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text(build_page(many(records, 500)), encoding="utf-8")
    look(chromium)
    few = min(open_report(chromium, results_folder / "report.html") for _ in range(3))
    lots = min(open_report(chromium, page) for _ in range(3))
    sys.stdout.write(f"24 runs: {few} ms, 500 runs: {lots} ms\n")
    assert texts(chromium, "#shown") == ["500 runs"]
    assert lots < 5 * few
