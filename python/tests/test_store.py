"""Runs are stored once, known by configuration, trace content and engine; damage is noticed and dropped."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_SETS, spc_lines

import eraseblock
from eraseblock import _core, outputs
from eraseblock.cli import main
from eraseblock.comparison import Comparison
from eraseblock.experiments import Experiment
from eraseblock.results.files import replace_file
from eraseblock.results.record import Record
from eraseblock.results.runs import JOURNAL_NAME, RunId, RunStore, Wanted, opened, read_runs
from eraseblock.results.store import read_records
from eraseblock.sweeps import Outcome, split_errors

DRIVE = {"preset": "hbm-2010", "nand": {"blocks_per_plane": 300}, "ftl": {"exported": "32 MiB"}}


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of results has its own tests, and takes longer than all that is tested here."""
    monkeypatch.setattr(outputs, "write_report", lambda _, folder, *__, **___: folder / "report.html")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command in this process; gives its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def config(path: Path, *sizes: str) -> dict[str, Any]:
    buffer = {"scheme": ["lru", "fab"], "size": list(sizes or ("128 KiB", "256 KiB"))}
    return {**DRIVE, "buffer": buffer, "workload": {"path": str(path), "format": "spc"}}


class Counter:
    """Counts what is run and what is found."""

    def __init__(self) -> None:
        self.ran = self.there = 0

    def found(self, runs: int) -> None:
        self.there = runs

    def update(self, index: int, phase: str, done: int, total: int) -> None:
        pass

    def finished(self, index: int) -> None:
        assert index >= 0
        self.ran += 1


def counted(source: dict[str, Any], out: Path, **options: Any) -> tuple[int, int]:
    """How many runs were found, and how many run."""
    counter = Counter()
    eraseblock.run(source, out=out, watcher=counter, **options)
    return counter.there, counter.ran


def entries(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / JOURNAL_NAME).read_text(encoding="utf-8").splitlines()
    return [entry for entry in map(json.loads, lines) if "run" in entry]


def results(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "results.json").read_bytes(), (folder / "results.parquet").read_bytes()


def test_a_finished_sweep_runs_nothing_and_gives_the_same_bytes(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert counted(config(trace), out) == (0, 4)
    first, journal = results(out), (out / JOURNAL_NAME).read_bytes()
    os.utime(trace, ns=(1, 1))
    assert counted(config(trace), out) == (4, 0)
    assert (results(out), (out / JOURNAL_NAME).read_bytes()) == (first, journal)


def test_the_order_is_that_of_the_axes_however_runs_end(trace: Path, tmp_path: Path) -> None:
    big = eraseblock.run(config(trace, "128 KiB", "256 KiB", "512 KiB"), out=tmp_path / "a", jobs=3)
    eraseblock.run(config(trace, "512 KiB"), out=tmp_path / "b")
    eraseblock.run(config(trace, "256 KiB", "512 KiB"), out=tmp_path / "b", jobs=1)
    with pytest.warns(UserWarning, match="2 that this sweep does not ask for"):
        eraseblock.run(config(trace, "256 KiB"), out=tmp_path / "b")
    again = eraseblock.run(config(trace, "128 KiB", "256 KiB", "512 KiB"), out=tmp_path / "b", jobs=2)
    assert [r["config"]["buffer"]["size"] for r in again] == [r["config"]["buffer"]["size"] for r in big]
    assert results(tmp_path / "a") == results(tmp_path / "b")
    assert len(entries(tmp_path / "b")) == 6


def test_what_changes_is_run_again_and_the_rest_is_kept(trace: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other.spc"
    other.write_text("".join(spc_lines(500)), encoding="utf-8")
    both = {**config(trace), "workload": {"path": [str(trace), str(other)], "format": "spc"}}
    assert counted(both, out) == (0, 8)
    before = {record["key"] for record in read_records(out)}
    stamp = other.stat()
    text = other.read_text(encoding="utf-8")
    other.write_text(text.replace(",w,", ",r,", 1), encoding="utf-8")
    os.utime(other, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.warns(UserWarning, match=r"4 that this sweep does not ask for; --prune drops them"):
        assert counted(both, out) == (4, 4)
    assert len(before & {record["key"] for record in read_records(out)}) == 4
    assert len(entries(out)) == 12
    other.write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match="4 that this sweep does not ask for"):
        assert counted(both, out) == (8, 0)


def test_a_trace_under_another_name_is_found_and_named_anew(trace: Path, tmp_path: Path) -> None:
    out, moved = tmp_path / "out", tmp_path / "moved.spc"
    eraseblock.run({**config(trace), "name": "first"}, out=out)
    moved.write_bytes(trace.read_bytes())
    assert counted({**config(moved), "name": "second"}, out) == (4, 0)
    eraseblock.run({**config(moved), "name": "second"}, out=tmp_path / "new")
    assert results(out) == results(tmp_path / "new")
    assert {(r["name"], r["trace"]["name"]) for r in read_records(out)} == {("second", "moved.spc")}


def test_runs_that_are_the_same_run_once(trace: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin.spc"
    twin.write_bytes(trace.read_bytes())
    both = {**config(trace), "workload": {"path": [str(trace), str(twin)], "format": "spc"}}
    assert counted(both, tmp_path / "out") == (0, 4)
    records = read_records(tmp_path / "out")
    assert sorted(record["trace"]["name"] for record in records) == ["small.spc"] * 4 + ["twin.spc"] * 4
    assert len({record["key"] for record in records}) == len(entries(tmp_path / "out")) == 4


def test_another_engine_runs_everything_again(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, engine = tmp_path / "out", _core.engine()
    monkeypatch.setattr(_core, "engine", lambda: "0.0.1+old")
    assert counted(config(trace), out) == (0, 4)
    monkeypatch.setattr(_core, "engine", lambda: engine)
    with pytest.warns(UserWarning, match="4 of another version of the engine; --prune drops them"):
        assert counted(config(trace), out) == (0, 4)
    assert [entry["run"]["engine"] for entry in entries(out)] == ["0.0.1+old"] * 4 + [engine] * 4
    assert len(read_records(out)) == 4


def test_verified_runs_are_runs_of_their_own(trace: Path, tmp_path: Path) -> None:
    assert counted(config(trace), tmp_path / "out") == (0, 4)
    with pytest.warns(UserWarning, match="4 that this sweep does not ask for"):
        assert counted(config(trace), tmp_path / "out", verify=True) == (0, 4)
    assert all(record["verified_reads"] > 0 for record in read_records(tmp_path / "out"))


def test_fresh_runs_again_and_keeps_other_runs(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    eraseblock.run(config(trace), out=out)
    with pytest.warns(UserWarning, match="2 that this sweep"):
        assert counted(config(trace, "128 KiB"), out, fresh=True) == (0, 2)
    assert len(entries(out)) == 4
    assert counted(config(trace), out) == (4, 0)


def test_prune_drops_what_is_not_asked_for(call: Call, trace: Path, tmp_path: Path) -> None:
    arguments = ("compare", trace, *SMALL_SETS, "-o", "out", "--json", "--buffers")
    assert call(*arguments, "lru,fab")[0] == 0
    _, _, said = call(*arguments, "lru")
    assert "1 of 1 runs found in out\n" in said
    assert "1 that this sweep does not ask for; --prune drops them" in said
    _, printed, said = call(*arguments, "lru", "--prune")
    assert "1 of 1 runs found in out" in said
    assert "prune" not in said
    assert len(entries(tmp_path / "out")) == len(json.loads(printed)) == 1


@pytest.mark.parametrize("option", ["--fresh", "--prune"])
def test_options_of_a_folder_need_one(call: Call, trace: Path, option: str) -> None:
    code, printed, said = call("compare", trace, *SMALL_SETS, option)
    assert (code, printed) == (2, "")
    assert said == f"eraseblock: {option}: is about a folder of results; name it with -o\n"


def test_errors_are_not_stored_and_tried_again(call: Call, trace: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.spc"
    bad.write_text("0,0,4096,w,0.0\nzebra\n", encoding="utf-8")
    arguments = ("compare", trace, bad, "--format", "spc", *SMALL_SETS, "--buffers", "lru", "-o", "out")
    first, _, said = call(*arguments)
    second, _, said_again = call(*arguments)
    assert first == second == 2
    assert "bad.spc:2" in said
    assert "bad.spc:2" in said_again
    assert "1 of 2 runs found in out" in said_again
    assert len(read_records(tmp_path / "out")) == 1
    bad.write_text("0,0,4096,w,0.0\n", encoding="utf-8")
    assert call(*arguments)[0] == 0
    assert len(read_records(tmp_path / "out")) == 2


def test_a_refused_combination_stays_refused(call: Call, trace: Path, tmp_path: Path) -> None:
    arguments = ("compare", trace, "--set", 'precondition.state="empty"', "--buffers", "lru", "-o", "out")
    first, _, said = call(*arguments, "--ftls", "page,bast")
    second, _, said_again = call(*arguments, "--ftls", "page,bast")
    assert first == second == 0
    assert "refused lru of 16 MiB on bast" in said
    assert "refused lru of 16 MiB on bast" in said_again
    assert "1 of 2 runs found in out" in said_again
    assert len(entries(tmp_path / "out")) == 1


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_any_executor_will_do(trace: Path, tmp_path: Path, kind: str) -> None:
    eraseblock.run(config(trace), out=tmp_path / "a")
    executor = (
        ProcessPoolExecutor(2, mp_context=get_context("spawn"))
        if kind == "processes"
        else ThreadPoolExecutor(2)
    )
    with executor:
        records = eraseblock.run(config(trace), out=tmp_path / "b", executor=executor)
        assert len(records) == 4
        with pytest.raises(eraseblock.InputError, match="buffer"):
            eraseblock.run(config(trace, "1 KiB"), executor=executor)
    assert results(tmp_path / "a") == results(tmp_path / "b")


def test_a_trace_that_changes_between_hash_and_run_is_not_stored_under_the_old_one(
    trace: Path, tmp_path: Path
) -> None:
    source = config(trace, "128 KiB")
    original = RunStore.begin

    def begin(store: RunStore, wanted: list[Wanted]) -> None:
        original(store, wanted)
        trace.write_text("".join(spc_lines(700)), encoding="utf-8")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunStore, "begin", begin)
        with (
            pytest.warns(UserWarning, match="2 that this sweep does not ask for"),
            pytest.raises(eraseblock.SimulationError, match="changed while the sweep was at work"),
        ):
            eraseblock.run(source, out=tmp_path / "out")
    assert counted(source, tmp_path / "out") == (2, 0)
    assert {record["requests"]["submitted"] for record in read_records(tmp_path / "out")} == {700}


def test_a_folder_of_a_sweep_under_way_can_be_read(call: Call, trace: Path, tmp_path: Path) -> None:
    class Impatient(Counter):
        def finished(self, index: int) -> None:
            super().finished(index)
            if self.ran == 3:
                raise TimeoutError

    out = tmp_path / "out"
    with pytest.raises(TimeoutError):
        eraseblock.run(config(trace), out=out, watcher=Impatient(), jobs=1)
    assert not (out / "results.json").exists()
    assert len(read_records(out)) == eraseblock.load_results(out).height == 3
    code, _, said = call("report", "out")
    assert code == 0
    assert "3 of 4 runs of the sweep in out have ended" in said
    assert counted(config(trace), out) == (3, 1)
    assert eraseblock.load_results(out)["engine.wall_s"].len() == 4
    (out / "results.json").unlink()
    assert len(read_records(out)) == 4
    with pytest.raises(eraseblock.InputError, match="holds the runs of a sweep"):
        eraseblock.save_results(read_records(out)[:1], out)


def test_a_folder_without_single_runs_still_loads(records: list[Record], call: Call, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/results.json").write_text(json.dumps(records[:3]), encoding="utf-8")
    assert read_records(tmp_path / "old") == records[:3]
    assert call("report", "old")[0] == 0


def wanted(number: int) -> Wanted:
    return Wanted(RunId("engine", f"{number:032x}", verify=False), {"name": "x", "preset": None, "trace": {}})


def small_record(number: int) -> str:
    return json.dumps(
        {"key": f"{number:032x}", "name": "x", "config": {"name": "x", "preset": None}, "trace": {}}
    )


@pytest.fixture
def three(tmp_path: Path) -> tuple[Path, bytes]:
    """A folder with three small runs, and what its journal holds."""
    with opened(tmp_path) as store:
        store.begin([wanted(number) for number in range(3)])
        for number in range(3):
            store.add(wanted(number).id, small_record(number))
    return tmp_path, (tmp_path / JOURNAL_NAME).read_bytes()


def check_reopened(folder: Path, runs: int, *parts: str) -> None:
    """The folder has so many runs, says what was wrong once, and takes the missing ones."""
    assert len(read_runs(folder).records) == runs
    with opened(folder) as store:
        said = " ".join(store.notices)
        assert len(store.notices) == (1 if parts else 0), store.notices
        assert all(part in said for part in parts), said
        store.begin([wanted(number) for number in range(3)])
        assert store.found == runs
        for number in range(3):
            store.add(wanted(number).id, small_record(number))
        assert store.done() == 3
    assert len(entries(folder) if "passed over" not in said else read_runs(folder).records) == 3


def test_a_write_that_was_cut_off_at_any_byte_is_dropped(three: tuple[Path, bytes]) -> None:
    folder, whole = three
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole)):
        (folder / JOURNAL_NAME).write_bytes(whole[:end])
        parts = (f"its last {end - start} bytes are of a write that was cut off",) if end > start else ()
        check_reopened(folder, 2, *parts)
        assert (folder / JOURNAL_NAME).read_bytes() == whole
    for tail in (b"\0" * 5000, b"\xff\n", b"{}\n" * 3, b'{"check":"0123456789abcdef",'):
        (folder / JOURNAL_NAME).write_bytes(whole + tail)
        check_reopened(folder, 3, f"its last {len(tail)} bytes")
        assert (folder / JOURNAL_NAME).read_bytes() == whole


def test_a_damaged_byte_anywhere_is_noticed(three: tuple[Path, bytes]) -> None:
    folder, whole = three
    lines = whole.splitlines(keepends=True)
    start = len(b"".join(lines[:2]))
    for at in range(start, start + len(lines[2]) - 1):
        damaged = bytearray(whole)
        damaged[at] ^= 0x20
        (folder / JOURNAL_NAME).write_bytes(damaged)
        if damaged[at] == ord("\n"):
            continue
        check_reopened(folder, 2, f"line 3 (byte {start}) is damaged; passed over")


def test_damage_is_told_by_what_comes_of_it(three: tuple[Path, bytes]) -> None:
    """Whoever only reads a folder runs nothing, and drops nothing."""
    folder, whole = three
    damaged = bytearray(whole[:-5])
    damaged[whole.index(b"record")] ^= 0x20
    (folder / JOURNAL_NAME).write_bytes(damaged)
    line, end = read_runs(folder).notices
    assert line.endswith(
        "passed over: a run in it is missing here, and the command that made the folder runs it again"
    )
    assert "is not whole or was cut off; passed over: a run in it is missing here" in end
    assert (folder / JOURNAL_NAME).read_bytes() == damaged
    with opened(folder) as store:
        line, end = store.notices
    assert line.endswith("passed over: a run in it that is asked for, and is in no other line, is done again")
    assert "was cut off; dropped: a run in it that is asked for" in end


def test_a_full_disk_is_named_and_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    replace_file(path, [b"old"])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with opened(tmp_path) as store:
        store.begin([wanted(0)])
        before = (tmp_path / JOURNAL_NAME).read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match=r"No space left.*results\.json'"):
                replace_file(path, [b"new"])
            with pytest.raises(OSError, match=rf"No space left.*{JOURNAL_NAME}'"):
                store.add(wanted(0).id, small_record(0))
        assert (tmp_path / JOURNAL_NAME).read_bytes() == before
        assert path.read_bytes() == b"old"
        assert not list(tmp_path.glob("*.part"))


def test_two_processes_may_replace_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    call = "from eraseblock.results.files import *; import sys; replace_file(Path(sys.argv[1]), [b'other'])"

    def parts() -> Iterator[bytes]:
        yield b"mi"
        subprocess.run([sys.executable, "-c", call, str(path)], check=True, timeout=60)
        assert path.read_bytes() == b"other"
        yield b"ne"

    replace_file(path, parts())
    assert path.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_processes_left_is_removed(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    left = [out / f"{name}.1.part" for name in (JOURNAL_NAME, "results.json", "results.parquet")]
    for path in left:
        path.write_bytes(b"half")
    eraseblock.run(config(trace, "128 KiB"), out=out)
    assert not [path for path in left if path.exists()]


def test_many_refusals_are_sorted_out_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Comparison(["a.spc"], buffers=["lru"], sets=[f"seed={list(range(50))}"]).experiments()
    looks: list[str] = []

    def config_of(one: Experiment) -> dict[str, Any]:
        looks.append(one.text)
        return dict(json.loads(one.text))

    monkeypatch.setattr(Experiment, "config", property(config_of))
    ends = [Outcome(one, error=_core.InputError("too small")) for one in asked]
    assert tuple(map(len, split_errors(ends))) == (50, 0)
    assert tuple(map(len, split_errors([Outcome(asked[0], record={}), *ends[1:]]))) == (0, 49)
    assert len(looks) == 100


@pytest.mark.parametrize(
    "content", ["mine\n", "{}\n", '{"check":"x","format":"eraseblock runs","version":2}\n']
)
def test_a_file_that_is_no_journal_is_left_alone(
    call: Call, trace: Path, tmp_path: Path, content: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / JOURNAL_NAME).write_text(content, encoding="utf-8")
    code, printed, said = call("compare", trace, *SMALL_SETS, "-o", "out")
    assert (code, printed) == (2, "")
    assert "out/runs.jsonl: not a journal of runs" in said
    assert (tmp_path / "out" / JOURNAL_NAME).read_text(encoding="utf-8") == content
