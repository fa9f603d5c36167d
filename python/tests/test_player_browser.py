"""The player in a real browser: stepping forwards and back, keys, links, playing, colours, widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SMALL_DRIVE
from report_page import IN_CHROMIUM, every, look, one, press, texts, undisturbed, until
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from test_player import held_after

import eraseblock
from eraseblock.player.log import read_log
from eraseblock.player.page import build_player
from eraseblock.player.scenes import Scene, scenes_of

pytestmark = IN_CHROMIUM
# A buffer of 512 blocks of a page or two: more than are drawn.
ONE = f"""\
{SMALL_DRIVE}
[buffer]
size = "2 MiB"
scheme = "hbm"

[host]
replay = "untimed"

[workload.generate]
kind = "zipf"
requests = 1500
footprint = "32 MiB"
theta = 0.6
read_share = 0.3
trim_share = 0.05
flush_share = 0.01
"""
# Every page of the buffer as it is shown, and what is said beside it.
SHOWN = """
const cells = [...document.querySelectorAll('#buffer [data-page]')]
return [cells.map(one => one.dataset.page + ' ' + one.className),
        ['#request', '#figures', '#told', '#fill'].map(one => document.querySelector(one).textContent)]
"""
Shown = list[list[str]]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The players of a scheme and of a log."""
    folder = tmp_path_factory.mktemp("players")
    found = {name: folder / f"{name}.html" for name in ("hbm", "log")}
    found["hbm"].write_text(build_player("hbm", scenes_of("hbm")), encoding="utf-8")
    found["log"].write_text(build_player("hbm", [log(folder)], "log.jsonl"), encoding="utf-8")
    return found


def log(folder: Path) -> Scene:
    """The scene of a run, logged once."""
    path = folder / "log.jsonl"
    if not path.exists():
        (folder / "one.toml").write_text(ONE, encoding="utf-8")
        eraseblock.run(folder / "one.toml", events=path)
    return read_log(path).scene


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """After each test nothing complained and nothing was fetched."""
    look(chromium)
    with undisturbed(chromium):
        yield chromium


def open_player(browser: webdriver.Chrome, page: Path, address: str = "") -> None:
    browser.get("about:blank")
    browser.get(page.as_uri() + address)
    until(lambda: bool(browser.execute_script("return document.body.dataset.step")))


def step(browser: webdriver.Chrome) -> int:
    return int(browser.execute_script("return document.body.dataset.step"))


def go_to(browser: webdriver.Chrome, number: int) -> Shown:
    found: Shown = browser.execute_script(f"goTo({number});{SHOWN}")
    return found


def type_keys(browser: webdriver.Chrome, *keys: str) -> None:
    browser.switch_to.active_element.send_keys(*keys)


def test_every_step_shows_what_the_log_tells_there_and_back(
    browser: webdriver.Chrome, pages: dict[str, Path]
) -> None:
    scene = log(pages["log"].parent)
    held = held_after(scene)
    count = len(scene.steps)
    assert count == 1500
    open_player(browser, pages["log"])
    there = {number: go_to(browser, number) for number in (*range(12), 33, 700, 1499)}
    for number, (cells, (_, _, told, fill)) in there.items():
        assert told == f"Step {number:,} of 1,500"
        now = held[number - 1] if number else {}
        assert fill == f"{len(now):,} of 1,024 pages, {sum(now.values()):,} dirty"
        shown = {int(cell.split()[0]): "dirty" in cell.split() for cell in cells}
        assert shown.items() <= now.items()
        assert len(shown) == len(now) or texts(browser, "#buffer .more")
    # Back, and across: the same, to the last word.
    for number in reversed(there):
        assert go_to(browser, number) == there[number]
    go_to(browser, count)
    assert len(texts(browser, "#buffer .block")) == 37
    assert texts(browser, "#buffer .more")[0].endswith(" more")


def test_keys_step(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    open_player(browser, pages["hbm"], "#example=2")
    assert texts(browser, "#request h2") == ["Before the first request"]
    for keys, where in (
        ((Keys.ARROW_RIGHT, Keys.ARROW_RIGHT), 2),
        ((Keys.ARROW_LEFT,), 1),
        (("e",), 9),
        ((Keys.ARROW_RIGHT,), 9),
        ((Keys.HOME,), 0),
        ((Keys.ARROW_LEFT,), 0),
        ((Keys.END,), 9),
        ((Keys.ARROW_LEFT, Keys.ARROW_LEFT, "E"), 7),
    ):
        type_keys(browser, *keys)
        assert step(browser) == where, keys
    # The slider's own keys do the same; a list keeps its own.
    one(browser, "#slider").send_keys(Keys.ARROW_RIGHT)
    assert step(browser) == 8
    one(browser, "#buffer select").send_keys(Keys.END)
    assert step(browser) == 8


def test_a_step_tells_what_leaves_and_why(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    open_player(browser, pages["hbm"], "#example=2&step=8")
    assert texts(browser, "#buffer .block > p") == ["block 2 4/4", "block 0 4/4", "block 4 4/4"]
    press(browser, "#on")
    assert texts(browser, "#request h2") == ["Write page 24"]
    [leaves] = texts(browser, "#request .leaves")
    assert "Why: least popular block, the fullest among equals" in leaves
    assert leaves.endswith("→ 4 pages written to flash, in this order; page 19 is clean and written along")
    assert texts(browser, "#buffer .cell.clean[data-page]") == ["3"]
    assert texts(browser, "#buffer .cell.new[data-page]") == ["24"]
    assert dict(zip(texts(browser, "#figures dt"), texts(browser, "#figures dd"), strict=True)) == {
        "Hit ratio": "13.3 %",
        "Written by the host": "13",
        "Written to flash": "4",
        "Read from flash": "2",
        "Evictions": "1",
        "Pages each": "4.0",
    }


def test_what_is_written_back_stays(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    page = pages["hbm"].with_name("lru.html")
    page.write_text(build_player("lru", scenes_of("lru")), encoding="utf-8")
    open_player(browser, page, "#example=2&step=6")
    assert set(texts(browser, "#request .tag")) == {"stored"}
    assert texts(browser, "#buffer .cell[data-page]") == ["8", "3", "1", "0"]
    assert every(browser, "#buffer .cell.dirty[data-page]") == []
    type_keys(browser, Keys.HOME, "e")
    assert step(browser) == 7


def test_a_link_leads_to_a_step(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    open_player(browser, pages["hbm"], "#example=3&step=5")
    assert texts(browser, ".tabs [aria-pressed=true]") == ["The thesis's figure 3.4(b)"]
    assert step(browser) == 5
    press(browser, "#rail [data-step='7']")
    assert browser.execute_script("return location.hash") == "#example=3&step=7"
    browser.execute_script("location.hash = 'example=1&step=2'")
    until(lambda: step(browser) == 2)
    press(browser, ".tabs button:nth-of-type(4)")
    assert browser.execute_script("return location.hash") == "#example=4&step=0"
    for nonsense, where in (("#step=999", 13), ("#step=-4", 0), ("#step=x&example=99", 0), ("#%", 0)):
        open_player(browser, pages["hbm"], nonsense)
        assert step(browser) == where, nonsense


def test_it_plays_to_the_end_and_begins_again(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    open_player(browser, pages["hbm"], "#example=4&step=3")
    browser.execute_script("speed = 30")
    press(browser, "#play")
    until(lambda: step(browser) == 5)
    until(lambda: texts(browser, "#play") == ["Play"])
    assert browser.execute_script("return location.hash") == "#example=4&step=5"
    browser.execute_script("speed = 0.5")
    type_keys(browser, " ")
    assert (texts(browser, "#play"), step(browser)) == (["Pause"], 0)
    # A step by hand ends it.
    type_keys(browser, Keys.ARROW_RIGHT)
    assert (texts(browser, "#play"), step(browser)) == (["Play"], 1)


@pytest.mark.parametrize("name", ["hbm", "log"])
def test_it_fits_a_phone_and_follows_the_dark(
    browser: webdriver.Chrome, pages: dict[str, Path], name: str
) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    papers = []
    for width, scheme in ((390, "dark"), (1400, "light")):
        look(browser, width, scheme)
        open_player(browser, pages[name], "#step=9")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        papers.append(browser.execute_script(paper))
    press(browser, "#theme [data-value=dark]")
    assert browser.execute_script(paper) == papers[0] != papers[1]
    press(browser, "#theme [data-value=auto]")
    assert len(every(browser, "#rail [aria-current]")) == 1


def test_buttons_and_slider_step(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    open_player(browser, pages["hbm"], "#example=2")
    for button, where in (
        ("on", 1),
        ("last", 9),
        ("back", 8),
        ("leave-on", 9),
        ("leave-back", 9),
        ("first", 0),
    ):
        press(browser, f"#{button}")
        assert step(browser) == where, button
    assert one(browser, "#back").get_attribute("aria-disabled") == "true"
    assert one(browser, "#leave-on").get_attribute("aria-disabled") == "false"
    # A drag is one input after the other.
    browser.execute_script(
        "const one = document.getElementById('slider'); one.value = 5; one.dispatchEvent(new Event('input'))"
    )
    assert step(browser) == 5
    assert (one(browser, "#slider").get_attribute("aria-valuetext") or "").startswith("step 5: ")


def test_the_speed_and_the_order_are_chosen(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    choose = "const [one, value] = arguments; one.value = value; one.dispatchEvent(new Event('change'))"
    open_player(browser, pages["hbm"], "#example=2&step=8")
    browser.execute_script(choose, one(browser, "#controls select"), "30")
    press(browser, "#first")
    press(browser, "#play")
    until(lambda: step(browser) == 9)
    before = texts(browser, "#buffer .block > p")
    orders = [option.get_attribute("value") for option in every(browser, "#buffer select option")]
    assert len(orders) > 1
    seen = set()
    for order in orders:
        browser.execute_script(choose, one(browser, "#buffer select"), order)
        seen.add(tuple(texts(browser, "#buffer [data-page]")))
    assert len(seen) > 1
    browser.execute_script(choose, one(browser, "#buffer select"), orders[0])
    assert texts(browser, "#buffer .block > p") == before


@pytest.mark.parametrize("name", ["hbm", "log"])
def test_all_controls_have_names(browser: webdriver.Chrome, pages: dict[str, Path], name: str) -> None:
    open_player(browser, pages[name], "#step=9")
    # A few of many alike: each costs a question to the browser.
    controls = every(browser, "#theme button, #controls :is(button, select, input), #buffer select, summary")
    controls += every(browser, "#rail button")[:3]
    assert len(controls) > 12
    for control in controls:
        assert control.accessible_name.strip(), control.get_attribute("outerHTML")
