"""Results in Python: frames without files, tables and charts of a notebook, traces, the version."""

from __future__ import annotations

import importlib.util
import json
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from typing import Any, NotRequired, cast, get_args, get_origin, get_type_hints, is_typeddict

import polars
import pytest
from given_requests import columns, requests

import eraseblock as eb


@pytest.fixture(scope="module")
def results() -> eb.Results:
    work = {"generate": {"kind": "zipf", "requests": 2000, "footprint": "8 MiB", "interval": "30 ms"}}
    drive = {"preset": "hbm-2010", "nand": {"blocks_per_plane": 300}, "ftl": {"exported": "32 MiB"}}
    buffer = {"scheme": ["lru", {"kind": "bplru", "padding": False}], "size": ["512 KiB", "1 MiB"]}
    return eb.run({**drive, "buffer": buffer, "workload": work})


def test_frames_have_numbers_sizes_in_bytes_and_times_in_ns(results: eb.Results) -> None:
    frame = results.frame()
    assert isinstance(results, list)
    assert frame.height == len(results) == 4
    assert frame["config.buffer.size"].to_list() == [512 << 10, 1 << 20, 512 << 10, 1 << 20]
    assert frame["config.nand.timing.program"].unique().to_list() == [200_000]
    assert frame["config.workload.generate.interval"].unique().to_list() == [30_000_000]
    assert frame["response_ns.all.mean"].dtype == polars.Float64
    texts = [
        name for name in frame.columns if name.startswith("config.") and frame[name].dtype == polars.String
    ]
    for name in texts:
        values = frame[name].drop_nulls().to_list()
        assert not any(value[:1].isdigit() and value.endswith("B") for value in values), name
    assert eb.frame(results[:1]).height == 1
    assert eb.frame([]).is_empty()


def test_what_was_saved_is_the_same_frame(results: eb.Results, tmp_path: Path) -> None:
    eb.save_results(results, tmp_path)
    saved = eb.load_results(tmp_path)
    frame = results.frame()
    assert saved.select(sorted(saved.columns)).equals(frame.select(sorted(frame.columns)))


@pytest.mark.parametrize(("kind", "library"), [("pandas", "pandas"), ("arrow", "pyarrow")])
def test_other_frames_hold_the_same_or_name_what_they_need(
    results: eb.Results, kind: Any, library: str
) -> None:
    if importlib.util.find_spec(library) is None:
        with pytest.raises(eb.ConfigError, match=f"needs the library {library}, which is not installed"):
            results.frame(kind)
    else:
        frame = results.frame(kind)
        ratio = frame["hit_ratio.all"].tolist() if kind == "pandas" else frame["hit_ratio.all"].to_pylist()
        assert ratio == [one["hit_ratio"]["all"] for one in results]
    unknown: Any = "excel"
    with pytest.raises(eb.ConfigError, match="there is no `excel`"):
        results.frame(unknown)


class Cells(HTMLParser):
    """The texts of a table, row by row; what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def test_a_notebook_shows_a_table(results: eb.Results) -> None:
    cells = Cells()
    cells.feed(results._repr_html_())
    assert cells.open == []
    head, *rows = cells.rows
    assert head[:4] == ["scheme", "buffer", "mean", "p99"]
    assert [row[:2] for row in rows] == [[s, b] for s in ("lru", "bplru") for b in ("512 KiB", "1 MiB")]
    assert "In short" in results._repr_html_() or "take `" in results._repr_html_()
    assert eb.Results()._repr_html_() == "<p>no runs</p>"
    named = eb.Results(json.loads(json.dumps(results).replace('"name": "zipf"', '"name": "<script>"')))
    for shown in (named, eb.Results([results[0], named[0]])):
        assert "<script>" not in shown._repr_html_()
        assert "&lt;script&gt;" in shown._repr_html_()


def test_figures_are_drawn(results: eb.Results) -> None:
    lines = results.plot("hits").to_dict()
    assert lines["mark"]["type"] == "line"
    points = lines["datasets"][lines["data"]["name"]]
    assert [one["figure"] for one in points] == [run["hit_ratio"]["all"] for run in results]
    bars = eb.Results(results[::2]).plot().to_dict()
    assert bars["mark"]["type"] == "bar"
    assert [one["design"] for one in bars["datasets"][bars["data"]["name"]]] == ["lru", "bplru"]
    with pytest.raises(eb.ConfigError, match="plot: there is no column `hist`"):
        results.plot("hist")


def test_figures_that_are_not_to_be_trusted_are_marked(results: eb.Results) -> None:
    doubted = eb.Results(json.loads(json.dumps(results)))
    doubted[1]["trusted"], doubted[1]["reasons"] = False, ["the backlog kept growing"]
    lines = doubted.plot().to_dict()
    crosses = lines["datasets"][lines["layer"][1]["data"]["name"]]
    assert [(one["along"], one["doubt"]) for one in crosses] == [(1 << 20, "the backlog kept growing")]
    bars = eb.Results(doubted[1::2]).plot().to_dict()
    assert bars["encoding"]["opacity"]["condition"]["test"] == "datum.trusted"
    assert "opacity" not in eb.Results(doubted[::2]).plot().to_dict()["encoding"]


def test_a_sweep_is_drawn_along_the_number_that_differs(results: eb.Results) -> None:
    def design(of: eb.Record, spare: float, victim: str) -> eb.Record:
        run = json.loads(json.dumps(of))
        run["config"]["ftl"].update({"over_provisioning": spare, "victim": {"kind": victim}})
        return cast(eb.Record, run)

    sweep = [
        design(results[0], spare, victim) for victim in ("greedy", "cat") for spare in (0.07, 0.15, 0.28)
    ]
    chart = eb.Results(sweep).plot("WAF").to_dict()
    points = chart["datasets"][chart["data"]["name"]]
    assert chart["mark"]["type"] == "line"
    assert chart["encoding"]["x"]["title"] == "ftl.over_provisioning"
    assert [one["along"] for one in points] == [0.07, 0.15, 0.28] * 2
    assert [one["design"] for one in points] == [
        f"ftl.victim.kind = {one}" for one in ("greedy", "cat") for _ in range(3)
    ]
    assert "column" not in chart["encoding"]


def test_what_is_no_amount_is_no_axis_and_units_are_told(results: eb.Results) -> None:
    def volume(number: int, exported: str) -> eb.Record:
        run = json.loads(json.dumps(results[0]))
        run["config"]["workload"]["volumes"] = str(number)
        run["config"]["ftl"]["exported"] = exported
        return cast(eb.Record, run)

    each = eb.Results([volume(number, "32 MiB") for number in range(3)]).plot().to_dict()
    assert each["mark"]["type"] == "bar"
    sizes = eb.Results([volume(0, f"{size} MiB") for size in (16, 32)]).plot().to_dict()
    assert sizes["encoding"]["x"]["title"] == "ftl.exported (bytes)"


def test_records_are_found_again(results: eb.Results, tmp_path: Path) -> None:
    eb.save_results(results, tmp_path / "out")
    again = eb.read_records(tmp_path / "out")
    assert eb.verdict(again) == eb.verdict(results)
    assert again.plot("hits").to_dict() == results.plot("hits").to_dict()
    calls: list[Any] = [eb.verdict, eb.frame, lambda one: eb.save_results(one, tmp_path / "more")]
    for call in calls:
        with pytest.raises(
            eb.ConfigError, match=r"records: found a data frame \(DataFrame\), expected a list of"
        ):
            call(eb.load_results(tmp_path / "out"))
    for read in (eb.read_records, eb.load_results):
        with pytest.raises(eb.InputError, match=r"results\.json: is a file; name the folder of results"):
            read(tmp_path / "out" / "results.json")


def test_traces_are_made_looked_at_and_converted(tmp_path: Path) -> None:
    made = eb.trace.generate("zipf", tmp_path / "a.ebt", requests=500, seed=3, sets={"footprint": "1 MiB"})
    assert (made["requests"], made["format"]) == (500, "ebt")
    assert eb.trace.info(tmp_path / "a.ebt", workload={"first": 100})["selected"]["requests"] == 100
    converted = eb.trace.convert(tmp_path / "a.ebt", tmp_path / "b.spc.zst", workload={"ops": "w"})
    assert converted["written"]["format"] == "spc"
    with pytest.raises(eb.InputError):
        eb.trace.convert(tmp_path / "a.ebt", tmp_path / "b.spc.zst")
    eb.trace.convert(tmp_path / "a.ebt", tmp_path / "b.spc.zst", overwrite=True)
    assert eb.trace_info is eb.trace.info


def test_a_table_of_requests_becomes_a_file_and_comes_back(tmp_path: Path) -> None:
    table = columns([one._replace(size=max(one.size, 0)) for one in requests(300)])
    eb.trace.convert(table, tmp_path / "given.ebt")
    drive = {"preset": "hbm-2010", "precondition": {"state": "empty"}}
    [there], [here] = eb.run(drive, workload=tmp_path / "given.ebt"), eb.run(drive, workload=table)
    for key in there.keys() - {"key", "config", "trace", "engine"}:
        assert dict(there)[key] == dict(here)[key], key


def test_the_version_is_that_of_the_package() -> None:
    assert (
        eb.__version__
        == metadata.version("eraseblock")
        == eb.run(
            {"preset": "hbm-2010", "precondition": {"state": "empty"}},
            workload={"op": ["w"], "address": [0], "size": [1]},
        )[0]["version"]
    )


def test_records_have_the_keys_that_their_type_names(results: eb.Results) -> None:
    def differ(found: Any, named: Any, at: str) -> list[str]:
        keys = get_type_hints(named, include_extras=True)
        needed = {key for key, kind in keys.items() if get_origin(kind) is not NotRequired}
        wrong = [f"{at}.{key}" for key in (found.keys() ^ keys.keys()) if key in needed or key in found]
        for key, kind in keys.items():
            parts = [one for one in (kind, *get_args(kind)) if is_typeddict(one)]
            if parts and isinstance(found.get(key), dict):
                wrong += differ(found[key], parts[0], f"{at}.{key}")
        return wrong

    timed = {"preset": "hbm-2010", "precondition": {"state": "empty"}, "host": {"warm_up": 1}}
    [warmed] = eb.run(timed, workload={"op": ["w", "r"], "address": [0, 0], "size": [1, 1]})
    for record in (*results, warmed):
        assert differ(record, eb.Record, "record") == []
    stats = eb.Device("hbm-2010", precondition={"state": "empty"}).stats()
    assert differ(stats, eb.Stats, "stats") == []
