"""Measures how long a report takes to open in headless Chromium, until its table and first plots are drawn.

.venv/bin/python tools/time_report.py out/demo              the report of a folder of results
.venv/bin/python tools/time_report.py out/demo --runs 500   of its runs repeated until there are 500
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from eraseblock.report.page import build_page
from eraseblock.results.record import Record
from eraseblock.results.store import read_records

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
PATIENCE_S = 120


def open_browser(*further: str) -> webdriver.Chrome:
    """A headless Chromium that gets at nothing but this machine, and keeps its log; with further options."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1400,1000",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        *further,
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(str(DRIVER)))


def open_report(browser: webdriver.Chrome, path: Path, address: str = "") -> int:
    """Open a report afresh; returns after how many ms its table and the plots in view were drawn."""
    if address:
        # In a page that is open, an address would only be followed.
        browser.get("about:blank")
    browser.get(path.resolve().as_uri() + address)
    return wait_until_drawn(browser)


def wait_until_drawn(browser: webdriver.Chrome) -> int:
    """Wait for the plots in view; returns after how many ms the page had first drawn them."""
    drawn = "return document.body.dataset.drawn === 'yes' && Number(document.body.dataset.drawnAfterMs)"
    return int(WebDriverWait(browser, PATIENCE_S).until(lambda driver: driver.execute_script(drawn)))


def many(records: Sequence[Record], count: int) -> list[Record]:
    """So many runs: the given ones again and again, each time as if another seed had been set."""
    copies = []
    for index in range(count):
        seed, place = divmod(index, len(records))
        # They share whatever they have in common: pages only read it.
        key = f"{index * 2654435761 % 2**32:08x}{index:024x}"
        config = {**records[place]["config"], "seed": seed}
        copies.append({**records[place], "key": key, "config": config})
    return copies


def main() -> int:
    """Open the report five times and print the times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder of results")
    parser.add_argument("--runs", type=int, help="repeat the runs until there are so many")
    arguments = parser.parse_args()
    if not (CHROMIUM and DRIVER):
        sys.stderr.write("chromium and chromedriver are not installed; nothing was measured\n")
        return 1
    records = read_records(arguments.folder)
    if arguments.runs:
        records = many(records, arguments.runs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(build_page(records), encoding="utf-8")
        browser = open_browser()
        try:
            times = [open_report(browser, path) for _ in range(5)]
        finally:
            browser.quit()
        size = path.stat().st_size / 1e6
    sys.stdout.write(
        f"{len(records)} runs, {size:.1f} MB: drawn after {statistics.median(times):.0f} ms "
        f"(median of {', '.join(map(str, times))})\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
