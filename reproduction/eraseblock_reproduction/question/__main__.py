"""The commands of the question."""

from __future__ import annotations

import sys
from pathlib import Path

from cyclopts import App

from eraseblock_reproduction.question import bounds, page
from eraseblock_reproduction.question.hindsight import hindsight
from eraseblock_reproduction.question.judge import judged
from eraseblock_reproduction.question.search import load, search
from eraseblock_reproduction.question.supported import supported

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "reproduction" / "hbm"
SUPPORTED = ROOT / "reproduction" / "experiments" / "hbm-four-workloads.csv"
SEARCHED, JUDGED = HERE / "question-search.jsonl", HERE / "question-judged.jsonl"
HINDSIGHT = HERE / "question-hindsight.jsonl"
app = App(help="Is there one set of readings under which the figures of the HBM thesis hold together?")


@app.command(name="bounds")
def bounding() -> None:
    """What the printed numbers ask of any trace."""
    for costs in bounds.readings():
        least = bounds.least_bplru_ms(costs, bounds.read_pages(costs, 1))
        counted = "counted" if costs.merges_counted else "not counted"
        sys.stdout.write(f"{costs.name}, reads of merges {counted}: BPLRU takes {least:.3f} ms or more, ")
        sys.stdout.write(f"or writes are {bounds.least_length(costs):.2f} times as long as reads\n")


@app.command(name="search")
def searching(readings: int = 87, drawn_first: int = 60, requests: int = 25_000, seed: int = 1) -> None:
    """Try readings on Financial with 1 MiB, and store what comes out."""
    for one in search(SEARCHED, readings, drawn_first, requests, seed):
        sys.stdout.write(
            f"{one['number']}: {one.get('letters', one.get('refused'))} {one.get('deviation', '')}\n"
        )
        sys.stdout.flush()


@app.command(name="judge")
def judging(many: int = 2, thresholds: int = 1) -> None:
    """Judge the best of them on all traces and sizes, and store what comes out."""
    for one in judged(SEARCHED, JUDGED, many, thresholds):
        what = one.get("letters", one.get("refused", one.get("dynamic_best")))
        sys.stdout.write(f"{one['number']} {one['trace']} {one['size']}: {what}\n")
        sys.stdout.flush()


@app.command(name="hindsight")
def fitting_all(readings: int = 8, seed: int = 1) -> None:
    """Put the best readings, then changed ones, to all traces at once, and store what comes out."""
    for one in hindsight(SEARCHED, HINDSIGHT, readings, seed):
        sys.stdout.write(f"{one['number']}: {one['orders']} {one['letters']}\n")
        sys.stdout.flush()


@app.command(name="page")
def paging(folder: Path = ROOT / "docs" / "papers") -> None:
    """Write the page of what is stored."""
    page.write(folder, page.Stored(load(SEARCHED), load(JUDGED), load(HINDSIGHT), supported(SUPPORTED)))


if __name__ == "__main__":
    app()
