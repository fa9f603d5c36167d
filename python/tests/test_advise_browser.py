"""The page of answers in a real browser: links, pictures, commands, colours, widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from report_page import IN_CHROMIUM, displayed, every, look, one, press, texts, undisturbed, until
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from eraseblock.advice.answer import Answer, Picture, Table
from eraseblock.advice.page import build_page

pytestmark = IN_CHROMIUM
MIB = 1 << 20
PAPER = "return getComputedStyle(document.body).backgroundColor"
INK = "return document.querySelector('.role-axis-label text').getAttribute('fill')"


def made_up() -> list[Answer]:
    """A line by sizes with a doubt and no command too long, bars in parts, and a question without figures."""
    sizes = [
        (size * MIB, name, 1e6 / size / place)
        for size in (1, 4, 16)
        for place, name in ((1, "lru"), (2, "<fab>"))
    ]
    buffer = Answer(
        "buffer",
        "Buffer: 4 MiB; take `<fab>`: 125 us.",
        ("the buffer never filled", "no block was erased: use `precondition.state=steady`"),
        Table(
            {"size_bytes": "size", "buffer": "buffer", "mean": "mean"},
            [{"size_bytes": size, "buffer": name, "mean": mean} for size, name, mean in sizes],
            [[f"{size // MIB} MiB", name, f"{mean / 1e3:.0f} us"] for size, name, mean in sizes],
            3,
        ),
        Picture("line", "Mean response by size", "size_bytes", "mean", by="buffer", doubling=True),
        ("eraseblock compare mysql.ebt --buffer-size 1MiB,4MiB,16MiB " + "--set nand.channels=1 " * 9,),
    )
    parts = [("all", 90e3, 30e3, 60e3), ("slowest 1 %", 850e3, 750e3, 100e3)]
    tail = Answer(
        "tail",
        "Read tail: the slowest 1 % of reads wait for dies.",
        (),
        Table(
            {"reads": "reads", "response_ns": "mean", "die": "die", "bus": "bus"},
            [{"reads": name, "response_ns": mean, "die": die, "bus": bus} for name, mean, die, bus in parts],
            [[name, *(f"{time / 1e3:.0f} us" for time in times)] for name, *times in parts],
        ),
        Picture("bars", "What reads are made of", "reads", "response_ns", parts=("die", "bus")),
        ("eraseblock compare mysql.ebt --explain", "eraseblock run more.toml"),
    )
    nothing = Answer(
        "gc",
        "Collection: no policy can be named, as no run is to be trusted.",
        (),
        Table({"policy": "policy", "WAF": "WAF"}, [{"policy": "greedy", "WAF": None}], [["greedy", "-"]]),
        Picture("bars", "Write amplification by collection policy", "policy", "WAF"),
        ("eraseblock compare mysql.ebt",),
    )
    return [buffer, tail, nothing]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("advice") / "advice.html"
    path.write_text(build_page(made_up(), "mysql <1> on hbm-2010"), encoding="utf-8")
    return path


@pytest.fixture
def browser(chromium: webdriver.Chrome, page: Path) -> Iterator[webdriver.Chrome]:
    """The page, drawn; after each test nothing complained and nothing was fetched."""
    with undisturbed(chromium):
        open_page(chromium, page)
        yield chromium


def open_page(browser: webdriver.Chrome, page: Path, width: int = 1400, scheme: str = "light") -> None:
    look(browser, width, scheme)
    browser.get("about:blank")
    browser.get(page.as_uri())
    until(lambda: drawn(browser) == 1)


def drawn(browser: webdriver.Chrome) -> int:
    """How often all pictures have been drawn."""
    return int(browser.execute_script("return Number(document.body.dataset.drawn ?? 0)"))


def test_answers_come_first_and_lead_to_their_figures(browser: webdriver.Chrome) -> None:
    assert texts(browser, "h1") == ["mysql <1> on hbm-2010"]
    answers = texts(browser, ".verdicts li")
    assert answers[0].startswith("Buffer: 4 MiB; take <fab>: 125 us.")
    assert texts(browser, ".verdicts code") == ["<fab>"]
    assert texts(browser, ".verdicts a") == ["Doubtful: why?", "Figures", "Figures"]
    assert texts(browser, "#buffer .note li")[0] == "the buffer never filled"
    assert texts(browser, "tr.taken td") == ["4 MiB the answer", "<fab>", "125 us"]
    press(browser, ".verdicts li:nth-child(2) a")
    until(lambda: bool(browser.execute_script("return scrollY > 0 && location.hash === '#tail'")))


def test_pictures_are_those_of_the_figures(browser: webdriver.Chrome) -> None:
    assert len(every(browser, "[data-chart] svg")) == 2, "the third question has nothing to draw"
    assert len(every(browser, "#buffer .mark-line path")) == 2
    assert texts(browser, "#buffer .role-legend-label") == ["lru", "<fab>"]
    assert {"1 MiB", "4 MiB", "16 MiB"} <= set(texts(browser, "#buffer .role-axis-label text"))
    # Four parts: two bars of two.
    assert len(every(browser, "#tail .mark-rect.role-mark path")) == 4
    assert "slowest 1 %" in texts(browser, "#tail .role-axis-label text")


def test_commands_are_copied(browser: webdriver.Chrome) -> None:
    browser.execute_script(
        "window.copied = []; navigator.clipboard.writeText = async (text) => copied.push(text)"
    )
    one(browser, "#tail summary").send_keys(Keys.ENTER)
    assert texts(browser, "#tail pre") == [
        "eraseblock compare mysql.ebt --explain",
        "eraseblock run more.toml",
    ]
    press(browser, "#tail .command:nth-of-type(2) .copy")
    until(lambda: "copied" in texts(browser, "#tail .command [role=status]"))
    assert browser.execute_script("return copied") == ["eraseblock run more.toml"]


def test_the_reader_chooses_light_or_dark(browser: webdriver.Chrome, page: Path) -> None:
    light = browser.execute_script(PAPER), browser.execute_script(INK)
    press(browser, "#theme [data-value=dark]")
    until(lambda: drawn(browser) == 2)
    dark = browser.execute_script(PAPER), browser.execute_script(INK)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    browser.refresh()
    until(lambda: drawn(browser) == 1)
    assert (browser.execute_script(PAPER), browser.execute_script(INK)) == dark
    press(browser, "#theme [data-value=auto]")
    until(lambda: drawn(browser) == 2)
    assert browser.execute_script(PAPER) == light[0]
    open_page(browser, page, scheme="dark")
    assert browser.execute_script(PAPER) == dark[0]


def test_it_fits_a_phone(browser: webdriver.Chrome, page: Path) -> None:
    wide = one(browser, "#buffer [data-chart] svg").size["width"]
    open_page(browser, page, width=390)
    for summary in every(browser, "summary"):
        summary.send_keys(Keys.ENTER)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    for picture in every(browser, "[data-chart]"):
        svg = picture.find_element("css selector", "svg")
        assert svg.size["width"] <= picture.size["width"] + 1
        assert svg.size["width"] > 250
    # Turned, or the window made wider: drawn anew.
    look(browser, 1400)
    until(lambda: drawn(browser) == 2)
    assert one(browser, "#buffer [data-chart] svg").size["width"] == wide


def test_all_controls_have_names(browser: webdriver.Chrome) -> None:
    controls = displayed(browser, "button, a, summary, [role=region]")
    assert len(controls) > 10
    for control in controls:
        assert control.accessible_name.strip(), control.get_attribute("outerHTML")
