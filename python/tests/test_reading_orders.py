"""Which conclusions figures give, and what other readings make of them: on figures made up for it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import eraseblock
from eraseblock.experiments import Experiment
from eraseblock.readings import wording
from eraseblock.readings.analysis import analyse, is_of
from eraseblock.readings.orders import Conclusion, compare, largest_change, rank
from eraseblock.readings.plan import Plan, plan
from eraseblock.results.record import Analysis
from eraseblock.sweeps import Outcome

DRIVE = {
    "preset": "hbm-2010",
    "workload": {"generate": {"kind": "uniform", "requests": 10, "footprint": "1 MiB"}},
}


def test_figures_within_one_percent_are_equal() -> None:
    assert compare(1.0, 1.02, "low") == 1
    assert compare(1.0, 1.02, "high") == -1
    assert compare(1.0, 1.009, "low") == 0
    assert compare(0, 0, "low") == 0
    assert compare(0, 5, "low") == 1


def test_a_reading_reverses_levels_or_keeps_an_order() -> None:
    base = {0: 1.0, 1: 2.0}
    reversing, levelling, keeping = {0: 3.0, 1: 2.0}, {0: 2.0, 1: 2.01}, {0: 1.9, 1: 2.0}
    ranking = rank([0, 1], "low", base, [keeping, reversing, levelling])
    [one] = ranking.conclusions
    assert (one.better, one.worse, one.tie, one.ratio) == (0, 1, False, 0.5)
    assert [(under.reading, under.effect, under.ratio) for under in one.under] == [
        (1, "reverses", 1.5),
        (2, "levels", 2.0 / 2.01),
    ]
    assert one.moves
    assert not one.stands
    assert ranking.best == [0]
    assert ranking.other_best == {1: [1]}


def test_high_figures_may_be_the_good_ones() -> None:
    ranking = rank([0, 1], "high", {0: 0.4, 1: 0.8}, [{0: 0.4, 1: 0.3}])
    assert ranking.order == [1, 0]
    assert ranking.conclusions[0].moves


def test_a_tie_is_no_order_and_may_part() -> None:
    [one] = rank([0, 1], "low", {0: 100.0, 1: 100.5}, [{0: 100.0, 1: 90.0}]).conclusions
    assert (one.tie, one.moves) == (True, False)
    assert [under.effect for under in one.under] == ["parts"]


def test_a_run_without_a_figure_has_no_place_and_a_reading_without_one_no_answer() -> None:
    ranking = rank([0, 1, 2], "low", {0: 1.0, 1: None, 2: 2.0}, [{0: None, 1: 5.0, 2: 2.0}])
    assert (ranking.order, ranking.unranked) == ([0, 2], [1])
    [one] = ranking.conclusions
    assert [under.effect for under in one.under] == ["unknown"]
    assert (one.moves, one.stands) == (False, True)
    assert ranking.other_best == {}


def test_figures_of_nothing() -> None:
    [one] = rank([0, 1], "low", {0: 0, 1: 0}, [{0: 0, 1: 3}]).conclusions
    assert (one.tie, one.ratio) == (True, None)
    assert largest_change({0: 0}, {0: 0}, [0]).largest == 0  # type: ignore[union-attr]
    assert largest_change({0: 0}, {0: 3}, [0]).largest is None  # type: ignore[union-attr]
    assert largest_change({0: None}, {0: 3}, [0]) is None


def test_the_largest_change_counts_whatever_its_direction() -> None:
    change = largest_change({0: 10, 1: 10, 2: 10}, {0: 12, 1: 6, 2: 13}, [0, 1, 2])
    assert change is not None
    assert change.run == 1
    assert change.largest == pytest.approx(-0.4)


def readings_of(**keys: Any) -> Plan:
    return plan(eraseblock.resolve({**DRIVE, **keys}))


def switches(found: Plan, option: str) -> dict[int, list[Any]]:
    """The values that are tried for an option, by run."""
    values: dict[int, list[Any]] = {}
    for reading in found.readings:
        if reading.choice.option == option:
            for run in reading.experiments:
                values.setdefault(run, []).append(reading.value)
    return values


def test_each_choice_of_each_scheme_and_of_the_drive_is_switched() -> None:
    found = readings_of(buffer={"size": "4 MiB", "scheme": ["bplru", "lru"]})
    assert switches(found, "buffer.scheme.evict_order") == {0: ["touch-first"]}
    assert switches(found, "ftl.mapping.victim") == {0: ["fifo", "random"], 1: ["fifo", "random"]}
    assert switches(found, "host.end_of_run") == {0: ["flush", "merge"], 1: ["flush", "merge"]}
    for reading in found.readings:
        for run, one in reading.experiments.items():
            assert differences(found.runs[run], one) == {reading.choice.option: reading.value}


def test_the_parts_of_a_composed_mapping_are_switched() -> None:
    parts = {"allocator": "dynamic", "victim": "cost-benefit", "wear": {"kind": "hot-cold", "threshold": 8}}
    found = readings_of(buffer={"size": "4 MiB", "scheme": "lru"}, ftl={"mapping": "page", **parts})
    assert switches(found, "ftl.allocator.tie") == {0: ["free-pages", "lowest"]}
    assert switches(found, "ftl.allocator.pool") == {0: ["channel", "chip", "plane"]}
    assert switches(found, "ftl.victim.formula") == {0: ["lfs"]}
    assert switches(found, "ftl.wear.threshold") == {0: [16, 4, 64]}
    assert switches(found, "ftl.gc.free_blocks") == {0: [1.0, 4.0]}
    assert switches(found, "ftl.gc.step_pages") == {0: [1, 64]}
    assert switches(found, "ftl.gc.grain") == {0: ["victim", "all"]}
    assert {one.choice.name for one in found.readings} >= {
        "page free_blocks",
        "dynamic tie",
        "hot-cold threshold",
    }
    # Other mappings have no such parts.
    found = readings_of(buffer={"size": "4 MiB", "scheme": "lru"}, ftl={"mapping": "bast"})
    assert switches(found, "ftl.gc.step_pages") == {}
    # Seeds of a policy count as chance.
    found = readings_of(buffer={"size": "4 MiB", "scheme": "lru"}, ftl={"mapping": "page", "victim": "rga"})
    assert switches(found, "ftl.victim.seed") == {0: [2, 3, 4]}


def differences(one: Experiment, two: Experiment) -> dict[str, Any]:
    from eraseblock.results.flatten import flatten

    before, after = flatten(one.config), flatten(two.config)
    assert before.keys() == after.keys()
    return {key: value for key, value in after.items() if value != before[key]}


def test_what_the_file_sets_is_switched_to_the_default_as_well() -> None:
    scheme = {"kind": "cflru", "window": 0.3}
    found = readings_of(buffer={"size": "4 MiB", "scheme": scheme})
    assert switches(found, "buffer.scheme.window") == {0: [0.25, 0.1, 0.5]}
    found = readings_of(preset="bplru-2008", ftl={"mapping": {"kind": "bast", "partial_merge": False}})
    assert switches(found, "ftl.mapping.partial_merge") == {0: [True]}


def test_an_axis_of_the_experiment_is_left_to_it() -> None:
    schemes = [{"kind": "bplru", "evict_order": ["evict-first", "touch-first"]}, "lru"]
    found = readings_of(buffer={"size": "4 MiB", "scheme": schemes})
    assert switches(found, "buffer.scheme.evict_order") == {}
    assert [axis.option for axis in found.axes] == ["buffer.scheme.evict_order"]
    # Presets that differ in an option are no axis of it.
    found = readings_of(preset=["hbm-2010", "bplru-2008"])
    assert switches(found, "ftl.mapping.partial_merge") == {0: [False], 1: [True]}


def test_a_scheme_that_draws_at_random_gets_other_seeds() -> None:
    found = readings_of(buffer={"size": "4 MiB", "scheme": {"kind": "hbm", "seed": [1, 7]}})
    assert [axis.option for axis in found.axes] == ["buffer.scheme.seed"]
    found = readings_of(buffer={"size": "4 MiB", "scheme": {"kind": "hbm", "seed": 2}})
    assert switches(found, "buffer.scheme.seed") == {0: [1, 3, 4]}
    found = readings_of(buffer={"size": "4 MiB", "scheme": {"kind": "hbm", "seed": 9}})
    assert switches(found, "buffer.scheme.seed") == {0: [1, 2, 3]}


def test_nothing_is_run_twice() -> None:
    found = plan(2 * eraseblock.resolve({**DRIVE, "buffer": {"size": "4 MiB", "scheme": "lru"}}))
    texts = [one.text for one in found.experiments[2:]]
    assert len(texts) == len(set(texts)) > 0


def made_up(found: Plan, figures: dict[str | None, dict[int, Any]]) -> Analysis:
    """An analysis of runs with these mean response times, by reading and run; an error stands for itself.

    What is not named has the mean of the experiment's own run; "!" before a number: not to be trusted.
    """
    own = len(found.runs)
    outcomes: list[Outcome | None] = [None] * len(found.experiments)

    def put(place: int, one: Experiment, value: Any) -> None:
        if isinstance(value, Exception):
            outcomes[place] = Outcome(one, error=value)  # type: ignore[arg-type]
            return
        trusted = not isinstance(value, str)
        mean = float(value.lstrip("!")) if isinstance(value, str) else value
        record = {
            "key": f"{place}",
            "name": "made up",
            "config": one.config,
            "trace": {"name": "uniform"},
            "trusted": trusted,
            "offline": one.config["buffer"]["scheme"]["kind"] == "opt",
            "response_ns": {"all": {"mean": mean}},
        }
        outcomes[place] = Outcome(one, record=record)

    for run, one in enumerate(found.runs):
        put(run, one, figures[None][run])
    for reading in found.readings:
        for run, one in reading.experiments.items():
            value = figures.get(reading.name, {}).get(run, figures[None][run])
            put(found.places[one.text], one, value)
    assert own <= len(outcomes)
    return analyse(found, [outcome for outcome in outcomes if outcome is not None])


SCHEMES = {"size": "4 MiB", "scheme": ["bplru", "fab"]}
EVICT = 'bplru evict_order = "touch-first"'


def test_an_analysis_tells_what_moved_by_what() -> None:
    found = readings_of(buffer=SCHEMES)
    analysis = made_up(found, {None: {0: 2000, 1: 3000}, EVICT: {0: 4500}})
    assert analysis["counts"] == {
        "conclusions": 1,
        "move": 1,
        "level": 0,
        "stand": 0,
        "ties": 0,
        "unranked": 0,
    }
    [moved] = wording.moved(analysis)
    assert (moved.metric, moved.sentence) == ("mean", "bplru beats fab (0.67x)")
    assert moved.readings == [(EVICT, "fab beats bplru (0.67x)")]
    first, *others = wording.choice_rows(analysis)
    assert (first.name, first.changes, first.reverses) == ("bplru evict_order", ["x2.2"], 1)
    assert all(row.idle for row in others)
    [contest] = analysis["contests"]
    marks = [(step.mark, step.label) for step in wording.order(analysis, contest, "mean")]
    assert marks == [("", "bplru"), (wording.REVERSES, "fab")]


def test_a_refused_reading_is_listed_and_moves_nothing() -> None:
    found = readings_of(buffer=SCHEMES)
    refusal = eraseblock.InputError("no room for that")
    analysis = made_up(found, {None: {0: 2000, 1: 3000}, EVICT: {0: refusal}})
    assert analysis["counts"]["stand"] == 1
    assert wording.refusals(analysis) == [f"refused: {EVICT} (1 run): no room for that"]
    reading = next(one for one in analysis["readings"] if one["reading"] == EVICT)
    assert reading["runs"] == [{"run": 0, "refused": "no room for that"}]
    [conclusion] = analysis["contests"][0]["rankings"]["mean"]["conclusions"]
    assert [under["effect"] for under in conclusion["under"]] == ["unknown"]


def test_no_conclusion_rests_on_a_run_that_is_not_trusted() -> None:
    found = readings_of(buffer=SCHEMES)
    analysis = made_up(found, {None: {0: 2000, 1: 3000}, EVICT: {0: "!9000"}})
    assert analysis["counts"]["move"] == 0
    assert wording.distrusted(analysis).startswith("0 runs of the experiment and 1 run of other readings")
    analysis = made_up(found, {None: {0: "!2000", 1: 3000}})
    assert analysis["counts"]["conclusions"] == 0
    assert analysis["contests"][0]["rankings"]["mean"]["unranked"] == [0]


def test_with_one_scheme_there_are_changes_and_no_orders() -> None:
    found = readings_of(buffer={"size": "4 MiB", "scheme": "bplru"})
    analysis = made_up(found, {None: {0: 2000}, EVICT: {0: 1000}})
    assert analysis["contests"] == []
    assert wording.choice_rows(analysis)[0].changes == ["-50 %"]
    assert "no order" in wording.summary(analysis)


def test_a_buffer_that_knows_the_future_competes_with_nobody() -> None:
    found = readings_of(buffer={"size": "4 MiB", "scheme": ["bplru", "opt", "fab"]})
    analysis = made_up(found, {None: {0: 2000, 1: 1000, 2: 3000}})
    assert len(analysis["runs"]) == 3
    [contest] = analysis["contests"]
    assert contest["runs"] == [0, 2]


def test_ftls_are_compared_where_they_differ_alone() -> None:
    found = readings_of(buffer={"size": "4 MiB", "scheme": "lru"}, ftl={"mapping": ["page", "bast"]})
    analysis = made_up(found, {None: {0: 2000, 1: 3000}})
    [contest] = analysis["contests"]
    assert (contest["axis"], contest["runs"]) == ("ftl", [0, 1])


def test_what_seeds_do_as_well_is_noise() -> None:
    found = readings_of(buffer={"size": "4 MiB", "scheme": ["hbm", "fab"]})
    tie, counts = 'hbm tie = "lowest-block"', "hbm read_hits_count = false"
    analysis = made_up(
        found,
        {
            None: {0: 1000, 1: 1030},
            "hbm seed = 3": {0: 1050},
            tie: {0: 1020},
            counts: {0: 1060},
        },
    )
    noise = {one["reading"]: one["within_noise"] for one in analysis["readings"]}
    assert (noise[tie], noise[counts], noise["hbm seed = 3"]) == (True, False, None)
    [moved] = wording.moved(analysis)
    assert moved.by_chance


def test_an_analysis_belongs_to_its_records_alone() -> None:
    found = readings_of(buffer=SCHEMES)
    analysis = made_up(found, {None: {0: 2000, 1: 3000}})
    records = [
        {"key": str(run), "trusted": True, "response_ns": {"all": {"mean": mean}}}
        for run, mean in enumerate((2000, 3000))
    ]
    assert is_of(analysis, records)
    other = copy.deepcopy(records)
    other[1]["response_ns"]["all"]["mean"] = 3001  # type: ignore[index]
    assert not is_of(analysis, other)
    assert not is_of(analysis, records[:1])
    assert not is_of([], records)


def test_a_conclusion_without_other_readings_stands() -> None:
    assert Conclusion(0, 1, tie=False, ratio=0.5).stands
