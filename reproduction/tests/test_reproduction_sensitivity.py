"""Which verdicts hang on things that papers leave open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claims import FIGURE, PAPER, A, B, claim, run
from conftest import Cli

from eraseblock import Experiment, _core, resolve
from eraseblock_reproduction import data
from eraseblock_reproduction.answers import PaperAnswer, answers
from eraseblock_reproduction.data import Switch
from eraseblock_reproduction.finding import REPRODUCED
from eraseblock_reproduction.page import page
from eraseblock_reproduction.plan import plan
from eraseblock_reproduction.running import execute
from eraseblock_reproduction.sensitivity import sentence
from eraseblock_reproduction.switches import Variant, concerned
from eraseblock_reproduction.traces import Survey
from eraseblock_reproduction.verdicts import judge


def found_with(*switches: Switch) -> PaperAnswer:
    """Table 1 of BPLRU, as if the paper left these open."""
    paper = replace(data.paper("bplru"), switches=switches)
    planned = plan([(paper, paper.figure("table1"))], Survey(), sensitivity=[paper.name])
    execute(planned)
    [answered] = answers(planned)
    return answered


def switch(name: str = "made", **table: object) -> Switch:
    whole: dict[str, object] = {"open": "made up", "set": {}, "where": {}, "figures": (), **table}
    return Switch(name=name, **whole)  # type: ignore[arg-type]


def test_choices_of_schemes_are_switched_one_at_a_time(cli: Cli) -> None:
    done = cli("reproduce", "bplru", "table1", "--sensitivity", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    [paper] = json.loads(done.stdout)["papers"]
    table = {one["switch"]: one for one in paper["sensitivity"]}
    # Two log blocks in the order of their last writes, or at random: the 12 merges of the table hang on that.
    [change] = table['bast victim = "random"']["changes"]
    assert (change["id"], change["before"], change["after"]) == ("table1-lru", "reproduced", "not reproduced")
    assert (table['bast victim = "random"']["better"], table['bast victim = "random"']["worse"]) == (0, 1)
    # The first and the oldest are the same here.
    assert table['bast victim = "fifo"']["changes"] == []
    assert all(one["open"] and one["claims"] and not one["left_out"] for one in table.values())


def test_papers_can_be_named(cli: Cli) -> None:
    done = cli("reproduce", "bplru", "table1", "--sensitivity-of", "bplru", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["papers"][0]["sensitivity"]
    done = cli("reproduce", "bplru", "table1", "--sensitivity-of", "bplru,hbm")
    assert done.returncode == 2
    assert "--sensitivity-of: `hbm` is not a paper that is run (those are: bplru)" in done.stderr
    done = cli("reproduce", "bplru", "table1", "--sensitivity", "--sensitivity-of", "bplru")
    assert done.returncode == 2
    assert "name some with --sensitivity-of alone" in done.stderr


def test_a_switch_of_the_paper_changes_what_it_says_and_nothing_else() -> None:
    answered = found_with(
        switch("pages", set={"ftl.mapping": {"kind": "page"}, "ftl.over_provisioning": 1.0}),
        switch("BPLRU on pages", set={"ftl.mapping": {"kind": "page"}}, where={"buffer.scheme": "bplru"}),
        switch("as it is", set={"buffer.scheme.kind": "lru"}, where={"buffer.scheme": "lru"}),
        switch("elsewhere", set={"host.speedup": 2.0}, figures=("7",)),
    )
    changed = {
        one.name: [(change.claim.id, change.ours(change.after)) for change in one.changes]
        for one in answered.switched
    }
    assert changed["pages"] == [("table1-lru", "0"), ("table1-block-lru", "0")]
    assert changed["BPLRU on pages"] == [("table1-block-lru", "0")]
    assert "as it is" not in changed
    assert "elsewhere" not in changed
    # The figure's own verdicts are those without any of it.
    assert [answer.finding.verdict for answer in answered.answers][:2] == ["reproduced", "reproduced"]
    assert sentence(answered.switched).startswith("1 of 3 claims have the same verdict")
    assert "| `pages` | made up | 3 | 0 | 2 | table1-lru: 12 → 0, not reproduced<br>" in page([answered])


def switched(config: Mapping[str, Any], **settings: object) -> Mapping[str, Any] | None:
    """A run's configuration under a switch with these settings; none if it is the same."""
    experiments = resolve({"preset": "hbm-2010", **config})
    one = switch(set={key.replace("__", "."): value for key, value in settings.items()})
    found = concerned(one, data.paper("bplru").figure("table1"), experiments)
    return found[0].config if found else None


def test_what_a_run_takes_back_from_its_preset_stays_away() -> None:
    config = {"ftl": {"exported": None}, "workload": {"path": "a.spc"}}
    found = switched(config, host__speedup=2.0)
    assert found is not None
    assert (found["ftl"]["exported"], found["ftl"]["over_provisioning"]) == (None, 0.07)
    # One that takes back what the run leaves to its preset.
    found = switched({"workload": {"path": "a.spc"}}, ftl__exported="null")
    assert found is not None
    assert (found["ftl"]["exported"], found["ftl"]["over_provisioning"]) == (None, 0.07)
    # It is so already: a share of the flash holds in place of the preset's size.
    spare = {"ftl": {"over_provisioning": 0.3}, "workload": {"path": "a.spc"}}
    assert switched(spare, ftl__exported="null") is None


def test_a_switched_workload_takes_the_place_of_the_runs_own() -> None:
    made = {"kind": "uniform", "requests": 10, "footprint": "1 MiB"}
    found = switched({"workload": {"path": "a.spc"}}, workload__generate=made)
    assert found is not None
    assert (found["workload"]["generate"]["requests"], "path" in found["workload"]) == (10, False)
    found = switched({"workload": {"generate": made}}, workload__path="a.spc")
    assert found is not None
    assert (found["workload"]["path"], "generate" in found["workload"]) == ("a.spc", False)


def test_a_switch_that_the_engine_refuses_is_told() -> None:
    small = {"set": {"buffer.size": "1 B"}}
    found = {
        one.name: one
        for one in found_with(
            switch("no room", **small), switch("no room for one", **small, where={"buffer.scheme": "bplru"})
        ).switched
    }
    refused = found["no room"]
    assert (refused.claims, refused.changes, refused.left_out) == ((), (), refused.runs)
    assert "buffer.size" in refused.errors[0]
    # Both schemes have no hits: that claim must not be judged of the other one alone and called the same.
    one = found["no room for one"]
    assert (one.left_out, one.runs) == (2, 2)
    assert one.changes == ()
    assert "table1-block-lru" not in one.claims
    assert one.notes[0].startswith(
        "2 of 2 runs refused or not to be trusted, left out on both sides; refused: "
    )


def test_points_that_cannot_be_trusted_are_on_neither_side() -> None:
    """Without the bad point the order would hold: that is no merit of the switch that spoils the run."""
    runs = [run("a", size, time=time) for size, time in (("1 MiB", 5), ("2 MiB", 1))]
    runs += [run("b", size, time=2) for size in ("1 MiB", "2 MiB")]
    order = claim("order", left=A, right=B, relation="less")
    assert judge(PAPER, FIGURE, order, runs).verdict != REPRODUCED
    variant = Variant("spoils", "made up", PAPER, FIGURE, runs, {0: Experiment("", Path())})
    variant.records[0] = {"time": 5, "trusted": False, "reasons": ["it fell behind"]}
    before, after = ([pair[side] for pair in variant.compared] for side in (0, 1))
    assert variant.left_out == 1
    assert judge(PAPER, FIGURE, order, before).verdict == judge(PAPER, FIGURE, order, after).verdict


def test_a_switch_of_what_is_not_there_is_an_error() -> None:
    with pytest.raises(_core.InputError, match=r"switch `made`: a run has no `ftl\.maping\.victim`"):
        found_with(switch(set={"ftl.maping.victim": "fifo"}))
