"""Of what no point can be trusted is named, and keeps a claim from being reproduced as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from claims import FIGURE, PAPER, A, B, claim, run

from eraseblock_reproduction import wording
from eraseblock_reproduction.finding import NOT, PARTLY, REPRODUCED, Finding
from eraseblock_reproduction.selection import Run
from eraseblock_reproduction.verdicts import judge

SIZES = ("1 MiB", "2 MiB")
# Of three schemes at two sizes.
TIMES = {"a": 1.0, "b": 10.0, "c": 20.0}


def runs(*distrusted: tuple[str, str]) -> list[Run]:
    """All of them but these are trusted."""
    return [
        run(scheme, size, trusted=(scheme, size) not in distrusted, time=time)
        for scheme, time in TIMES.items()
        for size in SIZES
    ]


def judged(some: list[Run], kind: str = "order", **table: Any) -> tuple[Finding, str]:
    """The finding, and what is shown of it."""
    made = claim(kind, **table)
    found = judge(PAPER, FIGURE, made, some)
    return found, wording.ours(PAPER, made, found)


C = {"buffer.scheme": "c"}


def test_a_rival_all_of_whose_points_are_not_trusted_leaves_a_part() -> None:
    found, shown = judged(runs(("c", "1 MiB"), ("c", "2 MiB")), left=A, right=[B, C], relation="less")
    assert (found.verdict, found.untold) == (PARTLY, ["c"])
    assert shown.endswith("holds at 2 of 2; 2 more not trusted: c")
    assert found.reason.endswith("decide nothing; nothing that is to be trusted tells of c")


def test_a_rival_that_some_points_tell_of_is_told_of() -> None:
    found, shown = judged(runs(("c", "1 MiB")), left=A, right=[B, C], relation="less")
    assert (found.verdict, found.untold) == (REPRODUCED, [])
    assert shown.endswith("3 of 3; 1 more not trusted: 1 MiB c")


def test_what_fails_elsewhere_stays_as_bad_as_it_is() -> None:
    found, _ = judged(runs(("c", "1 MiB"), ("c", "2 MiB")), left=A, right=[B, C], relation="more")
    assert found.verdict == NOT


def test_a_claim_of_one_alone_needs_no_other() -> None:
    found, _ = judged(runs(("a", "1 MiB")), left=A, right=B, relation="less")
    assert (found.verdict, found.untold) == (REPRODUCED, [])


@pytest.mark.parametrize("several", [True, False])
def test_a_setting_counts_where_the_claim_names_several(several: bool) -> None:
    where = {"buffer.size": [*SIZES]} if several else {}
    found, shown = judged(runs(("a", "2 MiB")), left=A, right=B, relation="less", where=where)
    assert found.verdict == (PARTLY if several else REPRODUCED)
    assert shown.endswith("1 more not trusted: 2 MiB")


def test_a_trend_goes_by_the_same_rule() -> None:
    where = {"buffer.size": [*SIZES]}
    found, shown = judged(runs(("b", "2 MiB")), "trend", along=[A, B, C], relation="rising", where=where)
    assert (found.verdict, found.untold) == (PARTLY, ["2 MiB"])
    assert shown.endswith("1 more not trusted: 2 MiB")
    found, _ = judged(runs(), "trend", along=[A, B, C], relation="rising", where=where)
    assert found.verdict == REPRODUCED
