"""The page of adversaries is what is stored, and what is stored comes out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from eraseblock import Record, run
from eraseblock.toolkit import known
from eraseblock_reproduction.adversaries import cases, page
from eraseblock_reproduction.adversaries.bench import FTLS, folder
from eraseblock_reproduction.adversaries.space import BUFFER_PAGES

DOCS = Path(__file__).resolve().parents[2] / "docs"
# The papers' own, and what they are held to.
RUN_AGAIN = ("hbm", "epo", "bplru", "supa", "lru")


@pytest.fixture(scope="module")
def stored() -> page.Outcome:
    """What is committed."""
    return page.outcome(folder())


def test_every_scheme_has_its_worst_or_a_reason_why_not(stored: page.Outcome) -> None:
    has = {(one.scheme, one.ftl, one.measure) for one in stored.found}
    for scheme in known("buffers"):
        wanted = {(scheme, ftl, measure) for ftl in FTLS for measure in ("response", "programs")}
        assert (scheme in stored.left_out) != (wanted <= has), f"{scheme}: reproduce adversaries --fresh"
        assert f"`{scheme}`" in (DOCS / "adversaries.md").read_text()
    assert list(stored.left_out) == ["opt"]


def test_the_page_and_the_experiments_are_what_is_stored(stored: page.Outcome) -> None:
    text = page.page(stored, "adversaries")
    assert (DOCS / "adversaries.md").read_text(encoding="utf-8") == text
    assert (DOCS / "adversaries.csv").read_text(encoding="utf-8") == page.table(stored.found)
    assert len(text.encode()) <= 25_000
    written = {one.name: one.read_text() for one in (folder() / cases.FOLDER_NAME).iterdir()}
    assert written == cases.experiments(stored.found)


def _cost(record: Record, measure: str) -> float:
    throughput = record["throughput"]
    assert throughput is not None
    return (
        1 / throughput["iops"]
        if measure == "response"
        else record["flash"]["programs"]["total"] + BUFFER_PAGES
    )


@pytest.mark.parametrize("scheme", RUN_AGAIN)
def test_worst_cases_run_again_are_as_bad(scheme: str, stored: page.Outcome) -> None:
    """Each experiment, run by anybody, has the ratios of the page; four requests are always under way."""
    records = run(folder() / cases.FOLDER_NAME / f"{scheme}.toml", jobs=1)
    assert all(record["trusted"] for record in records)
    some = [one for one in stored.found if one.scheme == scheme]
    assert len(some) == len(FTLS) * 2
    for one in some:
        costs = {
            record["config"]["buffer"]["scheme"]["kind"]: _cost(record, one.measure)
            for record in records
            if record["config"]["case"] == cases.name_of(one)
        }
        own = costs.pop(scheme)
        assert own / min(costs.values()) == pytest.approx(one.held_out[0], rel=1e-3)
        assert min(costs, key=costs.__getitem__) == one.best
