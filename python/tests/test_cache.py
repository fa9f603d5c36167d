"""Filled drives on disk: whatever the folder holds, the results are the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

import eraseblock

# Takes some seconds to fill.
DRIVE = """\
preset = "hbm-2010"

[nand]
blocks_per_plane = 40000

[ftl]
exported = "4608 MiB"

[precondition]
state = "steady"

[buffer]
size = "1 MiB"

[workload.generate]
kind = "zipf"
requests = 500
footprint = "8 MiB"
interval = "3 ms"
"""


def test_results_do_not_depend_on_what_is_kept(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(DRIVE, encoding="utf-8")
    cache = tmp_path / "cache"

    def results(name: str, *options: str) -> bytes:
        ended = cli("run", "drive.toml", "-o", name, *options, ERASEBLOCK_CACHE=str(cache))
        assert ended.returncode == 0, ended.stderr
        return (tmp_path / name / "results.json").read_bytes()

    def fill_s(name: str) -> float:
        return float(json.loads((tmp_path / name / "engine.json").read_text())[0]["fill_s"])

    off = results("off", "--no-cache")
    assert not cache.exists()
    assert results("empty") == off
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    assert results("warm") == off
    assert fill_s("warm") < fill_s("empty") / 2
    kept.write_bytes(whole[: len(whole) // 2])
    assert results("damaged") == off
    assert kept.stat().st_size == len(whole)
    assert results("warm again") == off
    assert fill_s("warm again") < fill_s("damaged") / 2
    assert [path.name for path in cache.iterdir()] == [kept.name]


def test_a_size_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(DRIVE, encoding="utf-8")
    monkeypatch.setenv("ERASEBLOCK_CACHE_SIZE", "much")
    with pytest.raises(eraseblock.InputError, match="ERASEBLOCK_CACHE_SIZE: `much`"):
        eraseblock.run(tmp_path / "drive.toml")
