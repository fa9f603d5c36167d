"""Which verdicts hang on things that papers leave open."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claims import FIGURE, PAPER, A, B, claim, run
from conftest import Cli

from eraseblock import Experiment, _core, resolve
from eraseblock.toolkit import Config, Handling, Outcome, Quiet
from eraseblock_reproduction import data, sensitivity
from eraseblock_reproduction.answers import answers
from eraseblock_reproduction.data import Switch
from eraseblock_reproduction.finding import REPRODUCED
from eraseblock_reproduction.plan import plan
from eraseblock_reproduction.running import execute, runner
from eraseblock_reproduction.sensitivity import Sensitivity, Under
from eraseblock_reproduction.study import by_figures, in_order, study
from eraseblock_reproduction.switches import Variant, concerned
from eraseblock_reproduction.traces import Survey
from eraseblock_reproduction.verdicts import judge

RUN = runner(Handling(), Quiet())


def found_with(*switches: Switch) -> Sensitivity:
    """Table 1 of BPLRU, as if the paper left these open."""
    paper = replace(data.paper("bplru"), switches=switches)
    planned = plan([(paper, paper.figure("table1"))], Survey())
    execute(planned)
    return study(planned.figures, RUN)


def switch(name: str = "made", **table: object) -> Switch:
    whole: dict[str, object] = {"open": "made up", "set": {}, "where": {}, "figures": (), **table}
    return Switch(name=name, **whole)  # type: ignore[arg-type]


def moved(found: Sensitivity, way: str) -> list[tuple[str, str]]:
    """The claims that a way moves, and what comes out for them."""
    return [(claim, under.ours) for claim, _, under in found.movers().get(way, [])]


def test_choices_of_schemes_are_done_in_their_other_ways(cli: Cli) -> None:
    stored = data.folder() / "bplru" / sensitivity.STUDY_NAME
    before = stored.read_bytes() if stored.exists() else None
    done = cli("reproduce", "bplru", "table1", "--sensitivity", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    # One figure is told, and not stored in the place of all.
    assert (stored.read_bytes() if stored.exists() else None) == before
    [paper] = json.loads(done.stdout)["papers"]
    found = paper["sensitivity"]
    # Two log blocks in the order of their last writes, or at random: the 12 merges of the table hang on that.
    lru = found["claims"]["table1-lru"]
    assert lru["verdict"] == "reproduced"
    assert lru["moved"]['bast victim = "random"'][0] == "not reproduced"
    # The first and the oldest are the same here; random is another way to do the same thing.
    assert 'bast victim = "fifo"' not in lru["moved"]
    assert {found["ways"][f'bast victim = "{one}"']["choice"] for one in ("fifo", "random")} == {
        "bast victim"
    }
    assert 0 < lru["kept"] < lru["choices"]
    assert all(way["open"] and not way["left_out"] for way in found["ways"].values())


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
    found = found_with(
        switch("pages", set={"ftl.mapping": {"kind": "page"}, "ftl.over_provisioning": 1.0}),
        switch("BPLRU on pages", set={"ftl.mapping": {"kind": "page"}}, where={"buffer.scheme": "bplru"}),
        switch("as it is", set={"buffer.scheme.kind": "lru"}, where={"buffer.scheme": "lru"}),
        switch("elsewhere", set={"host.speedup": 2.0}, figures=("7",)),
    )
    assert moved(found, "pages") == [("table1-lru", "0"), ("table1-block-lru", "0")]
    assert moved(found, "BPLRU on pages") == [("table1-block-lru", "0")]
    assert not {"as it is", "elsewhere"} & set(found.ways)
    # LRU's claim is not about the runs that the second one changes.
    without = found_with(switch("pages", set={"ftl.mapping": {"kind": "page"}, "ftl.over_provisioning": 1.0}))
    more = {name: one.choices - without.claims[name].choices for name, one in found.claims.items()}
    assert more == {"table1-lru": 0, "table1-block-lru": 1, "table1-no-hits": 1}


def test_what_a_paper_does_not_leave_open_is_shown_and_not_counted() -> None:
    pages: dict[str, object] = {"set": {"ftl.mapping": {"kind": "page"}, "ftl.over_provisioning": 1.0}}
    counted = found_with(switch("pages", **pages)).claims["table1-lru"]
    shown = found_with(switch("pages", **pages, open="nothing: what it is worth")).claims["table1-lru"]
    assert "pages" in counted.moved
    assert "pages" in shown.moved
    assert (shown.choices, shown.kept) == (counted.choices - 1, counted.kept)


def test_ways_of_one_choice_count_once() -> None:
    pages: dict[str, object] = {"set": {"ftl.mapping": {"kind": "page"}, "ftl.over_provisioning": 1.0}}
    fewer: dict[str, object] = {"set": {"ftl.mapping.log_blocks": 3}}
    apart = found_with(switch("a", **pages), switch("b", **fewer)).claims["table1-lru"]
    one = found_with(switch("a", **pages, choice="FTL"), switch("b", **fewer, choice="FTL"))
    assert one.claims["table1-lru"].choices == apart.choices - 1


class Faked:
    """Runs nothing: the configuration tells what comes out. Notes what was asked for, and at which length."""

    def __init__(self, throughput: Callable[[Config], float], writes: int = 50_000) -> None:
        self.throughput, self.writes = throughput, writes
        self.short: list[str] = []
        self.whole: list[str] = []

    def record(self, config: Config) -> dict[str, Any]:
        """One run."""
        return {
            "trusted": True,
            "requests": {"reads": 0, "writes": self.writes},
            "throughput": {"bytes_per_s": self.throughput(config) * 1e6},
            "simulated_s": 1.0,
            "end_of_run": {"seconds": 0.0},
        }

    def __call__(self, experiments: Sequence[Experiment]) -> list[Outcome]:
        for one in experiments:
            where = self.short if one.config["workload"].get("first") else self.whole
            where.append(one.reading or "as it is")
        return [Outcome(one, self.record(one.config)) for one in experiments]

    def study(self, *switches: Switch, figure: str = "18") -> Sensitivity:
        """LRU compensation, in a paper that leaves these open."""
        paper = replace(data.paper("bplru"), switches=switches)
        planned = plan([(paper, paper.figure(figure))], Survey())
        [one] = planned.figures
        for run_, experiment in zip(one.runs, one.experiments, strict=True):
            run_.record = self.record(experiment.config)
        return study([one], self)


def compensated(config: Config) -> float:
    """10 % more with compensation, but where two things are done in other ways, less and less."""
    if not config["buffer"]["scheme"]["compensation"]:
        return 1.0
    lost: float = 0.045 * ((config["host"]["speedup"] != 1) + (config["ftl"]["mapping"]["log_blocks"] != 7))
    return 1.1 - lost - (0.01 if lost > 0.05 else 0)


SPEEDUP = switch("faster", set={"host.speedup": 2.0})
LOGS = switch("fewer logs", set={"ftl.mapping.log_blocks": 3})


def test_only_what_moves_at_a_tenth_of_the_length_is_run_at_full_length() -> None:
    fake = Faked(compensated)
    found = fake.study(SPEEDUP)
    one = found.claims["fig18-compensation"]
    # 5.5 % in the place of 10 %.
    assert (one.verdict, one.moved["faster"]) == ("reproduced", Under("partly", "5.5 %"))
    assert one.kept == one.choices - 1 > 5
    # Every way was tried; the one that moves claims was run at full length, with the 1 MB that they are of.
    assert set(fake.short) == {*found.ways, "as it is"}
    assert fake.whole == ["faster"] * 2


def test_short_runs_are_not_shortened() -> None:
    fake = Faked(compensated, writes=5_000)
    assert "faster" in fake.study(SPEEDUP).claims["fig18-compensation"].moved
    assert fake.short == []


@pytest.mark.parametrize("short", [3.0, 1.03])
def test_what_a_tenth_of_the_length_cannot_tell_is_run_at_full_length(short: float) -> None:
    """A tenth gives another verdict than the whole, or a third of its figure; no way does anything there."""

    def shortly(config: Config) -> float:
        if not config["buffer"]["scheme"]["compensation"]:
            return 1.0
        if config["workload"].get("first"):
            return short
        return 1.1 if config["host"]["speedup"] == 1 else 0.9

    fake = Faked(shortly)
    found = fake.study(SPEEDUP)
    assert found.claims["fig18-compensation"].moved["faster"].verdict == "not reproduced"
    assert set(fake.whole) == set(found.ways)


def test_pairs_tell_what_neither_brings_alone() -> None:
    fake = Faked(compensated)
    found = fake.study(SPEEDUP, LOGS)
    one = found.claims["fig18-compensation"]
    assert {name: under.verdict for name, under in one.moved.items()} == {
        "faster": "partly",
        "fewer logs": "partly",
    }
    # 10 % less 4.5, 4.5 and 1.
    assert one.pairs == {"faster + fewer logs": Under("not reproduced", "0 %")}
    assert found.pairs == 1
    assert "brings alone" in found.sentence()
    # Ways of one choice are no pair.
    same = Faked(compensated).study(replace(SPEEDUP, choice="x"), replace(LOGS, choice="x"))
    assert same.pairs == 0


def test_ways_that_move_different_claims_are_no_pair() -> None:
    def barely(config: Config) -> float:
        """10 % more with compensation: 8.9 % one way, 10.99 % another, which is 9.9 % less without."""
        if not config["buffer"]["scheme"]["compensation"]:
            return 1.0
        if config["host"]["speedup"] != 1:
            return 1.089
        return 1.1 if config["ftl"]["mapping"]["log_blocks"] == 7 else 1.1099

    found = Faked(barely).study(SPEEDUP, LOGS)
    assert {way: [name for name, _, _ in some] for way, some in found.movers().items()} == {
        "faster": ["fig18-compensation"],
        "fewer logs": ["fig18-without-compensation"],
    }
    assert found.pairs == 0


def test_it_is_stored_beside_the_claims_and_reused(tmp_path: Path) -> None:
    paper = replace(data.paper("bplru"), folder=tmp_path)
    assert sensitivity.stored(paper) is None
    found = Faked(compensated).study(SPEEDUP, LOGS)
    sensitivity.write(paper, found)
    text = (tmp_path / sensitivity.STUDY_NAME).read_text()
    assert sensitivity.stored(paper) == found
    sensitivity.write(paper, found)
    assert (tmp_path / sensitivity.STUDY_NAME).read_text() == text
    # A line for each claim, so that changes can be read.
    assert sum('"fig18' in line for line in text.splitlines()) == 2
    # Claims that are gone are passed over.
    fewer = replace(paper, claims=tuple(one for one in paper.claims if one.id != "fig18-compensation"))
    kept = sensitivity.stored(fewer)
    assert kept is not None
    assert set(kept.claims) == {"fig18-without-compensation"}
    # So is one that asks something else now, whatever it is called; new words for it change nothing.
    changed: list[tuple[dict[str, object], bool]] = [
        ({"says": "otherwise", "note": "so"}, True),
        ({"value": 0.2}, False),
    ]
    for new, known in changed:
        claims = tuple(
            replace(one, table={**one.table, **new}) if one.id == "fig18-compensation" else one
            for one in paper.claims
        )
        kept = sensitivity.stored(replace(paper, claims=claims))
        assert kept is not None
        assert ("fig18-compensation" in kept.claims) == known
    (tmp_path / sensitivity.STUDY_NAME).write_text("{}")
    with pytest.raises(_core.InputError, match="not what `reproduce bplru --sensitivity` writes"):
        sensitivity.stored(paper)


def test_figures_come_one_after_the_other_and_what_is_found_is_kept_after_each(tmp_path: Path) -> None:
    main = data.Main("padding pays", ("fig17-padding",))
    paper = replace(data.paper("bplru"), switches=(SPEEDUP, LOGS), main=main)
    planned = plan([(paper, paper.figure(name)) for name in ("18", "17")], Survey())
    fake = Faked(compensated)
    for one in planned.figures:
        for run_, experiment in zip(one.runs, one.experiments, strict=True):
            run_.record = fake.record(experiment.config)
    assert [one.figure.name for one in in_order(planned.figures)] == ["17", "18"]
    kept: list[Sensitivity] = []
    found = by_figures(planned.figures, fake, kept.append)
    # The claims that the paper is cited for come first, then all.
    both = {"fig17", "fig18"}
    assert [{name[:5] for name in one.claims} for one in kept] == [{"fig17"}, {"fig17"}, both, both]
    assert set(kept[0].claims) == {"fig17-padding"} < set(kept[1].claims)
    # Pairs come when each way alone has been tried for every figure.
    assert [one.pairs for one in kept] == [0, 0, 0, 1]
    assert kept[-1] == found == study(planned.figures, Faked(compensated))
    # A part takes the place of what the same engine found, not of more that another one did.
    paper = replace(paper, folder=tmp_path)
    sensitivity.write(paper, replace(found, engine="another"))
    sensitivity.write_part(paper, kept[0])
    assert sensitivity.stored(paper) == replace(found, engine="another")
    sensitivity.write_part(paper, found)
    assert sensitivity.stored(paper) == found
    sensitivity.write_part(paper, kept[0])
    assert sensitivity.stored(paper) == kept[0]


def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    paper = data.paper("bplru")
    planned = plan([(paper, paper.figure("table1"))], Survey())
    execute(planned, Handling(folder=tmp_path), Quiet())
    asked: list[int] = []

    def stopping(experiments: Sequence[Experiment]) -> Sequence[Outcome]:
        """The figure's own runs, then the ways at a tenth; the user stops it before the last step."""
        asked.append(len({one.text for one in experiments}))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return runner(Handling(folder=tmp_path), Quiet())(experiments)

    with pytest.raises(KeyboardInterrupt):
        study(planned.figures, stopping)
    caller = Quiet()
    found = study(planned.figures, runner(Handling(folder=tmp_path), caller))
    assert found == study(planned.figures, RUN)
    # These runs are too short to be shortened: what is run at full length has been run by then, too.
    assert caller.notices[:3] == [f"{count} of {count} runs found in {tmp_path}" for count in asked]


def test_each_result_says_how_robust_it_is_or_that_nobody_tried() -> None:
    paper = data.paper("bplru")
    planned = plan([(paper, paper.figure("table1"))], Survey())
    execute(planned)
    [without] = answers(planned)
    assert without.robust(without.answers[0]) == ""
    found = study(planned.figures, RUN)
    [answered] = answers(planned, {"bplru": found})
    assert answered.robust(answered.answers[0]) == found.claims["table1-lru"].robust


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


def test_a_way_that_the_engine_refuses_is_told() -> None:
    small = {"set": {"buffer.size": "1 B"}}
    found = found_with(
        switch("no room", **small), switch("no room for one", **small, where={"buffer.scheme": "bplru"})
    )
    refused = found.ways["no room"]
    # No claim is about the third run of the figure.
    assert refused.left_out == refused.runs == 2
    assert "buffer.size" in refused.errors[0]
    assert refused.note.startswith(
        "2 of 2 runs refused or not to be trusted, left out on both sides; refused: "
    )
    # Both schemes have no hits: that claim must not be judged of the other one alone and called the same.
    assert found.ways["no room for one"].left_out == 1
    assert not any(one.moved.keys() & {"no room", "no room for one"} for one in found.claims.values())
    without = found_with().claims["table1-block-lru"]
    assert found.claims["table1-block-lru"].choices == without.choices


def test_points_that_cannot_be_trusted_are_on_neither_side() -> None:
    """Without the bad point the order would hold: that is no merit of the switch that spoils the run."""
    runs = [run("a", size, time=time) for size, time in (("1 MiB", 5), ("2 MiB", 1))]
    runs += [run("b", size, time=2) for size in ("1 MiB", "2 MiB")]
    order = claim("order", left=A, right=B, relation="less")
    assert judge(PAPER, FIGURE, order, runs).verdict != REPRODUCED
    experiments = {0: Experiment("", Path())}
    variant = Variant(
        ("spoils",), "made up", "made", PAPER, FIGURE, runs, experiments, (frozenset(experiments),)
    )
    variant.put(0, {"time": 5, "trusted": False, "reasons": ["it fell behind"]}, None)
    before, after = ([pair[side] for pair in variant.compared] for side in (0, 1))
    assert variant.left_out == {0}
    assert judge(PAPER, FIGURE, order, before).verdict == judge(PAPER, FIGURE, order, after).verdict


def test_a_switch_of_what_is_not_there_is_an_error() -> None:
    with pytest.raises(_core.InputError, match=r"switch `made`: a run has no `ftl\.maping\.victim`"):
        found_with(switch(set={"ftl.maping.victim": "fifo"}))
