"""The report in a real browser, without a network: plots are drawn, pointing and clicking work."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="chromium and chromedriver are not installed; the page was not opened",
    ),
]


@pytest.fixture(scope="module")
def browser(results_folder: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1400,1000",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        driver.get((results_folder / "report.html").resolve().as_uri())
        WebDriverWait(driver, 60).until(lambda d: d.find_elements(By.CSS_SELECTOR, "body[data-drawn=yes]"))
        yield driver
    finally:
        driver.quit()


def test_every_plot_is_drawn(browser: webdriver.Chrome) -> None:
    plots = browser.find_elements(By.CSS_SELECTOR, ".plot")
    assert len(plots) == 16
    for plot in plots:
        assert plot.find_element(By.TAG_NAME, "svg").size["width"] > 200
    lines = browser.find_elements(By.CSS_SELECTOR, "#panel1-hits .mark-line path")
    points = browser.find_elements(By.CSS_SELECTOR, "#panel1-hits .mark-symbol path")
    assert (len(lines), len(points)) == (4, 12)


def test_nothing_complains_and_nothing_is_fetched(browser: webdriver.Chrome) -> None:
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    log = [entry["message"] for entry in browser.get_log("performance")]  # type: ignore[no-untyped-call]
    assert log
    assert not [entry for entry in log if "requestWillBeSent" in entry and '"url":"http' in entry]


def test_pointing_at_a_plot_tells_its_figures(browser: webdriver.Chrome) -> None:
    plot = browser.find_element(By.ID, "panel1-waf")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(browser).move_to_element(plot).move_by_offset(6, 4).perform()
    tip = WebDriverWait(browser, 10).until(
        lambda d: d.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    )[0]
    assert "Scheme" in tip.text
    assert "Write amplification" in tip.text


def test_the_legend_hides_a_scheme_everywhere(browser: webdriver.Chrome) -> None:
    def lines() -> int:
        return len(browser.find_elements(By.CSS_SELECTOR, "#panel2-mean .mark-line path"))

    button = browser.find_element(By.CSS_SELECTOR, ".legend [data-scheme=fab]")
    assert lines() == 4
    browser.execute_script("arguments[0].click()", button)
    WebDriverWait(browser, 10).until(lambda _: lines() == 3)
    assert button.get_attribute("aria-pressed") == "false"
    browser.execute_script("arguments[0].click()", button)
    WebDriverWait(browser, 10).until(lambda _: lines() == 4)


def test_choosing_a_buffer_size_draws_its_distribution(browser: webdriver.Chrome) -> None:
    bars = "document.querySelectorAll('#panel1-programs .mark-rect path')"

    def shape() -> list[str]:
        drawn: list[str] = browser.execute_script(f"return [...{bars}].map(bar => bar.getAttribute('d'))")
        return drawn

    before = shape()
    assert before
    choice = browser.find_element(By.CSS_SELECTOR, "select[data-chart=panel1-programs]")
    browser.execute_script(
        "arguments[0].selectedIndex = 0; arguments[0].dispatchEvent(new Event('change'))", choice
    )
    WebDriverWait(browser, 10).until(lambda _: shape() not in ([], before))


@pytest.mark.parametrize("width", [1400, 420])
def test_the_page_is_never_wider_than_the_window(browser: webdriver.Chrome, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    inner, needed = browser.execute_script(
        "return [document.documentElement.clientWidth, document.documentElement.scrollWidth]"
    )
    assert needed <= inner <= width


def test_dark_paper_has_dark_plots(browser: webdriver.Chrome) -> None:
    # One script, not two calls: the plot may be drawn anew between them.
    label = "document.querySelector('#panel1-waf .role-axis-label text')"

    def label_colour() -> str | None:
        colour: str | None = browser.execute_script(f"return {label}?.getAttribute('fill')")
        return colour

    light = label_colour()
    features = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    WebDriverWait(browser, 10).until(lambda _: label_colour() not in (None, light))
