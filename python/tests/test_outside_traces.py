"""Real traces from outside the repository, in the folder that ERASEBLOCK_TRACES names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Cli
from test_determinism import without_engine

FOLDER = os.environ.get("ERASEBLOCK_TRACES")
TRACES = ("1und1-linux-mysql.load.zst", "financial1-part.ascii.zst")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="ERASEBLOCK_TRACES names no folder with traces"),
]


@pytest.mark.parametrize("name", TRACES)
def test_every_buffer_replays_it_with_any_number_of_workers(cli: Cli, name: str) -> None:
    path = Path(str(FOLDER)) / name
    if not path.exists():
        pytest.skip(f"{path} is missing")
    arguments = [
        "compare",
        path,
        "--buffers",
        "all",
        "--device",
        "hbm-2010",
    ]
    if name.startswith("financial1"):
        # It touches 58 MB: to fill the preset's 32 GiB takes ten times as long as to run it.
        part = ("nand.blocks_per_plane=8442", 'ftl.exported="1 GiB"')
        arguments += ["--fit", "compact", *(word for setting in part for word in ("--set", setting))]
    # All buffers are full long before.
    whole = cli(*arguments, "--buffer-size", "4MiB", "--first", "10_000", "--json", "--jobs", "2")
    assert (whole.returncode, whole.stderr) == (0, "")
    buffers = json.loads(cli("list", "buffers", "--json").stdout)
    assert len(json.loads(whole.stdout)) == len(buffers)
    # Other sizes, and what the number of workers may not change, show in a part, too.
    some = ("--buffer-size", "1MiB,16MiB", "--first", "4_000", "--json")
    one, two = (cli(*arguments, *some, "--jobs", jobs) for jobs in ("1", "2"))
    assert (one.returncode, one.stderr) == (0, "")
    assert len(json.loads(one.stdout)) == 2 * len(buffers)
    for record in (*json.loads(whole.stdout), *json.loads(one.stdout)):
        assert record["requests"]["completed"] == record["requests"]["submitted"] > 1000
    assert without_engine(one.stdout) == without_engine(two.stdout)
