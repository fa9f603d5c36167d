"""Beyond the papers: contests and their intervals against answers worked out by hand, and the studies."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import vl_convert
from conftest import Cli

from eraseblock import Experiment, _core
from eraseblock.toolkit import Handling, Outcome, Quiet, known
from eraseblock_reproduction.beyond.answers import StudyAnswer, answer, run_studies
from eraseblock_reproduction.beyond.charts import charts_of
from eraseblock_reproduction.beyond.contests import Bout, bouts, ends, part_of, relative
from eraseblock_reproduction.beyond.hits import by_workload, hits_of, shares
from eraseblock_reproduction.beyond.many import AS_GOOD, OPEN, WORSE
from eraseblock_reproduction.beyond.markdown import section, studies_page
from eraseblock_reproduction.beyond.record import study_json
from eraseblock_reproduction.beyond.sentences import sentences, within
from eraseblock_reproduction.beyond.study import Contest, Study, read, studies
from eraseblock_reproduction.beyond.summary import standings
from eraseblock_reproduction.beyond.tables import (
    contests_tables,
    pairs_table,
    standings_tables,
    winners_tables,
)
from eraseblock_reproduction.beyond.trials import (
    MEASURES,
    Design,
    Figures,
    Trial,
    cut,
    design_of,
    essence,
    trials_of,
)
from eraseblock_reproduction.files import to_json, write
from eraseblock_reproduction.intervals import Estimate
from eraseblock_reproduction.running import run_or_find

RESPONSE = MEASURES[0]
HITS = next(measure for measure in MEASURES if measure.name == "hits")
BUFFERS = Contest("buffer", "ftl", "lru")
RECORDINGS = Path(__file__).parents[2] / "workloads"
DESCRIBED = {path.name for path in RECORDINGS.glob("*.md")}

STUDIES = """\
[studies.tiny]
title = "A tiny study"
asks = "Does it work?"
note = "Nothing to know."
experiment = "tiny.toml"
every = { "buffer.scheme" = "buffers", "ftl.mapping" = "ftls" }
contests = [{ of = "buffer", at = "ftl", baseline = "lru" }, { of = "ftl", at = "buffer", baseline = "page" }]
named = ["hbm"]
"""
TINY = """\
[nand]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 40
pages_per_block = 8
page_size = "4 KiB"
program_order = "ascending"
timing = { read = "25 us", program = "200 us", erase = "1500 us", transfer = "100 us" }

[ftl]
exported = "1536 KiB"

[buffer]
size = "128 KiB"
battery = true

[host]
replay = "closed"
max_outstanding = 2
end_of_run = "flush"

[workload.generate]
kind = "zipf"
requests = 300
footprint = "1 MiB"
size = { "4 KiB" = 70, "16 KiB" = 30 }
read_share = 0.3
interval = "1 ms"
seed = SEEDS
"""


def trial(
    buffer: str,
    *parts: float,
    workload: str = "w",
    ftl: str = "page",
    load: str = "",
    distrust: str = "",
    offline: bool = False,
) -> Trial:
    """A design with these response times in its parts."""
    figures = {one.name: Figures(sum(parts), parts, sum(parts) / 2) for one in MEASURES}
    return Trial(Design(workload, buffer, ftl, load), figures, offline=offline, distrust=distrust)


def bout(trials: Sequence[Trial]) -> Bout:
    """The only contest between these."""
    [found] = bouts(trials, BUFFERS, RESPONSE)
    return found


def test_the_interval_is_that_of_paired_differences() -> None:
    # Differences -1, -2, -3: mean -2, deviation 1, Student's t with two degrees of freedom 4.303.
    found = relative(trial("a", 1, 2, 3), trial("lru", 2, 4, 6), RESPONSE)
    assert found is not None
    assert (found.mean, found.seeds) == (0.5, 3)
    assert found.half == pytest.approx(4.303 / math.sqrt(3) / 4)
    # What is hard for both makes no interval wider.
    hard = relative(trial("a", 11, 1001, 101), trial("lru", 10, 1000, 100), RESPONSE)
    assert hard is not None
    assert hard.half == 0
    assert relative(trial("a", 1, 2), trial("lru", 0, 0), RESPONSE) is None


def test_the_winner_is_told_from_others_by_their_differences() -> None:
    found = bout(
        [trial("lru", 20, 22, 24), trial("a", 10, 10, 10), trial("b", 9, 11, 10.5), trial("c", 11, 11, 11)]
    )
    assert found.best is not None
    assert (found.best.name(BUFFERS), found.second.name(BUFFERS)) == ("a", "b")
    # Of `b` that is better in one part and worse in the others nobody knows.
    assert not found.is_decided
    assert {place.name(BUFFERS): place.stands for place in found.places} == {
        "a": AS_GOOD,
        "b": OPEN,
        "c": WORSE,
        "lru": WORSE,
    }
    assert found.best.to_baseline is not None
    assert found.best.to_baseline.mean == pytest.approx(10 / 22)
    assert found.bound == 2
    assert found.lead == pytest.approx(1 - 30 / 30.5)
    without = bout([trial("a", 10, 10, 10), trial("c", 11, 11, 11)])
    assert without.is_decided


def test_who_knows_the_future_or_is_not_to_be_relied_on_wins_nothing() -> None:
    found = bout(
        [
            trial("opt", 1, 1, offline=True),
            trial("a", 2, 2),
            trial("lru", 4, 4),
            trial("b", 1, 1, distrust="backlog"),
        ]
    )
    assert found.best is not None
    assert found.best.name(BUFFERS) == "a"
    [opt] = found.offline
    assert opt.to_best is not None
    assert opt.to_best.mean == 0.5
    assert [one.design.buffer for one in found.out] == ["b"]
    assert bout([trial("opt", 1, 1, offline=True), trial("lru", 2, 2)]).best is None


def test_workloads_count_once_however_many_contests_they_have() -> None:
    trials = []
    for workload, ftl, ours in (("v", "page", 8), ("v", "fast", 2), ("w", "page", 1)):
        trials += [
            trial("a", ours, ours, workload=workload, ftl=ftl),
            trial("lru", 4, 4, workload=workload, ftl=ftl),
        ]
    found = {one.name: one for one in standings(bouts(trials, BUFFERS, RESPONSE))}
    a = found["a"]
    assert (a.contests, a.best, a.as_good) == (3, 2, 2)
    # 2 and 1/2 under v are 1; with 1/4 under w that is 1/2.
    assert a.ratio is not None
    assert a.ratio.mean == pytest.approx(0.5)
    assert a.worst == ("v", "page", 2.0)
    low, high = ends(a.ratio) or (0, 0)
    # Logarithms 0 and -ln 4: deviation ln 4 / sqrt 2, t with one degree of freedom 12.706.
    assert math.log(high / 0.5) == pytest.approx(12.706 * math.log(4) / 2, rel=1e-3)
    assert math.log(0.5 / low) == pytest.approx(math.log(high / 0.5))
    assert found["lru"].ratio is not None
    assert found["lru"].ratio.mean == 1


def test_more_hits_are_better_and_opt_bounds_them() -> None:
    trials = [
        trial("lru", 4, 4, 4),
        trial("a", 9, 10, 8),
        trial("b", 8, 9, 10),
        trial("none", 0, 0, 0),
        trial("opt", 12, 12, 12, offline=True),
    ]
    [found] = bouts(trials, BUFFERS, HITS)
    assert found.best is not None
    # `a` and `b` have 27 each.
    assert [place.name(BUFFERS) for place in found.places] == ["a", "b", "lru", "none"]
    assert [place.stands for place in found.places] == [AS_GOOD, OPEN, WORSE, WORSE]
    assert not found.is_decided
    assert found.best.to_opt is not None
    assert found.best.to_opt.mean == pytest.approx(27 / 36)
    # Beside 3/4 of `opt` in each part 0, 1, -1: deviation 1, Student's t with two degrees of freedom 4.303.
    assert found.best.to_opt.half == pytest.approx(4.303 / math.sqrt(3) / 12)
    [alone] = bouts([trial("a", 9, 10, 8), trial("lru", 4, 4, 4)], BUFFERS, HITS)
    assert alone.is_decided
    assert alone.lead == pytest.approx(27 / 12 - 1)
    assert [place.name(BUFFERS) for place in alone.places if place.as_good] == ["a"]


def test_shares_of_opt_are_means_over_workloads_and_count_those_without_a_hit() -> None:
    trials = []
    for workload, ftl, ours in (("v", "page", 6), ("v", "fast", 8), ("w", "page", 0)):
        trials += [
            trial("a", ours, ours, workload=workload, ftl=ftl),
            trial("lru", 5, 5, workload=workload, ftl=ftl),
            trial("opt", 10, 10, workload=workload, ftl=ftl, offline=True),
        ]
    held = by_workload(bouts(trials, BUFFERS, HITS))
    assert [(one.workload, one.at) for one in held] == [("v", ""), ("w", "")]
    assert list(held[0].places[0].trial.figures["hits"].parts) == [7, 7]
    lru, a = sorted(shares(held), key=lambda one: one.name, reverse=True)
    assert a.share.mean == pytest.approx(0.35)
    assert (a.worst, a.workloads) == (("w", 0.0), 2)
    assert (a.best, a.as_good, lru.best) == (1, 1, 1)
    assert a.ahead is not None
    assert a.ahead.mean == pytest.approx(((0.7 - 0.5) + (0 - 0.5)) / 2)
    assert (a.side, lru.side) == (0, 0)


def test_the_interval_of_a_share_is_that_of_what_parts_have_beside_it() -> None:
    opt = trial("opt", 2, 4, 60, offline=True)
    # A tenth in every part, or nothing in every part, is certain, however unlike the parts are.
    for buffer, share in ((trial("a", 0.2, 0.4, 6), 0.1), (trial("none", 0, 0, 0), 0)):
        found = part_of(buffer, opt, HITS)
        assert found is not None
        assert found.mean == pytest.approx(share)
        assert found.half == pytest.approx(0, abs=1e-12)
    # Half of 2, 4, 6 and beside it 1, 0, -1: deviation 1, t 4.303, of a mean of 4.
    found = part_of(trial("a", 2, 2, 2), trial("opt", 2, 4, 6), HITS)
    assert found is not None
    assert found.mean == 0.5
    assert found.half == pytest.approx(4.303 / math.sqrt(3) / 4)
    assert part_of(trial("a", 1, 2), trial("opt", 0, 0), HITS) is None
    # Nor is nothing as good as the most, where that is in one part alone.
    [bout] = bouts([trial("a", 0, 0, 9), trial("none", 0, 0, 0)], BUFFERS, HITS)
    assert [place.as_good for place in bout.places] == [True, False]
    assert not bout.is_decided


def test_hits_with_power_loss_protection_are_judged_apart() -> None:
    # Without it `a` has no hits, and `b` at one of the loads no figure to rely on: nobody's counts there.
    contest = Contest("buffer", "load", "lru")
    protected = "1 under way, power-loss protection"
    trials = [
        trial(buffer, hits, hits, load=load, offline=buffer == "opt", distrust=distrust)
        for load, buffer, hits, distrust in (
            *(("as recorded", buffer, 9, "backlog" if buffer == "b" else "") for buffer in ("a", "b", "lru")),
            ("as recorded", "opt", 20, ""),
            *zip(["1 under way"] * 4, ("a", "b", "lru", "opt"), (0, 4, 5, 10), [""] * 4, strict=True),
            *zip([protected] * 4, ("a", "b", "lru", "opt"), (8, 6, 5, 10), [""] * 4, strict=True),
        )
    ]
    study = Study("s", "", "", "", Path(), {}, (contest,), ())
    found = answer(study, trials)
    held = found.result("buffer", "hits").hits
    assert [one.at for one in held] == ["without power-loss protection", "with power-loss protection"]
    told = [{share.name: share.share.mean for share in one.shares} for one in held]
    assert told == [{"lru": 0.5, "b": 0.4, "a": 0}, {"a": 0.8, "b": 0.6, "lru": 0.5}]
    lines = sentences(found)
    start = (
        "Without power-loss protection: Most hits, by buffer, under 1 workloads (means over the loads that"
    )
    assert any(one.startswith(f"{start} all buffers have): `lru` 1.") for one in lines)
    assert any(one.startswith("With power-loss protection: Hits as a share of those of") for one in lines)
    moves = "Apart from power-loss protection, the load changes hits by more than 5 % in 3 of 3 cases"
    assert any(one.startswith(moves) for one in lines)
    titles = [table.title for table in standings_tables(found)]
    assert sum(title.endswith("have: without power-loss protection") for title in titles) == 1
    assert sum(one.title.endswith("of opt: with power-loss protection") for one in charts_of(found)) == 1
    result = study_json(found)["contests"][-1]
    kinds = ["without power-loss protection", "with power-loss protection"]
    assert [one["load"] for one in result["by_workload"]] == kinds
    assert [one["load"] for one in result["shares"]] == [kinds[0]] * 3 + [kinds[1]] * 3


def test_hits_are_means_over_the_ftls_that_all_buffers_have() -> None:
    costs = {
        "page": (("a", 2), ("lru", 4)),
        "fast": (("a", 20), ("lru", 4)),
        "bast": (("lru", 10), ("b", 9)),
    }
    # `b` has no FTL in common with `a`, and fewer: it is left out.
    trials = [trial(name, hits, ftl=ftl) for ftl, some in costs.items() for name, hits in some]
    [held] = hits_of(bouts(trials, BUFFERS, HITS))
    [found] = held.bouts
    assert {place.name(BUFFERS): place.value for place in found.places} == {"a": 11, "lru": 4}
    study = Study("s", "", "", "", Path(), {}, (BUFFERS,), ())
    moves = "The FTL changes hits by more than 5 % in 2 of 2 cases (one for each buffer and workload): `"
    assert any(one.startswith(moves) for one in sentences(answer(study, trials)))


def test_the_most_hits_are_the_fastest_whoever_is_first_among_equals() -> None:
    study = Study("s", "", "", "", Path(), {}, (BUFFERS,), ())
    trials = [
        replace(one, figures={**one.figures, "hits": Figures(hits, (hits,), None)})
        for one, hits in ((trial("lru", 3), 7), (trial("a", 2), 7), (trial("b", 4), 5))
    ]
    for some in (trials, trials[::-1]):
        assert any("answers fastest in 1 of 1 contests" in one for one in sentences(answer(study, some)))
    slower = [trials[0], replace(trials[1], figures={**trials[1].figures, "hits": Figures(6, (6,), None)})]
    assert any("answers fastest in 0 of 1 contests" in one for one in sentences(answer(study, slower)))


def test_recordings_and_stand_ins_are_told_apart() -> None:
    study = Study("s", "", "", "", Path(), {}, (BUFFERS,), ())
    trials = [
        replace(trial(buffer, cost, cost, workload=workload), made=workload == "made")
        for workload, buffer, cost in (("w", "a", 1), ("w", "lru", 2), ("made", "a", 3), ("made", "lru", 2))
    ]
    told = sentences(answer(study, trials))
    expected = (
        "over the 1 recordings alone `a` -50 %, `lru` 0 %; over the 1 stand-ins alone `lru` 0 %, `a` +50 %."
    )
    assert any(one.endswith(expected) for one in told)
    # Without stand-ins nothing is said of them.
    assert not any("stand-ins" in one for one in sentences(answer(study, trials[:2])))


def test_wide_intervals_are_written_out() -> None:
    assert within(Estimate(1.0, 0.0312, 3)) == " ± 3.1"
    assert within(Estimate(1.0, 0.997, 3)) == " ± 100"
    assert within(Estimate(1.0, 10.26, 3)) == " ± 1,026"
    assert within(Estimate(1.0, None, 1)) == ""


def test_parts_lose_nothing() -> None:
    for length in (3, 10, 65, 128):
        steps = list(range(length))
        assert sum(cut(steps)) == sum(steps)
        assert len(cut(steps)) == min(10, length)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> StudyAnswer:
    """Every buffer with every FTL, on a drive of next to nothing."""
    [found] = run_studies([_tiny(tmp_path_factory.mktemp("beyond"), "1")])
    return found


def _tiny(folder: Path, seeds: str) -> Study:
    (folder / "studies.toml").write_text(STUDIES)
    (folder / "tiny.toml").write_text(TINY.replace("SEEDS", seeds))
    return read(folder / "studies.toml")["tiny"]


def test_every_registered_scheme_is_in_the_grid(tiny: StudyAnswer) -> None:
    designs = {(one.design.buffer, one.design.ftl) for one in tiny.trials}
    assert designs == {(buffer, ftl) for buffer in known("buffers") for ftl in known("ftls")}
    assert not tiny.errors
    assert sum(one.competes for one in tiny.trials) > len(designs) / 2


def test_parts_add_up_to_the_figures_of_the_run(tiny: StudyAnswer) -> None:
    for one in tiny.trials:
        if one.figures:
            assert sum(one.figures["erases"].parts) == one.figures["erases"].value
            assert sum(one.figures["response"].parts) == pytest.approx(300 * one.figures["response"].value)


def test_nobody_has_more_hits_than_opt(tiny: StudyAnswer) -> None:
    hits = tiny.result("buffer", "hits")
    places = [place for bout in hits.bouts for place in bout.places]
    assert len(places) > 300
    for place in places:
        assert place.to_opt is not None
        assert place.to_opt.mean <= 1
    # All have the same pages to hit.
    hit = [place.trial.figures["hits"] for place in places if place.value > 0]
    assert len({round(sum(one.parts) / one.value, 6) for one in hit}) == 1
    assert {one.name for one in hits.hits[0].shares} == set(known("buffers")) - {"opt"}
    assert not any(one.measure is HITS for one in tiny.results if one.contest.of == "ftl")


def test_the_same_findings_are_told_everywhere(tiny: StudyAnswer, tmp_path: Path) -> None:
    told = sentences(tiny)
    assert told[0].startswith("Least mean response time, by buffer, in 13 contests")
    best = tiny.result("buffer", "response").bouts[0].best
    assert best is not None
    found = json.loads(to_json([], [tiny]))["beyond"]
    first = found[0]["contests"][0]["bouts"][0]
    assert (first["best"], found[0]["sentences"]) == (best.name(BUFFERS), told)
    hits = next(one for one in found[0]["contests"] if one["measure"] == "hits")
    assert hits["shares"][0]["name"] == tiny.result("buffer", "hits").hits[0].shares[0].name
    assert "of_opt_half" in hits["by_workload"][0]["figures"][0]
    assert any(f"`{hits['shares'][0]['name']}`" in one for one in told if one.startswith("Hits as a share"))
    row = contests_tables(tiny)[0].rows[0]
    assert row[:3] == ("zipf", "page", best.name(BUFFERS))
    pairs = pairs_table(tiny)
    assert pairs is not None
    written = section(tiny)
    page = "\n".join(studies_page([written]))
    [winners] = winners_tables(tiny)
    assert winners.rows[0][1].startswith(f"{best.name(BUFFERS)} ")
    for table in (pairs, winners, *standings_tables(tiny)):
        assert all(len(cells) == len(table.head) for cells in table.rows)
        assert table.title in page
    # Each table is a file of its own beside the page.
    assert list(written.data.values()) == list(written.tables)
    assert told[0] in page
    report = write([], tmp_path, [tiny]).read_text()
    assert "A tiny study" in report
    assert "Who answers fastest where" in report


def test_plots_can_be_drawn(tiny: StudyAnswer) -> None:
    charts = charts_of(tiny)
    assert len(charts) == 5
    pictures = [vl_convert.vegalite_to_svg(chart.spec) for chart in charts]
    assert all("lb-clock" in picture for picture in pictures[1:4])
    assert "superblock" in pictures[4]


def test_seeds_are_one_design_and_runs_are_kept(tmp_path: Path) -> None:
    study = replace(_tiny(tmp_path, "[1, 2]"), every={"ftl.mapping": "ftls"})
    text = study.path.read_text().replace("[buffer]", '[buffer]\nscheme = ["lru", "none"]')
    study.path.write_text(text)
    [found] = run_studies([study], Handling(folder=tmp_path / "out"))
    assert len(found.trials) == 2 * len(known("ftls"))
    page = next(one for one in found.trials if one.design.ftl == "page")
    assert len(page.figures["response"].parts) == 20
    journal = (tmp_path / "out" / "runs.jsonl").read_bytes()
    [again] = run_studies([study], Handling(folder=tmp_path / "out"))
    assert (tmp_path / "out" / "runs.jsonl").read_bytes() == journal
    assert again.trials == found.trials


def test_ftls_are_not_judged_by_a_buffer_that_knows_the_future() -> None:
    trials = [
        trial(buffer, cost, cost, ftl=ftl, offline=buffer == "opt")
        for buffer, ftl, cost in (
            ("opt", "page", 1),
            ("opt", "fast", 2),
            ("lru", "page", 3),
            ("lru", "fast", 2),
        )
    ]
    [found] = bouts(trials, Contest("ftl", "buffer", "page"), RESPONSE)
    assert (found.at, [place.trial.design.ftl for place in found.places]) == ("lru", ["fast", "page"])


def test_waiting_for_room_counts_where_requests_are_always_under_way() -> None:
    series = {"end_ns": [10, 30, 60], "requests": [2, 2, 1]}
    record = {
        "trusted": True,
        "offline": False,
        "config": CONFIG,
        "response_ns": {"all": {"mean": 1.0}},
        "series": {**series, "response_sum_ns": [1, 2, 2]},
    }
    outcome = Outcome(Experiment(json.dumps(CONFIG), Path()), essence(record))
    [found] = trials_of([outcome])
    assert found.design == Design("w", "lru", "page", "4 under way, power-loss protection")
    assert found.figures["response"] == Figures(4 * 60 / 5, (40, 80, 120), None)


CONFIG = {
    "workload": {"path": "w.spc"},
    "host": {"replay": "closed", "max_outstanding": 4},
    "buffer": {"scheme": {"kind": "lru"}, "battery": True},
    "ftl": {"mapping": {"kind": "page"}},
}


def test_a_design_that_is_refused_is_named_with_the_reason() -> None:
    refused = Trial(Design("w", "lru", "fast", ""), {}, error="fast: cannot do that", refused=True)
    study = Study("s", "", "", "", Path(), {}, (BUFFERS,), ())
    found = answer(study, [trial("a", 1, 2), trial("lru", 2, 2), refused])
    assert found.refusals == [("fast: cannot do that", [refused])]
    assert found.errors == []
    assert "1 are not built by the engine" in sentences(found)[-1]


@pytest.mark.parametrize("name", studies())
def test_the_studies_run_every_recording_with_every_buffer(name: str) -> None:
    found: dict[str, set[str]] = {}
    study = studies()[name]
    for one in replace(study, every={"buffer.scheme": study.every["buffer.scheme"]}).experiments():
        workload = one.config["workload"]
        if workload.get("path"):
            path = workload["path"].rpartition("/")[2]
            found.setdefault(path, set()).add(one.config["buffer"]["scheme"]["kind"])
            assert path.startswith(f"{one.config['case']}.")
    assert set(found) == {path.name for path in RECORDINGS.glob("*.nbdkit.zst")}
    assert all(buffers == set(known("buffers")) for buffers in found.values())


def test_pairs_runs_what_stands_for_the_papers_workloads() -> None:
    entries = tomllib.loads((RECORDINGS.parent / "reproduction/workloads.toml").read_text())["workloads"]
    # A generator has the name of the workload. Two papers each have the same two UMass traces: run once.
    wanted = {
        one.get("stand_in") or name for name, one in entries.items() if {"stand_in", "generator"} & set(one)
    }
    twins = {"supa-oltp": "umass-financial1", "umass-financial2": "hbm-financial"}
    # Requests of one shape, for one figure: nothing for a buffer to decide.
    wanted -= {"supa-iozone-reads", "supa-iozone-writes"}
    names = {one.config["case"] for one in replace(studies()["pairs"], every={}).experiments()}
    assert {twins.get(one, one) for one in wanted} == {
        name for name in names if f"{name}.md" not in DESCRIBED
    }


def test_ftls_have_the_same_flash_and_export_the_same() -> None:
    study = studies()["pairs"]
    cases = ("browser-ntfs", "hbm-financial", "hbm-synthetic")
    experiments = [
        one
        for one in replace(study, every={"ftl.mapping": "ftls"}).experiments()
        if one.config["case"] in cases
    ]
    found = trials_of(run_or_find(experiments, Handling(jobs=1, trim=essence), Quiet()))
    assert len(found) == len(cases) * len(known("ftls"))
    for case in cases:
        [flash] = {one.flash for one in found if one.design.workload == case}
        assert flash is not None
        assert 1.095 < flash[0] / flash[1] < 1.105


def test_unequal_flash_is_said() -> None:
    study = Study("s", "", "", "", Path(), {}, (Contest("ftl", "buffer", "page"),), ())
    trials = [replace(trial("lru", 1, 2, ftl=ftl), flash=(220, 200)) for ftl in ("page", "fast")]
    assert any(
        "all FTLs export as much" in one and "10.0 %" in one for one in sentences(answer(study, trials))
    )
    trials[1] = replace(trials[1], flash=(220, 190))
    assert any(one.endswith("do not export as much, under w.") for one in sentences(answer(study, trials)))


def test_loads_are_told_by_their_settings() -> None:
    loads = dict.fromkeys(design_of(one).load for one in studies()["nvme"].experiments())
    assert list(loads) == [
        "as recorded",
        "1 under way",
        "32 under way",
        "32 under way, power-loss protection",
    ]


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("bast = ", "best = ", "pairs: options: ftl.mapping: there is no `best`; did you mean `bast`?"),
        ('options."ftl.mapping"', 'options."ftl.maping"', "did you mean `ftl.mapping`?"),
    ],
)
def test_options_of_schemes_that_are_not_there(tmp_path: Path, was: str, now: str, message: str) -> None:
    text = (RECORDINGS.parent / "reproduction/beyond/studies.toml").read_text()
    assert was in text
    (tmp_path / "studies.toml").write_text(text.replace(was, now))
    with pytest.raises(_core.InputError, match=re.escape(message)):
        read(tmp_path / "studies.toml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["beyond", "nvm"],
            "reproduce beyond: there is no study `nvm`; did you mean `nvme`? (known: pairs, nvme)",
        ),
        (
            ["beyond", "--traces", "/tmp"],
            "--traces: `beyond` runs bundled recordings and stand-ins; leave it out",
        ),
        (["beyond", "--all"], "--all: stands for every paper; leave out --all or `beyond`"),
    ],
)
def test_wrong_calls(arguments: list[str], message: str, cli: Cli) -> None:
    done = cli("reproduce", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_studies_are_listed(cli: Cli) -> None:
    assert (
        "Beyond the papers (pairs, nvme): eraseblock reproduce beyond STUDY" in cli("list", "papers").stdout
    )
