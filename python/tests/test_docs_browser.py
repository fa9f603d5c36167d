"""The documentation as a site in a browser, from a folder: pictures, search, copying, colours, widths."""

from __future__ import annotations

import base64
import re
import shutil
import struct
import subprocess
import sys
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w
from report_page import IN_CHROMIUM, every, look, press, texts, undisturbed, until
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

pytestmark = IN_CHROMIUM
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PICTURES = sorted((DOCS / "pictures").glob("*.svg"))
# Pages with pictures, and some that they lead to; a page for each takes a second.
EXPLANATIONS = ("merges", "write-amplification", "write-buffer", "tail")
PAGES = ("index", "tutorial", *EXPLANATIONS, "buffers/bplru")
# What extensions of Markdown would make signs, pictures and marks of.
PLAIN = "# Plain\n\nTimes h:m:s, figure 2(c), a 64th, ~8 of 2^3^, 1 +/- 2, a --> b, ==c==.\n"
PAPER = "return getComputedStyle(document.body).backgroundColor"
# Texts that meet another one, or the edge of the picture; 1 unit of it is not seen.
CROWDED = """
const { width, height } = document.documentElement.viewBox.baseVal
const boxes = [...document.querySelectorAll('text')].map(one => [one.textContent, one.getBBox()])
const outside = boxes.filter(([, box]) => box.x < 4 || box.y < 2
  || box.x + box.width > width - 4 || box.y + box.height > height - 2)
const meet = (one, other) => one.x + 1 < other.x + other.width && other.x + 1 < one.x + one.width
  && one.y + 1 < other.y + other.height && other.y + 1 < one.y + one.height
const pairs = boxes.flatMap(([words, box], place) => boxes.slice(place + 1)
  .filter(([, other]) => meet(box, other)).map(([more]) => [words, more]))
return [boxes.length, outside.map(([words]) => words), pairs]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of some pages, with the settings of the whole."""
    folder = tmp_path_factory.mktemp("site")
    for page in PAGES:
        copy = folder / "docs" / f"{page}.md"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DOCS / f"{page}.md", copy)
    (folder / "docs" / "plain.md").write_text(PLAIN, encoding="utf-8")
    for part in ("pictures", "assets"):
        shutil.copytree(DOCS / part, folder / "docs" / part)
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    settings["project"]["nav"] = [{page: f"{page}.md"} for page in PAGES]
    (folder / "zensical.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build"], cwd=folder, check=True, capture_output=True)
    return folder / str(settings["project"]["site_dir"])


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """After each test nothing complained and nothing was fetched."""
    look(chromium)
    with undisturbed(chromium):
        yield chromium


def visit(browser: webdriver.Chrome, site: Path, page: str) -> None:
    browser.get("about:blank")
    browser.get((site / f"{page}.html").as_uri())
    until(lambda: bool(browser.execute_script("return document.readyState === 'complete'")))


def pixel(browser: webdriver.Chrome, selector: str) -> tuple[int, ...]:
    """The colour in the middle of the lower edge of an element, where a picture shows its paper."""
    at = browser.execute_script(
        "const one = document.querySelector(arguments[0]); one.scrollIntoView({block: 'center'});"
        "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.bottom - 4]",
        selector,
    )
    scrolled = browser.execute_script("return [scrollX, scrollY]")
    clip = {"x": at[0] + scrolled[0], "y": at[1] + scrolled[1], "width": 1, "height": 1, "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
    content, place, packed = base64.b64decode(shot["data"]), 8, b""
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        packed += content[place + 8 : place + 8 + length] if kind == b"IDAT" else b""
        place += length + 12
    # A line of one pixel: its filter, then red, green and blue.
    return tuple(zlib.decompress(packed)[1:4])


def test_there_are_pictures() -> None:
    shown = [name for page in EXPLANATIONS for name in shown_on(page)]
    assert sorted(shown) == [path.stem for path in PICTURES]
    assert len(shown) >= 8


def shown_on(page: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"\]\(pictures/([\w-]+)\.svg\)", text)


def test_texts_of_pictures_do_not_meet(browser: webdriver.Chrome) -> None:
    for path in PICTURES:
        browser.get(path.as_uri())
        count, outside, pairs = browser.execute_script(CROWDED)
        assert count > 3, path.name
        assert (outside, pairs) == ([], []), path.name


def test_pictures_follow_the_system_and_the_reader(browser: webdriver.Chrome, site: Path) -> None:
    visit(browser, site, "merges")
    light = pixel(browser, "article img"), browser.execute_script(PAPER)
    look(browser, scheme="dark")
    until(lambda: browser.execute_script(PAPER) != light[1])
    dark = pixel(browser, "article img"), browser.execute_script(PAPER)
    assert sum(dark[0]) < 150
    assert sum(light[0]) > 600
    # The switch goes from the system's to light, to dark, and back.
    for wanted in (light, dark, dark):
        press(browser, "[data-md-component=palette] label:not([hidden])")
        until(lambda wanted=wanted: browser.execute_script(PAPER) == wanted[1])  # type: ignore[misc]
        # Whether a picture hears of it is the browser's business: it is a card, light or dark.
        assert pixel(browser, "article img") in (light[0], dark[0])
    look(browser, scheme="light")
    until(lambda: browser.execute_script(PAPER) == light[1])


def test_no_page_is_wider_than_the_window(browser: webdriver.Chrome, site: Path) -> None:
    for page in PAGES:
        visit(browser, site, page)
        for width in (390, 1400):
            look(browser, width)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page
            for picture in every(browser, "article img"):
                assert picture.size["width"] > 330, page
        for picture in every(browser, "article img"):
            assert picture.accessible_name, page
            assert browser.execute_script("return arguments[0].naturalWidth", picture) > 0, page


def test_text_stays_as_it_is_written(browser: webdriver.Chrome, site: Path) -> None:
    visit(browser, site, "plain")
    assert texts(browser, "article p") == [PLAIN.split("\n\n")[1].strip()]


def test_the_navigation_leads_on(browser: webdriver.Chrome, site: Path) -> None:
    visit(browser, site, "merges")
    press(browser, "article a[href='buffers/bplru.html']")
    until(lambda: texts(browser, "h1") == ["BPLRU¶"] or texts(browser, "h1") == ["BPLRU"])
    press(browser, ".md-nav a[href='../tail.html']")
    until(lambda: texts(browser, "h1")[0].startswith("Why the tail is slow"))
    assert every(browser, ".md-nav__link--active")


def test_words_are_found_without_a_server(browser: webdriver.Chrome, site: Path) -> None:
    visit(browser, site, "buffers/bplru")
    # The key that the page names; what it opens lies in a tree of its own.
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
    found = (
        "return [...document.querySelectorAll('body *')].flatMap(one => "
        "[...(one.shadowRoot?.querySelectorAll('a') ?? [])]).map(one => one.href)"
    )
    until(lambda: bool(browser.execute_script("return !!document.activeElement.shadowRoot")))
    ActionChains(browser).send_keys("coalescing").perform()
    until(lambda: any("write-buffer.html" in href for href in browser.execute_script(found)))


def test_commands_are_copied(browser: webdriver.Chrome, site: Path) -> None:
    visit(browser, site, "tutorial")
    browser.execute_script(
        "window.copied = [];"
        "addEventListener('copy', ({ target }) => copied.push(target.value ?? String(getSelection())))"
    )
    # The button comes with its script.
    until(lambda: bool(every(browser, "article .highlight button")))
    press(browser, "article .highlight button")
    until(lambda: texts(browser, ".md-dialog") == ["Copied to clipboard"])
    [copied] = browser.execute_script("return copied")
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    assert copied.strip() == re.findall(r"```console\n(.*?)\n```", page, re.DOTALL)[0]
