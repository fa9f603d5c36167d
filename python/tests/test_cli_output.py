"""What the commands print when all is well."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, SMALL_DRIVE, SMALL_SETS, Cli, spc_lines
from test_determinism import without_engine

FIGURES = """
key name config trace version requests.submitted requests.completed trusted reasons warnings
response_ns.all.mean response_ns.read.p99 response_ns.write.max throughput.iops throughput.bytes_per_s
simulated_s hit_ratio.all hit_ratio.read hit_ratio.write inflight_hits host_pages.read host_pages.write
host_pages.trim map_hit_ratio padded_pages flash.reads.total flash.programs.gc flash.erases.merge
merges.switch merges.partial merges.full waf flush_pages.before_padding.mean
flush_pages.after_padding.cdf_by_page wear.erases_mean wear.erases_max wear.cv_block wear.cv_channel
energy_mj buffer_metadata_bytes map_bytes precondition engine.wall_s
engine.requests_per_s engine.flash_ops_per_s
""".split()  # noqa: SIM905


def figure(record: dict[str, Any], path: str) -> Any:
    value: Any = record
    for key in path.split("."):
        value = value[key]
    return value


def test_compare_json_is_one_record_per_run(cli: Cli, trace: Path) -> None:
    sizes = ["256 KiB", "512 KiB"]
    run = cli(
        *("compare", trace, *SMALL_SETS, "--buffers", "all"),
        *("--buffer-size", "256KiB,512KiB", "--ftls", "page,bast", "--json"),
    )
    assert (run.returncode, run.stderr) == (0, "")
    records = json.loads(run.stdout)
    buffers = [entry["name"] for entry in json.loads(cli("list", "buffers", "--json").stdout)]
    assert {"none", "lru", "fab", "bplru"} <= set(buffers)
    expected = [(ftl, size, buffer) for ftl in ("page", "bast") for size in sizes for buffer in buffers]
    found = [
        (
            r["config"]["ftl"]["mapping"]["kind"],
            r["config"]["buffer"]["size"],
            r["config"]["buffer"]["scheme"]["kind"],
        )
        for r in records
    ]
    assert found == expected
    for record in records:
        for path in FIGURES:
            figure(record, path)
        assert figure(record, "requests.completed") == figure(record, "requests.submitted") == 2000
        assert record["trace"]["name"].startswith("small")


def test_the_table_fits_and_names_every_run(cli: Cli, trace: Path) -> None:
    options = ("--buffer-size", "256KiB,512KiB", "--ftls", "page,bast", "--buffers", "all", "--all")
    run = cli("compare", trace, *SMALL_SETS, *options)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    for name in ("none", "lru", "fab", "bplru"):
        assert sum(f"page {name} " in " ".join(line.split()) for line in lines) == 2
        assert sum(f"bast {name} " in " ".join(line.split()) for line in lines) == 2
    assert any("small" in line and "hbm-2010" in line for line in lines)
    assert "*" in run.stdout


def test_first_and_ops_choose_requests(cli: Cli, trace: Path) -> None:
    arguments = ("compare", trace, *SMALL_SETS, "--buffers", "lru", "--json")
    [some] = json.loads(cli(*arguments, "--first", "300", "--ops", "w").stdout)
    assert some["requests"]["submitted"] == 300
    assert some["host_pages"]["read"] == 0
    [reads] = json.loads(cli(*arguments, "--ops", "r").stdout)
    assert reads["requests"]["submitted"] == sum(",r," in line for line in spc_lines(2000))


def test_a_refused_combination_is_named_and_the_others_run(cli: Cli, trace: Path) -> None:
    drive = ("--device", "nvme-tlc", "--set", 'precondition.state="empty"', "--buffers", "lru,bplru")
    run = cli("compare", trace, *drive, "--ftls", "page,bast", "--json")
    ran = [record["config"]["ftl"]["mapping"]["kind"] for record in json.loads(run.stdout)]
    assert (run.returncode, ran) == (0, ["page", "page"])
    assert run.stderr.startswith(
        "eraseblock: refused lru of 16 MiB on bast; bplru of 16 MiB on bast: bast writes"
    )
    assert run.stderr.count("\n") == 1
    alone = cli("compare", trace, *drive, "--ftls", "bast")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr.startswith("eraseblock: bast writes")


def test_the_report_names_what_was_refused(cli: Cli, trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    options = ["--buffers", "lru,none", "--buffer-size", "1KiB,1MiB", "-o", str(folder)]
    run = cli("compare", str(trace), *SMALL_SETS, *options)
    assert run.returncode == 0
    [missing] = json.loads((folder / "missing.json").read_text())
    assert missing["refused"]
    assert missing["runs"] == ["lru of 1 KiB on bast"]
    sentence = "found room for 0 page(s)"
    assert sentence in missing["sentence"]
    assert sentence in (folder / "report.html").read_text()
    # Built again, it still says so.
    (folder / "report.html").unlink()
    assert cli("report", str(folder)).returncode == 0
    assert sentence in (folder / "report.html").read_text()
    # A sweep that misses nothing has no such list.
    run = cli("compare", str(trace), *SMALL_SETS, "--buffers", "lru", "-o", str(folder), "--fresh")
    assert run.returncode == 0
    assert not (folder / "missing.json").exists()


def test_a_buffer_without_room_is_refused_by_the_schemes_that_need_it(cli: Cli, trace: Path) -> None:
    run = cli("compare", trace, *SMALL_SETS, "--buffers", "none,lru", "--buffer-size", "1KiB", "--json")
    [record] = json.loads(run.stdout)
    assert record["config"]["buffer"]["scheme"]["kind"] == "none"
    assert "refused lru of 1 KiB on bast: buffer.size: found room for 0 page(s)" in run.stderr


def test_verified_runs_have_the_same_figures(cli: Cli, sweep_file: Path) -> None:
    arguments = ("run", sweep_file, "--set", 'buffer.size="128 KiB"', "--json")
    plain, verified = (json.loads(cli(*arguments, *more).stdout) for more in ([], ["--verify"]))
    assert len(plain) == len(verified) == 8
    for one, other in zip(plain, verified, strict=True):
        assert one["flash"] == other["flash"]
        assert one["response_ns"] == other["response_ns"]


def test_sets_override_the_file_and_make_axes(cli: Cli, sweep_file: Path) -> None:
    run = cli("run", sweep_file, "--set", "buffer.scheme='lru'", "--set", "ftl.mapping='page'", "--json")
    assert [r["config"]["buffer"]["size"] for r in json.loads(run.stdout)] == ["128 KiB", "512 KiB", "2 MiB"]


def test_list_shows_everything_with_a_name(cli: Cli) -> None:
    shown = cli("list").stdout
    assert max(map(len, shown.splitlines())) <= 100
    everything = json.loads(cli("list", "--json").stdout)
    assert set(everything) >= {"buffers", "ftls", "devices", "formats"}
    for kind, entries in everything.items():
        assert entries, kind
        for entry in entries:
            assert entry["name"] in shown


def test_schema_is_json_schema(cli: Cli) -> None:
    schema = json.loads(cli("schema").stdout)
    assert {"workload", "nand", "ftl", "buffer", "host", "precondition", "seed"} <= set(schema["properties"])


def test_trace_info(cli: Cli, trace: Path) -> None:
    [summary] = json.loads(cli("trace", "info", trace, "--json").stdout)
    text = json.dumps(summary)
    assert "2000" in text
    assert "spc" in text
    shown = cli("trace", "info", trace)
    assert shown.returncode == 0
    assert "2,000" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100


def test_output_folder(cli: Cli, trace: Path, tmp_path: Path) -> None:
    run = cli("compare", trace, *SMALL_SETS, "--buffers", "lru,none", "-o", "out/here")
    assert run.returncode == 0
    assert "out/here/report.html" in run.stdout
    assert sorted(p.name for p in (tmp_path / "out/here").iterdir()) == [
        "engine.json",
        "report.html",
        "results.json",
        "results.parquet",
        "runs.jsonl",
        "runs.lock",
    ]
    (tmp_path / "out/here/report.html").unlink()
    assert cli("report", "out/here").returncode == 0
    assert (tmp_path / "out/here/report.html").stat().st_size > 500_000


def test_json_and_files_together_keep_stdout_pure(cli: Cli, trace: Path, tmp_path: Path) -> None:
    run = cli("compare", trace, *SMALL_SETS, "--buffers", "lru", "--json", "-o", "out")
    records = json.loads(run.stdout)
    assert records[0]["engine"]["wall_s"] > 0
    assert without_engine(run.stdout) == json.dumps(json.loads((tmp_path / "out/results.json").read_text()))
    assert "report.html" in run.stderr


@pytest.mark.parametrize(
    "command", [[], ["compare"], ["run"], ["list"], ["schema"], ["trace", "info"], ["report"]]
)
def test_help_is_quick_and_has_examples(cli: Cli, command: list[str]) -> None:
    run = cli(*command, "--help", PYTHONPROFILEIMPORTTIME="1")
    assert run.returncode == 0
    assert "Examples:" in run.stdout
    assert f"eraseblock {' '.join(command)}".rstrip() in run.stdout
    # What takes long to load is left alone: its time would differ with the machine.
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in run.stderr.splitlines()}
    assert "cyclopts" in loaded
    assert loaded.isdisjoint({"altair", "jinja2", "polars", "vl_convert"})


@pytest.mark.parametrize("command", [["list", "--json"], ["schema"], ["list"]])
def test_a_reader_that_has_gone_is_not_complained_about(command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run = subprocess.run(
            [COMMAND, *command], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert (run.returncode, run.stderr) == (1, "")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_results_are_written_even_if_nobody_reads_what_is_printed(
    trace: Path, tmp_path: Path, options: list[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [
        COMMAND,
        "compare",
        str(trace),
        *SMALL_SETS,
        "--buffers",
        "lru",
        "-o",
        str(tmp_path / "out"),
        *options,
    ]
    try:
        run = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert run.returncode == 1
    assert {"results.json", "results.parquet", "report.html"} <= {
        one.name for one in (tmp_path / "out").iterdir()
    }


def test_brackets_in_the_name_of_a_folder_are_no_markup(cli: Cli, trace: Path) -> None:
    folder = "a [bold] b [" + os.sep + "x]"
    run = cli("compare", trace, *SMALL_SETS, "--buffers", "lru", "-o", folder)
    assert run.returncode == 0
    assert run.stdout.endswith(f"report: {Path(folder) / 'report.html'}\n")


def test_paths_start_at_the_experiment_file(cli: Cli, trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    trace.rename(folder / "t.spc")
    (folder / "e.toml").write_text(
        f"{SMALL_DRIVE}\n[workload]\npath = 't.spc'\nformat = 'spc'\n", encoding="utf-8"
    )
    run = cli("run", "elsewhere/e.toml", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)[0]["name"] == "e"
