"""What a comparison runs, what it leaves out, and in which order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from eraseblock import ConfigError, InputError
from eraseblock.comparison import DEFAULT_BUFFERS, Comparison
from eraseblock.experiments import resolve
from eraseblock.names import known, reconstructions
from eraseblock.sweeps import OneRun, Way, run_all


def test_what_need_not_be_waited_for_is_left_out_unless_it_is_named() -> None:
    everything = Comparison(["trace.spc"], buffers="all", sizes=["1 MiB", "64 MiB"])
    taken, missing = everything.without_hopeless()
    assert len(taken) == len(everything.experiments()) - 2
    assert list(missing.values()) == [["bplru 1 MiB"], ["cave 1 MiB"]]
    assert all("12 MiB" in sentence for sentence in missing)
    alone = Comparison(["trace.spc"], buffers=["bplru"], sizes=["1 MiB"])
    assert alone.without_hopeless() == (alone.experiments(), {})


def test_unless_told_otherwise_ten_schemes_run() -> None:
    usual = Comparison(["trace.spc"])
    schemes = [one.config["buffer"]["scheme"]["kind"] for one in usual.experiments()]
    assert schemes == [*DEFAULT_BUFFERS]
    assert len(schemes) == 10
    assert {"none", "lru"} <= {*schemes} <= {*known("buffers")}
    # Most are built from their papers.
    assert len({*schemes} & reconstructions("buffers")) <= 2
    # What need not be waited for is left out of these, too.
    _, missing = Comparison(["trace.spc"], sizes=["1 MiB", "64 MiB"]).without_hopeless()
    assert list(missing.values()) == [["bplru 1 MiB"]]


def test_several_drives_bring_their_own_buffers() -> None:
    both = Comparison(["trace.spc"], buffers="lru", device=["hbm-2010", "nvme-tlc"]).experiments()
    assert [one.config["preset"] for one in both] == ["hbm-2010", "nvme-tlc"]
    assert [one.config["ftl"]["mapping"]["kind"] for one in both] == ["bast", "page"]
    with pytest.raises(ConfigError, match="--device: there is no `nvme-tcl`; did you mean `nvme-tlc`"):
        Comparison(["trace.spc"], device=["hbm-2010", "nvme-tcl"]).experiments()


def test_what_takes_long_comes_last() -> None:
    schemes: list[str] = []

    class Refusing(Executor):
        def submit(self, _call: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
            assert isinstance(arguments[0], OneRun)
            schemes.append(json.loads(arguments[0].text)["buffer"]["scheme"]["kind"])
            future: Future[Any] = Future()
            future.set_exception(InputError("not run"))
            return future

    named = Comparison(["trace.spc"], buffers=["bplru", "lru", "cave", "none"], sizes=["1 MiB"])
    outcomes = run_all(named.experiments(), Way(executor=Refusing()))
    assert schemes == ["lru", "none", "bplru", "cave"]
    # What came of them stands in the order of the call.
    told = [outcome.experiment.config["buffer"]["scheme"]["kind"] for outcome in outcomes]
    assert told == ["bplru", "lru", "cave", "none"]


def test_the_same_run_twice_is_no_run_with_two_seeds(tmp_path: Path) -> None:
    def refused(words: str, call: Callable[[], Any]) -> None:
        with pytest.raises(ConfigError, match=re.escape(words)):
            call()

    trace = "trace.spc"
    refused("compare: `trace.spc` is there twice", Comparison([trace, trace]).experiments)
    sizes = Comparison([trace], sizes=["1MiB", "1MiB"])
    refused("--buffer-size: `1MiB` is there twice", sizes.experiments)
    for value in ("[greedy, cat, greedy]", '["greedy", "greedy"]'):
        victims = Comparison([trace], sets=[f"ftl.victim={value}"])
        refused("compare: ftl.victim: `greedy` is there twice", victims.experiments)
    # Written in two ways it is the same all the same.
    refused("two of its runs are the same", Comparison([trace], sizes=["1 MiB", "1024 KiB"]).experiments)
    path = tmp_path / "twice.toml"
    path.write_text(
        'preset = "hbm-2010"\n[buffer]\nsize = ["1 MiB", "1 MiB"]\n[workload]\npath = "trace.spc"\n'
    )
    refused(f"{path}: buffer.size: `1 MiB` is there twice", lambda: resolve(path))
    # Where a case sets anew what is a list, its runs are alike, and nobody wrote one twice.
    path.write_text(
        'preset = "hbm-2010"\n[[case]]\nname = "none"\nbuffer.scheme = "none"\n[[case]]\nname = "lru"\n'
        '[buffer]\nscheme = { kind = "lru", reads = ["allocate", "bypass"] }\n'
        '[workload]\npath = "trace.spc"\n'
    )
    assert {one.config["case"] for one in resolve(path)} == {"none", "lru"}
    # The engine reads lines and commas in tables that Python's parser does not.
    path.write_text(
        'preset = "hbm-2010"\nseed = [1, 1]\n[buffer]\nscheme = { kind = "lru",\n reads = "bypass",\n}\n'
        '[workload]\npath = "trace.spc"\n'
    )
    refused("two of its runs are the same", lambda: resolve(path))
    refused(
        "seed: `2` is there twice",
        lambda: resolve({"preset": "hbm-2010", "workload": {"path": trace}, "seed": [2, 2]}),
    )


def test_the_list_that_gives_equal_runs_is_blamed() -> None:
    def refused(message: str, sets: list[str] | None = None, **tables: Any) -> None:
        whole = {"preset": "hbm-2010", "workload": {"path": "trace.spc"}, **tables}
        with pytest.raises(ConfigError, match=message):
            resolve(whole, sets=sets or [])

    sizes = {"size": ["1 MiB", "1024 KiB"]}
    same = r"`1 MiB` and `1024 KiB` of `buffer\.size` mean the same"
    refused(same, buffer=sizes)
    refused(same, buffer={"scheme": ["lru", "fab"], **sizes}, seed=[1, 2])
    # A list in the place of one value, and one that an override has taken the place of.
    refused(same, buffer=sizes, metrics=["waits", "waits"])
    refused(same, ["seed=3"], buffer=sizes, seed=[1, 1])
    refused("seed: `1` is there twice", buffer={"size": ["1 MiB", "2 MiB"]}, seed=[1, 2, 1])


@pytest.mark.parametrize(
    ("options", "override", "named"),
    [
        ({"sizes": ["1 MiB"]}, "buffer.size=2MiB", "--buffer-size and --set buffer.size=2MiB both set"),
        ({"sizes": ["1 MiB"]}, 'buffer={ size = "2 MiB" }', "--buffer-size and --set buffer="),
        ({"buffers": ["lru"]}, "buffer.scheme=fab", "--buffers and --set buffer.scheme=fab both set"),
        ({"buffers": ["lru", "fab"]}, "buffer.scheme=fab", "--buffers and --set buffer.scheme=fab both set"),
        ({"ftls": ["page"]}, "ftl.mapping=bast", "--ftls and --set ftl.mapping=bast both set"),
        ({"workload": {"first": 9}}, "workload.first=8", "--first and --set workload.first=8 both set"),
        ({"device": "hbm-2010"}, "preset=nvme-tlc", "--device hbm-2010 and --set preset=nvme-tlc both name"),
        ({}, "workload.path=other.spc", "--set workload.path=other.spc: the requests are those of the trace"),
        ({}, "workload.generate.kind=zipf", "the requests are those of the trace that is named"),
        ({}, 'workload={ path = "other.spc" }', "the requests are those of the trace that is named"),
        (
            {},
            'workload={ generate = { kind = "zipf" } }',
            "the requests are those of the trace that is named",
        ),
        # It takes the place of the whole table.
        ({"buffers": ["lru", "fab"]}, 'buffer=[{ size = "1 MiB" }]', "both set `buffer.scheme`; leave one"),
        (
            {"buffers": [{"kind": "lru", "reads": "bypass"}]},
            "buffer.scheme=lru",
            "--buffers and --set buffer.scheme=lru both set",
        ),
    ],
)
def test_one_key_given_in_two_ways_is_refused(options: dict[str, Any], override: str, named: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(named)):
        Comparison(["trace.spc"], sets=[override], **options).experiments()


@pytest.mark.parametrize(
    ("options", "override"),
    [
        ({"sizes": ["1 MiB"]}, "buffer.size=1MiB"),
        ({"buffers": ["lru"]}, 'buffer.scheme={ kind = "lru" }'),
        ({"workload": {"first": 1000}}, "workload.first=1_000"),
        ({"workload": {"time_scale": 2.0}}, "workload.time_scale=2"),
        ({"workload": {"volumes": "0"}}, 'workload.volumes="0"'),
        ({"device": "hbm-2010"}, "preset=hbm-2010"),
        # Nobody has named the usual buffers, nor the usual drive.
        ({}, "buffer.scheme=[fab, lru]"),
        ({}, "preset=hbm-2010"),
        ({}, 'buffer=[{ size = "1 MiB" }, { size = "2 MiB" }]'),
    ],
)
def test_two_ways_that_say_the_same_may_be(options: dict[str, Any], override: str) -> None:
    assert Comparison(["trace.spc"], sets=[override], **options).experiments()


def test_an_option_of_a_scheme_is_told_where_it_can_be_set() -> None:
    option = "buffer.scheme.reads=bypass"
    with pytest.raises(
        ConfigError, match=r"as in --set buffer\.scheme=lru --set buffer\.scheme\.reads=bypass$"
    ):
        Comparison(["trace.spc"], sets=[option]).experiments()
    # What it says to write is what is meant.
    [one] = Comparison(["trace.spc"], sets=["buffer.scheme=lru", option]).experiments()
    assert one.config["buffer"]["scheme"]["reads"] == "bypass"
    with pytest.raises(ConfigError, match=r"the list of --ftls here, .* as in --set ftl\.mapping=bast --set"):
        Comparison(["trace.spc"], ftls=["bast", "fast"], sets=["ftl.mapping.log_blocks=9"]).experiments()
    [one] = Comparison(
        ["trace.spc"], "lru", sets=["ftl.mapping=bast", "ftl.mapping.log_blocks=9"]
    ).experiments()
    assert one.config["ftl"]["mapping"]["log_blocks"] == 9


def test_a_path_among_the_keys_of_a_workload_is_refused() -> None:
    with pytest.raises(ConfigError, match="workload: found `path`, but the traces are named"):
        Comparison(["x.spc"], workload={"path": "y.spc"}).experiments()
