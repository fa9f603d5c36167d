"""`trace info` gives the figures that the page beside outside traces gives for each of its files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from conftest import Cli

FOLDER = Path(os.environ.get("ERASEBLOCK_TRACES") or ".")
PAGE = FOLDER / "README.md"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (os.environ.get("ERASEBLOCK_TRACES") and PAGE.exists()),
        reason="ERASEBLOCK_TRACES names no folder with traces and a README.md",
    ),
]
# Files whose content does not tell bytes from sectors.
NAMED = {"msr-cut-rw40_60-part.trace": "ascii-ms-bytes", "msr-cut-rand_iops-part.trace": "ascii-ms-bytes"}


def rows() -> list[list[str]]:
    """Cells of the table of files."""
    if not os.environ.get("ERASEBLOCK_TRACES") or not PAGE.exists():
        return []
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]


def number(text: str) -> float:
    found = re.match(r"[\d,.]+", text)
    assert found, text
    return float(found[0].rstrip(",.").replace(",", ""))


def digits(text: str) -> int:
    """Digits after the point."""
    found = re.match(r"[\d,]+\.(\d+)", text)
    return len(found[1]) if found else 0


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0].strip("`"))
def test_the_figures_of_the_page(cli: Cli, row: list[str]) -> None:
    name = row[0].strip("`")
    requests, shares, sizes, duration, span = row[3:8]
    arguments = ["--format", NAMED[name]] if name in NAMED else []
    run = cli("trace", "info", FOLDER / f"{name}.zst", "--json", *arguments)
    assert run.returncode == 0, run.stderr
    [info] = json.loads(run.stdout)
    profile = info["profile"]
    assert info["requests"] == number(requests)
    reads, writes = (float(part) for part in shares.split("/"))
    assert abs(100 * info["reads"] / info["requests"] - reads) <= 0.0051
    assert abs(100 * info["writes"] / info["requests"] - writes) <= 0.0051
    if profile["requests"] == info["requests"]:
        assert abs(100 * profile["mix"]["read"]["requests_share"] - reads) <= 0.0051
    means = [info["mean_bytes"], info["mean_read_bytes"], info["mean_write_bytes"]]
    for mean, said in zip(means, re.findall(r"\d[\d,]*", sizes), strict=False):
        assert abs((mean or 0) - number(said)) <= 0.51, sizes
    seconds = info["duration_ns"] / 1e9
    # The page rounds some durations and cuts others off.
    assert abs(seconds - number(duration)) < 10 ** -digits(duration), (seconds, duration)
    if " \u2013 " in span:
        low, high = (number(part) for part in span.split(" \u2013 "))
        assert (info["lowest_byte"], info["highest_end"]) == (low, high)
