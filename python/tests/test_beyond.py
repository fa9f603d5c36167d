"""Beyond the papers: contests and their intervals against answers worked out by hand, and the studies."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import vl_convert
from conftest import Cli

from eraseblock.experiments import Experiment
from eraseblock.names import known
from eraseblock.reproduction.beyond.answers import StudyAnswer, answer, run_studies
from eraseblock.reproduction.beyond.charts import charts_of
from eraseblock.reproduction.beyond.contests import Bout, bouts, ends, relative
from eraseblock.reproduction.beyond.markdown import studies_page
from eraseblock.reproduction.beyond.sentences import sentences
from eraseblock.reproduction.beyond.study import Contest, Study, read, studies
from eraseblock.reproduction.beyond.summary import leads, standings
from eraseblock.reproduction.beyond.tables import contests_tables, pairs_table, standings_tables
from eraseblock.reproduction.beyond.trials import MEASURES, Design, Figures, Trial, cut, essence, trials_of
from eraseblock.reproduction.files import to_json, write
from eraseblock.sweep import Outcome

RESPONSE = MEASURES[0]
BUFFERS = Contest("buffer", "ftl", "lru")
RECORDINGS = Path(__file__).parents[2] / "workloads"

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
    distrust: str = "",
    offline: bool = False,
) -> Trial:
    """A design with these response times in its parts."""
    figures = {one.name: Figures(sum(parts), parts, sum(parts) / 2) for one in MEASURES}
    return Trial(Design(workload, buffer, ftl, ""), figures, offline=offline, distrust=distrust)


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
    assert [place.name(BUFFERS) for place in found.places if place.as_good] == ["a", "b"]
    assert found.best.to_baseline is not None
    assert found.best.to_baseline.mean == pytest.approx(10 / 22)
    assert found.bound == 2
    assert leads([found]) == [pytest.approx(1 - 30 / 30.5)]
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


def test_the_same_findings_are_told_everywhere(tiny: StudyAnswer, tmp_path: Path) -> None:
    told = sentences(tiny)
    assert told[0].startswith("Least mean response time, by buffer, in 13 contests")
    best = tiny.result("buffer", "response").bouts[0].best
    assert best is not None
    found = json.loads(to_json([], [tiny]))["beyond"]
    first = found[0]["contests"][0]["bouts"][0]
    assert (first["best"], found[0]["sentences"]) == (best.name(BUFFERS), told)
    row = contests_tables(tiny)[0].rows[0]
    assert row[:3] == ("zipf", "page", best.name(BUFFERS))
    pairs = pairs_table(tiny)
    assert pairs is not None
    page = "\n".join(studies_page([tiny]))
    for table in (pairs, *standings_tables(tiny)):
        assert all(len(cells) == len(table.head) for cells in table.rows)
        assert table.title in page
    assert told[0] in page
    report = write([], tmp_path, [tiny]).read_text()
    assert "A tiny study" in report
    assert "Who answers fastest where" in report


def test_plots_can_be_drawn(tiny: StudyAnswer) -> None:
    charts = charts_of(tiny)
    assert len(charts) == 4
    pictures = [vl_convert.vegalite_to_svg(chart.spec) for chart in charts]
    assert all("lb-clock" in picture for picture in pictures[1:3])
    assert "superblock" in pictures[3]


def test_seeds_are_one_design_and_runs_are_kept(tmp_path: Path) -> None:
    study = replace(_tiny(tmp_path, "[1, 2]"), every={"ftl.mapping": "ftls"})
    text = study.path.read_text().replace("[buffer]", '[buffer]\nscheme = ["lru", "none"]')
    study.path.write_text(text)
    [found] = run_studies([study], folder=tmp_path / "out")
    assert len(found.trials) == 2 * len(known("ftls"))
    page = next(one for one in found.trials if one.design.ftl == "page")
    assert len(page.figures["response"].parts) == 20
    journal = (tmp_path / "out" / "runs.jsonl").read_bytes()
    [again] = run_studies([study], folder=tmp_path / "out")
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
        "config": {"host": {"replay": "closed", "max_outstanding": 4}},
        "response_ns": {"all": {"mean": 1.0}},
        "series": {**series, "response_sum_ns": [1, 2, 2]},
    }
    outcome = Outcome(Experiment(json.dumps(CONFIG), Path()), essence(record))
    [found] = trials_of([outcome])
    assert found.figures["response"] == Figures(4 * 60 / 5, (40, 80, 120), None)


CONFIG = {
    "workload": {"path": "w.spc"},
    "buffer": {"scheme": {"kind": "lru"}},
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
def test_the_studies_run_every_recording(name: str) -> None:
    study = studies()[name]
    designs = {
        (one.config["workload"]["path"].rpartition("/")[2], one.config["buffer"]["scheme"]["kind"])
        for one in study.experiments()
    }
    recordings = [path.name for path in RECORDINGS.glob("*.nbdkit.zst")]
    assert designs == {(recording, buffer) for recording in recordings for buffer in known("buffers")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["beyond", "nvm"],
            "reproduce beyond: there is no study `nvm`; did you mean `nvme`? (known: pairs, nvme)",
        ),
        (
            ["beyond", "--traces", "/tmp"],
            "--traces: `beyond` runs the recordings that are bundled; leave it out",
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
