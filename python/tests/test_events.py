"""The logs of the buffers' decisions: where they go, what is refused; the pages that show decisions."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, SMALL_DRIVE, SMALL_SETS, Cli
from test_terminal import LONG

import eraseblock
from eraseblock.pages import examples_of

ROOT = Path(__file__).resolve().parents[2]
ONE = f"""\
{SMALL_DRIVE}
[buffer]
size = "128 KiB"
scheme = "hbm"

[workload.generate]
kind = "zipf"
requests = 3000
footprint = "8 MiB"
interval = "3 ms"
read_share = 0.3
"""


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """An experiment of one run."""
    path = tmp_path / "one.toml"
    path.write_text(ONE, encoding="utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_run_writes_one_file(cli: Cli, one: Path, tmp_path: Path) -> None:
    ran = cli("run", one, "--events", "log.jsonl", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    start, *rest, end = lines(tmp_path / "log.jsonl")
    [record] = json.loads(ran.stdout)
    assert (start["op"], start["key"], start["config"]) == ("start", record["key"], record["config"])
    assert end["op"] == "end"
    answers = [answer for line in rest for answer in line.get("answers", [])]
    assert answers.count("hit") / len(answers) == pytest.approx(record["hit_ratio"]["all"])
    # From Python, the same lines.
    eraseblock.run(one, events=tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "log.jsonl").read_bytes()


def test_several_runs_write_into_a_folder(cli: Cli, trace: Path, tmp_path: Path) -> None:
    ran = cli("compare", trace, *SMALL_SETS, "--buffers", "lru,fifo", "--ftls", "page", "--events", "logs")
    assert ran.returncode == 0, ran.stderr
    names = sorted(path.name for path in (tmp_path / "logs").iterdir())
    size = eraseblock.registry()["devices"][0]["values"]["buffer"]["size"].replace(" ", "")
    assert names == [f"1-lru-{size}-page.jsonl.zst", f"2-fifo-{size}-page.jsonl.zst"]
    refused = cli("compare", trace, *SMALL_SETS, "--buffers", "lru,fifo", "--events", "log.jsonl")
    assert refused.returncode == 2
    assert refused.stderr == (
        "eraseblock: events: log.jsonl is the name of a file, and there are 2 runs; "
        "name a folder, which gets a file for each, or leave one run\n"
    )


def test_what_is_stored_runs_again_for_its_log(cli: Cli, one: Path, tmp_path: Path) -> None:
    assert cli("run", one, "-o", "out").returncode == 0
    before = (tmp_path / "out/results.json").read_bytes()
    assert cli("run", one, "-o", "out", "--events", "log.jsonl").returncode == 0
    assert lines(tmp_path / "log.jsonl")[-1]["op"] == "end"
    assert (tmp_path / "out/results.json").read_bytes() == before


def test_files_that_cannot_be_logs_are_refused(cli: Cli, one: Path, trace: Path) -> None:
    for name, said, code in (
        (trace.name, "small.spc: is there already and is no log of events; name another file", 2),
        ("nowhere/log.jsonl", "nowhere/log.jsonl: cannot be written: there is no such folder", 2),
        ("/dev/full", "/dev/full: cannot be written: No space left on device", 1),
    ):
        ran = cli("run", one, "--events", name)
        assert (ran.returncode, ran.stdout) == (code, "")
        assert ran.stderr.startswith(f"eraseblock: {said}"), ran.stderr


def test_ctrl_c_leaves_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    log = tmp_path / "log.jsonl"
    process = subprocess.Popen(
        [COMMAND, "run", "long.toml", "--events", log.name], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        limit = time.monotonic() + 60
        while not log.exists() or log.stat().st_size < 1_000_000:
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1].startswith("eraseblock: interrupted")
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert log.read_bytes().endswith(b"}\n")
    start, *_, last = lines(log)
    assert (start["op"], last["op"]) in (("start", "read"), ("start", "write"))


def test_the_documentation_shows_a_real_log() -> None:
    text = (ROOT / "docs/events.md").read_text(encoding="utf-8")
    block = text.partition("```json\n")[2].partition("```")[0]
    [figure] = [one for one in examples_of("hbm") if "3.4(a)" in one["source"]]
    assert [json.loads(line) for line in block.splitlines()] == [
        event for step in figure["steps"] for event in step["events"]
    ]


@pytest.mark.parametrize("name", [entry["name"] for entry in eraseblock.registry()["buffers"]])
def test_every_buffer_has_a_page_with_an_example(cli: Cli, name: str) -> None:
    page = (ROOT / f"docs/buffers/{name}.md").read_text(encoding="utf-8")
    assert "**What it does.**" in page
    assert "\n## Example" in page
    shown = cli("list", "buffers", name, COLUMNS="100")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "What it does." in shown.stdout
    assert "the buffer then" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100
    whole = json.loads(cli("list", "buffers", name, "--json").stdout)
    assert whole["name"] == name
    assert whole["examples"][0]["steps"][0]["events"][0]["request"] == 0
    assert {"paper", "year", "reconstruction", "cost", "options", "page"} <= whole.keys()


def test_a_page_of_what_there_is_not(cli: Cli) -> None:
    ran = cli("list", "buffers", "hmb")
    assert ran.returncode == 2
    assert ran.stderr.startswith(
        "eraseblock: list buffers: there is no `hmb`; did you mean `hbm`? (known: none,"
    )
    assert "log_blocks" in cli("list", "ftls", "bast").stdout


def test_a_name_is_found_by_its_other_names_and_under_its_kind(cli: Cli) -> None:
    assert "; here it is called `opt` (" in cli("list", "buffers", "Belady").stderr
    assert "; it is one of the ftls (" in cli("list", "buffers", "bast").stderr
    assert "--buffers: `lru` is there twice" in cli("compare", "x.spc", "--buffers", "lru,hbm,lru").stderr
