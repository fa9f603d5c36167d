"""Each kind of claim, with figures under which it holds, holds in part, and does not hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from claims import FIGURE, PAPER, STAND_IN, A, B, claim, finding, run, verdict

from eraseblock import _core
from eraseblock_reproduction import wording
from eraseblock_reproduction.answers import answers
from eraseblock_reproduction.arithmetic import evaluate
from eraseblock_reproduction.data import Claim, Figure
from eraseblock_reproduction.finding import CONTRADICTS, DIRECTION, NOT, PARTLY, REPRODUCED, UNDECIDED
from eraseblock_reproduction.intervals import estimate
from eraseblock_reproduction.places import places
from eraseblock_reproduction.plan import FigurePlan, Plan
from eraseblock_reproduction.selection import Run, named
from eraseblock_reproduction.verdicts import judge
from eraseblock_reproduction.workloads import Source

SIZES = ("1 MiB", "2 MiB", "4 MiB")


def pair(a: float, b: float) -> list[Run]:
    return [run("a", time=a), run("b", time=b)]


def grid(a: tuple[float, ...], b: tuple[float, ...]) -> list[Run]:
    """Two schemes at three sizes."""
    return [
        run(name, size, time=value)
        for name, values in (("a", a), ("b", b))
        for size, value in zip(SIZES, values, strict=True)
    ]


@pytest.mark.parametrize(
    ("kind", "figure", "table", "expected"),
    [
        ("number", 10.9, {"value": 10}, REPRODUCED),
        ("number", 11.1, {"value": 10}, PARTLY),
        ("number", 5.0, {"value": 10}, PARTLY),
        ("number", 20.0, {"value": 10}, PARTLY),
        ("number", 4.9, {"value": 10}, NOT),
        ("number", 20.1, {"value": 10}, NOT),
        ("number", 0.0, {"value": 10}, NOT),
        ("number", 11.1, {"value": 10, "tolerance": 0.2}, REPRODUCED),
        ("number", 10.6, {"value": 10, "within": 0.5}, PARTLY),
        ("exact", 10.0, {"value": 10}, REPRODUCED),
        ("exact", 10.001, {"value": 10}, NOT),
        ("range", 5.0, {"low": 5}, REPRODUCED),
        ("range", 4.9, {"low": 5}, NOT),
        ("range", 5.0, {"low": 4, "high": 4.5}, NOT),
        ("range", 0.0, {"high": 0}, REPRODUCED),
    ],
)
def test_figures_of_one_side(kind: str, figure: float, table: dict[str, Any], expected: str) -> None:
    assert verdict([run("a", time=figure), run("b", time=77)], kind, left=A, **table) == expected


@pytest.mark.parametrize(
    ("kind", "left", "right", "stated", "expected"),
    [
        ("reduction", 16, 100, 0.84, REPRODUCED),
        ("reduction", 60, 100, 0.84, DIRECTION),
        # Of 28 % that should be left there are 7. No reduction can be double one of 72 %.
        ("reduction", 7, 100, 0.72, DIRECTION),
        ("reduction", 15, 100, 0.72, PARTLY),
        ("reduction", 101, 100, 0.84, NOT),
        ("increase", 285, 100, 1.85, REPRODUCED),
        ("increase", 110, 100, 1.85, DIRECTION),
        ("increase", 99, 100, 1.85, NOT),
        ("ratio", 2.1, 1, 2, REPRODUCED),
        ("ratio", 1.2, 1, 2, DIRECTION),
        ("ratio", 0.9, 1, 2, NOT),
        ("ratio", 0.8, 1, 1, NOT),
        ("difference", 0.55, 0.5, 0.05, REPRODUCED),
        ("difference", 0.6, 0.5, 0.05, PARTLY),
        ("difference", 0.61, 0.5, 0.05, DIRECTION),
        ("reduction", 30, 100, 0.84, PARTLY),
        # More than half of the reduction, and three times what should be left.
        ("reduction", 50, 100, 0.84, DIRECTION),
        ("reduction", 60, 100, 0.2, PARTLY),
        ("reduction", 59, 100, 0.2, DIRECTION),
        # 1.06 is within 10 % of 1 and no lead at all.
        ("ratio", 1.0, 1, 1.06, NOT),
        ("ratio", 1.7, 1, 2, PARTLY),
        ("ratio", 3.0, 1, 2, PARTLY),
        ("ratio", 3.1, 1, 2, DIRECTION),
        ("difference", 0.4, 0.5, 0.05, NOT),
    ],
)
def test_one_side_against_the_other(
    kind: str, left: float, right: float, stated: float, expected: str
) -> None:
    assert verdict(pair(left, right), kind, left=A, right=B, value=stated) == expected


@pytest.mark.parametrize(
    ("relation", "a", "expected"),
    [
        ("less", (1, 2, 3), REPRODUCED),
        ("less", (1, 2, 11), PARTLY),
        ("less", (1, 11, 12), DIRECTION),
        ("less", (9.9, 11, 12), NOT),
        ("more", (1, 2, 3), NOT),
        ("at most", (10, 10, 10), REPRODUCED),
        ("less", (10, 10, 10), NOT),
        ("equal", (10.5, 10, 9.1), REPRODUCED),
        ("equal", (10.5, 10, 8.8), PARTLY),
        ("equal", (5, 10, 9), NOT),
    ],
)
def test_orders_at_every_point_or_in_the_mean(relation: str, a: tuple[float, ...], expected: str) -> None:
    runs = grid(a, (10, 10, 10))
    assert verdict(runs, "order", left=A, right=B, relation=relation) == expected


@pytest.mark.parametrize(
    ("a", "expected"),
    [((1, 2, 3), REPRODUCED), ((1, 2, 11), PARTLY), ((1, 11, 12), DIRECTION), ((9, 11, 12), NOT)],
)
def test_a_range_holds_at_points_as_an_order_does(a: tuple[float, ...], expected: str) -> None:
    assert verdict(grid(a, (0, 0, 0)), "range", left=A, high=10) == expected
    # Each of several sides is asked: the hardest decides.
    both = grid(a, (99, 99, 99))
    assert verdict(both, "range", left=[A, B], high=10) == NOT


def test_a_lead_that_becomes_smaller_is_there_before_and_after() -> None:
    def leads(before: float, after: float) -> str:
        runs = [run("a", size, time=1) for size in SIZES[:2]]
        runs += [run("b", "1 MiB", time=before), run("b", "2 MiB", time=after)]
        order: dict[str, Any] = {"where": B, "relative_to": A, "relation": "less", "lead": True}
        left, right = {"buffer.size": "2 MiB"}, {"buffer.size": "1 MiB"}
        return verdict(runs, "order", left=left, right=right, **order)

    assert leads(3, 2) == REPRODUCED
    # Less, but of a deficit; and a lead that is lost.
    assert leads(0.9, 0.8) == NOT
    assert leads(3, 0.8) == NOT
    assert leads(2, 3) == NOT


def test_a_lead_that_grows_is_there_from_the_first() -> None:
    def grows(*leads: float, relation: str = "rising") -> str:
        runs = [run("a", size, time=1) for size in SIZES]
        runs += [run("b", size, time=lead) for size, lead in zip(SIZES, leads, strict=True)]
        along = [{"buffer.size": size} for size in SIZES]
        trend: dict[str, Any] = {"where": B, "relative_to": A, "along": along, "relation": relation}
        made = claim("trend", lead=True, **trend)
        found = judge(PAPER, FIGURE, made, runs)
        return f"{found.verdict}: {wording.ours(PAPER, made, found)}"

    assert grows(1.1, 1.2, 1.3).startswith(REPRODUCED)
    # It comes to be on the way; and what grows is no lead.
    assert grows(0.9, 1.2, 1.3) == f"{DIRECTION}: 0.9 → 1.2 → 1.3; no sure lead at 1 of 3"
    assert grows(0.7, 0.8, 0.9).startswith(NOT)
    assert grows(1.3, 1.2, 1.1).startswith(NOT)
    # One that becomes smaller is left in the end.
    assert grows(1.3, 1.2, 1.1, relation="falling").startswith(REPRODUCED)
    assert grows(1.3, 1.2, 1.0, relation="falling").startswith(DIRECTION)
    assert grows(1.3, 1.2, 0.9, relation="falling").startswith(NOT)


def test_few_points_that_fail_or_hold_are_named() -> None:
    def said(kind: str, *times: float, left: Any = A, sizes: tuple[str, ...] = SIZES, **table: Any) -> str:
        runs = [run("a", size, time=time) for size, time in zip(sizes, times, strict=True)]
        runs += [run(name, size, time=10) for name in "bc" for size in sizes]
        made = claim(kind, left=left, **table)
        return wording.ours(PAPER, made, judge(PAPER, FIGURE, made, runs)).rpartition("holds at ")[2]

    less: dict[str, Any] = {"right": B, "relation": "less"}
    assert said("order", 1, 2, 3, **less) == "3 of 3"
    assert said("order", 1, 11, 3, **less) == "2 of 3, not at 2 MiB"
    assert said("order", 11, 11, 3, **less) == "1 of 3: 4 MiB"
    assert said("range", 1, 11, 3, high=10) == "2 of 3, not at 2 MiB"
    # Against which of several, where that tells points apart.
    both: dict[str, Any] = {"right": [B, {"buffer.scheme": "c"}], "relation": "less"}
    assert said("order", 1, 11, 3, **both) == "4 of 6, not at 2 MiB against b, c"
    # In the mean no point decides; and of many that fail none is named.
    assert said("order", 1, 11, 3, **less, aggregate="mean") == "2 of 3"
    many = tuple(f"{size} MiB" for size in range(8))
    assert said("order", *[1] * 4, *[11] * 4, sizes=many, **less) == "4 of 8"


def test_steps_of_one_point_have_a_unit() -> None:
    paper = replace(PAPER, quantities={"time": replace(PAPER.quantities["time"], unit="ms")})
    made = claim("trend", left=A, along=[{"buffer.size": size} for size in SIZES], relation="rising")

    def said(runs: list[Run]) -> str:
        return wording.ours(paper, made, judge(paper, FIGURE, made, runs))

    one = [run("a", size, time=time) for size, time in zip(SIZES, (1.5, 2, 3), strict=True)]
    assert said(one) == "1.5 → 2 → 3 ms"
    # Of several they are relative to the mean of each.
    both = replace(made, table={**made.table, "left": [A, B]})
    runs = [*one, *(run("b", size, time=time) for size, time in zip(SIZES, (1, 2, 3), strict=True))]
    assert wording.ours(paper, both, judge(paper, FIGURE, both, runs)).startswith("0.596 → 0.962 → 1.44")


def test_what_no_run_decides_is_said_not_to_be_trusted() -> None:
    runs = [run("a", time=1, trusted=False), run("b", time=2)]
    made = claim("order", left=A, right=B, relation="less")
    found = judge(PAPER, FIGURE, made, runs)
    assert (found.verdict, wording.ours(PAPER, made, found)) == (UNDECIDED, "1 < 2; not trusted")


def test_a_trend_that_no_run_decides_is_shown() -> None:
    along = [{"buffer.size": size} for size in SIZES[:2]]

    def said(*schemes: str) -> tuple[str, str, str]:
        runs = [
            run(name, size, time=time, trusted=time == 2)
            for name in schemes
            for size, time in zip(SIZES, (1, 2), strict=False)
        ]
        made = claim("trend", along=along, relation="falling")
        found = judge(PAPER, FIGURE, made, runs)
        return found.verdict, wording.ours(PAPER, made, found), found.reason

    assert said("a") == (UNDECIDED, "1 → 2; not trusted", "it has a run that is not to be trusted")
    verdict, ours, reason = said("a", "b")
    assert (verdict, ours) == (UNDECIDED, "0.667 → 1.33; holds at 0 of 2; not trusted")
    assert reason.startswith("each of its sequences has a run")


def test_steps_are_flat_as_shown_where_they_are() -> None:
    def said(*times: float) -> str:
        runs = [run("a", size, time=time) for size, time in zip(SIZES, times, strict=False)]
        along = [{"buffer.size": size} for size in SIZES[: len(times)]]
        made = claim("trend", along=along, relation="flat", tolerance=0.02)
        return wording.ours(PAPER, made, judge(PAPER, FIGURE, made, runs))

    assert said(1, 1.01) == "1 → 1.01"
    # With three digits 1.02 would be within 2 %.
    assert said(1, 1.0204) == "1 → 1.0204"


def test_points_are_called_by_the_sides_of_the_claim() -> None:
    def of(kind: str, size: str, **options: Any) -> Run:
        scheme = {"kind": kind, **options}
        return Run({"buffer": {"scheme": scheme, "size": size}, "workload": "w"}, STAND_IN)

    rights = [{"buffer.scheme": {"kind": "b", "padding": padding}} for padding in (True, False)]
    points = [
        (of("a", size), of("b", size, batch=2 if padding else 1, padding=padding))
        for size in SIZES[:2]
        for padding in (True, False)
    ]
    found = places(claim("order", left=A, right=rights, relation="less"), points)
    assert found == [(size, name) for size in SIZES[:2] for name in ("b padding", "b no padding")]


def test_a_trend_that_fails_at_few_points_says_at_which() -> None:
    runs = [
        run(name, size, time=time)
        for name, times in (("a", (1, 2)), ("b", (1, 3)), ("c", (2, 1)))
        for size, time in zip(SIZES, times, strict=False)
    ]
    made = claim("trend", along=[{"buffer.size": size} for size in SIZES[:2]], relation="rising")
    assert wording.ours(PAPER, made, judge(PAPER, FIGURE, made, runs)).endswith("holds at 2 of 3, not at c")


def test_a_lead_that_the_seeds_do_not_tell_is_not_counted_as_there() -> None:
    def leads(*after: float) -> str:
        runs = [run("a", size, seed, time=1) for size in SIZES[:2] for seed in range(3)]
        runs += [run("b", "1 MiB", seed, time=3) for seed in range(3)]
        runs += [run("b", "2 MiB", seed, time=time) for seed, time in enumerate(after)]
        order: dict[str, Any] = {"where": B, "relative_to": A, "relation": "less", "lead": True}
        left, right = {"buffer.size": "2 MiB"}, {"buffer.size": "1 MiB"}
        made = claim("order", left=left, right=right, **order)
        found = judge(PAPER, FIGURE, made, runs)
        return f"{found.verdict}: {wording.ours(PAPER, made, found)}"

    assert leads(1.5, 1.6, 1.7).startswith(REPRODUCED)
    assert leads(0.9, 1.0, 1.3) == f"{DIRECTION}: 1.07 < 3; no sure lead"
    assert leads(0.7, 0.8, 0.9).startswith(NOT)


def test_the_largest_gain_is_a_gain() -> None:
    def largest(*gains: float) -> str:
        runs = [run("a", size, time=10) for size in SIZES[: len(gains)]]
        runs += [run("b", size, time=10 * gain) for size, gain in zip(SIZES, gains, strict=False)]
        sizes = [{"buffer.size": size} for size in SIZES[1 : len(gains)]]
        order: dict[str, Any] = {"where": B, "relative_to": A, "relation": "more", "lead": "left"}
        return verdict(runs, "order", left={"buffer.size": SIZES[0]}, right=sizes, aggregate="mean", **order)

    assert largest(1.2, 1.1, 0.8) == REPRODUCED
    assert largest(1.2, 1.3, 0.8) == NOT
    # It loses least.
    assert largest(0.9, 0.8, 0.7) == NOT


def test_of_several_the_one_that_decides_is_told() -> None:
    runs = [run("a", time=10), run("b", time=20), run("c", time=5)]
    both = [B, {"buffer.scheme": "c"}]
    found = finding(runs, "order", left=A, right=both, relation="less")
    # 10 against 5: twice as much.
    table = claim("order", left=A, right=both, relation="less")
    assert wording.ours(PAPER, table, found).endswith("holds at 1 of 2; hardest: c +100 %")
    assert not finding(runs, "order", left=A, right=[B], relation="less").hardest


def test_of_several_that_decide_alike_the_worst_are_told_first() -> None:
    def said(relation: str, *times: float) -> str:
        names = "bcdef"[: len(times)]
        runs = [run("a", time=10), *(run(name, time=time) for name, time in zip(names, times, strict=True))]
        table = claim("order", left=A, right=[{"buffer.scheme": name} for name in names], relation=relation)
        return wording.ours(PAPER, table, judge(PAPER, FIGURE, table, runs)).rpartition("; ")[2]

    assert said("less", 20, 8, 5) == "hardest: d +100 %, c +25 %"
    assert said("more", 20, 8, 40) == "hardest: d -75 %, b -50 %"
    assert said("less", 20, 8, 5, 4, 2) == "hardest: f +400 %, e +150 %, 2 more"
    assert said("equal", 10, 5, 40) == "hardest: d -75 %, c +100 %"
    # Where it holds nowhere, there is no need to say where.
    assert said("less", 8, 5) == "holds at 0 of 2"


def test_selections_are_named_by_what_tells_them_apart() -> None:
    assert named([{"workload": "hbm-msnfs"}]) == ["hbm-msnfs"]
    assert named([{"buffer.scheme.threshold": 2}, {"nand": {"channels": [2, 4]}}]) == [
        "threshold 2",
        "channels 2, channels 4",
    ]
    by_pattern: list[dict[str, Any]] = [
        {"buffer.scheme": "supa", "ftl.mapping": {"kind": "pattern", "handler": on}} for on in (True, False)
    ]
    cave = {"buffer.scheme": "cave", "ftl.mapping": "pattern"}
    single = {"buffer.scheme": "supa", "ftl.mapping": {"kind": "pattern", "policy": "single"}}
    assert named([*by_pattern, cave, single]) == ["supa handler", "supa no handler", "cave", "supa single"]
    # One that asks for less than another one has all of its words.
    assert named([single, {"buffer.scheme": "supa"}]) == ["supa single", "supa"]


def test_points_that_decide_nothing_are_told() -> None:
    runs = [*grid((1, 2, 3), (10, 10, 10)), run("a", "8 MiB", trusted=False, time=1)]
    runs.append(run("b", "8 MiB", time=10))
    table = claim("order", left=A, right=B, relation="less")
    assert wording.ours(PAPER, table, judge(PAPER, FIGURE, table, runs)).endswith(
        "3 of 3; 1 more not trusted: 8 MiB"
    )
    trend = claim("trend", along=[A, B], relation="rising")
    found = judge(PAPER, FIGURE, trend, runs)
    assert wording.ours(PAPER, trend, found).endswith("holds at 3 of 3; 1 more not trusted: 8 MiB")
    assert found.reason == "1 point is not to be trusted, and decides nothing"


def test_figures_are_rounded_to_the_side_of_the_bound_on_which_they_are() -> None:
    def said(kind: str, time: float, quantity: str = "time", **table: Any) -> str:
        made = claim(kind, quantity, left=A, **table)
        found = judge(PAPER, FIGURE, made, [run("a", time=time, share=time), run("b", time=1, share=1)])
        return wording.ours(PAPER, made, found)

    assert said("range", 0.896, low=0.9) == "0.896"
    assert said("range", 0.89996, low=0.9) == "0.89996"
    # Half of what is stated, and hardly less than half; so much as a tenth less.
    assert said("number", 0.0061998, value=0.0031) == "0.0061998"
    assert said("number", 2.70001, value=3) == "2.70001"
    # Nearly all is not all.
    assert said("reduction", 0.00012, right=B, value=0.999) == "99.99 %"
    assert said("number", 0.99988, "share", value=0.5) == "99.99 %"
    assert said("order", 0.00001, right=B, relation="less") == "1.0e-05 < 1"
    assert wording.signed(2 * (0.00001 - 1) / 1.00001) == "-99.999 %"
    # What differs is not shown as the same.
    assert said("order", 0.99961, right=B, relation="less") == "0.9996 < 1"
    assert said("exact", 0.0020625, value=0.0020625) == "0.0020625"


def test_what_the_seeds_leave_open_is_told() -> None:
    made = claim("order", left=A, right=B, relation="less")

    def said(runs: list[Run]) -> str:
        return wording.ours(PAPER, made, judge(PAPER, FIGURE, made, runs))

    seeds = [run("a", seed=seed, time=time) for seed, time in enumerate((9, 10, 10.5))]
    seeds += [run("b", seed=seed, time=10) for seed in range(3)]
    assert said(seeds) == "9.83 < 10; seeds leave it open"
    more = [run(name, "2 MiB", time=time) for name, time in (("a", 5), ("b", 10))]
    assert said([*seeds, *more]).endswith("holds at 1 of 2, not at 1 MiB; seeds leave 1 open")


def test_half_of_an_interval_has_no_more_digits_than_a_huge_mean() -> None:
    made = claim("order", left=A, right=B, relation="more")

    def said(times: tuple[float, ...]) -> str:
        runs = [run("a", size, seed, time=time) for size in SIZES[:2] for seed, time in enumerate(times)]
        runs += [run("b", size, seed, time=1) for size in SIZES[:2] for seed in range(len(times))]
        return wording.ours(PAPER, made, judge(PAPER, FIGURE, made, runs)).partition(";")[0]

    assert said((8230, 8360, 8501)) == "+836,000 % ± 34,000"
    # A mean that is shown in full has its interval in full, too.
    assert said((80, 90, 101)) == "+8,853 % ± 2,590"


def test_one_point_that_decides_has_no_span() -> None:
    made = claim("order", left=A, right=B, relation="less")
    runs = [*pair(5, 10), run("a", "2 MiB", trusted=False, time=20), run("b", "2 MiB", time=10)]
    assert wording.ours(PAPER, made, judge(PAPER, FIGURE, made, runs)) == "-50 %; 1 more not trusted: 2 MiB"
    assert wording.signed(1.8) == "+1,800 %"


def test_by_how_much_a_figure_may_differ_is_told_where_that_is_no_tenth() -> None:
    assert wording.stated(PAPER, claim("number", value=1.79, within=0.03)) == "1.79 ± 0.03"
    assert wording.stated(PAPER, claim("number", "share", value=0.5, within=0.01)) == "50 % ± 1"
    assert wording.stated(PAPER, claim("ratio", right=B, value=1, tolerance=0.05)) == "1 ± 5 %"
    assert wording.stated(PAPER, claim("number", value=1.79)) == "1.79"


def test_how_much_the_same_may_differ_is_told() -> None:
    flat: dict[str, Any] = {"along": [A, B], "relation": "flat"}
    assert wording.stated(PAPER, claim("trend", **flat)) == "flat within 10 % (our reading)"
    assert wording.stated(PAPER, claim("trend", tolerance=0.02, **flat)) == "flat within 2 % (our reading)"
    equal = claim("order", left=A, right=B, relation="equal", aggregate="some")
    assert wording.stated(PAPER, equal) == "= within 10 % (our reading) somewhere"


def test_differences_of_shares_are_points() -> None:
    made = claim("difference", "share", left=A, right=B, value=0.05)
    found = judge(PAPER, FIGURE, made, [run("a", share=0.36), run("b", share=0.3)])
    assert wording.stated(PAPER, made) == "5 points"
    assert wording.ours(PAPER, made, found) == "6 points"


def test_a_bound_of_ours_is_called_so() -> None:
    assert wording.stated(PAPER, claim("range", low=1)) == "≥ 1"
    assert wording.stated(PAPER, claim("range", low=1, our_bound=True)) == "≥ 1 (our reading)"
    eight = claim("ratio", left=A, right=B, value=8, our_bound=True)
    assert wording.stated(PAPER, eight) == "8 (our reading)"


def test_what_is_set_beside_a_drive_differs_by_a_share() -> None:
    assert wording.stated(PAPER, claim("number", None, value=0.103)) == "10.3 %"
    assert wording.stated(PAPER, claim("range", None, high=0.03)) == "≤ 3 %"


def test_a_quantity_that_is_told_to_be_a_share_is_shown_as_one() -> None:
    quantities = {"time": replace(PAPER.quantities["time"], share=True)}
    told = replace(PAPER, quantities=quantities)
    assert wording.stated(told, claim("range", low=0.6)) == "≥ 60 %"
    assert wording.stated(PAPER, claim("range", low=0.6)) == "≥ 0.6"


def test_an_order_of_the_mean_needs_no_more() -> None:
    runs = grid((1, 2, 11), (10, 10, 10))
    assert verdict(runs, "order", left=A, right=B, relation="less", aggregate="mean") == REPRODUCED


def test_an_order_that_can_be_holds_somewhere() -> None:
    order: dict[str, Any] = {"left": A, "right": B, "relation": "less", "aggregate": "some"}
    assert verdict(grid((11, 9, 30), (10, 10, 10)), "order", **order) == REPRODUCED
    assert verdict(grid((11, 10, 30), (10, 10, 10)), "order", **order) == NOT
    assert finding(grid((11, 9, 30), (10, 10, 10)), "order", **order).held == (1, 3)


@pytest.mark.parametrize(
    ("relation", "a", "expected"),
    [
        ("less", 9.0, REPRODUCED),
        ("less", 9.1, PARTLY),
        ("less", 9.6, DIRECTION),
        ("less", 11.0, NOT),
        ("more", 11.0, REPRODUCED),
        ("more", 10.9, PARTLY),
        ("more", 10.4, DIRECTION),
        ("more", 9.0, NOT),
    ],
)
def test_much_is_a_share_of_the_right_side(relation: str, a: float, expected: str) -> None:
    assert verdict(pair(a, 10), "order", left=A, right=B, relation=relation, ahead=0.1) == expected


def test_a_lead_that_is_not_there_does_not_get_smaller() -> None:
    """The smallest and the largest buffer, both relative to scheme b."""
    sides: dict[str, Any] = {"where": A, "left": {"buffer.size": "4 MiB"}, "right": {"buffer.size": "1 MiB"}}
    lead: dict[str, Any] = {**sides, "relative_to": B, "relation": "less", "lead": True}

    def narrows(first: float, last: float, **more: Any) -> str:
        return verdict(grid((first, 1, last), (10, 10, 10)), "order", **lead, **more)

    assert narrows(20, 15) == REPRODUCED
    # Nothing is left of it.
    assert narrows(20, 10) == DIRECTION
    assert narrows(15, 20) == NOT
    # It has turned, and it was not there to begin with.
    assert narrows(20, 9) == narrows(9, 8) == NOT
    assert narrows(20, 9, aggregate="mean") == NOT
    assert narrows(20, 9, relative="difference") == NOT
    assert narrows(20, 15, relative="difference") == REPRODUCED
    # Leads of 0.8 and 0.5 over b's 10.
    assert narrows(10.8, 10.5, relative="difference") == REPRODUCED
    # With two rivals: over one of them there is none, but there is in the mean.
    two = [*grid((20, 1, 15), (10, 10, 10)), run("c", "1 MiB", time=9.5), run("c", "4 MiB", time=9)]
    lead["where"] = {"buffer.scheme": ["a", "c"]}
    assert verdict(two, "order", **lead) == PARTLY


def test_a_share_of_a_gain_is_on_no_side_at_nothing() -> None:
    assert verdict(pair(-1, 1), "ratio", left=A, right=B, value=0.3) == DIRECTION
    assert verdict(pair(-1, 1), "ratio", left=A, right=B, value=0.3, neutral=0) == NOT
    assert verdict(pair(0.4, 1), "ratio", left=A, right=B, value=0.3, neutral=0) == PARTLY


def test_ratios_that_undo_each_other_are_no_lead() -> None:
    runs = grid((20, 5, 10), (10, 10, 10))
    found = finding(runs, "ratio", left=A, right=B, value=1)
    assert found.ours is not None
    assert found.verdict == REPRODUCED
    assert found.ours.mean == pytest.approx(1)
    assert verdict(runs, "ratio", left=A, right=B, value=1.2) == NOT
    zero = finding(grid((0, 30, 30), (10, 10, 10)), "ratio", left=A, right=B, value=2)
    assert zero.ours is not None
    assert (zero.verdict, zero.ours.mean) == (REPRODUCED, 2)
    # A reduction "on average" is the mean of what is printed.
    assert verdict(runs, "reduction", left=A, right=B, value=-1 / 6) == REPRODUCED


def test_a_claim_of_several_holds_for_each_of_them() -> None:
    runs = [run("a", time=1), run("b", time=2), run("c", time=0.5)]
    both = [B, {"buffer.scheme": "c"}]
    assert verdict(runs, "order", left=A, right=[B], relation="less") == REPRODUCED
    assert verdict(runs, "order", left=A, right=both, relation="less") == NOT
    # "Up to" is of all of them together: 50 % less than b.
    assert verdict(runs, "reduction", left=A, right=both, value=0.5, aggregate="max") == REPRODUCED
    assert verdict(runs, "reduction", left=A, right=both, value=0.5) == NOT


@pytest.mark.parametrize(
    ("relation", "values", "expected"),
    [
        ("rising", (1, 2, 3), REPRODUCED),
        ("rising", (1, 2, 2), NOT),
        ("never falling", (1, 2, 2), REPRODUCED),
        ("falling", (3, 2, 1), REPRODUCED),
        ("never rising", (3, 1, 2), NOT),
        ("flat", (10, 10.5, 11), REPRODUCED),
        ("flat", (10, 10.5, 11.5), NOT),
    ],
)
def test_trends(relation: str, values: tuple[float, ...], expected: str) -> None:
    along = [{"buffer.size": size} for size in SIZES]
    runs = grid(values, (1, 1, 1))
    assert verdict(runs, "trend", left=A, along=along, relation=relation) == expected


def test_a_trend_that_holds_at_half_of_the_points_and_in_the_mean_holds_in_part() -> None:
    along = [{"buffer.size": size} for size in SIZES]
    runs = grid((1, 2, 3), (100, 99, 101))
    assert verdict(runs, "trend", along=along, relation="rising") == PARTLY
    assert finding(runs, "trend", along=along, relation="rising").held == (1, 2)
    runs += [run("c", size, time=value) for size, value in zip(SIZES, (100, 99, 101), strict=True)]
    assert verdict(runs, "trend", along=along, relation="rising") == DIRECTION


def test_a_share_is_there_in_part_if_what_is_left_of_it_is_too() -> None:
    def share(stated: float, ours: float) -> str:
        return verdict([run("a", share=ours)], "number", "share", value=stated)

    # Half of the stated share, but what is left is seven times as much.
    assert share(0.93, 0.5) == NOT
    assert share(0.56, 0.41) == PARTLY
    assert share(0.04, 0.07) == PARTLY


def test_a_reduction_is_there_in_part_if_what_is_left_is_too() -> None:
    def reduction(stated: float, ours: float) -> str:
        return verdict(pair(1 - ours, 1), "reduction", left=A, right=B, value=stated)

    assert reduction(0.84, 0.93) == DIRECTION
    assert reduction(0.84, 0.75) == PARTLY
    assert reduction(0.05, 0.1) == PARTLY
    # The same figures the other way round: 523 % more where 16 % are left, 1,329 % where 7 % are.
    assert verdict(pair(1, 0.07), "increase", left=A, right=B, value=5.25) == DIRECTION


def test_a_share_of_an_effect_has_its_neutral_at_nothing() -> None:
    assert verdict(pair(-1, 1), "ratio", left=A, right=B, value=0.3) == DIRECTION
    assert verdict(pair(-1, 1), "ratio", left=A, right=B, value=0.3, neutral=0) == NOT


def test_an_effect_of_the_right_size_on_no_side_is_there_in_part() -> None:
    """The mean is what is stated, and the seeds do not tell it from nothing."""
    runs = seeds("a", "1 MiB", 8, 9, 10) + seeds("b", "1 MiB", 10, 10, 10)
    found = finding(runs, "reduction", left=A, right=B, value=0.1)
    assert (found.verdict, found.reason) == (PARTLY, "the seeds do not tell which side is ahead")
    # Where the paper states so little that it may be nothing, there is no side to be told.
    assert verdict(runs, "reduction", left=A, right=B, value=0.1, within=0.1) == REPRODUCED


def test_two_quantities_in_the_same_order() -> None:
    together = [run("a", time=1, erases=10), run("b", time=2, erases=20), run("c", time=3, erases=30)]
    against = [*together[:2], run("c", time=3, erases=15)]
    over = {"with": "erases", "over": "buffer.scheme"}
    assert verdict(together, "agree", **over) == REPRODUCED
    assert verdict(against, "agree", **over) == NOT
    found = finding(against, "agree", **over)
    assert (found.held, found.pairs) == ((0, 1), (2, 3))
    said = wording.ours(PAPER, claim("agree", **over), found)
    assert said == "2 of 3 pairs are in this order"
    assert verdict(together, "agree", **over, opposite=True) == NOT
    reverse = [run("a", time=1, erases=3), run("b", time=2, erases=1)]
    assert verdict(reverse, "agree", **over, opposite=True) == REPRODUCED
    # "Almost" and "similar" are of most pairs.
    assert verdict(against, "agree", **over, similar=0.6) == REPRODUCED
    assert verdict(against, "agree", **over, similar=0.7) == NOT
    most = claim("agree", **over, similar=0.75)
    assert wording.stated(PAPER, claim("agree", **over)) == "same order"
    assert wording.stated(PAPER, most) == "same order for 75 % of the pairs (our reading)"


def test_an_order_over_two_settings_together() -> None:
    """Schemes that differ in their sizes, too: each at one of them."""
    runs = [run("a", "1 MiB", time=1, erases=10), run("b", "2 MiB", time=2, erases=20)]
    assert verdict(runs, "agree", **{"with": "erases"}, over="buffer.scheme") == UNDECIDED
    assert verdict(runs, "agree", **{"with": "erases"}, over=["buffer.scheme", "buffer.size"]) == REPRODUCED


def test_settings() -> None:
    runs = pair(1, 2)
    assert verdict(runs, "setting", None, **{"is": {"buffer.size": "1024 KiB"}}) == REPRODUCED
    found = finding(runs, "setting", None, **{"is": {"buffer.size": "2 MiB"}})
    assert (found.verdict, found.reason) == (NOT, "settings differ here: buffer.size = 1 MiB")


def test_relative_figures_and_spreads() -> None:
    runs = grid((1, 2, 3), (2, 2, 2))
    relative: dict[str, Any] = {"relative_to": B, "left": {**A, "buffer.size": "4 MiB"}}
    assert verdict(runs, "exact", value=1.5, **relative) == REPRODUCED
    assert verdict(runs, "exact", value=1.0, relative="difference", **relative) == REPRODUCED
    assert verdict(runs, "exact", value=2, left=A, spread="buffer.size") == REPRODUCED
    in_ms: dict[str, Any] = {"left": A, "spread": "buffer.size", "absolute": True}
    assert verdict(grid((2, 3, 5), (2, 2, 2)), "exact", value=3, **in_ms) == REPRODUCED
    assert wording.stated(PAPER, claim("exact", value=3, **in_ms)) == "3"
    ours = claim("range", low=0, high=3, our_bound=True, **in_ms)
    assert wording.stated(PAPER, ours) == "≥ 0 and ≤ 3 (our reading)"
    order: dict[str, Any] = {"left": B, "right": A, "spread": "buffer.size"}
    assert verdict(runs, "order", relation="less", **order) == REPRODUCED
    assert verdict(runs, "order", relation="more", **order) == NOT


def test_a_difference_of_relative_figures_is_a_share() -> None:
    sides: dict[str, Any] = {"left": {"buffer.size": "4 MiB"}, "right": {"buffer.size": "2 MiB"}, "where": A}
    made = claim("difference", relative_to={"buffer.size": "1 MiB"}, value=0.154, **sides)
    assert wording.stated(PAPER, made) == "15.4 %"
    found = judge(PAPER, FIGURE, made, grid((2, 3, 4), (1, 1, 1)))
    assert wording.ours(PAPER, made, found) == "50 %"


def test_seeds_do_not_widen_a_spread_over_workloads() -> None:
    """Two workloads with means of 2 and 3: each has two seeds, one of which is far off."""
    runs = []
    for workload, figures in (("w", (1, 3)), ("v", (2, 4))):
        for seed, value in enumerate(figures, 1):
            one = run("a", seed=seed, time=value)
            one.settings = {**one.settings, "workload": workload}
            runs.append(one)
    assert verdict(runs, "exact", value=0.5, left=A, spread="workload") == REPRODUCED


def test_a_spread_over_workloads_is_of_all_of_them() -> None:
    runs = []
    for name, value in (("w", 2), ("v", 3)):
        one = run("a", time=value)
        one.settings = {**one.settings, "workload": name}
        one.source = Source(name, name, "stand-in", "made")
        runs.append(one)
    made = claim("exact", value=0.5, left=A, spread="workload")
    paper = replace(PAPER, claims=(made,))
    [answered] = answers(Plan([FigurePlan(paper, FIGURE, runs, [], is_run=True, is_read=False)]))
    [answer] = answered.answers
    assert [source.workload for source in answer.sources] == ["w", "v"]


def test_seeds_are_paired() -> None:
    runs = [run("a", seed=seed, time=value) for seed, value in ((1, 1), (2, 20), (3, 300))]
    runs += [run("b", seed=seed, time=value) for seed, value in ((1, 2), (2, 40), (3, 600))]
    found = finding(runs, "reduction", left=A, right=B, value=0.5)
    assert found.verdict == REPRODUCED
    assert found.ours is not None
    assert (found.ours.mean, found.ours.half, found.ours.seeds) == (0.5, 0.0, 3)
    assert len(found.points) == 1


def seeds(scheme: str, size: str, *figures: float) -> list[Run]:
    """One point of three seeds."""
    return [run(scheme, size, seed, time=value) for seed, value in enumerate(figures, 1)]


def test_nobody_is_ahead_within_the_interval() -> None:
    b = seeds("b", "1 MiB", 10, 10, 10)
    ahead, level = seeds("a", "1 MiB", 8.9, 9, 9.1), seeds("a", "1 MiB", 8, 9, 10.5)
    for relation, told, open_ in (
        ("less", REPRODUCED, NOT),
        ("at most", REPRODUCED, REPRODUCED),
        ("more", NOT, NOT),
        # Holds for all that the seeds tell, but not in the mean.
        ("at least", NOT, DIRECTION),
    ):
        order: dict[str, Any] = {"left": A, "right": B, "relation": relation}
        assert (verdict(ahead + b, "order", **order), verdict(level + b, "order", **order)) == (told, open_)
    found = finding(level + b, "order", left=A, right=B, relation="at least")
    # What only the seeds leave open does not count as held.
    assert found.held == (0, 1)
    assert found.reason == "at 1 of 1 points the seeds do not tell which side is ahead"
    found = finding(level + b, "order", left=A, right=B, relation="less")
    assert found.held == (0, 1)
    assert found.reason == "at 1 of 1 points the seeds do not tell which side is ahead"
    # 9 % less, but no less for all that the seeds tell. Over two points the mean is told.
    assert verdict(level + b, "reduction", left=A, right=B, value=0.5) == NOT
    assert verdict(ahead + b, "reduction", left=A, right=B, value=0.5) == DIRECTION
    assert verdict(ahead + b, "reduction", left=A, right=B, value=0.15) == PARTLY
    more = seeds("a", "2 MiB", 1, 1.1, 1.2) + seeds("b", "2 MiB", 10, 10, 10)
    assert verdict(level + b + more, "order", left=A, right=B, relation="less") == PARTLY


def test_steps_within_the_interval_are_level() -> None:
    along = [{"buffer.size": size} for size in SIZES[:2]]
    told = seeds("a", "1 MiB", 1, 2, 3) + seeds("a", "2 MiB", 1.5, 2.4, 3.6)
    level = seeds("a", "1 MiB", 1, 2, 3) + seeds("a", "2 MiB", 3, 2, 2)
    assert verdict(told, "trend", along=along, relation="rising") == REPRODUCED
    assert verdict(told, "trend", along=along, relation="never rising") == NOT
    assert verdict(level, "trend", along=along, relation="rising") == NOT
    assert verdict(level, "trend", along=along, relation="never rising") == DIRECTION
    found = finding(level, "trend", along=along, relation="never rising")
    assert found.reason == "at 1 of 1 points the seeds do not tell where a step goes"
    assert verdict(level, "trend", along=along[::-1], relation="never rising") == REPRODUCED
    # Without common seeds there is no interval: the means alone.
    other = [run("a", "2 MiB", seed, time=value) for seed, value in ((7, 3), (8, 2), (9, 2))]
    assert verdict(level[:3] + other, "trend", along=along, relation="rising") == REPRODUCED


def test_two_quantities_go_together_in_the_mean_where_enough_of_all_pairs_do() -> None:
    """It is the share that is shown, whatever the order of the means over the sizes is."""
    schemes = {"a": 1, "b": 2, "c": 3}
    runs = [run(name, size, time=n, erases=n) for name, n in schemes.items() for size in SIZES[:2]]
    # With 4 MiB they are in the opposite order, by little.
    runs += [run(name, "4 MiB", time=n, erases=3 - n / 1000) for name, n in schemes.items()]
    over = {"with": "erases", "over": "buffer.scheme"}
    found = finding(runs, "agree", **over, similar=0.75)
    assert (found.verdict, found.held, found.pairs) == (NOT, (2, 3), (6, 9))
    assert verdict(runs, "agree", **over, similar=2 / 3) == PARTLY
    assert verdict(runs, "agree", **over) == NOT


def test_what_is_level_by_one_figure_is_in_no_order_by_it() -> None:
    def both(scheme: str, times: tuple[float, ...], erases: tuple[float, ...]) -> list[Run]:
        figures = enumerate(zip(times, erases, strict=True), 1)
        return [run(scheme, seed=seed, time=time, erases=erase) for seed, (time, erase) in figures]

    a = both("a", (1, 1.1, 1.2), (5, 6, 7))
    over = {"with": "erases", "over": "buffer.scheme"}
    assert verdict(a + both("b", (2, 2.2, 2.1), (6, 7, 8.5)), "agree", **over) == REPRODUCED
    assert verdict(a + both("b", (2, 2.2, 2.1), (4, 6, 9)), "agree", **over) == NOT
    assert finding(a + both("b", (2, 2.2, 2.1), (4, 6, 9)), "agree", **over).pairs == (0, 1)


def test_the_mean_of_a_range_of_ratios_is_geometric() -> None:
    """Twice as much here and half as much there are no change."""
    runs = grid((2, 0.5, 0.5), (1, 1, 1))
    of: dict[str, Any] = {"left": A, "high": 0.9}

    def told(**table: Any) -> tuple[str, float]:
        found = finding(runs, "range", **of, **table)
        assert found.ours is not None
        return found.verdict, round(found.ours.mean, 4)

    assert told(relative_to=B) == (PARTLY, 0.7937)
    assert told() == (NOT, 1)
    assert told(relative_to=B, relative="difference") == (PARTLY, 0)


def test_an_order_that_is_asked_apart_is_decided_by_the_worst() -> None:
    """All schemes write more with more memory: of three of four is not of all."""
    sizes = {"left": {"buffer.size": "2 MiB"}, "right": {"buffer.size": "1 MiB"}}
    runs = [run(scheme, "1 MiB", time=10) for scheme in "abcd"]
    runs += [run(scheme, "2 MiB", time=time) for scheme, time in zip("abcd", (20, 30, 40, 9), strict=True)]
    schemes = {"where": {"buffer.scheme": ["a", "b", "c", "d"]}}
    asked: dict[str, Any] = {**sizes, **schemes, "relation": "more"}
    assert verdict(runs, "order", **asked) == PARTLY
    found = finding(runs, "order", **asked, apart="buffer.scheme")
    assert (found.verdict, found.held) == (NOT, (3, 4))
    assert [name for name, _ in found.hardest] == ["d"]
    said = wording.ours(PAPER, claim("order", **asked, apart="buffer.scheme"), found)
    assert said.endswith("holds at 3 of 4; hardest: d -10 %")
    assert verdict(runs[:3] + runs[4:7], "order", **asked, apart="buffer.scheme") == REPRODUCED


def test_an_interval_that_leaves_a_small_mean_open_is_shown() -> None:
    runs = seeds("a", "1 MiB", 1, 1, 1 + 6e-8) + seeds("b", "1 MiB", 1, 1, 1)
    asked: dict[str, Any] = {"left": A, "right": B, "value": 0.495}
    said = wording.ours(PAPER, claim("increase", **asked), finding(runs, "increase", **asked))
    assert said == "2.0e-06 % ± 8.6e-06"
    # What rounding of sums makes is no interval.
    rounded = seeds("a", "1 MiB", 1, 1, 1 + 1e-12) + seeds("b", "1 MiB", 1, 1, 1)
    assert wording.ours(PAPER, claim("increase", **asked), finding(rounded, "increase", **asked)) == "0 %"


def test_intervals_are_students() -> None:
    # 12.706 x 0.7071 / sqrt(2), and 4.303 x 1 / sqrt(3).
    two, three = estimate([1.0, 2.0]), estimate([1.0, 2.0, 3.0])
    assert two.half == pytest.approx(6.353)
    assert three.low == pytest.approx(2 - 2.4843, abs=1e-3)
    assert three.high == pytest.approx(2 + 2.4843, abs=1e-3)
    assert estimate([4.0]).half is None


def test_runs_without_trust_are_shown_and_decide_nothing() -> None:
    runs = [
        *grid((1, 2, 3), (10, 10, 10)),
        run("a", "8 MiB", trusted=False, time=99),
        run("b", "8 MiB", time=1),
    ]
    found = finding(runs, "order", left=A, right=B, relation="less")
    assert (found.verdict, found.held, len(found.points)) == (REPRODUCED, (3, 3), 4)
    assert found.reason == "1 of 4 points is not to be trusted, and decides nothing"
    alone = finding(runs, "order", where={"buffer.size": "8 MiB"}, left=A, right=B, relation="less")
    assert alone.verdict == UNDECIDED
    assert alone.reason == "no point of it has runs that are all to be trusted: it fell behind"
    assert alone.ours is not None


def test_reasons_that_differ_in_numbers_alone_are_told_once() -> None:
    runs = [run("a", size, trusted=False, time=9) for size in ("8 MiB", "16 MiB")]
    runs += [run("b", size, time=1) for size in ("8 MiB", "16 MiB")]
    for late, slow in zip(runs[:2], (14.6, 11.3), strict=True):
        record = cast(dict[str, Any], late.record)
        record["reasons"] = [f"requests took {slow} s; slow the workload down"]
    where = {"buffer.size": ["8 MiB", "16 MiB"]}
    found = finding(runs, "order", where=where, left=A, right=B, relation="less")
    assert found.reason.endswith("trusted: requests took 14.6 s (and 1 more like it)")


def test_readings_have_verdicts_of_their_own() -> None:
    found = finding([run("a", time=5)], "exact", "read-otherwise", value=5)
    assert (found.verdict, found.readings["twice"].verdict) == (REPRODUCED, NOT)


def test_claims_that_no_run_decides() -> None:
    assert verdict([], "statement", None, test="a: b") == REPRODUCED
    assert verdict([], "statement", None, note="a picture") == UNDECIDED
    assert verdict(pair(1, 2), "order", left=A, right=B, relation="less", waits=["c"]) == UNDECIDED
    found = finding(pair(1, 2), "ratio", left=A, right=B, value=1, contradicts="It says 2 elsewhere.")
    assert (found.verdict, found.reason) == (CONTRADICTS, "It says 2 elsewhere.")
    assert found.ours is not None
    assert found.ours.mean == 0.5
    needs = {"needs": "hardware", "reason": "a board"}
    found = finding(pair(1, 2), "ratio", left=A, right=B, value=0.5, **needs)
    assert (found.verdict, found.reason) == (UNDECIDED, "needs hardware: a board")
    board = replace(FIGURE, needs="flashsim", reason="a simulator")
    found = judge(PAPER, board, claim("exact", value=1), [])
    assert (found.verdict, found.reason) == (UNDECIDED, "needs FlashSim: a simulator")


def test_what_has_no_figure_is_not_decided() -> None:
    assert finding([run("a", time=1)], "exact", left=B, value=1).reason == "the runs have no such figure"
    nothing = "all points have no figure, or would be divided by 0"
    assert finding([run("a", time=None)], "exact", value=1).reason == nothing
    assert finding(pair(1, 0), "ratio", left=A, right=B, value=1).reason == nothing
    failed = Run(run("a").settings, STAND_IN, error="the drive is full")
    assert finding([failed], "exact", value=1).reason == "runs of it failed"


def test_figures_of_workloads() -> None:
    runs = pair(1, 2)
    for one in runs:
        one.profile = {"writes": 3, "requests": 4}
    found = finding(runs, "exact", "of-workload", value=0.75)
    assert (found.verdict, len(found.points)) == (REPRODUCED, 1)


def test_one_claim_for_each_value() -> None:
    whole = claim("number", by="buffer.scheme", values={"a": 1, "b": 2})
    runs = pair(1, 5)
    parts: list[Claim] = whole.parts()
    assert [part.id for part in parts] == ["made.a", "made.b"]
    assert [judge(PAPER, FIGURE, part, runs).verdict for part in parts] == [REPRODUCED, NOT]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b * 2 - 1", 5.0),
        ("-(a.b + 1) / 2", -2.0),
        ("at_most(a.cdf, 3)", 0.25),
        ("at_most(a.cdf, 0)", 0.0),
        ("share(a.counts, 2, 4)", 0.75),
        ("a.b / bytes('1 KiB')", 3 / 1024),
        ("a.nothing + 1", None),
        ("a.nothing.deeper", None),
        ("1 / (a.b - 3)", None),
    ],
)
def test_arithmetic(text: str, expected: float | None) -> None:
    fields = {
        "a": {
            "b": 3,
            "nothing": None,
            "cdf": [[1, 0.2], [2, 0.25], [4, 1.0]],
            "counts": [[1, 1], [2, 1], [4, 2]],
        }
    }
    assert evaluate(text, fields) == expected


@pytest.mark.parametrize(
    "text", ["a.__class__()", "a.b ** 2", "open('x')", "[1][0]", "a.c", "'text'", "a.b +"]
)
def test_nothing_but_arithmetic_is_worked_out(text: str) -> None:
    with pytest.raises(_core.InputError, match="quantity"):
        evaluate(text, {"a": {"b": 3}})


def test_words_for_what_came_out() -> None:
    def words(runs: list[Run], kind: str, **table: Any) -> tuple[str, str]:
        made = claim(kind, **table)
        return wording.stated(PAPER, made), wording.ours(PAPER, made, judge(PAPER, FIGURE, made, runs))

    assert words(pair(16, 100), "reduction", left=A, right=B, value=0.84) == ("84 %", "84 %")
    assert words(pair(16, 100), "order", left=A, right=B, relation="less") == ("<", "16 < 100")
    much: dict[str, Any] = {"left": A, "right": B, "relation": "less", "ahead": 0.1}
    assert words(pair(16, 100), "order", **much)[0] == "< by 10 % or more (our reading)"
    assert (
        words(pair(16, 100), "order", **much, aggregate="some")[0]
        == "< by 10 % or more (our reading) somewhere"
    )
    # A quarter, half and the same; the mean of -1.2, -0.667 and 0 is that of 1 to 1.9.
    some = words(grid((1, 2, 4), (4, 4, 4)), "order", left=A, right=B, relation="less")
    assert some == ("<", "-47.5 %, -75 to +0 %; holds at 2 of 3, not at 4 MiB")
    assert words(pair(0.123456, 1), "number", left=A, value=0.12) == ("0.12", "0.123")
    assert words(pair(5, 1), "range", left=A, low=2, high=9.25) == ("≥ 2 and ≤ 9.25", "5")
    assert words(pair(3, 1), "ratio", left=A, right=B, value=2, aggregate="max") == ("up to 2", "3")


def test_labels_of_figures() -> None:
    assert replace(FIGURE, name="table4.1").label == "Table 4.1"
    assert replace(FIGURE, name="sec6.4.1").label == "Section 6.4.1"
    summary: Figure = replace(FIGURE, name="summary")
    assert summary.label == "Summary"


def test_points_without_a_figure_are_told() -> None:
    runs = [
        run("a", "1 MiB", time=1),
        run("b", "1 MiB", time=2),
        run("a", "2 MiB", time=1),
        run("b", "2 MiB", time=0),
    ]
    # By the second point the ratio would be divided by 0.
    found = finding(runs, "ratio", left=A, right=B, value=0.5)
    assert found.verdict == REPRODUCED
    assert found.reason == "1 of 2 points have no figure, or would be divided by 0"
    runs[2] = run("a", "2 MiB", time=None)
    found = finding(runs, "number", left=A, value=1)
    assert found.reason == "1 of 2 points have no figure, or would be divided by 0"
    runs.append(run("c", "1 MiB", time=3))
    along = [A, B, {"buffer.scheme": "c"}]
    assert (
        finding(runs, "trend", along=along, relation="rising").reason == "1 point has no figure at some step"
    )
