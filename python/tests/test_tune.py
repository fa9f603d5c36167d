"""`eraseblock tune`: finds what a full grid finds, keeps to the budget, and goes on where it was stopped."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from eraseblock.cli import main
from eraseblock.tuning.goals import Design, front
from eraseblock.tuning.search import search
from eraseblock.tuning.space import Point, Space, chosen

SPACE = Space({key: [str(value) for value in range(6)] for key in ("a", "b", "c")})


def judged(point: Point) -> Design:
    """A valley with its bottom at (1, 4, 2); beyond a + b = 8 nothing fits, and c = 5 cannot be built."""
    a, b, c = (int(value) for value in point.values())
    if c == 5:
        return Design(point, "no")
    return Design(point, None, None, (10.0 + (a - 1) ** 2 + (b - 4) ** 2 + (c - 2) ** 2,), (a + b - 8.0,))


class Counter:
    """Judges, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, points: Sequence[Point]) -> list[Design]:
        self.asked += [tuple(point.values()) for point in points]
        return [judged(point) for point in points]


def test_it_comes_near_the_best_with_a_quarter_of_the_runs() -> None:
    counter = Counter()
    found = search(SPACE, 1, 54, 1, counter)
    assert len(found) == 54 == len(set(counter.asked)), "no design is run twice"
    assert front(found)[0].values[0] <= 11


def test_the_same_seed_asks_the_same_and_more_runs_add() -> None:
    first, again, longer = Counter(), Counter(), Counter()
    search(SPACE, 1, 24, 3, first)
    search(SPACE, 1, 24, 3, again)
    search(SPACE, 1, 32, 3, longer)
    assert first.asked == again.asked == longer.asked[:24]
    other = Counter()
    search(SPACE, 1, 24, 4, other)
    assert other.asked != first.asked


def test_a_space_is_seen_to_its_end() -> None:
    counter = Counter()
    small = Space({"a": ["0", "1"], "b": ["3", "4"], "c": ["2"]})
    assert len(search(small, 1, 60, 1, counter)) == 4
    assert len(set(counter.asked)) == 4


def test_the_front_is_what_no_other_betters() -> None:
    def design(*values: float, excess: float = 0.0) -> Design:
        return Design({}, None, None, values, (excess,))

    good, cheap, worse, same = design(1, 9), design(5, 2), design(5, 3), design(1, 9)
    beyond = design(0, 0, excess=0.1)
    assert front([worse, cheap, beyond, good, same, Design({}, "no")]) == [good, cheap]


def test_choices_are_lists() -> None:
    space = chosen(["ftl.victim=[greedy, cat]", 'buffer.size=["1 MiB", "4 MiB"]'])
    assert space.choices == {"ftl.victim": ["greedy", "cat"], "buffer.size": ["1 MiB", "4 MiB"]}


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "uniform.ebt"
    words = ["trace", "generate", "uniform", "-o", str(path), "--requests", "1500", "--set", "interval=2ms"]
    assert main([*words, "--set", "footprint=16MiB", "--set", "read_share=0.3"]) == 0
    return str(path)


def test_designs_keep_to_the_budget_and_runs_are_found_again(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choices = ["--choose", "buffer.scheme=[lru, fab, none]", "--choose", "buffer.size=[64KiB, 256KiB, 1MiB]"]
    words = ["tune", trace, "--device", "hbm-2010", "--set", "precondition.state=empty", *choices]
    words += ["--ram", "256KiB", "--goal", "mean,WAF", "-o", str(tmp_path / "out"), "--json"]
    capsys.readouterr()
    assert main([*words, "--runs", "6"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["runs"] == 6
    assert main([*words, "--runs", "9"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 9 == found["designs"]
    assert found["tried"][:6] == first["tried"]
    for one in found["tried"]:
        assert one["fits"] == (one["design"]["buffer.size"] != "1MiB")
    lines = (tmp_path / "out" / "runs.jsonl").read_text("utf-8").splitlines()
    assert sum('"record"' in line or '"key"' in line for line in lines) <= 9 + 1, "no run is done twice"
    # The command of the best makes the same figures.
    best = found["front"][0]
    assert main([*shlex.split(best["command"])[1:], "--json"]) == 0
    [record] = json.loads(capsys.readouterr().out)
    assert record["response_ns"]["all"]["mean"] == best["response_ns.all.mean"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--ram", "much"], "--ram: "),
        (["--ram", "0B"], "--ram: a buffer of no bytes"),
        (["--goal", "meen"], "--goal: there is no column `meen`"),
        (["--goal", "pages/flush"], "--goal: `pages/flush` has no better end"),
        (["--goal", "mean,mean"], "--goal: the same column is there twice"),
        (["--runs", "0"], "--runs: found 0, expected 1 or more"),
        (["--spare", "-1"], "--spare: found -1"),
        (["--lifetime", "0"], "--lifetime: "),
        (["--choose", "ftl.victim=greedy"], "--choose ftl.victim=greedy: write a key and its values"),
        (["--choose", "buffer.scheme=[lrv]"], "--choose buffer.scheme: "),
        (["--choose", "ftl.victm=[greedy]"], "did you mean `ftl.victim`"),
    ],
)
def test_nonsense_is_told(
    trace: str, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", trace, "--device", "hbm-2010", *options]) == 2
    assert sentence in capsys.readouterr().err
