"""How figures are printed, runs are grouped and advice is gathered."""

from __future__ import annotations

import copy
import io
import re

import pytest
from rich.console import Console

from eraseblock.results import units
from eraseblock.results.advice import advice_of
from eraseblock.results.contest import contests_of
from eraseblock.results.flatten import flatten
from eraseblock.results.headline import HITS
from eraseblock.results.record import Record
from eraseblock.results.view import Row, groups_of, rows_of
from eraseblock.terminal.table import print_results


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.size(16 << 20), "16 MiB"),
        (units.size(1536), "1.50 KiB"),
        (units.size(0), "0 B"),
        (units.duration(1_250_000), "1.25 ms"),
        (units.duration(999), "999 ns"),
        (units.duration(72e9), "72 s"),
        (units.duration(None), "-"),
        (units.share(0.1234), "12.3 %"),
        (units.count(99_999), "99,999"),
        (units.count(1_234_567), "1.23 M"),
        (units.ratio(1.005), "1.00"),
        (units.ratio(0.0042), "0.0042"),
        (units.ratio(0.00001), "1e-05"),
        (units.long_time(86_400e9), "1 day"),
        (units.pages(12.54), "12.5"),
    ],
)
def test_figures_are_scaled(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16 MiB", 16 << 20),
        ("1 TiB", 1 << 40),
        ("512 B", 512),
        ("60 GB", 6 * 10**10),
        ("1.5MiB", 3 << 19),
        (" 4k ", 4096),
        ("1_000 kB", 10**6),
    ],
)
def test_sizes_are_read_as_the_engine_reads_them(text: str, expected: int) -> None:
    assert units.bytes_of(text) == expected


@pytest.mark.parametrize("text", ["16", "MiB", "16 MeB", "1.5 B", "-4 KiB", "1.2.3 KiB", ".5 KiB", "nan B"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        units.bytes_of(text)


def test_nesting_becomes_dots() -> None:
    assert flatten({"a": {"b": {"c": 1}, "d": [2]}, "e": None}) == {"a.b.c": 1, "a.d": [2], "e": None}


def test_groups_are_traces_and_ftls(records: list[Record]) -> None:
    rows = rows_of(records)
    assert [(row.ftl, len(group)) for group in groups_of(rows).values() for row in group[:1]] == [
        ("page", 12),
        ("bast", 12),
    ]
    assert [row.scheme for row in rows[:4]] == ["none", "lru", "fab", "bplru"]
    assert {row.variant for row in rows} == {""}


def test_a_further_axis_becomes_a_variant(records: list[Record]) -> None:
    faster = copy.deepcopy(records[:2])
    for record in faster:
        record["config"]["host"]["speedup"] = 4.0
    rows = rows_of([*records[:2], *faster])
    assert [row.variant for row in rows] == ["host.speedup = 1"] * 2 + ["host.speedup = 4"] * 2


def test_options_tell_schemes_of_one_kind_apart(records: list[Record]) -> None:
    [bplru] = [r for r in records if r["config"]["buffer"]["scheme"]["kind"] == "bplru"][:1]
    other = copy.deepcopy(bplru)
    bplru["config"]["buffer"]["scheme"]["padding"] = True
    other["config"]["buffer"]["scheme"]["padding"] = False
    assert [row.scheme for row in rows_of([bplru, other])] == [
        "bplru (padding=true)",
        "bplru (padding=false)",
    ]


def leaders(records: list[Record]) -> list[bool]:
    """Which of the runs of one contest have the most hits."""
    [contest] = contests_of(rows_of(records))
    return [contest.led_by(design, HITS) for design in contest.designs]


def test_runs_not_trusted_never_win(records: list[Record]) -> None:
    group = copy.deepcopy(records[:4])
    best = max(range(4), key=lambda index: group[index]["hit_ratio"]["all"])
    assert leaders(group)[best]
    group[best]["trusted"] = False
    assert not leaders(group)[best]
    assert any(leaders(group))


def test_runs_that_knew_the_future_are_labelled_and_never_win(records: list[Record]) -> None:
    group = copy.deepcopy(records[:4])
    best = max(range(4), key=lambda index: group[index]["hit_ratio"]["all"])
    name = rows_of(group)[best].scheme
    group[best]["offline"] = True
    rows = rows_of(group)
    assert rows[best].scheme == f"{name} (offline)"
    assert not leaders(group)[best]
    assert any(leaders(group))


def test_each_size_ends_with_its_bound(records: list[Record]) -> None:
    rows = rows_of(records[:4])
    console = Console(width=100, record=True, file=io.StringIO())
    print_results(console, rows)
    bound = records[0]["bound"]
    lines = [line.split() for line in console.export_text().splitlines()]
    [found] = [line for line in lines if line[:1] == ["bound"]]
    expected = [
        units.share(bound["hit_ratio"]),
        units.count(bound["erases"]),
        units.ratio(bound["waf"]),
    ]
    assert found[1:] == " ".join(expected).split()
    assert any("bound: no scheme does better" in " ".join(line) for line in lines)
    without = copy.deepcopy(records[:4])
    for record in without:
        record["bound"] = None
    console = Console(width=100, record=True, file=io.StringIO())
    print_results(console, rows_of(without))
    assert "bound" not in console.export_text()


def test_advice_is_said_once(records: list[Record]) -> None:
    changed = copy.deepcopy(records)
    for index, record in enumerate(changed):
        record["trusted"], record["reasons"] = True, []
        record["warnings"] = ["garbage collection never ran"] if index < 12 else []
    changed[17]["trusted"], changed[17]["reasons"] = False, ["the backlog grew"]
    found = [(advice.distrust, advice.sentence, advice.runs) for advice in advice_of(rows_of(changed))]
    assert found == [
        (True, "the backlog grew", "bast: lru at 512 KiB"),
        (False, "garbage collection never ran", "page: all runs"),
    ]


def test_sentences_that_differ_in_numbers_are_one(records: list[Record]) -> None:
    changed = copy.deepcopy(records)
    for number, record in enumerate(changed):
        record["reasons"] = [f"behind for {number % 3 + 8} % of 2.5 s"] if number in (1, 5, 9, 2) else []
        record["warnings"] = []
    [one] = advice_of(rows_of(changed))
    assert one.sentence == "behind for 8 to 10 % of 2.5 s"
    assert one.runs == "page: lru, fab at 128 KiB"
    assert one.count == 4


def test_runs_all_over_the_place_are_counted(records: list[Record]) -> None:
    changed = [copy.deepcopy(records[0]) for _ in range(12)]
    for number, record in enumerate(changed):
        record["config"]["host"]["speedup"] = float(number // 2 + 1)
        record["config"]["buffer"]["scheme"]["kind"] = ("lru", "fab")[number % 2]
        record["reasons"], record["warnings"] = [], ["too short"] if number % 2 else []
    [one] = advice_of(rows_of(changed))
    assert one.runs == "6 of 12 runs"


def test_many_sentences_are_gathered_in_one_pass(
    records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = copy.deepcopy(records)
    for number, record in enumerate(changed):
        record["reasons"], record["warnings"] = [f"the wait was {'long ' * number}"], []
    rows = rows_of(changed)
    read = Row.group.fget  # type: ignore[attr-defined]
    looks: list[Row] = []

    def group_of(row: Row) -> tuple[str, str, str]:
        looks.append(row)
        return read(row)  # type: ignore[no-any-return]

    monkeypatch.setattr(Row, "group", property(group_of))
    found = advice_of(rows)
    assert len(found) == len(rows)
    assert found[0].runs.endswith(f"{rows[0].scheme} at {units.size(rows[0].buffer_bytes)}")
    assert len(looks) == 2 * len(rows)
