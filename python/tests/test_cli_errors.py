"""A wrong call or input: one line on stderr that says what, where and the nearest name; exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import SMALL_DRIVE, SMALL_SETS, Cli, Run, spc_lines

import eraseblock


def assert_one_line(run: Run, code: int, *parts: str) -> None:
    assert run.returncode == code, run.stderr
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    assert run.stderr.startswith("eraseblock: ")
    assert run.stderr.count("\n") == 1, run.stderr
    for part in parts:
        assert part in run.stderr, run.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["compre"], ["compre", "compare"]),
        (["compare", "--bufers", "lru", "x"], ["--bufers", "--buffers"]),
        (
            ["run", "x.toml", "--device", "hbm-2010"],
            ["--device: not an option of `eraseblock run`", "`compare`"],
        ),
        (
            ["trace", "info", "x", "--device=epo-2011"],
            ["not an option of `eraseblock trace info`", "`serve`"],
        ),
        (["compare"], ["at least one trace"]),
        (["trace", "info"], ["at least one trace"]),
        (["compare", "x", "--buffers", "lruu"], ["--buffers", "`lruu`", "`lru`"]),
        (["compare", "x", "--buffers", "lru,,fab"], ["--buffers", "empty"]),
        (["compare", "x", "--ftls", "basst"], ["--ftls", "`basst`", "`bast`"]),
        (["compare", "x", "--device", "hbm-2011"], ["--device", "`hbm-2011`", "`hbm-2010`"]),
        (["compare", "x", "--buffer-size", "1MeB"], ["--buffer-size", "1MeB", "MiB"]),
        (["compare", "x", "--buffer-size", "7"], ["--buffer-size", "no unit"]),
        (["compare", "x", "--fit", "compct"], ["--fit", "compct", "`compact`"]),
        (["compare", "x", "--format", "spd"], ["--format", "spd", "`spc`"]),
        (["compare", "x", "--ops", "x"], ["--ops", "`x`", "rw"]),
        (["compare", "x", "--first", "many"], ["--first", "many"]),
        (["compare", "x", "--jobs", "0"], ["--jobs", "found 0", "1 or more"]),
        (["compare", "x", "--set", "host.sped=2"], ["--set", "host.sped", "speedup"]),
        (["compare", "x", "--set", "host.speedup"], ["--set", "host.speedup"]),
        (["list", "bufers"], ["`bufers`", "`buffers`"]),
        (["run", "no-such.toml"], ["no-such.toml", "no such file"]),
        (["report", "no-such-folder"], ["no-such-folder", "no such file"]),
        (["report"], ["FOLDER"]),
        (["report", "a", "b"], ["several folders", "-o"]),
    ],
)
def test_wrong_calls(cli: Cli, arguments: list[str], parts: list[str]) -> None:
    assert_one_line(cli(*arguments), 2, *parts)


@pytest.mark.parametrize(
    ("addition", "parts"),
    [
        ("[buffer]\nscheme = 'bplur'", ["bad.toml:10", "bplur", "bplru"]),
        ("[buffer]\nsise = '1 MiB'", ["bad.toml:10", "sise", "size"]),
        ("[buffer]\nsize = 4096", ["bad.toml:10", "4096"]),
        ("[host]\nspeedup = 'fast'", ["bad.toml:10", "speedup", "fast"]),
        ("[buffer]\nscheme = { kind = 'bplru', paddding = false }", ["bad.toml:10", "paddding", "padding"]),
        ("[buffer\nsize = '1 MiB'", ["bad.toml:9"]),
    ],
)
def test_wrong_files(cli: Cli, tmp_path: Path, addition: str, parts: list[str]) -> None:
    (tmp_path / "bad.toml").write_text(f"{SMALL_DRIVE}\n{addition}\n", encoding="utf-8")
    assert_one_line(cli("run", "bad.toml"), 2, *parts)


def test_a_file_that_is_no_text(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"name = '\xff'\n")
    assert_one_line(cli("run", "bad.toml"), 2, "bad.toml", "UTF-8")


def test_a_misspelt_trace(cli: Cli, trace: Path) -> None:
    assert_one_line(cli("compare", "smal.spc", *SMALL_SETS), 2, "smal.spc", "no such file", trace.name)
    # Nor is anything said of schemes that would have been left out.
    assert_one_line(cli("compare", "smal.spc", "--device", "nvme-tlc"), 2, "smal.spc", "no such file")
    assert_one_line(cli("trace", "info", "smal.spc"), 2, "smal.spc", "no such file", trace.name)


def test_a_bad_line_is_named(cli: Cli, tmp_path: Path) -> None:
    lines = spc_lines(20)
    lines[10] = "0,zebra,512,w,1.0\n"
    (tmp_path / "bad.spc").write_text("".join(lines), encoding="utf-8")
    run = cli("compare", "bad.spc", "--format", "spc", *SMALL_SETS)
    assert_one_line(run, 2, "bad.spc:11", "zebra")


def test_a_workload_that_does_not_fit(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "far.spc").write_text("0,0,4096,w,0.0\n0,2000000,4096,w,0.1\n", encoding="utf-8")
    arguments = ("compare", "far.spc", "--format", "spc", *SMALL_SETS)
    assert_one_line(cli(*arguments), 2, "32.00 MiB", "fit")
    assert cli(*arguments, "--fit", "compact").returncode == 0


def test_an_output_folder_that_cannot_be(cli: Cli, trace: Path) -> None:
    run = cli("compare", trace, *SMALL_SETS, "-o", trace / "below")
    assert_one_line(run, 2, "below", "cannot be written")


@pytest.mark.parametrize(
    "content", ["{", "{}", "[1]", "", '[{"config": {}}]', '[{"config": 1, "trace": {"name": "a"}}]']
)
def test_a_folder_without_results(cli: Cli, tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content, encoding="utf-8")
    assert_one_line(cli("report", "."), 2, "results.json", "array of result records")


def test_a_folder_with_no_record(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("[]\n", encoding="utf-8")
    assert_one_line(cli("report", "."), 2, "results.json", "holds no runs")
    with pytest.raises(eraseblock.InputError, match="no records to save"):
        eraseblock.save_results([], tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes only there")
def test_a_name_that_is_no_text(cli: Cli, trace: Path) -> None:
    name = os.fsdecode(b"bad\xff.spc")
    try:
        trace.with_name(name).write_bytes(trace.read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    assert_one_line(cli("compare", name, *SMALL_SETS, "--buffers", "lru"), 2, "bad\\udcff.spc", "UTF-8")


def test_an_output_without_the_letters(cli: Cli, trace: Path) -> None:
    other = trace.rename(trace.with_name("é.spc"))
    run = cli("compare", other, *SMALL_SETS, "--buffers", "lru", "--json", PYTHONIOENCODING="ascii")
    assert_one_line(run, 1, "output: ascii lacks letters", "PYTHONIOENCODING=utf-8")


def test_good_traces_are_not_lost_to_a_bad_one(cli: Cli, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.spc").write_text("0,0,4096,w,0.0\nzebra\n", encoding="utf-8")
    run = cli("compare", trace, "bad.spc", "--format", "spc", "--buffers", "lru", *SMALL_SETS, "--json")
    assert run.returncode == 2
    assert '"name": "small' in run.stdout
    assert "bad.spc:2" in run.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("trace.zst", b"\x28\xb5\x2f\xfd\x04\x60"),
        ("other.csv", b"id,name,price\n1,apple,2.5\n"),
        ("some.json", b'{"a": [1, 2, 3]}\n'),
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_trace_in_the_place_of_an_experiment_is_told(
    cli: Cli, tmp_path: Path, name: str, content: bytes, more: list[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert_one_line(cli("run", str(path), *more), 2, str(path), "a trace is replayed by `eraseblock compare`")


def test_no_line_is_named_of_a_text_that_nobody_wrote(cli: Cli) -> None:
    assert_one_line(cli("compare", ""), 2, "eraseblock: compare: `workload.path`: is empty, expected a trace")
    with pytest.raises(eraseblock.ConfigError, match=r"^<mapping>: unknown key `bufer`") as caught:
        eraseblock.resolve({"preset": "hbm-2010", "bufer": {}})
    assert caught.value.place == "<mapping>"


def test_results_one_folder_below_are_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "out" / "first").mkdir(parents=True)
    (tmp_path / "out" / "first" / "results.json").write_text("[]", encoding="utf-8")
    said = " ".join(cli("report", str(tmp_path / "out")).stderr.split())
    assert f"results.json: no such file; there is one in {tmp_path / 'out' / 'first'}" in said
    # A name is no pattern.
    assert "no such file" in cli("run", str(tmp_path / "a**.toml")).stderr
