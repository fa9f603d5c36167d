"""Wrong kinds of arguments of the functions for Python: each is told in a sentence, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import eraseblock as eb
from eraseblock.cli import main

DRIVE: dict[str, Any] = {"preset": "hbm-2010", "precondition": {"state": "empty"}}
WORK: dict[str, Any] = {"generate": {"kind": "uniform", "requests": 100, "footprint": "1 MiB"}}
TABLE: dict[str, Any] = {"op": ["write"], "address": [1 << 50], "size": [4096]}
# Of any type: what is wrong is the point.
any_eb: Any = eb


def run(**options: Any) -> eb.Results:
    return eb.run(DRIVE, workload=WORK, **options)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: run(jobs="2"), "jobs: found '2' (str), expected a whole number or None"),
        (lambda: run(jobs=True), "jobs: found True (bool), expected a whole number or None"),
        (lambda: run(jobs=0), "jobs: found 0, expected 1 or more"),
        (lambda: run(jobs=-3), "jobs: found -3, expected 1 or more"),
        (lambda: run(verify="no"), "verify: found 'no' (str), expected True or False"),
        (lambda: run(out=3), "out: found 3 (int), expected a text, a path or None"),
        (lambda: run(watcher=3), "watcher: found 3 (int), expected a `Watcher` or None"),
        (lambda: run(sets=[3]), "sets: found [3] (list), expected a text, a list of such or a mapping"),
        (lambda: any_eb.run(3), "source: found 3 (int), expected a text, a path or a mapping"),
        (lambda: any_eb.compare("x.spc", sizes=1 << 20), "sizes: found 1048576 (int), expected a text or"),
        (lambda: any_eb.compare("x.spc", buffers=3), "buffers: found 3 (int), expected a text, a `Buffer`"),
        (lambda: eb.compare("x.spc", buffers="lru,fab"), "buffers: there is no `lru,fab`"),
        (lambda: eb.compare("x.spc", ftls=["pag"]), "ftls: there is no `pag`"),
        (lambda: any_eb.compare("x.spc", workload=3), "workload: found 3 (int), expected a mapping or None"),
        (lambda: any_eb.sweep(WORK, options={"jobs": "2"}), "jobs: found '2' (str)"),
        (lambda: any_eb.sweep(WORK, options=3), "options: found 3 (int), expected a mapping or None"),
        (lambda: any_eb.advise("x.spc", question="op", waf="2"), "waf: found '2' (str), expected a number"),
        (lambda: eb.advise("x.spc", question="ob"), "question: there is no question `ob`"),
        (
            lambda: any_eb.trace.info("x.spc", sample="x"),
            "sample: found 'x' (str), expected a number or None",
        ),
        (lambda: any_eb.load_results(3), "folder: found 3 (int), expected a text or a path"),
        (lambda: any_eb.frame([], 3), "kind: found 3 (int), expected a text"),
        (lambda: any_eb.verdict([], by=3), "by: found 3 (int), expected a text or None"),
    ],
)
def test_a_wrong_kind_of_argument_is_told(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(eb.ConfigError, match=f"^{re.escape(sentence)}"):
        call()


def test_what_stands_for_a_kind_is_taken(tmp_path: Path) -> None:
    [record] = run(jobs=np.int64(1), out=tmp_path / "out", sets=("seed=2",), cache=False)
    assert record["config"]["seed"] == 2
    results = eb.load_results(str(tmp_path / "out"))
    assert len(results) == 1


class Whole:
    """A whole number of a library that nobody has heard of."""

    def __index__(self) -> int:
        return 10


@pytest.mark.parametrize("number", [np.int64(10), np.uint8(10), np.array(10), Whole()])
def test_whole_numbers_of_any_library_are_taken(number: Any, tmp_path: Path) -> None:
    made = eb.trace.generate("uniform", tmp_path / "made.ebt", requests=number, sets={"seed": number})
    assert made["requests"] == 10
    again = eb.trace.generate("uniform", tmp_path / "again.ebt", requests=10, sets={"seed": 10})
    assert (tmp_path / "made.ebt").read_bytes() == (tmp_path / "again.ebt").read_bytes(), again
    [record] = run(jobs=number, sets={"workload.first": number})
    assert record["requests"]["submitted"] == 10
    [record] = eb.run({**DRIVE, "seed": number}, workload=WORK)
    assert record["config"]["seed"] == 10
    [record] = eb.sweep(WORK, device="hbm-2010", seed=[number], precondition_state="empty")
    assert record["config"]["seed"] == 10


def test_whole_numbers_of_any_library_are_sizes_of_buffers() -> None:
    for number in (np.int64(1 << 20), 1 << 20):
        device = any_eb.Device("hbm-2010", buffer_size=number, precondition={"state": "empty"})
        assert device.config["buffer"]["size"] == "1 MiB"


def test_what_has_the_methods_that_are_called_is_taken() -> None:
    class Counts:
        runs = 0

        def finished(self, *_told: Any) -> None:
            self.runs += 1

        def update(self, *_told: Any) -> None:
            pass

    watcher = Counts()
    run(watcher=watcher, verify=np.True_)
    assert watcher.runs == 1


def test_a_chart_needs_the_name_of_a_column() -> None:
    found: Any = run()
    with pytest.raises(eb.ConfigError, match=r"^column: found 3 \(int\), expected a text$"):
        found.plot(3)


def test_a_series_is_a_list() -> None:
    names = polars.Series(["lru", "fab"])
    table = {**TABLE, "address": [0]}
    found = any_eb.compare(table, buffers=names, device="hbm-2010", sets="precondition.state=empty")
    assert len(found) == 2


def test_a_missing_argument_is_told_in_the_words_of_python() -> None:
    with pytest.raises(TypeError, match=r"run\(\) missing 1 required positional argument: 'source'"):
        any_eb.run()


def test_a_warning_points_to_the_call() -> None:
    with pytest.warns(UserWarning, match="^refused: ") as found:
        eb.sweep(WORK, device="hbm-2010", buffer_size=["1 KiB", "1 MiB"], precondition_state="empty")
    assert found[0].filename == __file__


def test_warnings_about_a_folder_point_to_the_call_too(tmp_path: Path) -> None:
    options: Any = {"device": "hbm-2010", "precondition_state": "empty", "options": {"out": tmp_path / "out"}}
    eb.sweep(WORK, seed=1, **options)
    with pytest.warns(UserWarning, match="1 that this sweep does not ask for") as found:
        eb.sweep(WORK, seed=2, **options)
    assert found[0].filename == __file__


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: eb.compare("x.spc", workload={"fit": "x"}),
            "workload.fit: `workload.fit`: unknown name `x`",
        ),
        (
            lambda: eb.compare("x.spc", sizes="1 MiB", sets="buffer.size=2MiB"),
            "sizes and sets: buffer.size=2MiB both set `buffer.size`",
        ),
        (
            lambda: eb.compare("x.spc", sets="buffer.scheme.reads=bypass"),
            "as in sets=['buffer.scheme=lru', 'buffer.scheme.reads=bypass']",
        ),
        (
            lambda: eb.run({**DRIVE, "buffer": {"size": 0}}, workload=WORK),
            'say how large it is, as with buffer.size = "4 MiB"',
        ),
        (
            lambda: eb.Device({**DRIVE, "buffer": {"size": 0}}),
            'say how large it is, as with buffer.size = "4 MiB"',
        ),
        (lambda: eb.trace.info(__file__), "(format)"),
        (lambda: eb.trace.convert({**TABLE}, "out"), "name the format (to)"),
        (
            lambda: eb.trace.convert({**TABLE}, "x.spc", workload={"fit": "wrap"}),
            "how large that is (capacity)",
        ),
        (lambda: eb.trace.convert({**TABLE}, __file__, to="spc"), "let it be replaced (overwrite)"),
        (
            lambda: eb.run(DRIVE, workload={"requests": {**TABLE}}),
            'say how to fit it: workload.fit = "wrap", "compact", "clip", "scale" or "remap"',
        ),
    ],
)
def test_messages_name_what_a_caller_in_python_can_write(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(eb.EraseblockError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "--" not in str(caught.value)


def test_the_command_line_keeps_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text('preset = "hbm-2010"\nworkload.path = "x.spc"\n', encoding="utf-8")
    assert main(["run", str(path), "--set", "buffer.siez=1MiB"]) == 2
    assert capsys.readouterr().err.startswith("eraseblock: --set buffer.siez=1MiB: unknown key")
