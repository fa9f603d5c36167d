"""`eraseblock tune`: finds what a full grid finds, keeps to the budget, and goes on where it was stopped."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import eraseblock
from eraseblock.advice.case import Case, Wish, few_erased
from eraseblock.cli import main
from eraseblock.comparison import Comparison
from eraseblock.results import units
from eraseblock.results.units import bytes_of
from eraseblock.results.view import Row
from eraseblock.running import Handling, Quiet
from eraseblock.tuning.goals import Design, front, goals_of, spare_of
from eraseblock.tuning.search import search
from eraseblock.tuning.space import Budget, Point, Space, chosen, usual
from eraseblock.tuning.tune import Tuning, told

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
    search(SPACE, 1, 130, 2, counter)
    assert len(set(counter.asked)) == len(counter.asked) == 130, "no design is run twice"
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


@pytest.mark.parametrize("size", ["4kB", "64k", "1.5MiB", "1M", "1 MiB"])
def test_sizes_are_told_however_they_are_written(size: str) -> None:
    [one] = Comparison(["x.spc"], ["lru"], [size]).experiments()
    count = bytes_of(one.config["buffer"]["size"])
    row = Row("x.spc", "page", "lru", count, {}, {})
    design = Design({"buffer.scheme": "lru", "buffer.size": size}, None, row)
    assert told(design) == f"`lru` with {units.size(count)}"


def test_the_budget_is_tried_where_it_is_under_what_is_usual() -> None:
    [one] = Comparison(["x.spc"]).experiments()[:1]
    space = usual(one.config, Budget(spare=0.05))
    assert space.choices["ftl.over_provisioning"] == ["0.05"]
    assert max(map(float, usual(one.config, Budget(spare=0.28)).choices["ftl.over_provisioning"])) == 0.28


def test_what_is_set_is_not_chosen() -> None:
    [one] = Comparison(["x.spc"], "lru").experiments()
    everything = usual(one.config, Budget()).choices
    assert {*everything} == {"buffer.scheme", "buffer.size", "ftl.over_provisioning", "ftl.victim"}
    assert usual(one.config, Budget(), ["ftl.exported=null"]).choices == everything
    left = usual(one.config, Budget(), ["buffer.size=8MiB", "ftl.exported=100GB"]).choices
    assert {*left} == {"buffer.scheme", "ftl.victim"}


def test_a_scheme_with_options_is_named_once(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", trace, "--device", "hbm-2010", "--set", "precondition.state=empty", "--json"]
    capsys.readouterr()
    assert main([*words, "--choose", 'buffer.scheme=[{ kind = "bplru", padding = false }]']) == 0
    [found] = json.loads(capsys.readouterr().out)["tried"]
    assert "--buffers" not in found["command"]
    assert main([*shlex.split(found["command"])[1:], "--json"]) == 0
    [record] = json.loads(capsys.readouterr().out)
    assert record["config"]["buffer"]["scheme"]["kind"] == "bplru"


def test_a_trace_that_cannot_be_read_is_no_fault_of_the_designs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nonsense.spc"
    path.write_text("nonsense\n", encoding="utf-8")
    assert main(["tune", str(path), "--device", "hbm-2010"]) == 2
    found = capsys.readouterr()
    assert f"{path}:1: " in found.err
    assert not found.out


def test_what_is_chosen_goes_before_what_is_set(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", trace, "--device", "hbm-2010", "--set", "precondition.state=empty", "--runs", "2"]
    words += ["--set", "buffer.size=8MiB", "--set", "buffer.scheme=fab", "--choose", "buffer.size=[1MiB]"]
    capsys.readouterr()
    assert main([*words, "--choose", "buffer.scheme=[lru, none]", "--json"]) == 0
    printed = capsys.readouterr()
    assert "--set buffer.size is about no design: --choose buffer.size says what is tried" in printed.err
    found = json.loads(printed.out)
    assert {one["design"]["buffer.scheme"] for one in found["tried"]} == {"lru", "none"}
    assert not any("fab" in one["command"] or "8MiB" in one["command"] for one in found["tried"])


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


def test_spare_flash_is_what_the_mapping_leaves() -> None:
    def spare(**ftl: Any) -> float:
        nand = {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1}
        drive = {"preset": "epo-2011", "nand": {**nand, "blocks_per_plane": 200}, "ftl": ftl}
        [one] = eraseblock.resolve({**drive, "workload": {"generate": {"kind": "uniform"}}})
        return spare_of(one.config)

    assert spare(mapping="page") == 0.07
    assert spare(mapping="page", over_provisioning=0.28) == 0.28
    # The SSD model keeps more to itself: of 12,800 pages it exports 10,688.
    assert spare() == pytest.approx(12_800 / 10_688 - 1, abs=0.005)


def test_what_outlives_its_run_is_best_by_lifetime(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "writes.ebt"
    words = ["trace", "generate", "uniform", "-o", str(path), "--requests", "3000", "--set", "interval=2ms"]
    assert main([*words, "--set", "footprint=1MiB", "--set", "read_share=0"]) == 0
    nand = ["channels=1", "chips_per_channel=1", "blocks_per_plane=24", "endurance=1"]
    words = ["tune", str(path), "--device", "hbm-2010", "--goal", "lifetime", "--set", "ftl.mapping=page"]
    words += [word for one in nand for word in ("--set", f"nand.{one}")]
    words += ["--set", "precondition.state=empty", "--set", "ftl.exported=null"]
    words += ["--choose", "buffer.size=[512KiB, 2MiB, 4MiB]", "--set", "buffer.scheme=lru"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["design"]["buffer.size"] for one in found["tried"] if one["end_of_life.host_bytes"]] == [
        "512KiB"
    ]
    assert found["refused"] == 0
    assert found["front"][0]["end_of_life.host_bytes"] is None
    assert (
        ": bytes until the end of life not reached, as with 1 other: this run is too short"
        in found["sentence"]
    )
    # Without a limit there is no end to outlive.
    words[words.index("nand.endurance=1")] = "nand.endurance=0"
    assert main([*words, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {one["refused"] for one in found["tried"]} == {"nothing wears its blocks out (nand.endurance = 0)"}


def test_a_lifetime_is_told_with_the_state_that_it_is_of(
    trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", trace, "--device", "hbm-2010", "--choose", "buffer.size=[128KiB]"]
    said = {}
    for state in ("full", "empty"):
        capsys.readouterr()
        assert main([*words, "--set", f"precondition.state={state}"]) == 0
        said[state] = " ".join(capsys.readouterr().out.split())
    assert "on a drive that is full when it begins; eraseblock advise --question lifetime" in said["full"]
    assert "when it begins" not in said["empty"]


def test_a_whole_table_may_be_chosen() -> None:
    assert chosen(["host=[{speedup = 1}, {speedup = 2}]"]).designs == 2


def test_what_no_design_keeps_to_is_told(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", trace, "--device", "hbm-2010", "--set", "precondition.state=empty", "--ram", "64KiB"]
    words += [
        "--choose",
        "buffer.size=[128KiB, 512KiB]",
        "--choose",
        "buffer.scheme=[lru]",
        "--lifetime",
        "1",
    ]
    capsys.readouterr()
    assert main(words) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert said == (
        "No design is within the budget: 2 of 2 designs were run; the nearest, lru with 128 KiB, takes "
        "128 KiB of RAM."
    )


def test_a_run_that_erased_nothing_is_doubted(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", trace, "--device", "hbm-2010", "--set", "precondition.state=empty", "--lifetime", "10"]
    words += ["--choose", "buffer.scheme=[none]"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    doubts = json.loads(capsys.readouterr().out)["doubts"]
    assert any(one.startswith("no block was erased") for one in doubts)
    assert main(words) == 0
    assert "do not rely on that: no block was erased" in capsys.readouterr().out


def test_doubts_are_those_of_the_design_to_take(trace: str) -> None:
    case = Case(Wish(trace, "hbm-2010", {}, ("precondition.state=empty",)), Handling(), Quiet())
    tuning = Tuning(case, chosen(["buffer.scheme=[none, lru]"]), goals_of(["waf"], Budget(), 1000))
    tuning.run(2, 1)
    first, other = tuning.best
    for design, erases in ((first, 0), (other, 7)):
        assert design.row is not None
        design.row.record["flash"]["erases"]["total"] = erases
    assert not any("7 blocks" in one for one in tuning.doubts)


def test_a_few_erases_are_doubted_as_advise_does() -> None:
    def run(erases: int) -> Row:
        return Row("x.spc", "page", "lru", 0, {}, {"flash": {"erases": {"total": erases}}})

    assert few_erased([run(29), run(1)]) == ("the trace is short: only 1 block was erased in it",)
    assert not few_erased([run(0), run(30)])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--ram", "much"], "--ram: "),
        (["--ram", "0B"], "--ram: a buffer of no bytes"),
        (["--ram", "1KiB"], "--ram: found 1 KiB, less than a page of this drive (2 KiB)"),
        (["--set", "seed=[1, 2]"], "--set seed=[1, 2]: a list is an axis"),
        (["--goal", "meen"], "--goal: there is no column `meen`"),
        (["--goal", "pages/flush"], "--goal: `pages/flush` has no better end"),
        (["--goal", "mean,mean"], "--goal: the same column is there twice"),
        (["--runs", "0"], "--runs: found 0, expected 1 or more"),
        (["--spare", "-1"], "--spare: found -1"),
        (["--spare", "200"], "--spare: found 200, expected a share above 0 and below 10"),
        (["--lifetime", "0"], "--lifetime: found 0, expected"),
        (["--lifetime", "1e9"], "expected terabytes above 0 and below 1,000,000,000"),
        (["--choose", "ftl.victim=greedy"], "--choose ftl.victim=greedy: write a key and its values"),
        (["--choose", "buffer.scheme=[lrv]"], "--choose buffer.scheme: "),
        (
            ["--choose", "ftl.victm=[greedy]"],
            "--choose ftl.victm=[greedy]: unknown key `ftl.victm`; did you mean `ftl.victim`?",
        ),
        (["--set", "preset=nvme-tlc"], "--device hbm-2010 and --set preset=nvme-tlc both name the drive"),
        (["--first", "9", "--set", "workload.first=8"], "--first and --set workload.first=8 both set"),
        (["--endurance", "9", "--set", "nand.endurance=8"], "--endurance and --set nand.endurance=8 both"),
        (["--set", "buffer.size=1MiB", "--set", "buffer.scheme=fab"], "nothing is left to choose"),
    ],
)
def test_nonsense_is_told(
    trace: str, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", trace, "--device", "hbm-2010", *options]) == 2
    assert sentence in capsys.readouterr().err
