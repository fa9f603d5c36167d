"""Workloads that are played to a served drive, beside the simulation of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Cli

from eraseblock import Experiment, InputError, SimulationError, resolve, run
from eraseblock.toolkit import Handling
from eraseblock_reproduction import data
from eraseblock_reproduction.answers import answers
from eraseblock_reproduction.finding import REPRODUCED, UNDECIDED
from eraseblock_reproduction.plan import FigurePlan, Plan, plan
from eraseblock_reproduction.running import execute
from eraseblock_reproduction.served import runs as served
from eraseblock_reproduction.served.playing import play
from eraseblock_reproduction.traces import Survey

pytestmark = pytest.mark.skipif(os.name != "posix", reason="images are served on POSIX")
RECORDING = data.folder().parent / "workloads" / "compile-ext3.nbdkit.zst"


def experiment(scheme: str = "bplru", **workload: object) -> Experiment:
    """A short part of a recording on the paper's drive, with a buffer that it fills."""
    [found] = resolve(
        {
            "preset": "bplru-2008",
            "bounds": False,
            "buffer": {"scheme": scheme, "size": "1 MiB"},
            "host": {"replay": "closed"},
            "precondition": {"state": "empty"},
            "workload": {"path": str(RECORDING), "first": 300, "ops": "write", **workload},
        }
    )
    return found


# Plays to a served drive until it is killed.
_PLAYER = """
import json, sys, tempfile
from pathlib import Path
from eraseblock import Experiment
from eraseblock_reproduction.served.playing import play
tempfile.tempdir = sys.argv[1]
play(Experiment(sys.argv[2], Path()), lambda done, _: print(done, flush=True) or (done and sys.stdin.read()))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_player_that_is_ended_leaves_no_server_and_no_file(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PLAYER, str(tmp_path), json.dumps(experiment().config)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as player:
        assert player.stdout is not None
        # There is a server by then.
        assert [player.stdout.readline() for _ in range(2)] == ["0\n", "256\n"]
        [folder] = tmp_path.iterdir()
        address = str(folder / "socket")
        player.send_signal(number)
        player.wait()
    until = time.monotonic() + 30
    while any(tmp_path.iterdir()) or _answers(address):
        assert time.monotonic() < until, "the server goes on"
        time.sleep(0.05)


def _answers(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(address) == 0


def nobody(_done: int, _total: int) -> None:
    """Wants to know nothing of how it gets on."""


@pytest.mark.parametrize("scheme", ["none", "bplru"])
def test_a_served_drive_does_what_the_simulation_does(scheme: str) -> None:
    one = experiment(scheme)
    played = play(one, nobody)
    [simulated] = run(one.config)
    assert played["flash"] == simulated["flash"]
    assert played["merges"] == simulated["merges"]
    assert played["padded_pages"] == simulated["padded_pages"]
    assert played["requests"]["writes"] == simulated["requests"]["writes"] > 50
    # The host's, which stores what a simulation stores when it ends, and that of the server's end.
    assert played["requests"]["flushes"] == 2
    assert played["flash"]["programs"]["total"] > 1000


def test_what_cannot_be_played_says_why() -> None:
    with pytest.raises(InputError, match="is played writes alone; set"):
        play(experiment(ops="rw", first=3000), nobody)
    with pytest.raises((InputError, SimulationError), match="nobody can tell a drive that is served"):
        play(experiment("opt"), nobody)


def few(planned: Plan) -> FigurePlan:
    """The plan of Figure 20, cut to a small part: one workload, and of that some requests."""
    [figure] = planned.figures
    pairs = [
        (replace(one, error=None), each)
        for one, each in zip(figure.runs, figure.experiments, strict=True)
        if one.settings["workload"] == "bplru-w8"
    ]
    figure.runs = [one for one, _ in pairs]
    figure.experiments = []
    for _, each in pairs:
        config = each.config
        config["workload"]["first"] = 400
        figure.experiments.append(Experiment(json.dumps(config), each.base))
    return figure


def test_figure_20_sets_the_served_drive_beside_the_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = data.paper("bplru")
    planned = plan([(paper, paper.figure("20"))], Survey())
    assert len(planned.figures[0].runs) == 2 * len(planned.to_run) == 48
    figure = few(planned)
    execute(planned, Handling(folder=tmp_path))
    assert [one.is_served for one in figure.runs] == [False, True] * 4
    assert all(one.record is not None for one in figure.runs), figure.runs[1].error
    claims = {answer.claim.id: answer.finding for answer in answers(planned)[0].answers}
    alike = claims["fig20-served"]
    assert (alike.verdict, alike.held) == (REPRODUCED, (3, 3))
    # What a drive of hardware is needed for.
    assert {claims[name].verdict for name in ("fig20-trends", "fig20-slower")} == {UNDECIDED}
    # Another time nothing is played.
    monkeypatch.setattr(served, "play", None)
    again = plan([(paper, paper.figure("20"))], Survey())
    records = [one.record for one in few(again).runs]
    assert records == [None] * 8
    execute(again, Handling(folder=tmp_path))
    assert [one.record for one in again.figures[0].runs] == [one.record for one in figure.runs]


def test_a_drive_that_is_not_served_is_an_error_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_experiment: Experiment, _told: object) -> None:
        raise SimulationError("no drive today")

    monkeypatch.setattr(served, "play", refused)
    paper = data.paper("bplru")
    planned = plan([(paper, paper.figure("20"))], Survey())
    figure = few(planned)
    execute(planned)
    assert [one.error for one in figure.runs] == [None, "no drive today"] * 4
    assert [one.record is None for one in figure.runs] == [False, True] * 4


def test_the_figure_is_listed_without_needs(cli: Cli) -> None:
    [paper] = [one for one in json.loads(cli("list", "papers", "--json").stdout) if one["name"] == "bplru"]
    [figure] = [one for one in paper["figures"] if one["name"] == "20"]
    assert figure["needs"] is None
