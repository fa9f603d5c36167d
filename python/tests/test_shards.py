"""Machines that share a folder, or gather their folders in one, take a sweep apart and put it together."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import eraseblock
from eraseblock.results import runs
from eraseblock.results.locks import one_of_several
from eraseblock.results.runs import opened
from eraseblock.results.shards import Shard
from eraseblock.results.store import read_records

DATA = ("results.json", "results.parquet")


def data(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in DATA]


def stored(journal: Path) -> list[str]:
    """Keys of the runs of a journal."""
    lines = journal.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["run"]["key"] for line in lines if '"run":{' in line[:60]]


@pytest.mark.parametrize("of", [1, 3, 24, 30])
def test_shards_have_each_run_once_whatever_its_place(of: int) -> None:
    keys = [f"{number * 7919 % 1000:03}" for number in range(24)]
    shares = [Shard(number, of).share([*reversed(keys), keys[3]]) for number in range(1, of + 1)]
    assert Counter(key for share in shares for key in share) == Counter(keys)
    assert {len(share) for share in shares} <= {24 // of, -(-24 // of)}
    assert shares == [Shard(number, of).share(keys) for number in range(1, of + 1)]


def test_three_shards_are_the_whole_sweep(sweep_file: Path, tmp_path: Path, cli: Cli) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    eraseblock.run(sweep_file, out=whole)
    for number in (2, 3, 1):
        done = cli("run", sweep_file, "-o", "out", "--shard", f"{number}/3")
        said = f"shard {number}/3: 8 of its 8 runs are stored in out; when all shards have ended, the same"
        assert (done.returncode, done.stdout) == (0, "")
        assert said in done.stderr
        assert not (out / "results.json").exists()
        if number == 3:
            assert len(read_records(out)) == 16
    again = cli("run", sweep_file, "-o", "out", "--shard", "3/3")
    assert "8 of the 8 runs of shard 3/3 found in out" in again.stderr
    # Another cut of the same sweep finds what any shard has stored.
    other = cli("run", sweep_file, "-o", "out", "--shard", "1/2")
    assert "12 of the 12 runs of shard 1/2 found in out" in other.stderr
    parts = [stored(path) for path in sorted((out / "shards").glob("*.jsonl"))]
    assert [len(part) for part in parts] == [0, 8, 8, 8]
    last = cli("run", sweep_file, "-o", "out", "--json")
    assert last.stderr.startswith("eraseblock: 24 of 24 runs found in out\n")
    assert data(out) == data(whole)
    assert Counter(stored(out / "runs.jsonl")) == Counter(key for part in parts for key in part)
    assert not list((out / "shards").glob("*"))


def test_folders_of_machines_that_share_nothing_are_copied_into_one(sweep_file: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    eraseblock.run(sweep_file, out=whole)
    for number in (1, 2):
        records = eraseblock.run(sweep_file, out=tmp_path / str(number), shard=f"{number}/2")
        assert len(records) == 12
        shutil.copytree(tmp_path / str(number), out, dirs_exist_ok=True)
    eraseblock.run(sweep_file, out=out)
    assert data(out) == data(whole)


@pytest.mark.parametrize("moment", ["_Contents", "read_line", "_wanted_of"])
def test_a_folder_is_read_while_its_shards_are_taken_over(
    moment: str, sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for number in (1, 2):
        eraseblock.run(sweep_file, out=out, shard=f"{number}/2")
    original = getattr(runs, moment)
    taken_over: list[bool] = []

    def meanwhile(*arguments: Any) -> Any:
        done = original(*arguments)
        if not taken_over:
            taken_over.append(True)
            with opened(out):
                """Takes over what is stored there, and has not said yet what it asks for."""
        return done

    monkeypatch.setattr(runs, moment, meanwhile)
    assert len(read_records(out)) == 24
    assert not list((out / "shards").glob("*.jsonl"))


def test_a_shard_that_was_cut_off_costs_one_run(sweep_file: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    eraseblock.run(sweep_file, out=whole)
    for number in (1, 2):
        eraseblock.run(sweep_file, out=out, shard=f"{number}/2")
    journal = out / "shards/2-of-2.jsonl"
    journal.write_bytes(journal.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=r"2-of-2.jsonl: its last \d+ bytes are of a write that was cut off"):
        eraseblock.run(sweep_file, out=out)
    assert data(out) == data(whole)


def test_who_may_work_in_a_folder(tmp_path: Path) -> None:
    with opened(tmp_path, shard=Shard(1, 2)):
        with (
            pytest.raises(eraseblock.InputError, match=r"process \d+ on .* is at work .* on shard 1/2"),
            opened(tmp_path, shard=Shard(1, 2)),
        ):
            pass
        with (
            pytest.raises(eraseblock.InputError, match="is at work in this folder on shard 1/2"),
            opened(tmp_path),
        ):
            pass
        with opened(tmp_path, shard=Shard(2, 2)):
            pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eraseblock.results.locks._LOOK_S", 0.01)
        with (
            opened(tmp_path),
            pytest.raises(eraseblock.InputError, match="is at work in this folder; wait"),
            one_of_several(tmp_path, Shard(2, 2)),
        ):
            pass
    # What a killed process left in the lock stops nobody.
    (tmp_path / "runs.lock").write_text('{"process":1,"host":"gone","since":"then"}', encoding="utf-8")
    with opened(tmp_path, shard=Shard(2, 2)):
        pass


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_shards_that_are_none(text: str) -> None:
    expected = f"--shard: found `{text}`, expected a share such as 2/4: the second of four, counted from 1"
    with pytest.raises(eraseblock.ConfigError) as said:
        Shard.parse(text, "--shard")
    assert str(said.value) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--shard: its runs are stored in a folder; name it with -o"),
        (["-o", "out", "--fresh"], "--shard and --fresh exclude each other"),
        (["-o", "out", "--prune"], "--shard and --prune exclude each other"),
        (["-o", "out", "--events", "logs"], "--shard and --events exclude each other"),
    ],
)
def test_what_a_shard_cannot_decide(options: list[str], said: str, sweep_file: Path, cli: Cli) -> None:
    done = cli("run", sweep_file, "--shard", "1/2", *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_command_names_a_wrong_shard(sweep_file: Path, cli: Cli) -> None:
    done = cli("run", sweep_file, "-o", "out", "--shard", "3/2")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--shard: found `3/2`, expected a share such as 2/4" in done.stderr


def test_a_shard_without_runs_is_no_failure(sweep_file: Path, cli: Cli) -> None:
    codes = [cli("run", sweep_file, "-o", "out", "--shard", f"{number}/30").returncode for number in (1, 30)]
    assert codes == [0, 0]
