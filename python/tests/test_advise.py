"""`eraseblock advise`: its answers are those of the full tables, and its commands make the same runs."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import eraseblock
from eraseblock.advice.answer import paragraph
from eraseblock.advice.case import Case, Wish
from eraseblock.advice.page import build_page
from eraseblock.advice.picture import specification
from eraseblock.advice.questions import answers
from eraseblock.advice.small import cut_down
from eraseblock.advice.spare import _Curve
from eraseblock.cli import main
from eraseblock.comparison import DEFAULT_BUFFERS
from eraseblock.results.units import number_of
from eraseblock.results.view import Row
from eraseblock.running import Handling, Quiet
from eraseblock.terminal.advice import print_advice


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Skewed writes over 24 MiB, which are 192 blocks of `hbm-2010`."""
    path = tmp_path_factory.mktemp("advise") / "zipf.ebt"
    words = ["trace", "generate", "zipf", "-o", str(path), "--requests", "15000", "--set", "footprint=24MiB"]
    assert main([*words, "--set", "interval=1ms"]) == 0
    return str(path)


def case_of(trace: str, sets: tuple[str, ...] = ()) -> Case:
    return Case(Wish(trace, "hbm-2010", {}, sets), Handling(), Quiet())


def test_spare_flash_is_what_a_full_grid_finds(trace: str) -> None:
    sets = ["buffer.size=64KiB"]
    found = eraseblock.advise(trace, question="op", device="hbm-2010", waf=2.5, sets=sets)
    [answer] = found["answers"]
    case = case_of(trace, tuple(sets))
    curve = _Curve(case, cut_down(case))
    curve.measure(list(range(3, 41)))
    will = [share for share in sorted(curve.known) if curve.waf(share) <= 2.5]
    assert 3 < will[0] < 40
    assert abs(answer["result"]["spare"] - will[0] / 100) <= answer["result"]["step"] + 1e-9
    assert f"{round(100 * answer['result']['spare'])} %" in answer["sentence"]
    assert len(answer["table"]) < 25, "it narrows down, and does not try all"


def test_spare_flash_that_no_drive_has_is_said(trace: str) -> None:
    found = eraseblock.advise(trace, question="op", device="hbm-2010", waf=0.01)
    assert found["answers"][0]["result"]["spare"] is None
    assert "none up to 100 %" in found["paragraph"]


def test_policy_is_the_best_of_the_table(trace: str) -> None:
    sets = ["buffer.size=64KiB"]
    [answer] = eraseblock.advise(trace, question="gc", device="hbm-2010", sets=sets)["answers"]
    wafs = {row["policy"]: row["WAF"] for row in answer["table"]}
    assert answer["result"]["waf"] == min(wafs.values()) < max(wafs.values())
    assert wafs[answer["result"]["policy"]] == min(wafs.values())


def test_lifetime_follows_from_its_figures(trace: str) -> None:
    [answer] = eraseblock.advise(trace, question="lifetime", device="hbm-2010", endurance=500)["answers"]
    result = answer["result"]
    assert result["tbw_bytes"] == result["flash_bytes"] * 500 / result["waf"]
    # 270,144 blocks of 64 pages of 2 KiB.
    assert result["flash_bytes"] == 270144 * 64 * 2048


def test_lifetime_is_told_at_the_pace_of_the_replay(trace: str) -> None:
    def told(speedup: float, before: str, *more: str) -> tuple[float, float]:
        """Bytes a day, and years."""
        sets = [f"host.speedup={speedup}", *more]
        [found] = eraseblock.advise(trace, question="lifetime", device="hbm-2010", sets=sets)["answers"]
        assert "under page mapping in the place of bast" in found["sentence"]
        parts = re.search(rf"; at {before} (.*) a day that is ([\d.]+) .*\.$", found["sentence"])
        assert parts is not None, found["sentence"]
        pace = number_of(parts[1])
        assert pace is not None, parts[1]
        return pace, float(parts[2])

    pace, life = told(1, "the trace's")
    half, longer = told(0.5, "0.5 times the trace's pace,")
    assert told(0.5, "the trace's", "host.replay=closed") == (pace, life), "it has no pace there"
    assert half == pytest.approx(pace / 2, rel=0.01)
    assert longer == pytest.approx(2 * life, rel=0.01)


def test_lifetime_is_of_whole_pages(tmp_path: Path) -> None:
    # The pages that a map knows, which may be parts of the flash's.
    def years(name: str, size: int, offset: int) -> str:
        lines = [f"0,{8 * (n * 37 % 500) + offset},{size},w,{n / 100}\n" for n in range(3000)]
        path = tmp_path / name
        path.write_text("".join(lines), encoding="utf-8")
        sets = ["buffer.size=64KiB"]
        [found] = eraseblock.advise(str(path), question="lifetime", device="nvme-tlc", sets=sets)["answers"]
        return str(found["sentence"])

    whole, parts = years("whole.spc", 4096, 0), years("parts.spc", 512, 3)
    end = re.compile(r"that is .*\.$")
    assert [*end.findall(whole)] == [*end.findall(parts)] != []
    assert "in whole pages" not in whole
    assert "a day, in whole pages 33.0 GiB, that is" in parts


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Writes over 2 MiB, which are 32 blocks of the drive cut down: 16 % is the least spare flash there."""
    path = tmp_path_factory.mktemp("advise") / "small.ebt"
    words = ["trace", "generate", "zipf", "-o", str(path), "--requests", "3000", "--set", "interval=1ms"]
    assert main([*words, "--set", "footprint=2MiB"]) == 0
    return str(path)


def test_spare_flash_that_was_not_run_is_not_stated(small: str) -> None:
    found = eraseblock.advise(small, question=["op", "lifetime", "gc"], device="hbm-2010", waf=50)
    spare, lifetime, policy = found["answers"]
    assert spare["result"]["spare"] == round(5 / 32, 4)
    assert "16 % of what the host sees is enough" in spare["sentence"]
    assert "less cannot be tried" in spare["sentence"]
    assert "own 3 % cannot be had there" in spare["sentence"]
    shares = [row["spare"] for row in spare["table"]]
    assert shares == sorted(set(shares)), "a run is there once"
    assert lifetime["table"][0]["spare"] == 5 / 32
    assert lifetime["result"]["waf"] == lifetime["table"][0]["waf"]
    assert "with 15.6 % spare flash" in policy["sentence"]
    for answer in (spare, lifetime, policy):
        assert any("15.6 % is the least spare flash" in one for one in answer["doubts"])


def test_a_drive_of_few_blocks_has_no_share_to_look_for(tmp_path: Path) -> None:
    path = tmp_path / "tiny.ebt"
    words = ["trace", "generate", "uniform", "-o", str(path), "--requests", "200"]
    assert main([*words, "--set", "footprint=256KiB"]) == 0
    [answer] = eraseblock.advise(path, question="op", device="hbm-2010")["answers"]
    assert answer["result"]["spare"] is None
    assert "cannot be said, as the drive cut down has 4 blocks" in answer["sentence"]


def test_an_own_share_that_is_refused_is_told(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Case.runs

    def without_the_first(case: Case, **wanted: Any) -> tuple[list[Row], str]:
        rows, command = runs(case, **wanted)
        return (rows[1:] if wanted.get("may_refuse") else rows), command

    monkeypatch.setattr(Case, "runs", without_the_first)
    [answer] = eraseblock.advise(small, question="lifetime", device="hbm-2010")["answers"]
    assert "Lifetime: it cannot be said, as with 15.6 %" in answer["sentence"]
    assert not answer["result"]


def test_nothing_erased_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "reads.ebt"
    words = ["trace", "generate", "uniform", "-o", str(path), "--requests", "200", "--set", "read_share=0.99"]
    assert main([*words, "--set", "footprint=2MiB"]) == 0
    [answer] = eraseblock.advise(path, question="lifetime", device="hbm-2010")["answers"]
    assert sum("block was erased" in one or "were erased" in one for one in answer["doubts"]) == 1


def test_what_a_question_sets_goes_before_what_the_caller_has_set() -> None:
    sets = ("buffer.size=8MiB", "buffer.scheme=fab", "ftl.mapping=bast", "ftl.mapping.log_blocks=9")
    case = case_of("x.spc", sets)
    assert case.scheme() == "fab"
    designs = case.comparison(buffers=(), sizes=["1MiB"]).experiments()
    assert {one.config["buffer"]["size"] for one in designs} == {"1 MiB"}
    assert [one.config["buffer"]["scheme"]["kind"] for one in designs] == [*DEFAULT_BUFFERS]
    assert all(one.config["ftl"]["mapping"]["log_blocks"] == 9 for one in designs)
    [cut] = case.comparison(buffers=["fab"], ftls=["page"], fit="compact").experiments()
    assert cut.config["ftl"]["mapping"]["kind"] == "page"
    assert (cut.config["buffer"]["size"], cut.config["buffer"]["scheme"]["kind"]) == ("8 MiB", "fab")


def test_a_table_that_the_caller_has_set_gives_way_key_by_key() -> None:
    case = case_of("x.spc", ('buffer={size="8 MiB", battery=true, scheme="fab"}', 'workload={fit="wrap"}'))
    designs = case.comparison(buffers=["lru"], sizes=["1MiB", "2MiB"], fit="compact").experiments()
    buffers = [one.config["buffer"] for one in designs]
    assert [(one["scheme"]["kind"], one["size"]) for one in buffers] == [("lru", "1 MiB"), ("lru", "2 MiB")]
    assert all(one["battery"] for one in buffers)
    assert {one.config["workload"]["fit"] for one in designs} == {"compact"}


@pytest.mark.parametrize("sets", [(), ("buffer.scheme.window_requests=50", "ftl.mapping.threshold=5")])
def test_the_own_scheme_keeps_its_options(sets: tuple[str, ...]) -> None:
    case = Case(Wish("x.spc", "supa-2017", {}, sets), Handling(), Quiet())
    [whole] = case.comparison(buffers=[case.scheme()], ftls=["pattern"]).experiments()
    assert whole.config["buffer"]["scheme"] == case.config()["buffer"]["scheme"]
    assert whole.config["ftl"]["mapping"] == case.config()["ftl"]["mapping"]
    assert whole.config["buffer"]["scheme"]["threshold"] == 4
    assert whole.config["buffer"]["scheme"]["window_requests"] == (50 if sets else 10000)


def test_commands_make_the_same_runs(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        trace,
        "--device",
        "hbm-2010",
        "--question",
        "buffer,lifetime",
        "--set",
        "precondition.state=empty",
    ]
    words += ["--first", "1500"]
    assert main(["advise", *words, "-o", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["answers"]
    stored = {
        record["key"]: record for record in json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    }
    page = (tmp_path / "out" / "advice.html").read_text("utf-8")
    assert all(f'id="{name}"' in page for name in ("buffer", "lifetime"))
    again = []
    for answer in found:
        for command in answer["commands"]:
            program, *arguments = shlex.split(command)
            assert program == "eraseblock"
            assert main([*arguments, "--json"]) == 0
            again += json.loads(capsys.readouterr().out)
    assert {record["key"] for record in again} == stored.keys()
    sizes = {row["size_bytes"] for row in found[0]["table"]}
    assert sizes == {1 << 20, 4 << 20, 16 << 20, 64 << 20}


def test_a_short_trace_is_not_relied_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.ebt"
    assert main(["trace", "generate", "uniform", "-o", str(path), "--requests", "200"]) == 0
    capsys.readouterr()
    assert main(["advise", str(path), "--device", "hbm-2010", "--question", "buffer"]) == 0
    assert "do not rely on that" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--question", "ob"], "--question: there is no question `ob`; did you mean `op`?"),
        (["--waf", "0"], "--waf: found 0, expected a number above 0"),
        (["--waf", "nan"], "--waf: found nan"),
        (["--endurance", "0"], "--endurance: found 0, expected 1 or more erases"),
        (["--device", "hbm"], "--device: "),
        (["--plot", "x.gif"], "--plot: x.gif ends in none of"),
        (["--set", "seed=[1, 2]"], "--set seed=[1, 2]: a list is an axis"),
    ],
)
def test_nonsense_is_told(
    trace: str, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", trace, *options]) == 2
    assert sentence in capsys.readouterr().err


def test_a_trace_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "nowhere.spc"]) == 2
    assert "nowhere.spc: " in capsys.readouterr().err


def test_the_picture_has_all_answers(trace: str) -> None:
    found = list(answers(case_of(trace), ["gc", "lifetime"]))
    text = json.dumps(specification(found, "zipf"))
    assert "by collection policy" in text
    assert "worn out" in text


def test_a_policy_that_is_not_trusted_is_marked_and_told(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Case.runs

    def distrusting(case: Case, **wanted: Any) -> tuple[list[Row], str]:
        rows, command = runs(case, **wanted)
        for row in rows:
            victim = row.record["config"]["ftl"]["victim"]
            if victim is not None and victim["kind"] == "random":
                row.record.update(trusted=False, reasons=["it never settled."], waf=0.1)
        return rows, command

    monkeypatch.setattr(Case, "runs", distrusting)
    found = list(answers(case_of(trace), ["gc"]))
    assert found[0].result["policy"] != "random"
    assert "Passed over, as not to be trusted: `random` (it never settled)." in found[0].sentence
    console = Console(file=io.StringIO(), width=120)
    print_advice(console, found, "zipf")
    assert isinstance(console.file, io.StringIO)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert [words[1] for words in lines if words[:1] == ["!"]] == ["random"]
    assert [words[1] for words in lines if words[:1] == ["→"]] == [found[0].result["policy"]]
    assert 'random <span class="flag">not to be trusted</span>' in build_page(found, "zipf")


def test_where_nothing_is_written_no_policy_is_named_for_that_reason(tmp_path: Path) -> None:
    path = tmp_path / "reads.spc"
    path.write_text("0,0,4096,r,0.0\n0,8,4096,r,0.1\n")
    [answer] = eraseblock.advise(path, question="gc", device="hbm-2010")["answers"]
    assert answer["sentence"] == "Collection: no policy can be named, as nothing is written."


def test_a_tiny_trace_has_each_doubt_once_and_no_empty_tables(tmp_path: Path) -> None:
    path = tmp_path / "one.spc"
    path.write_text("0,0,4096,w,0.0\n")
    found = list(answers(case_of(str(path)), ["op", "gc", "tail", "lifetime"]))
    console = Console(file=io.StringIO(), width=5000)
    print_advice(console, found, "one")
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "1 blocks" not in text
    assert "as the drive cut down has 1 block, and needs 5 more" in text
    doubts = [line for line in text.splitlines() if line.startswith("do not rely on ")]
    assert sum("the buffer never filled" in line for line in doubts) == 1
    erased = [line for line in doubts if ": no block was erased" in line]
    assert [line.partition(": ")[0] for line in erased] == [
        "do not rely on gc, lifetime",
        "do not rely on tail",
    ]
    # What is in steady state is not told to be.
    assert ["steady state" in line for line in erased] == [False, True]
    assert len({line.partition(": ")[2] for line in doubts}) == len(doubts)
    # What has no figures has no heads of a table either.
    assert [not answer.table.rows for answer in found] == [True, False, True, False]
    assert "Write amplification by spare flash" not in text
    page = build_page(found, "one")
    assert page.count("<thead>") == 2
    assert paragraph(found).count("the buffer never filled") == 1


def test_short_lives_are_told_in_smaller_units(trace: str) -> None:
    sets = ("nand.endurance=1", "nand.channels=1", "nand.blocks_per_plane=400", "ftl.exported=40MiB")
    [answer] = answers(case_of(trace, (*sets, "buffer.size=64KiB")), ["lifetime"])
    assert " MB written (" in answer.sentence
    assert "x 1 erase /" in answer.sentence
    shown = [row[-1] for row in answer.table.shown]
    assert len(set(shown)) == len(shown), "no two designs look alike for being rounded"


def test_nothing_written_wears_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "reads.ebt")
    words = ["--requests", "2000", "--set", "footprint=24MiB", "--set", "read_share=1"]
    assert main(["trace", "generate", "uniform", "-o", path, *words]) == 0
    [answer] = answers(case_of(path), ["lifetime"])
    assert answer.sentence.startswith("Lifetime: without end")
    assert {row[-1] for row in answer.table.shown} == {"without end"}
