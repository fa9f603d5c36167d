"""Runs on the workers of a Dask cluster are those at home, and a lost worker costs only its own."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import distributed
import pytest
from conftest import COMMAND, SMALL_DRIVE, Cli
from distributed import WorkerPlugin
from given_requests import columns, requests

import eraseblock
from eraseblock.cluster import cluster as caller
from eraseblock.cluster import worker
from eraseblock.cluster.task import Content, Task, content_of
from eraseblock.experiments import engine, resolve
from eraseblock.requests import requests_of
from eraseblock.results.store import read_records
from eraseblock.sweeps import OneRun

# Much of it has no types.
dask: Any = distributed
DATA = ("results.json", "results.parquet")


class Slow(WorkerPlugin):
    """Makes each run of a worker last longer, and writes down which begin."""

    name = "slow"

    def __init__(self, log: Path, sleep_s: float) -> None:
        self.log, self.sleep_s = log, sleep_s

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        import eraseblock.cluster.worker as module
        from eraseblock.sweeps import run_one

        def slowly(run: Any, progress: Any) -> str:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(run.text + "\n")
            time.sleep(self.sleep_s)
            return run_one(run, progress)

        setattr(module, "run_one", slowly)  # noqa: B010 (for workers alone)

    def teardown(self, worker: Any) -> None:  # noqa: ARG002
        import eraseblock.cluster.worker as module
        from eraseblock.sweeps import run_one

        setattr(module, "run_one", run_one)  # noqa: B010


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of three workers on this machine, each a process with one thread."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    folder = tmp_path_factory.mktemp("dask")
    options = {"dashboard_address": None, "local_directory": str(folder), "silence_logs": 50}
    with (
        dask.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, **options) as cluster,
        dask.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def point(config: dict[str, Any]) -> str:
    """What tells the runs of the sweep from one another."""
    return json.dumps([config["ftl"]["mapping"], config["buffer"]])


def test_a_worker_that_dies_half_way(client: Any, sweep_file: Path, tmp_path: Path) -> None:
    here, there, log = tmp_path / "here", tmp_path / "there", tmp_path / "log"
    eraseblock.run(sweep_file, out=here)
    victim = next(iter(client.run(os.getpid).values()))
    stored: list[str] = []

    class Killer:
        ended = 0

        def found(self, runs: int) -> None: ...
        def update(self, index: int, phase: str, done: int, total: int) -> None: ...
        def finished(self, index: int) -> None:  # noqa: ARG002
            self.ended += 1
            if self.ended == 12:
                stored.extend(point(one["config"]) for one in read_records(there))
                os.kill(victim, signal.SIGKILL)

    client.register_plugin(Slow(log, 0.03))
    eraseblock.run(sweep_file, out=there, cluster=client, watcher=Killer())
    client.unregister_worker_plugin("slow")
    for name in DATA:
        assert (there / name).read_bytes() == (here / name).read_bytes()
    begun = Counter(point(json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines())
    assert len(stored) == 12
    assert {begun[one] for one in stored} == {1}
    assert len(begun) == 24
    # Again is made what the worker was at, and what had not come here when it died.
    assert begun.total() <= 28


def test_a_trace_that_workers_do_not_see_is_sent_once(
    client: Any, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unseen(path: Path) -> Content:
        return replace(content_of(path), size=1)

    sent: list[str] = []
    register = client.register_plugin
    monkeypatch.setattr(caller, "content_of", unseen)

    def registering(plugin: WorkerPlugin, name: str) -> None:
        sent.append(name)
        register(plugin, name=name)

    monkeypatch.setattr(client, "register_plugin", registering)
    config = {"preset": "hbm-2010", "buffer": {"scheme": ["lru", "fab", "bplru"]}, "workload": str(trace)}
    here = eraseblock.run(config, out=tmp_path / "here")
    there = eraseblock.run(config, out=tmp_path / "there", cluster=client)
    without = eraseblock.run(config, cluster=client)
    assert len(sent) == 2
    assert (tmp_path / "there/results.json").read_bytes() == (tmp_path / "here/results.json").read_bytes()
    for one, other in zip(here, without, strict=True):
        assert {**one, "engine": 0} == {**other, "engine": 0}
    assert [one["engine"]["wall_s"] >= 0 for one in there] == [True] * 3
    # Nothing of it stays at the workers.
    assert not any(tmp_path.parent.glob("dask*/**/eraseblock-*"))
    trace.write_text("0,0,4096,w,0.0\n0,zebra,4096,r,0.1\n", encoding="utf-8")
    with pytest.raises(eraseblock.InputError) as said:
        eraseblock.run(config, cluster=client)
    with pytest.raises(eraseblock.InputError) as at_home:
        eraseblock.run(config)
    assert str(said.value) == str(at_home.value)


def test_requests_and_schemes_of_a_program_go_there(client: Any) -> None:
    requests = {
        "op": ["write"] * 40,
        "address": [4096 * (n * 7 % 20) for n in range(40)],
        "size": [4096] * 40,
    }
    config = {"preset": "hbm-2010", "buffer": {"scheme": ["lru", "fab"]}}
    here = eraseblock.run(config, workload=requests)
    there = eraseblock.run(config, workload=requests, cluster=client)
    assert [{**one, "engine": 0} for one in here] == [{**one, "engine": 0} for one in there]


class Sent(eraseblock.Buffer):
    """A scheme whose class goes to the workers whole, as those of scripts and notebooks do."""

    def start(self, shape: eraseblock.Shape) -> None:  # noqa: ARG002
        self.pages: list[int] = []

    def insert(self, page: int, write: bool) -> None:  # noqa: ARG002
        self.pages.append(page)

    def evict(self, page: int, write: bool) -> int:  # noqa: ARG002
        return self.pages.pop(0)

    def remove(self, page: int) -> None:
        self.pages.remove(page)


def test_a_scheme_of_a_script_goes_there(client: Any) -> None:
    requests = {"op": ["write"] * 40, "address": [4096 * n for n in range(40)], "size": [4096] * 40}
    config = {"preset": "hbm-2010", "buffer": {"scheme": Sent, "size": "32 KiB"}}
    [here] = eraseblock.run(config, workload=requests)
    [there] = eraseblock.run(config, workload=requests, cluster=client)
    assert {**here, "engine": 0} == {**there, "engine": 0}


SCHEME = """
import eraseblock as eb

class Installed(eb.Buffer):
    def insert(self, page, write): ...
    def evict(self, page, write): ...
    def remove(self, page): ...
"""


def test_another_version_of_a_scheme_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "installed_scheme.py"
    path.write_text(SCHEME, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = importlib.import_module(path.stem).Installed
    config = {"preset": "hbm-2010", "buffer": {"scheme": kind}, "workload": "none"}
    [given] = resolve(config)
    run = OneRun(given.text, str(given.base), False, None, False, False, scheme=given.scheme)
    task = pickle.dumps(Task(run, "", engine()))

    def error() -> str:
        """What a worker says that has the file as it is now."""
        del sys.modules[path.stem]
        importlib.invalidate_caches()
        [ended] = worker.work([pickle.loads(task)])
        return str(ended.error)

    monkeypatch.setattr(worker, "_progress", lambda: None)
    assert "none: " in error()
    path.write_text(SCHEME.replace("page, write): ...", "page, write): return page"), encoding="utf-8")
    assert "a worker has another version of the file of installed_scheme.Installed;" in error()


@pytest.mark.parametrize("damage", ["other rows", "a byte less", "an unknown operation", "gone"])
def test_damaged_requests_are_asked_for_anew(tmp_path: Path, damage: str) -> None:
    here, others = (requests_of(columns(requests(count))) for count in (50, 51))
    packed, place = here.pack(), tmp_path / "sent"
    data = {
        "other rows": others.pack(),
        "a byte less": packed[:-1],
        "an unknown operation": packed[:24] + b"M" + packed[25:],
    }.get(damage)
    if data is not None:
        place.write_bytes(data)
    content = Content(here.sha256, "requests")
    run = OneRun('{"workload": {}}', "", False, None, False, False)
    worker._sent[content.sha256] = place
    [ended] = worker.work([Task(run, "", engine(), content)])
    assert (ended.lacks, ended.error) == (True, None)
    assert content.sha256 not in worker._sent
    assert content.sha256 not in worker._given


def test_a_damaged_file_is_lacking(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("1\n", encoding="utf-8")
    content, here = content_of(file), SimpleNamespace(local_directory=str(tmp_path / "worker"))
    for data, comes in ((b"2\n", False), (b"1\n", True)):
        sent: Any = worker.Sent(content, data)
        sent.setup(here)
        assert (content.sha256 in worker._sent) == comes
        sent.teardown(here)


def test_another_engine_is_refused(client: Any, sweep_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eraseblock._core.engine", lambda: "0.0.0+other")
    with pytest.raises(
        eraseblock.InputError, match=r"worker tcp://.* has the engine .*here it is 0.0.0\+oth"
    ):
        eraseblock.run(sweep_file, cluster=client)
    # A worker that comes later is found by its first run.
    monkeypatch.setattr(caller.Cluster, "_check_engines", lambda _: None)
    with pytest.raises(eraseblock.InputError, match=r"a worker has the engine"):
        eraseblock.run(sweep_file, cluster=client)


def test_ctrl_c_ends_the_command_and_the_runs(client: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    long = f"{SMALL_DRIVE}\n[buffer]\nscheme = ['lru', 'fab', 'bplru']\n[workload.generate]\nkind = 'zipf'\n"
    text = long + "requests = 100_000_000\nfootprint = '8 MiB'\ninterval = '3 ms'\n"
    (tmp_path / "long.toml").write_text(text, encoding="utf-8")
    client.register_plugin(Slow(log, 0))
    address = client.scheduler.address
    process = subprocess.Popen(
        [COMMAND, "run", "long.toml", "-o", "out", "--cluster", address],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    end = time.monotonic() + 60
    while not log.exists() or len(log.read_text(encoding="utf-8").splitlines()) < 3:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "0 of 3 runs are stored in out; the same command goes on from there" in said
    while any(client.run(lambda dask_worker: len(dask_worker.state.executing)).values()):
        assert time.monotonic() < end
        time.sleep(0.05)
    client.unregister_worker_plugin("slow")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cluster", "x:1", "--jobs", "2"], "--cluster and --jobs exclude each other"),
        (["--cluster", "x:1", "--events", "log"], "--cluster and --events exclude each other"),
        (["--cluster", ""], "cluster: the address is empty; write it like tcp://host:8786"),
        (["--cluster", "none.json"], "none.json: no such file"),
        (["--cluster", "nowhere"], "cluster: found `nowhere`, expected an address such as"),
    ],
)
def test_what_is_no_cluster(options: list[str], said: str, sweep_file: Path, cli: Cli) -> None:
    done = cli("run", sweep_file, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_scheduler_that_does_not_answer(sweep_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller, "CONNECT_S", 0.2)
    with pytest.raises(eraseblock.InputError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"):
        eraseblock.run(sweep_file, cluster="tcp://127.0.0.1:9")
