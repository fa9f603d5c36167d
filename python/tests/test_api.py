"""The package as a library."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import pkgutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_DRIVE

import eraseblock
from eraseblock import toolkit
from eraseblock.experiments import Sets, resolve
from eraseblock.sweeps import run_all

SMALL = {
    "preset": "hbm-2010",
    "nand": {"blocks_per_plane": 300},
    "ftl": {"exported": "32 MiB"},
    "workload": {"generate": {"kind": "uniform", "requests": 2000, "footprint": "8 MiB", "interval": "3 ms"}},
}
MODULES = ["eraseblock", *(found.name for found in pkgutil.walk_packages(eraseblock.__path__, "eraseblock."))]


def test_at_most_thirty_public_names_all_documented() -> None:
    assert len(eraseblock.__all__) <= 30
    for name in eraseblock.__all__:
        assert getattr(eraseblock, name).__doc__


def test_everything_that_others_build_on_is_documented() -> None:
    assert sorted(toolkit.__all__) == sorted(set(toolkit.__all__))
    for name in toolkit.__all__:
        one = getattr(toolkit, name)
        if inspect.isclass(one) or inspect.isfunction(one):
            assert one.__doc__, name


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_a_mapping_is_an_experiment() -> None:
    records = eraseblock.run(
        {**SMALL, "buffer": {"scheme": ["lru", "bplru"], "size": "512 KiB"}}, verify=True
    )
    assert [record["config"]["buffer"]["scheme"]["kind"] for record in records] == ["lru", "bplru"]
    assert all(record["requests"]["completed"] == 2000 for record in records)


def test_resolved_experiments_are_explicit() -> None:
    [one] = resolve(SMALL, sets=["seed=9"])
    assert one.config["seed"] == 9
    assert one.config["host"]["speedup"] == 1.0
    assert one.config["nand"]["timing"]["program"] == "200 us"


def test_compare_takes_paths(trace: Path) -> None:
    records = eraseblock.compare(
        trace,
        buffers=["lru"],
        sizes=["128 KiB", "256 KiB"],
        device="hbm-2010",
        sets=["nand.blocks_per_plane=300", 'ftl.exported="32 MiB"'],
        workload={"first": 100},
    )
    assert [record["config"]["buffer"]["size"] for record in records] == ["128 KiB", "256 KiB"]
    assert records[0]["requests"]["submitted"] == 100


def test_errors_have_their_kinds(tmp_path: Path) -> None:
    with pytest.raises(eraseblock.ConfigError, match="scheme"):
        eraseblock.run({**SMALL, "buffer": {"scheme": "lruu"}})
    with pytest.raises(eraseblock.InputError, match="no such file"):
        eraseblock.run({**SMALL, "workload": {"path": str(tmp_path / "none.spc"), "format": "spc"}})
    with pytest.raises(eraseblock.InputError, match="no such file"):
        eraseblock.resolve(tmp_path / "none.toml")
    with pytest.raises(eraseblock.InputError, match="no such file"):
        eraseblock.load_results(tmp_path)
    assert issubclass(eraseblock.SimulationError, eraseblock.EraseblockError)


def test_a_wrong_key_is_told_in_parts() -> None:
    with pytest.raises(eraseblock.ConfigError) as caught:
        eraseblock.run(SMALL, sets=["buffer.siz=1MiB"])
    error = caught.value
    assert (error.place, error.key, error.meant) == ("--set buffer.siz=1MiB", "buffer.siz", "buffer.size")
    assert str(error) == f"{error.place}: {error.message}"
    assert eraseblock.ConfigError("mine").key is None


def test_progress_is_told_and_what_it_raises_ends_the_run() -> None:
    class Impatient:
        def __init__(self) -> None:
            self.calls: list[tuple[str, int, int]] = []

        def found(self, runs: int) -> None:
            raise AssertionError(f"{runs} runs found without a folder")

        def update(self, index: int, phase: str, done: int, total: int) -> None:
            assert index == 0
            self.calls.append((phase, done, total))
            if phase == "replay" and 0 < done < total:
                raise TimeoutError("too long")

        def finished(self, index: int) -> None:
            self.calls.append(("finished", index, 0))

    generate = {**SMALL["workload"]["generate"], "requests": 5_000_000}  # type: ignore[index]
    watcher = Impatient()
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="too long"):
        eraseblock.run({**SMALL, "workload": {"generate": generate}}, watcher=watcher)
    assert time.monotonic() - start < 20
    assert watcher.calls[-1][0] == "finished"


def test_other_threads_go_on_while_the_engine_runs() -> None:
    generate = {**SMALL["workload"]["generate"], "requests": 1_000_000}  # type: ignore[index]
    experiments = resolve({**SMALL, "workload": {"generate": generate}})
    ticks, stop = [0], threading.Event()

    def count() -> None:
        while not stop.wait(0.001):
            ticks[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        start = time.monotonic()
        [outcome] = run_all(experiments)
        seconds = time.monotonic() - start
    finally:
        stop.set()
        counter.join()
    assert outcome.error is None
    assert ticks[0] > 100 * seconds


def test_trace_info_and_registry(trace: Path) -> None:
    assert "2000" in json.dumps(eraseblock.trace_info(trace))
    assert "hbm-2010" in [device["name"] for device in eraseblock.registry()["devices"]]
    assert eraseblock.schema()["properties"]["buffer"]


def test_a_file_and_its_mapping_are_the_same(tmp_path: Path) -> None:
    work = "[workload.generate]\nkind = 'uniform'\nrequests = 2000\nfootprint = '8 MiB'\ninterval = '3 ms'\n"
    (tmp_path / "x.toml").write_text(f"name = 'x'\n{SMALL_DRIVE}\n{work}", encoding="utf-8")
    [one], [other] = resolve(tmp_path / "x.toml"), resolve({"name": "x", **SMALL})
    assert one.config == other.config


def test_one_name_is_no_list_of_letters(trace: Path) -> None:
    small = {"nand.blocks_per_plane": 300, "ftl.exported": "32 MiB", "precondition": {"state": "empty"}}
    [record] = eraseblock.compare(
        trace, buffers="lru", sizes="128 KiB", ftls="page", device="hbm-2010", sets=small
    )
    assert record["config"]["buffer"]["scheme"]["kind"] == "lru"
    assert record["config"]["buffer"]["size"] == "128 KiB"
    assert record["config"]["ftl"]["exported"] == "32 MiB"
    with pytest.raises(eraseblock.ConfigError, match="`lruu`"):
        eraseblock.compare(trace, buffers="lruu")


@pytest.mark.parametrize(
    ("sets", "speedups"),
    [
        ({"host.speedup": 2}, [2]),
        ({"host.speedup": [2, 0.5], "seed": 3}, [2, 0.5]),
        ("host.speedup=2", [2]),
        (["host.speedup=[2, 4]"], [2, 4]),
    ],
)
def test_overrides_may_be_numbers(sets: Sets, speedups: list[float]) -> None:
    work = {"generate": {"kind": "uniform", "requests": 10, "footprint": "1 MiB"}}
    found = eraseblock.resolve({"preset": "hbm-2010", "workload": work}, sets=sets)
    assert [one.config["host"]["speedup"] for one in found] == speedups


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        ({"ftl.exported": None}, "ftl.exported=null"),
        ({"ftl.over_provisioning": [None, 0.3]}, "ftl.over_provisioning=[null, 0.3]"),
        ({"ftl": {"exported": None, "gc": {"free_blocks": None}}}, 'ftl={exported="null"}'),
    ],
)
def test_none_in_an_override_is_null_on_the_command_line(sets: Sets, text: str) -> None:
    work = {"generate": {"kind": "uniform", "requests": 10, "footprint": "1 MiB"}}
    drive = {"preset": "hbm-2010", "workload": work}
    found, expected = (eraseblock.resolve(drive, sets=one) for one in (sets, text))
    assert [one.config["ftl"] for one in found] == [one.config["ftl"] for one in expected]
    assert found[0].config["ftl"] != eraseblock.resolve(drive)[0].config["ftl"] or len(found) == 2


def test_overrides_may_be_texts_flags_and_tables() -> None:
    work = {"generate": {"kind": "uniform", "requests": 10, "footprint": "1 MiB"}}
    sets = {
        "workload.fit": "wrap",
        "nand.copy_back": True,
        "buffer.scheme": {"kind": "bplru", "padding": False},
        "buffer.size": ("1 MiB",),
    }
    [one] = eraseblock.resolve({"preset": "hbm-2010", "workload": work}, sets=sets)
    assert one.config["workload"]["fit"] == "wrap"
    assert one.config["nand"]["copy_back"] is True
    assert one.config["buffer"]["scheme"]["padding"] is False
    with pytest.raises(eraseblock.ConfigError, match=r"host\.speedup"):
        eraseblock.resolve({"preset": "hbm-2010", "workload": work}, sets={"host.speedup": object()})


@pytest.mark.parametrize(
    ("function", "argument", "said"),
    [
        ("run", "job", r"run\(\) got an unexpected keyword argument 'job'; did you mean `jobs`\?"),
        ("compare", "size", "'size'; did you mean `sizes`"),
        ("compare", "buffer_size", "'buffer_size'; did you mean `sizes`"),
        ("compare", "seed", r"'seed'; settings go in `sets`, as in sets=\{'seed': "),
        ("compare", "path", r"'path'$"),
        ("compare", "fit", r"'fit'; it goes in `workload`, as in workload=\{'fit': \.\.\.\}"),
        ("run", "buffer_size", r"'buffer_size'; settings go in `sets`, as in sets=\{'buffer\.size': "),
    ],
)
def test_options_that_there_are_not_are_refused(function: str, argument: str, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        getattr(eraseblock, function)(SMALL, **{argument: 2})


def test_options_of_a_sweep_that_there_are_not_are_refused() -> None:
    options: Any = {"job": 1}
    with pytest.raises(eraseblock.ConfigError, match=r"^options: there is no `job`; did you mean `jobs`"):
        eraseblock.sweep(SMALL["workload"], options=options)


SCHEME = r"^buffer\.scheme: found the class `Path`, expected a value: derive a scheme from `eb\.Buffer`$"


def test_a_class_that_is_no_scheme_is_refused() -> None:
    with pytest.raises(eraseblock.ConfigError, match=SCHEME):
        eraseblock.run({**SMALL, "buffer": {"scheme": Path}})


def test_clean_pages_that_leave_along_were_not_written() -> None:
    page = 4096
    nand: dict[str, Any] = {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1}
    nand |= {"blocks_per_plane": 80, "pages_per_block": 8, "page_size": "4 KiB"}
    nand["timing"] = {"read": "50us", "program": "300us", "erase": "2ms", "transfer": "10us"}
    drive: dict[str, Any] = {
        "nand": nand,
        "ftl": {"exported": "1 MiB", "mapping": "page"},
        "metrics": ["patterns"],
    }
    # The first block is read whole, and a page of it written; then others push it out.
    rows = [("read", 0, 8 * page), ("write", 3 * page, page)]
    rows += [("write", page * (100 + number), page) for number in range(14)]
    op, address, size = zip(*rows, strict=True)
    work = {"op": list(op), "address": list(address), "size": list(size)}
    found: Any = eraseblock.run({**drive, "buffer": {"size": "64 KiB", "scheme": "hbm"}}, workload=work)
    counts = found[0]["patterns"]["counts"]
    assert counts["sw"] == 0, counts
    assert counts["rw"] > 0, counts
