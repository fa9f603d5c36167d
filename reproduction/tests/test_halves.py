"""The two halves of the studies: none of their cells ever changes sides, and scores are what they say."""

from __future__ import annotations

import csv
from hashlib import sha256
from pathlib import Path

import pytest

from eraseblock.toolkit import Handling
from eraseblock_reproduction.beyond.halves import (
    Cell,
    Score,
    cells,
    main,
    phases,
    rows,
    run_cells,
    scores,
    table,
)
from eraseblock_reproduction.beyond.trials import Design, Figures, Trial

# What there was when the halves were made: more FTLs and workloads may come, these cells stay where they are.
FTLS = {
    *("page", "ssd-model", "dftl", "blas", "bast", "fast", "mnk", "sftl", "pattern"),
    *("block", "hybrid", "replacement", "superblock"),
}
TUNED = "e019e5609da07ddd"


@pytest.fixture(scope="module")
def every() -> list[Cell]:
    return list(cells())


def test_no_cell_changes_sides(every: list[Cell]) -> None:
    known = [cell for cell in every if cell.study == "nvme" or cell.below in FTLS]
    assert (len(known), sum(cell.half == "tune" for cell in known)) == (1700, 879)
    tuned = sorted(cell.name for cell in known if cell.half == "tune")
    assert sha256("\n".join(tuned).encode()).hexdigest()[:16] == TUNED


def test_a_half_is_taken_in_an_order_of_its_own(every: list[Cell]) -> None:
    assert [cell.place for cell in every] == sorted(cell.place for cell in every)
    # Among the first hundred there is nearly everything.
    first = every[:100]
    assert {cell.below for cell in first} >= FTLS
    assert len({cell.workload for cell in first}) > 20


def _trial(scheme: str, **values: float) -> Trial:
    figures = {name: Figures(value, (value,), None) for name, value in values.items()}
    return Trial(Design("w", scheme, "page", "open"), figures, offline=scheme == "opt")


def test_scores_are_relative_to_the_best_online_one() -> None:
    trials = {
        "a": {
            "lru": _trial("lru", response=4.0, erases=0.0),
            "fab": _trial("fab", response=3.0, erases=1.0),
            "opt": _trial("opt", response=1.0, erases=0.0),
        }
    }
    # No erases at all: one more of each decides.
    assert scores(trials, "fab") == [
        Score("a", "response", 0.75, 0.75, "lru"),
        Score("a", "erases", 2.0, 2.0, "lru"),
    ]
    assert scores(trials, "opt") == []
    assert "| fab | response | 1 | 100% | 100% | 0.75 | a | 0.750 |" in table(trials)
    del trials["a"]["opt"]
    assert rows(trials)[1:] == [
        ("a", "response", "lru", "0.7500", "0.7500"),
        ("a", "erases", "lru", "2.0000", "2.0000"),
    ]
    assert scores(trials, "lru")[0] == Score("a", "response", 4 / 3, 1.0, "fab")


def test_a_cell_is_run_with_its_size_and_schemes() -> None:
    cell, one = next(pair for pair in cells().items() if pair[0].name == "pairs/supa-mov/replacement/x8")
    assert one.config["buffer"]["size"] == f"{8 << 20} B"
    trials = run_cells([(cell, one)], {"lru": {"kind": "lru"}, "clc": {"kind": "clc"}}, Handling())
    found = {(score.measure, score.to_best < 1) for score in scores(trials, "clc")}
    assert ("erases", True) in found


def test_glued_workloads_are_in_neither_half() -> None:
    glued = list(phases())
    assert {cell.study for cell in glued} == {"phases"}
    assert {cell.below for cell in glued} >= FTLS
    assert len(glued) == 3 * len({cell.below for cell in glued})
    assert not {cell.workload for cell in glued} & {cell.workload for cell in cells()}


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(
        "tune",
        cells_taken=1,
        buffers='[{"kind": "clc", "hot": 0.5}]',
        output=tmp_path,
        record=tmp_path / "scores.csv",
    )
    told = capsys.readouterr()
    assert '| {"hot": 0.5, "kind": "clc"} | response | 1 |' in told.out
    assert told.err == ""
    with (tmp_path / "scores.csv").open() as file:
        first = next(csv.DictReader(file))
    assert (first["measure"], first["best other"]) == ("response", "lru")
