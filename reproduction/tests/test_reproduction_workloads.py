"""Traces of the papers are told by what they hold; what stands for them is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eraseblock import _core
from eraseblock_reproduction import data, workloads
from eraseblock_reproduction.plan import FigurePlan, plan
from eraseblock_reproduction.selection import Run
from eraseblock_reproduction.traces import Survey, Trace, match, survey

OWN: dict[str, Any] = {
    "as": "the trace",
    "why": "alike",
    "stand_in": "hbm-financial",
    "own": {
        "name": "Whole",
        "requests": 3,
        "writes": 2,
        "parts": [{"file": "p", "sha256": "aa", "what": "the first", "requests": 1}],
    },
    "alike": [{"file": "q", "sha256": "bb", "what": "another", "requests": 9}],
}
WHOLE = Trace(Path("/t/any-name"), "cc", 3, 1, 2)
PART = Trace(Path("/t/part"), "aa", 1, 0, 1)
ALIKE = Trace(Path("/t/alike"), "bb", 9, 4, 5)


def test_a_whole_trace_is_told_by_its_counts() -> None:
    [found] = match(OWN, [WHOLE])
    assert (found.kind, found.told_by) == ("own", "its counts of requests, writes")
    assert match(OWN, [Trace(Path("/t/x"), "cc", 3, 0, 3)]) == []


def test_parts_and_others_are_told_by_their_content() -> None:
    assert [one.kind for one in match(OWN, [ALIKE, PART, WHOLE])] == ["own", "part", "alike"]


@pytest.mark.parametrize(
    ("traces", "take", "kind"),
    [
        ([], "own", "stand-in"),
        ([PART, ALIKE], "own", "stand-in"),
        ([PART, ALIKE], "parts", "part"),
        ([ALIKE], "alike", "alike"),
        ([WHOLE, PART], "alike", "own"),
    ],
)
def test_what_runs(traces: list[Trace], take: workloads.Take, kind: str) -> None:
    assert workloads.source_of("w", OWN, traces, take).kind == kind


def test_what_does_not_run_is_named() -> None:
    source = workloads.source_of("w", OWN, [PART], "own")
    [sentence] = workloads.named("w", OWN, [PART], source)
    assert sentence.startswith(
        "part (the first; 1 requests) is a part of the paper's own, for w; it is not run"
    )
    taken = workloads.source_of("w", OWN, [PART], "parts")
    assert workloads.named("w", OWN, [PART], taken) == []


def test_a_folder_is_looked_through(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    # The table of the thesis under another name.
    table = (data.folder() / "hbm" / "table-1.1.ssdsim").read_bytes()
    (tmp_path / "inner" / "renamed.ssdsim").write_bytes(table)
    (tmp_path / "README.md").write_text("no trace\n")
    found = survey(tmp_path)
    [trace] = found.traces
    assert (trace.path.name, trace.requests, trace.writes) == ("renamed.ssdsim", 13, 13)
    assert trace.sha256 == "8f042f58775118c5e65a4e8d6aaf48e9090f1ee671c09d4c3e92ded556b50f45"
    assert [path.name for path in found.others] == ["README.md"]
    with pytest.raises(_core.InputError, match="no such folder"):
        survey(tmp_path / "nowhere")


def test_an_own_trace_takes_the_place_of_the_stand_in() -> None:
    paper = data.paper("epo")
    financial = Trace(Path("/t/f1.spc"), "dd", 5_334_987, 1_235_633, 4_099_354)
    planned = plan([(paper, paper.figure("4"))], Survey((financial,)))
    [figure] = planned.figures
    own = [
        experiment.config["workload"]
        for run, experiment in zip(figure.runs, figure.experiments, strict=True)
        if run.source.is_own
    ]
    others = [run for run in figure.runs if not run.source.is_own]
    assert own
    assert others
    assert all(one["path"] == "/t/f1.spc" and "generate" not in one for one in own)
    # What the experiment says of the workload stays.
    assert {(one["ops"], one["fit"]) for one in own} == {("w", "compact")}
    assert {run.source.kind for run in others} == {"stand-in", "generator"}


def test_a_trace_brings_its_own_settings() -> None:
    entry = {**OWN, "own": {**OWN["own"], "settings": {"fit": "clip"}}}
    source = workloads.source_of("w", entry, [WHOLE], "own")
    settings = {"generate": {"kind": "standin"}, "fit": "refuse", "ops": "all"}
    expected = {"path": "/t/any-name", "format": "auto", "fit": "clip", "ops": "all"}
    assert workloads.replaced(settings, source) == expected
    assert source.as_json()["settings"] == {"fit": "clip"}
    plain = workloads.source_of("w", OWN, [WHOLE], "own")
    assert workloads.replaced(settings, plain) == {**expected, "fit": "refuse"}


def test_seeds_of_a_stand_in_fall_together_under_the_own_trace() -> None:
    paper = data.paper("epo")
    own = Trace(Path("/t/f1.spc"), "dd", 5_334_987, 1_235_633, 4_099_354)
    [with_trace] = plan([(paper, paper.figure("4"))], Survey((own,))).figures
    [without] = plan([(paper, paper.figure("4"))], Survey()).figures

    def of_financial(figure: FigurePlan) -> list[Run]:
        return [run for run in figure.runs if run.settings["workload"] == "epo-financial1"]

    assert 3 * len(of_financial(with_trace)) == len(of_financial(without)) > 0
    assert len(set(with_trace.experiments)) == len(with_trace.runs)


def test_every_figure_can_be_planned() -> None:
    for name in data.PAPERS:
        paper = data.paper(name)
        for figure in paper.figures.values():
            [planned] = plan([(paper, figure)], Survey()).figures
            assert bool(planned.runs) == bool(figure.experiments)


def test_without_the_source_tree_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(data, "FOLDER_NAME", "elsewhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(_core.InputError, match=r"elsewhere/workloads.toml.*part of the source tree"):
        data.folder()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "workloads.toml").touch()
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    assert data.folder() == tmp_path / "elsewhere"
