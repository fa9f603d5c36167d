"""`eraseblock trace convert`: what is written is what was read, and everything else is counted or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_DRIVE, SMALL_SETS, Cli, spc_lines
from test_cli_errors import assert_one_line


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "a.spc"
    path.write_text("".join(spc_lines(2000)))
    return path


def info(cli: Cli, path: str) -> dict[str, Any]:
    [found] = json.loads(cli("trace", "info", path, "--json").stdout)
    assert isinstance(found, dict)
    return found


SAME = ("requests", "reads", "writes", "read_bytes", "write_bytes", "duration_ns", "highest_end", "volumes")


@pytest.mark.parametrize(
    "name", ["b.ebt", "b.ebt.zst", "b.ebt.gz", "b.spc.zst", "b.iolog", "b.load", "b.mqsim"]
)
@pytest.mark.usefixtures("trace")
def test_other_formats_hold_the_same_requests(cli: Cli, name: str) -> None:
    done = cli("trace", "convert", "a.spc", name)
    assert done.returncode == 0, done.stderr
    assert "2,000 requests" in done.stdout
    before, after = info(cli, "a.spc"), info(cli, name)
    same = [key for key in SAME if not (key == "duration_ns" and name == "b.iolog")]
    assert {key: after[key] for key in same} == {key: before[key] for key in same}


def test_a_part_is_accounted_for(cli: Cli, trace: Path) -> None:
    done = cli(
        *("trace", "convert", trace, "part.ebt", "--ops", "write", "--from", "1ms", "--skip", "10"),
        *("--first", "100", "--time-scale", "0.5", "--json"),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    read, written = found["read"], found["written"]
    assert read["requests"] == written["requests"] == 100
    left_out = read["left_out"]
    assert (read["requests_in_trace"], sum(left_out.values())) == (2000, 1900)
    assert left_out["skipped"] == 10
    assert left_out["by_op"] > 0
    assert left_out["after_first"] > 0
    again = cli(
        "trace",
        "convert",
        trace,
        "again.ebt",
        "--ops",
        "write",
        "--from",
        "1ms",
        "--skip",
        "10",
        "--first",
        "100",
    )
    assert again.returncode == 0, again.stderr
    assert info(cli, "part.ebt")["duration_ns"] == pytest.approx(
        info(cli, "again.ebt")["duration_ns"] / 2, abs=1
    )


def test_a_converted_part_runs_like_the_part_itself(cli: Cli, trace: Path) -> None:
    part = ("--skip", "500", "--first", "300")
    assert cli("trace", "convert", trace, "part.ebt", *part).returncode == 0
    drive = (*SMALL_SETS, "--buffers", "lru", "--json")
    [direct] = json.loads(cli("compare", trace, *part, *drive).stdout)
    [converted] = json.loads(cli("compare", "part.ebt", *drive).stdout)
    for key in ("requests", "response_ns", "hit_ratio", "flash", "host_pages", "waf"):
        assert direct[key] == converted[key], key


def test_a_drive_takes_what_fit_makes_of_it(cli: Cli, trace: Path) -> None:
    done = cli("trace", "convert", trace, "small.spc", "--fit", "scale", "--capacity", "256KiB", "--json")
    assert done.returncode == 0, done.stderr
    fit = json.loads(done.stdout)["fit"]
    assert fit["mode"] == "scale"
    assert info(cli, "small.spc")["highest_end"] <= 256 << 10
    plain = cli("trace", "convert", trace, "wrapped.spc", "--fit", "wrap", "--capacity", "256KiB")
    assert "fit         wrap, " in plain.stdout


def test_what_a_format_cannot_hold_is_refused_or_counted(cli: Cli, tmp_path: Path) -> None:
    experiment = tmp_path / "e.toml"
    experiment.write_text(SMALL_DRIVE)
    log = tmp_path / "a.iolog"
    log.write_text("fio version 3 iolog\n0 f add\n0 f write 0 4096\n5 f sync\n9 f trim 0 4096\n")
    assert_one_line(cli("trace", "convert", log, "a.spc"), 2, "request 2 is a flush", "--lossy")
    assert not (tmp_path / "a.spc").exists()
    done = cli("trace", "convert", log, "a.spc", "--lossy")
    assert done.returncode == 0, done.stderr
    assert "lost        1 trims, 1 flushes" in done.stdout
    assert (tmp_path / "a.spc").read_text() == "0,0,4096,w,0.000000000\n"


def test_a_file_is_replaced_only_by_force(cli: Cli, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "b.ebt").write_text("mine")
    assert_one_line(cli("trace", "convert", trace, "b.ebt"), 2, "b.ebt", "exists already", "--force")
    assert (tmp_path / "b.ebt").read_text() == "mine"
    assert cli("trace", "convert", trace, "b.ebt", "--force").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.spc", "b.ebt"]


@pytest.mark.usefixtures("trace")
@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["a.spc"], ["OUT"]),
        (["b.spc", "b.ebt"], ["b.spc", "no such file", "a.spc"]),
        (["a.spc", "b.txt"], ["b.txt", "--to", ".ebt"]),
        (["a.spc", "b.ebt.xz"], [".xz", ".gz or .zst"]),
        (["a.spc", "none/b.ebt"], ["none/b.ebt", "no such folder"]),
        (["a.spc", "b.ebt", "--to", "ebd"], ["`ebd`", "`ebt`"]),
        (["a.spc", "b.ebt", "--fit", "scale"], ["--capacity"]),
        (["a.spc", "b.ebt", "--page-size", "4KiB"], ["--page-size: ", "(--capacity)"]),
        (["a.spc", "b.ebt", "--block-size", "256KiB"], ["--block-size: ", "(--capacity)"]),
        (["a.spc", "b.ebt", "--capacity", "9"], ["--capacity", "no unit"]),
        (["a.spc", "b.ebt", "--capacity", "64KiB"], ["drive exports", "64.00 KiB"]),
        (["a.spc", "b.ebt", "--from", "5"], ["--from", "no unit"]),
        (["a.spc", "b.ebt", "--until", "0 s"], ["--until", "is not later than from"]),
        (["a.spc", "b.ebt", "--ops", "reads"], ["--ops", "`read`"]),
        (["a.spc", "b.ebt", "--volumes", "0,7"], ["volumes", "no volume 7"]),
        (["a.spc", "b.ebt", "--time-scale", "0"], ["--time-scale", "above 0"]),
        (["a.spc", "b.ebt", "--set", "workload.first=[1,2]"], ["--set", "2 traces"]),
    ],
)
def test_wrong_calls(cli: Cli, tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    assert_one_line(cli("trace", "convert", *arguments), 2, *parts)
    assert [path.name for path in tmp_path.iterdir()] == ["a.spc"]


def test_bad_lines_are_passed_over_and_counted(cli: Cli, trace: Path) -> None:
    lines = spc_lines(2000)
    lines[7] = "what is this\n"
    trace.write_text("".join(lines))
    assert_one_line(cli("trace", "convert", trace, "b.ebt"), 2, "a.spc:8: found", "5 fields")
    done = cli("trace", "convert", trace, "b.ebt", "--skip-bad-lines")
    assert done.returncode == 0, done.stderr
    assert "bad lines   1 skipped" in done.stdout
    assert "1,999 requests" in done.stdout


def test_damage_is_named_by_block(cli: Cli, trace: Path, tmp_path: Path) -> None:
    assert cli("trace", "convert", trace, "b.ebt").returncode == 0
    whole = (tmp_path / "b.ebt").read_bytes()
    (tmp_path / "b.ebt").write_bytes(whole[:-1])
    assert_one_line(cli("trace", "info", "b.ebt"), 2, "b.ebt: record 2 at byte", "cut off")
    middle = len(whole) // 2
    (tmp_path / "b.ebt").write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    assert_one_line(cli("trace", "info", "b.ebt"), 2, "b.ebt: record 1 at byte", "begins with request 1")
