"""What tests need to look into a report: its packed data, and its elements in a browser."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from time_report import CHROMIUM, DRIVER

from eraseblock.results.record import Record

# Marks of a file whose tests open pages in the fixture `chromium`.
IN_CHROMIUM = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="chromium and chromedriver are not installed; the page was not opened",
    ),
]


def unpack(text: str) -> Any:
    """The inverse of the page's packing."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def element(page: str, name: str) -> str:
    """The text of one of the page's data elements."""
    found = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found[1].strip()


def data_of(page: str) -> dict[str, Any]:
    """Axes, figures, settings, sentences and commands of all runs."""
    data: dict[str, Any] = unpack(element(page, "data"))
    return data


def details_of(page: str) -> list[dict[str, Any]]:
    """Distributions, series and wear map of each run."""
    text = element(page, "details")
    return [unpack(line) for line in text.split("\n")] if text else []


def column(of: Any, runs: int) -> list[Any]:
    """A column with an entry for each run."""
    return of if isinstance(of, list) else [of["all"]] * runs


def figures(data: dict[str, Any], path: str) -> list[Any]:
    """The values of a figure."""
    [figure] = [one for one in data["figures"] if one["path"] == path]
    return column(figure["of"], data["count"])


def thirty(records: Sequence[Record]) -> list[Record]:
    """Records of 30 schemes at three sizes: those of the sweep on one FTL, and 26 more made from LRU's.

    `s00` is the best of these, each next one slower; the last two are far slower than all others.
    """
    found = copy.deepcopy(list(records[:12]))
    for record in found:
        record["trusted"], record["reasons"] = True, []
    lru = [record for record in found if _kind(record) == "lru"]
    for place in range(3 * 26):
        record, number = copy.deepcopy(lru[place % 3]), place // 3
        record["config"]["buffer"]["scheme"] = {"kind": f"s{number:02}"}
        record["key"] = f"{place:08x}{record['key'][8:]}"
        factor = 0.3 + 0.02 * number if number < 24 else 200
        record["response_ns"]["all"]["mean"] *= factor
        record["waf"] *= factor
        found.append(record)
    return found


def _kind(record: Record) -> str:
    return str(record["config"]["buffer"]["scheme"]["kind"])


def look(browser: webdriver.Chrome, width: int = 1400, scheme: str = "light") -> None:
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)


@contextmanager
def undisturbed(browser: webdriver.Chrome) -> Iterator[None]:
    """Inside, something is loaded; nothing complains and nothing is fetched from a network."""
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # type: ignore[no-untyped-call]
    yield
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    asked = [entry["message"] for entry in browser.get_log("performance")]  # type: ignore[no-untyped-call]
    assert asked
    assert not [entry for entry in asked if "requestWillBeSent" in entry and '"url":"http' in entry]


def one(browser: webdriver.Chrome, selector: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, selector)


def every(browser: webdriver.Chrome, selector: str) -> list[WebElement]:
    return browser.find_elements(By.CSS_SELECTOR, selector)


def texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(one => one.textContent.trim())", selector
    )
    return found


def displayed(browser: webdriver.Chrome, selector: str) -> list[WebElement]:
    """Those that are seen. To ask Selenium about each takes as long as to open the page several times."""
    seen = "one => one.checkVisibility({opacityProperty: true, visibilityProperty: true})"
    script = f"return [...document.querySelectorAll(arguments[0])].filter({seen})"
    found: list[WebElement] = browser.execute_script(script, selector)
    return found


def press(browser: webdriver.Chrome, selector: str) -> None:
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", one(browser, selector))
    one(browser, selector).click()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "nothing happened within a minute"
        time.sleep(0.05)
