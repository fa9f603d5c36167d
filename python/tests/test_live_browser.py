"""The page of a drive that is being served, in a real browser: it follows, fits, says when nobody answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from report_page import IN_CHROMIUM, look, one, press, texts, until
from selenium import webdriver
from test_live import port_of
from test_serve import DRIVE, Client, served

pytestmark = [*IN_CHROMIUM, pytest.mark.skipif(os.name != "posix", reason="images are served on POSIX")]
ANSWERS = "return Number(document.body.dataset.answers ?? 0)"
# The lines that are drawn, which the next second takes away.
PATHS = "return [...document.querySelectorAll('#charts path')].map(one => one.getAttribute('d'))"
# The colours in a canvas.
COLOURS = """
const canvas = document.querySelector(arguments[0])
const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), seen = new Set()
for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 4).join())
return seen.size
"""


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Client]]:
    """Where the page of a server is, and a client of its drive."""
    image = tmp_path_factory.mktemp("live") / "drive.img"
    with served(image, *DRIVE, "--http", "0") as (process, _):
        assert process.stdout is not None
        page = f"http://127.0.0.1:{port_of(process.stdout.readline())}/"
        with Client(Path(f"{image}.sock")) as client:
            yield page, client


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """After each test nothing complained."""
    look(chromium)
    chromium.get_log("browser")  # type: ignore[no-untyped-call]
    yield chromium
    # Reading a canvas back, as these tests do, is warned of.
    said = chromium.get_log("browser")  # type: ignore[no-untyped-call]
    assert [entry for entry in said if entry["level"] != "WARNING"] == []
    chromium.get("about:blank")


def await_answer(browser: webdriver.Chrome) -> None:
    """The next answer is drawn."""
    before = int(browser.execute_script(ANSWERS))
    until(lambda: int(browser.execute_script(ANSWERS)) > before)


def test_it_follows_a_workload(browser: webdriver.Chrome, drive: tuple[str, Client]) -> None:
    page, client = drive
    browser.get(page)
    await_answer(browser)
    assert "0.0 % valid" in one(browser, "#blocks-told").text
    empty = browser.execute_script(COLOURS, "#blocks")
    for turn in range(2):
        for at in range(0, 300, 2):
            client.ask(1, at * 4096, data=bytes([turn + 1]) * 4096)
        client.ask(0, 0, 4096)
        await_answer(browser)
    assert any("302 in all" in text for text in texts(browser, "#now dd"))
    assert "0.0 % valid" not in one(browser, "#blocks-told").text
    assert "the newest bytes are in RAM alone" in one(browser, "#buffer-told").text
    drawn = browser.execute_script(PATHS)
    assert sum(map(bool, drawn)) >= 5, drawn
    # Writes into RAM may take no time, which no logarithm has.
    assert browser.execute_script("return decades([0, 2e5, 3e6])") == [0, 1e5, 1e6, 1e7]
    assert browser.execute_script("return decades([2e5, 9e5])") == [1e5, 1e6]
    assert [text.partition(" ")[0] for text in texts(browser, "#charts .key span")].count("padded") == 1
    assert browser.execute_script(COLOURS, "#blocks") > empty
    assert browser.execute_script(COLOURS, "#slices") > 1
    press(browser, "#blocks-by button[data-value=wear]")
    assert texts(browser, "#blocks-key span")[0] == "never erased"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone(browser: webdriver.Chrome, drive: tuple[str, Client], scheme: str) -> None:
    look(browser, 390, scheme)
    browser.get(drive[0])
    await_answer(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    dark = (
        browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    )
    assert dark == (scheme == "dark")


def test_it_says_when_its_server_has_gone(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    with served(tmp_path / "other.img", *DRIVE, "--http") as (process, _):
        assert process.stdout is not None
        chromium.get(f"http://127.0.0.1:{port_of(process.stdout.readline())}/")
        await_answer(chromium)
        process.kill()
        until(lambda: "does not answer" in one(chromium, "#trouble").text)
    chromium.get("about:blank")
