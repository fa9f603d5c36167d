"""`eb.sweep`: settings as keywords, the records of the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_SETS, Cli

import eraseblock as eb

DRIVE: dict[str, Any] = {"device": "hbm-2010", "nand_blocks_per_plane": 300, "ftl_exported": "32 MiB"}
WORK = {"generate": {"kind": "uniform", "requests": 200, "footprint": "1 MiB"}}


def test_records_are_those_of_the_command_line(cli: Cli, trace: Path) -> None:
    found = eb.sweep(
        trace, **DRIVE, buffer_scheme=("lru", "fab"), buffer_size=["256 KiB", "1 MiB"], ftl_mapping="page"
    )
    words = ("--buffers", "lru,fab", "--buffer-size", "256KiB,1MiB", "--ftls", "page", "--json")
    told = json.loads(cli("compare", str(trace), *SMALL_SETS, *words).stdout)

    def figures(records: Any) -> dict[str, Any]:
        return {record["key"]: {**record, "engine": None, "name": None, "config": None} for record in records}

    assert figures(found) == figures(told)
    assert len(figures(found)) == 4
    # The last axis varies fastest.
    schemes = [record["config"]["buffer"]["scheme"]["kind"] for record in found]
    assert schemes == ["lru", "lru", "fab", "fab"]


def test_several_workloads_seeds_and_options(tmp_path: Path, trace: Path) -> None:
    copy = tmp_path / "copy.spc"
    copy.write_bytes(trace.read_bytes())
    found = eb.sweep([trace, str(copy)], **DRIVE, seed=[1, 2], options={"out": tmp_path / "out", "jobs": 1})
    assert [record["config"]["seed"] for record in found] == [1, 1, 2, 2]
    assert len(eb.load_results(tmp_path / "out")) == 4
    table = {"at": [0, 10], "op": ["write", "read"], "address": [0, 0], "size": [4096, 4096]}
    other = {**table, "op": ["write", "write"]}
    assert len(eb.sweep([table, other], **DRIVE)) == 2
    with pytest.raises(eb.ConfigError, match="is there twice"):
        eb.sweep([trace, str(trace)], **DRIVE)
    assert len(eb.sweep({"requests": table}, **DRIVE, workload_fit=["compact", "clip"])) == 2


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(eb.ConfigError, match=r"no setting `buffer_sise`; did you mean `buffer_size`\?"):
        eb.sweep(WORK, buffer_sise=["1 MiB"])
    with pytest.raises(eb.ConfigError, match=r"`workload\.generate` is given twice"):
        eb.sweep(WORK, workload_generate={"kind": "uniform"})
    with pytest.raises(eb.ConfigError, match=r"`ftl\.gc\.grain` is set within `ftl\.gc`"):
        eb.sweep(WORK, ftl_gc=None, ftl_gc_grain="page")
    with pytest.raises(eb.ConfigError, match=r"buffer_size and .*size=2MiB both set `buffer\.size`"):
        eb.sweep(WORK, buffer_size="1 MiB", sets="buffer.size=2MiB")
    with pytest.raises(eb.ConfigError, match="at least one trace"):
        eb.sweep([])
    with pytest.raises(eb.ConfigError, match="hbm-2010"):
        eb.sweep(WORK, device="hbm-201")


def test_what_cannot_be_built_is_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="refused: "):
        found = eb.sweep(WORK, **DRIVE, buffer_scheme=["none", "lru"], buffer_size=["1 KiB", "1 MiB"])
    assert 0 < len(found) < 4
