"""The sentences on how near schemes come to the bounds on erases."""

from __future__ import annotations

from typing import Any

import pytest

from eraseblock.results.nearness import sentences
from eraseblock.results.view import Row


def _row(scheme: str, erases: int, bound: Any, offline: bool = False) -> Row:
    record: Any = {"flash": {"erases": {"total": erases}}, "erase_bound": bound, "offline": offline}
    record["config"] = {"device": "d", "case": None}
    return Row(record=record, trace="t", ftl="bast", scheme=scheme, buffer_bytes=4 << 20, settings={})


@pytest.fixture(autouse=True)
def _drive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Row, "drive", property(lambda _: "d"))


def test_the_scheme_with_fewest_erases_is_named() -> None:
    bound = {"fewest": 100, "by": "logs", "reachable": 105}
    rows = [_row("lru", 150, bound), _row("clc", 110, bound), _row("opt", 101, bound, offline=True)]
    assert sentences(rows) == [
        "bast, 4 MiB: `clc` (110 erases) is within 10 % of what any buffer could reach: "
        "none has fewer than 100, and 105 can be reached."
    ]


def test_what_can_be_reached_is_left_out_where_the_scheme_is_better() -> None:
    for reachable in (105, None):
        (text,) = sentences([_row("clc", 104, {"fewest": 100, "by": "logs", "reachable": reachable})])
        assert text.endswith("none has fewer than 100.")


def test_a_bound_of_nothing_and_one_that_is_met_are_said() -> None:
    (met,) = sentences([_row("clc", 5, {"fewest": 5, "by": "logs", "reachable": 5})])
    (nothing,) = sentences([_row("clc", 5, {"fewest": 0, "by": "logs", "reachable": 9})])
    assert met.endswith("erases as little as any buffer could.")
    assert "no bound says" in nothing


def test_it_is_said_where_nothing_is_known() -> None:
    (text,) = sentences([_row("clc", 5, {"fewest": None, "by": None, "reachable": None})])
    assert text.startswith("bound on erases: none is known")
