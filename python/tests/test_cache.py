"""Filled drives on disk: whatever the folder holds, the results are the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

import eraseblock

DRIVE = """\
preset = "hbm-2010"

[nand]
blocks_per_plane = 600

[ftl]
exported = "69 MiB"

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
        kept = {"ERASEBLOCK_CACHE": str(cache), "ERASEBLOCK_CACHE_LEAST": "0 ms"}
        ended = cli("run", "drive.toml", "-o", name, *options, **kept)
        assert ended.returncode == 0, ended.stderr
        return (tmp_path / name / "results.json").read_bytes()

    off = results("off", "--no-cache")
    assert not cache.exists()
    assert results("empty") == off
    [kept] = cache.iterdir()
    whole, file = kept.read_bytes(), kept.stat()
    assert results("warm") == off
    # It was read, which counts as its last use, and not written anew: that would be another file.
    assert kept.stat().st_ino == file.st_ino
    assert kept.stat().st_mtime_ns > file.st_mtime_ns
    kept.write_bytes(whole[: len(whole) // 2])
    assert results("damaged") == off
    assert kept.read_bytes() == whole
    file = kept.stat()
    assert results("mended") == off
    assert kept.stat().st_ino == file.st_ino
    assert [path.name for path in cache.iterdir()] == [kept.name]


def test_a_size_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(DRIVE, encoding="utf-8")
    monkeypatch.setenv("ERASEBLOCK_CACHE_SIZE", "much")
    with pytest.raises(eraseblock.InputError, match="ERASEBLOCK_CACHE_SIZE: `much`"):
        eraseblock.run(tmp_path / "drive.toml")


def test_a_time_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(DRIVE, encoding="utf-8")
    monkeypatch.setenv("ERASEBLOCK_CACHE_LEAST", "soon")
    with pytest.raises(eraseblock.InputError, match="ERASEBLOCK_CACHE_LEAST: `soon`"):
        eraseblock.run(tmp_path / "drive.toml")
