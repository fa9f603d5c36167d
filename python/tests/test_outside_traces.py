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
def test_every_buffer_runs_over_it(cli: Cli, name: str) -> None:
    """A long one in part, at three sizes; a short one at one size, with one run at a time and with two."""
    path = Path(str(FOLDER)) / name
    if not path.exists():
        pytest.skip(f"{path} is missing")
    short = name.startswith("financial1")
    sizes = "4MiB" if short else "1MiB,4MiB,16MiB"
    arguments = ["compare", path, "--buffers", "all", "--buffer-size", sizes, "--device", "hbm-2010"]
    arguments += ["--fit", "compact"] if short else ["--set", "workload.first=20_000"]
    done = cli(*arguments, "--json", "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, "")
    records = json.loads(done.stdout)
    buffers = json.loads(cli("list", "buffers", "--json").stdout)
    assert len(records) == len(sizes.split(",")) * len(buffers)
    for record in records:
        assert record["requests"]["completed"] == record["requests"]["submitted"] > 1000
    if short:
        alone = cli(*arguments, "--json", "--jobs", "1")
        assert without_engine(alone.stdout) == without_engine(done.stdout)
