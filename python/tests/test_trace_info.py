"""`trace info`: figures of a trace made for it, the sheet, the comparison and the picture."""

from __future__ import annotations

import json
import os
import pty
import signal
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, Cli
from test_terminal import read_until

import eraseblock

BUNDLED = Path(__file__).parents[2] / "workloads" / "pgbench-ext4.nbdkit.zst"


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """Ten reads of eight pages one after another, then each page written twice in order; 1 ms apart."""
    lines = [f"0,{64 * index},32768,r,{index / 1000:.3f}\n" for index in range(10)]
    for round_ in range(2):
        lines += [f"0,{8 * page},4096,w,{(10 + 80 * round_ + page) / 1000:.3f}\n" for page in range(80)]
    path = tmp_path / "known.spc"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def profile_of(cli: Cli, *arguments: str | Path) -> dict[str, Any]:
    run = cli("trace", "info", *arguments, "--json")
    assert (run.returncode, run.stderr) == (0, "")
    [info] = json.loads(run.stdout)
    profile: dict[str, Any] = info["profile"]
    return profile


def test_figures_of_a_known_trace(cli: Cli, known: Path) -> None:
    profile = profile_of(cli, known)
    assert profile["mix"]["write"]["requests"] == 160
    assert profile["size_bytes"]["all"]["p50"] == 4096
    assert profile["size_bytes"]["read"]["histogram"] == [[32768, 10]]
    assert profile["sequential_reads"]["next_share"] == 0.9
    assert profile["sequential_writes"]["run_bytes"]["max"] == 80 * 4096
    assert profile["arrivals"]["gap_ns"]["p50"] == 1_000_000
    assert profile["footprint"]["pages"] == profile["footprint"]["both_pages"] == 80
    assert profile["footprint"]["read_before_written_pages"] == 80
    assert profile["footprint"]["overwrite_ratio"] == 2
    assert profile["hot_spots"]["all"]["gini"] == 0
    assert profile["reuse"]["write"]["distance_pages"]["histogram"] == [[64, 160]]
    by_size = {point["buffer_pages"]: point for point in profile["miss_ratio"]["points"]}
    assert by_size[64]["all"] == by_size[64]["write_only"] == 1
    assert (by_size[80]["all"], by_size[80]["write"], by_size[80]["write_only"]) == (80 / 240, 0, 0.5)


def test_options_choose_a_part_and_a_page(cli: Cli, known: Path) -> None:
    part = profile_of(cli, known, "--ops", "w", "--first", "80", "--page-size", "16KiB")
    assert (part["requests"], part["footprint"]["pages"], part["footprint"]["page_bytes"]) == (80, 20, 16384)
    assert part["footprint"]["page_reads"] == 0
    same = profile_of(cli, known, "--set", "workload.ops='w'", "--set", "workload.first=80")
    assert same["mix"] == part["mix"]
    info = eraseblock.trace_info(known, workload={"ops": "r"}, page_size="8 KiB")
    assert info["selected"]["left_out"]["by_op"] == 160
    assert info["requests"] == 170
    assert info["profile"]["footprint"]["pages"] == 40


def test_times_that_are_not_those_of_the_file_are_told(cli: Cli, known: Path) -> None:
    run = cli("trace", "info", known, "--set", "workload.time_scale=2")
    head = run.stdout.splitlines()[1:4]
    assert "170 requests · 169 ms" in head[0]
    assert "below: times are 2 times those of the file (time_scale), 338 ms in all" in head[2]
    assert "time_scale" not in cli("trace", "info", known).stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--page-size", "5KB"), "page size: found 5000 B, expected a power of two from 512 B to 1 GiB"),
        (("--page-size", "4"), "page size: "),
        (("--sample", "2"), "sample: found 2, expected a share of the pages above 0 and up to 1"),
        (("--ops", "x"), "`workload.ops`: found `x`, expected"),
        (("--plot", "a.jpg"), "--plot: a.jpg ends in none of .png, .svg, .html"),
        (("--set", "workload.opps='w'"), "did you mean `workload.ops`?"),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, known: Path, arguments: tuple[str, ...], sentence: str) -> None:
    run = cli("trace", "info", known, *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert sentence in run.stderr


def test_a_wrong_value_is_said_of_its_option(cli: Cli, known: Path) -> None:
    assert cli("trace", "info", known, "--ops", "x").stderr.startswith("eraseblock: --ops:")


def test_a_sample_says_so(cli: Cli) -> None:
    exact, sampled = profile_of(cli, BUNDLED), profile_of(cli, BUNDLED, "--sample", "0.3")
    curve = sampled["miss_ratio"]
    assert (curve["method"], curve["sample_rate"]) == ("sampled", 0.25)
    assert 0 < curve["expected_error"] < 0.05
    assert sampled["size_bytes"] == exact["size_bytes"]
    pages = [profile["footprint"]["pages"] for profile in (exact, sampled)]
    assert abs(pages[1] / pages[0] - 1) < 0.05
    shown = cli("trace", "info", BUNDLED, "--sample", "0.3").stdout
    assert "one page in 4" in shown


def test_a_sample_may_miss_every_page(cli: Cli, tmp_path: Path) -> None:
    trace = tmp_path / "one.spc"
    trace.write_text("0,0,4096,w,0.0\n", encoding="utf-8")
    curve = profile_of(cli, trace, "--sample", "1e-9")["miss_ratio"]
    assert (curve["sampled_pages"], curve["expected_error"], curve["points"]) == (0, 1.0, [])
    assert "none of the pages is in the sample" in cli("trace", "info", trace, "--sample", "1e-9").stdout


def test_the_sheet_fits_its_terminal(cli: Cli) -> None:
    for columns, most in ((100, 40), (80, 44), (60, 54)):
        shown = on_terminal(columns, "trace", "info", str(BUNDLED))
        lines = shown.splitlines()
        assert max(map(len, lines)) <= columns
        assert len(lines) <= most
        assert "…" not in shown
    wide = cli("trace", "info", BUNDLED).stdout
    assert "\x1b" not in wide
    for word in ("read", "write", "flush", "footprint", "hot spots", "working set", "Miss ratio", "exact"):
        assert word in wide


def on_terminal(columns: int, *arguments: str) -> str:
    """What a command prints on a terminal of so many columns, without its colours."""
    import fcntl
    import re
    import termios

    terminal, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stdin=other_end,
        stdout=other_end,
        stderr=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm-256color"},
    )
    os.close(other_end)
    seen = read_until(terminal, b"never printed", 60)
    assert process.wait(10) == 0
    os.close(terminal)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode()).replace("\r", "")


def test_a_comparison_has_a_row_for_each_trace(cli: Cli, known: Path) -> None:
    run = cli("trace", "info", known, BUNDLED, "--compare")
    assert run.returncode == 0
    rows = [line.split() for line in run.stdout.splitlines() if line.strip()]
    assert max(map(len, run.stdout.splitlines())) <= 100
    assert rows[0][:2] == ["trace", "requests"]
    assert ["known.spc", "170"] in [row[:2] for row in rows]
    assert ["pgbench-ext4.nbdkit.zst", "74,000"] in [row[:2] for row in rows]


def test_odd_traces_have_a_sheet_too(cli: Cli, tmp_path: Path) -> None:
    for name, line in (("read", "0,0,512,r,1\n"), ("zero", "0,5,0,w,1\n0,5,512,w,1\n")):
        path = tmp_path / f"{name}.spc"
        path.write_text(line, encoding="utf-8")
        run = cli("trace", "info", path, "--plot", f"{name}.svg")
        assert (run.returncode, run.stderr) == (0, "")
        assert "all requests arrive at once" in run.stdout
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    flush = "2024-01-01 10:00:00.000000 connection=1 Flush id=1 ...\n"
    path = tmp_path / "flush.nbdkit"
    path.write_text(flush, encoding="utf-8")
    run = cli("trace", "info", path, "--plot", "flush.png")
    assert (run.returncode, run.stderr) == (0, "")
    assert "flush" in run.stdout


def test_pictures(cli: Cli, known: Path, tmp_path: Path) -> None:
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<svg"), ("a.html", b"<!doctype html>")):
        run = cli("trace", "info", known, "--plot", name, "--json")
        assert run.returncode == 0
        json.loads(run.stdout)
        assert f"picture: {name}" in run.stderr
        assert (tmp_path / name).read_bytes().startswith(start)
    assert cli("trace", "info", known, "--plot", "dark.svg", "--dark").returncode == 0
    light, dark = ((tmp_path / name).read_text(encoding="utf-8") for name in ("a.svg", "dark.svg"))
    assert light != dark
    for title in ("Miss ratio", "Re-use distance", "Throughput", "Working set", "Request sizes", "Hot spots"):
        assert title in light
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme" in page
    assert 'src="http' not in page


def test_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "long.spc"
    path.write_text("0,0,1099511627776,w,0\n" * 4, encoding="utf-8")
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "trace", "info", str(path), "--set", "workload.max_request=2TiB"],
        stdin=other_end,
        stdout=subprocess.PIPE,
        stderr=other_end,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
        start_new_session=True,
    )
    os.close(other_end)
    assert process.stdout is not None
    try:
        assert b"reading long.spc" in read_until(terminal, b"reading long.spc", 60)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert b"interrupted" in read_until(terminal, b"interrupted", 10)
        assert process.wait(10) == 130
        assert time.monotonic() - start < 2
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(terminal)


@pytest.mark.parametrize("text", ["host.speedup=2", "buffer.size=1MiB", "preset=hbm-2010", "seed=3"])
@pytest.mark.parametrize("command", [("info",), ("convert", "out.ebt")])
def test_settings_of_a_drive_are_refused_where_there_is_none(
    cli: Cli, trace: Path, text: str, command: tuple[str, ...]
) -> None:
    run = cli("trace", command[0], str(trace), *command[1:], "--set", text)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        f"eraseblock: --set {text}: does nothing here: trace {command[0]} simulates no drive; leave it out "
        "(keys of the workload are workload.KEY)\n"
    )
