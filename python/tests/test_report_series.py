"""Reports of many series in a real browser: colours, pointing, clicking twice, scales, bars, widths."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from report_page import IN_CHROMIUM, every, look, one, press, texts, thirty, until
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from time_report import open_report

import eraseblock
from eraseblock.report.page import build_page
from eraseblock.results.record import Record

pytestmark = IN_CHROMIUM
MEAN = "plot-0-response_ns_all_mean"
HITS = "plot-0-hit_ratio_all"
PHONE = 390


@pytest.fixture(scope="module")
def page(records: list[Record], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 30 schemes."""
    return written(thirty(records), tmp_path_factory.mktemp("thirty"))


@pytest.fixture
def browser(chromium: webdriver.Chrome, page: Path) -> Iterator[webdriver.Chrome]:
    """That report, opened afresh; after each test nothing complained."""
    look(chromium)
    chromium.get_log("browser")  # type: ignore[no-untyped-call]
    open_report(chromium, page)
    show(chromium, MEAN)
    yield chromium
    assert chromium.get_log("browser") == []  # type: ignore[no-untyped-call]


def written(records: Sequence[Record], folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(build_page(records), encoding="utf-8")
    return path


def show(browser: webdriver.Chrome, plot: str) -> None:
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", one(browser, f"#{plot}"))
    until(lambda: bool(every(browser, f"#{plot} svg")))


def drawn(browser: webdriver.Chrome, plot: str, series: str) -> list[list[float]]:
    """Where the points of a series are in the window."""
    found: list[list[float]] = browser.execute_script(
        """
        const plot = plots.get(arguments[0]);
        const curve = plot.curves.find((one) => one.series === arguments[1]);
        const box = plot.element.querySelector("svg").getBoundingClientRect();
        const [left, top] = originOf(plot);
        const [x, y] = [plot.view.scale("x"), plot.view.scale("y")];
        return curve.points.map((point) => [box.left + left + x(point.x), box.top + top + y(point.y)]);
        """,
        plot,
        series,
    )
    return found


def point_at(browser: webdriver.Chrome, place: Sequence[float], clicks: int = 0) -> None:
    mouse = ActionChains(browser)
    x, y = map(round, place)
    mouse.w3c_actions.pointer_action.move_to_location(x, y)  # type: ignore[no-untyped-call]
    for _ in range(clicks):
        mouse.click()
    mouse.perform()


def middle(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [(a + b) / 2 for a, b in zip(one, other, strict=True)]


def lines(browser: webdriver.Chrome, plot: str) -> list[dict[str, Any]]:
    """Colour and opacity of each line of a plot."""
    found: list[dict[str, Any]] = browser.execute_script(
        """
        const lines = [...document.querySelectorAll(`#${arguments[0]} .mark-line path`)];
        const look = (line) => [line.getAttribute("stroke"), Number(line.getAttribute("opacity") ?? 1)];
        return lines.filter((line) => line.getAttribute("d")).map(look)
          .map(([stroke, opacity]) => ({ stroke, opacity }));
        """,
        plot,
    )
    return found


def ticks(browser: webdriver.Chrome, plot: str) -> list[str]:
    return texts(browser, f"#{plot} .role-axis:last-of-type .role-axis-label text")


def double_click(browser: webdriver.Chrome, selector: str, shown: str) -> None:
    """Click twice, and see what is shown then.

    A page that is too busy takes the clicks for two of their own, which undo each other: then once more.
    """
    for _ in range(10):
        ActionChains(browser).double_click(one(browser, selector)).perform()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            if texts(browser, "#shown") == [shown]:
                return
            time.sleep(0.05)
    pytest.fail(f"{texts(browser, '#shown')}, expected {shown}")


def test_the_best_eight_and_the_baselines_have_colours_and_the_rest_is_grey(
    browser: webdriver.Chrome,
) -> None:
    names = [entry.get_attribute("data-value") for entry in every(browser, ".legend [data-value]")]
    assert sorted(map(str, names)) == ["lru", "none", *(f"s{number:02}" for number in range(8))]
    assert texts(browser, ".legend .others") == ["20 more, grey ▾"]
    colours = [line["stroke"] for line in lines(browser, MEAN)]
    assert len(colours) == 30
    grey = max(colours, key=colours.count)
    assert colours.count(grey) == 20
    assert len(set(colours)) == 11
    press(browser, ".legend .others")
    assert len(every(browser, ".legend [data-value]")) == 30
    press(browser, ".legend .hide-others")
    until(lambda: len(lines(browser, MEAN)) == 10)


def test_a_series_that_is_filtered_gets_a_colour(browser: webdriver.Chrome) -> None:
    press(browser, ".legend [data-value=s00]")
    until(lambda: len(lines(browser, MEAN)) == 29)
    # The next best takes its colour; the others keep theirs.
    assert "s08" in texts(browser, ".legend .best")
    assert one(browser, ".legend [data-value=s00]").get_attribute("aria-pressed") == "false"


def test_outliers_leave_the_others_most_of_the_plot(browser: webdriver.Chrome) -> None:
    assert "s24, s25, up to" in texts(browser, f"figure:has(#{MEAN}) .aside")[0]
    heights = [y for name in ("s00", "s07", "lru", "none") for _, y in drawn(browser, MEAN, name)]
    box = one(browser, f"#{MEAN} svg").rect
    assert max(heights) - min(heights) > box["height"] / 3


def test_pointing_at_a_line_lifts_it(browser: webdriver.Chrome) -> None:
    # Half-way between two points, where no mark is.
    first, second, *_ = drawn(browser, MEAN, "s00")
    point_at(browser, middle(first, second))
    until(lambda: bool(every(browser, "#tip.visible")))
    assert texts(browser, "#tip b") == ["s00"]
    told = one(browser, "#tip").text
    assert "Mean response time" in told
    until(lambda: sum(line["opacity"] < 0.5 for line in lines(browser, MEAN)) == 30)
    assert [line["opacity"] for line in lines(browser, MEAN)][-1] == 1
    assert len(lines(browser, MEAN)) == 31
    # Its figures stand at its points, and the other plots lift it as well.
    value = texts(browser, "#tip .what span")[0]
    assert value in texts(browser, f"#{MEAN} .mark-text.role-mark text")
    until(lambda: any(line["opacity"] < 0.5 for line in lines(browser, "plot-0-response_ns_all_p99")))
    assert texts(browser, ".legend .lifted") == ["s00"]
    point_at(browser, [5, 500])
    until(lambda: all(line["opacity"] > 0.9 for line in lines(browser, MEAN)))
    assert not every(browser, "#tip.visible")


def test_pointing_at_the_legend_lifts_a_series(browser: webdriver.Chrome) -> None:
    ActionChains(browser).move_to_element(one(browser, ".legend [data-value=s03]")).perform()
    until(lambda: len(texts(browser, f"#{MEAN} .mark-text.role-mark text")) >= 3)
    assert len(every(browser, ".legend .faded")) == 9


def test_two_clicks_on_the_legend_isolate_and_bring_back(browser: webdriver.Chrome) -> None:
    double_click(browser, ".legend [data-value=lru]", "3 of 90 runs")
    until(lambda: len({line["stroke"] for line in lines(browser, MEAN)}) == 1)
    assert browser.execute_script("return decodeURIComponent(location.hash)") == "#only:scheme=lru"
    double_click(browser, ".legend [data-value=lru]", "90 runs")
    # What was hidden before stays hidden.
    press(browser, ".legend [data-value=none]")
    double_click(browser, ".legend [data-value=s01]", "3 of 90 runs")
    double_click(browser, ".legend [data-value=s01]", "87 of 90 runs")
    press(browser, ".legend .show-all")
    until(lambda: texts(browser, "#shown") == ["90 runs"])


def test_two_clicks_on_a_line_isolate_it_and_open_nothing(browser: webdriver.Chrome) -> None:
    point_at(browser, drawn(browser, MEAN, "none")[1], clicks=2)
    until(lambda: texts(browser, "#shown") == ["3 of 90 runs"])
    until(lambda: len(drawn(browser, MEAN, "none")) == 3)
    browser.execute_async_script("setTimeout(arguments[0], 700)")
    assert one(browser, "#overview").is_displayed()
    assert browser.execute_script("return decodeURIComponent(location.hash)") == "#only:scheme=none"


def test_a_plot_has_a_linear_and_a_logarithmic_scale(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, HITS)
    before = [place for place, _ in enumerate(drawn(browser, HITS, "lru"))]
    linear = [y for _, y in drawn(browser, HITS, "s00")]
    assert before
    switch = f"figure:has(#{HITS}) [data-scale='hit_ratio.all']"
    assert one(browser, f"{switch} [data-value=linear]").get_attribute("aria-pressed") == "true"
    others = ticks(browser, MEAN)
    press(browser, f"{switch} [data-value=log]")
    until(lambda: [y for _, y in drawn(browser, HITS, "s00")] != linear)
    assert one(browser, f"{switch} [data-value=log]").get_attribute("aria-pressed") == "true"
    assert ticks(browser, MEAN) == others
    # The address holds the choice.
    address = browser.execute_script("return location.hash")
    assert address == "#log=hit_ratio.all"
    open_report(browser, page, address)
    assert one(browser, f"{switch} [data-value=log]").get_attribute("aria-pressed") == "true"


def test_numbers_that_are_swept_lie_on_a_true_scale(
    browser: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    swept = [copy.deepcopy(records[1]) for _ in range(5)]
    for place, (record, value) in enumerate(zip(swept, (0.05, 0.1, 0.2, 0.4, 0.8), strict=True)):
        record["config"]["host"]["speedup"] = value
        record["key"] = f"{place:032x}"
        record["trusted"], record["reasons"] = True, []
    open_report(browser, written(swept, tmp_path))
    show(browser, MEAN)
    places = [x for x, _ in drawn(browser, MEAN, "lru")]
    steps = [after - before for before, after in pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 4, rel=0.02)
    assert "host.speedup" in texts(browser, f"#{MEAN} .role-axis-title text")
    assert not every(browser, f"#{MEAN} .mark-rect.role-mark")


def test_runs_that_are_mostly_not_to_be_trusted_stay_in_the_plot(
    browser: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    swept = [copy.deepcopy(records[1]) for _ in range(4)]
    for place, record in enumerate(swept):
        record["config"]["host"]["speedup"] = place + 1
        record["key"] = f"{place:032x}"
        record["response_ns"]["all"]["mean"] *= 10 ** (3 - place)
        record["trusted"], record["reasons"] = place == 3, [] if place == 3 else ["too fast"]
    open_report(browser, written(swept, tmp_path))
    show(browser, MEAN)
    box = one(browser, f"#{MEAN} svg").rect
    top = browser.execute_script(
        "return arguments[0].getBoundingClientRect().top", one(browser, f"#{MEAN} svg")
    )
    assert all(top <= y <= top + box["height"] for _, y in drawn(browser, MEAN, "lru"))
    assert texts(browser, f"figure:has(#{MEAN}) .aside") == [""]


def test_names_that_are_swept_have_bars(
    browser: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    # Two FTLs, four schemes, one size.
    chosen = [*records[0:4], *records[12:16]]
    open_report(browser, written(chosen, tmp_path))
    show(browser, MEAN)
    assert len(every(browser, f"#{MEAN} .mark-rect.role-mark path")) == 8
    assert {"page", "bast"} <= set(texts(browser, f"#{MEAN} .role-axis-label text"))


def test_bars_become_dots_on_a_logarithmic_scale(
    browser: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    chosen = copy.deepcopy([*records[0:4], *records[12:16]])
    for place, record in enumerate(chosen):
        record["trusted"], record["reasons"] = True, []
        record["response_ns"]["all"]["mean"] = 1e5 * 10 ** (place / 2)
    open_report(browser, written(chosen, tmp_path))
    show(browser, MEAN)
    switch = f"figure:has(#{MEAN}) [data-scale='response_ns.all.mean']"
    assert one(browser, f"{switch} [data-value=linear]").get_attribute("aria-pressed") == "true"
    bars, dots = f"#{MEAN} .mark-rect.role-mark path", f"#{MEAN} .mark-symbol.role-mark path"
    assert (len(every(browser, bars)), len(every(browser, dots))) == (8, 0)
    press(browser, f"{switch} [data-value=log]")
    until(lambda: len(every(browser, dots)) == 8)
    assert not every(browser, bars)
    # Each is as many times the one before.
    places = sorted(dot.rect["x"] for dot in every(browser, dots))
    steps = [after - before for before, after in pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 7, abs=1.5)
    assert steps[0] > 20
    box = one(browser, f"#{MEAN} svg").rect
    for name in every(browser, f"#{MEAN} .mark-text.role-mark text"):
        assert name.rect["x"] + name.rect["width"] <= box["x"] + box["width"]
    assert browser.execute_script("return location.hash") == "#log=response_ns.all.mean"
    press(browser, f"{switch} [data-value=linear]")
    until(lambda: len(every(browser, bars)) == 8)


def test_a_single_figure_fills_the_width(browser: webdriver.Chrome, page: Path) -> None:
    open_report(browser, page, "#figure=waf")
    [card] = every(browser, "#panels figure")
    assert card.rect["width"] > 0.95 * one(browser, "#panels").rect["width"]
    assert one(browser, "#plot-0-waf svg").rect["width"] > 0.9 * card.rect["width"]


def test_the_causes_of_programs_are_all_named(
    browser: webdriver.Chrome, records: list[Record], tmp_path: Path
) -> None:
    open_report(browser, written(records[:12], tmp_path))
    # The plot is of the largest size.
    programs = [record["flash"]["programs"] for record in records[8:12]]
    used = [cause for cause in programs[0] if cause != "total" and any(one[cause] for one in programs)]
    card = one(browser, "figure:has(#plot-0-flash_programs)").rect
    names = every(browser, "figure:has(#plot-0-flash_programs) .causes li")
    assert len(names) == len(used) > 2
    for name in names:
        assert name.rect["x"] >= card["x"]
        assert name.rect["x"] + name.rect["width"] <= card["x"] + card["width"]


@pytest.mark.parametrize("width", [1400, PHONE])
def test_no_card_is_blank_and_no_row_has_a_hole(browser: webdriver.Chrome, width: int) -> None:
    look(browser, width)
    browser.refresh()
    rows: dict[int, float] = {}
    until(lambda: browser.execute_script("return document.body.dataset.drawn") == "yes")
    for card in every(browser, "#panels figure"):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", card)
        until(lambda card=card: bool(card.find_elements("css selector", ".plot svg")))  # type: ignore[misc]
    for card in every(browser, "#panels figure"):
        picture = card.find_element("css selector", ".plot svg")
        assert picture.rect["height"] > 0.55 * card.rect["height"]
        rows[card.rect["y"]] = rows.get(card.rect["y"], 0) + card.rect["width"] + 16
    full = one(browser, "#panels .charts").rect["width"]
    assert [round(row - 16) for row in rows.values()] == pytest.approx([full] * len(rows), abs=2)


def test_the_legend_leaves_a_phone_its_screen(browser: webdriver.Chrome, page: Path) -> None:
    look(browser, PHONE)
    open_report(browser, page)
    root = "document.documentElement"
    assert browser.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth")
    assert one(browser, ".legend").rect["height"] < 844 / 3


def test_the_page_opens_with_the_verdicts(browser: webdriver.Chrome) -> None:
    sentences = texts(browser, ".verdicts li")
    assert any("take s00" in sentence for sentence in sentences)
    assert one(browser, ".verdicts").rect["y"] < one(browser, "#filters").rect["y"]
    assert eraseblock.__name__ in texts(browser, ".brand")
