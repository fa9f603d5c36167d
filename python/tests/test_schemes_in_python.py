"""Buffer schemes in Python: the same decisions as in Rust, the same checks, and errors that say where."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy
import pytest
from given_requests import DRIVE, columns, requests

import eraseblock as eb
from eraseblock.comparison import Comparison
from eraseblock.experiments import resolve

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
from bplru_scheme import PyBplru  # noqa: E402
from lru_scheme import PyLru  # noqa: E402
from my_scheme import MyClock  # noqa: E402

REQUESTS = columns(requests(700))
SEQUENTIAL = columns(
    [
        one._replace(op="write", address=(n * 24 << 10) % (6 << 20), size=24 << 10, fua=False)
        for n, one in enumerate(requests(500, seed=3))
    ]
)
ZIPF = {
    "generate": {
        "kind": "zipf",
        "requests": 3000,
        "footprint": "4 MiB",
        "read_share": 0.4,
        "interval": "1 ms",
    }
}


def log_of(drive: dict[str, Any], scheme: Any, size: str, workload: Any, path: Path) -> list[str]:
    config = {**drive, "buffer": {"scheme": scheme, "size": size}}
    eb.run(config, workload=workload, events=path, verify=True)
    first, *decisions = path.read_text(encoding="utf-8").splitlines()
    assert first.startswith('{"op":"start"')
    return decisions


@pytest.mark.parametrize("workload", [REQUESTS, SEQUENTIAL, ZIPF], ids=["mixed", "sequential", "zipf"])
@pytest.mark.parametrize(("rust", "python"), [("lru", PyLru), ("bplru", PyBplru), ("clock", MyClock)])
def test_ports_decide_as_the_engine_does(
    rust: str, python: type[eb.Buffer], workload: Any, tmp_path: Path
) -> None:
    for size, replay in (("64 KiB", "open"), ("512 KiB", "untimed"), ("2 MiB", "open")):
        drive = {**DRIVE, "host": {"end_of_run": "flush", "replay": replay}}
        logs = [log_of(drive, scheme, size, workload, tmp_path / "a.jsonl") for scheme in (rust, python)]
        assert logs[0] == logs[1]
        assert len(logs[0]) > 400


def test_figures_are_those_of_the_same_scheme_in_rust() -> None:
    def run(scheme: Any) -> dict[str, Any]:
        [record] = eb.run(
            {**DRIVE, "buffer": {"scheme": scheme, "size": "512 KiB"}}, workload=REQUESTS, verify=True
        )
        return dict(record)

    in_rust, in_python = run("bplru"), run(PyBplru)
    differ = {key for key in in_rust if in_rust[key] != in_python[key]}
    # Of the tables of the paper only the one in Rust knows.
    assert differ <= {"key", "config", "engine", "buffer_metadata_bytes", "buffer_paper_bytes"}
    assert in_python["config"]["buffer"]["scheme"]["kind"] == "PyBplru"
    assert in_python["bound"] == in_rust["bound"]


class Sized(PyLru):
    """With an option, which is part of the record and of its key."""

    def __init__(self, spare: int = 0) -> None:
        self.spare = spare

    def insert(self, page: int, write: bool) -> None:
        super().insert(page, write)

    def evict(self, page: int, write: bool) -> Any:
        return [super(Sized, self).evict(page, write) for _ in range(self.spare + 1)]

    def __len__(self) -> int:
        return len(self.pages)


def test_pages_may_be_numbers_of_numpy() -> None:
    class Numpy(PyLru):
        def evict(self, page: int, write: bool) -> Any:
            return numpy.int64(super().evict(page, write))

    ours, theirs = (
        eb.run({**DRIVE, "buffer": {"scheme": one, "size": "64 KiB"}}, workload=REQUESTS)[0]
        for one in (Numpy, PyLru)
    )
    assert ours["flash"] == theirs["flash"]


def test_options_tell_runs_apart_and_a_folder_resumes_them(tmp_path: Path) -> None:
    drive = {**DRIVE, "buffer": {"scheme": ["lru", Sized(), Sized(7)], "size": "256 KiB"}}
    records = eb.run(drive, workload=REQUESTS, out=tmp_path / "out", verify=True)
    assert [record["config"]["buffer"]["scheme"].get("spare") for record in records] == [None, 0, 7]
    assert len({record["key"] for record in records}) == 3
    assert records[0]["waf"] == records[1]["waf"] != records[2]["waf"]
    stored = (tmp_path / "out" / "results.json").read_bytes()
    assert (
        eb.run(drive, workload=REQUESTS, out=tmp_path / "out", verify=True)[2]["engine"]
        == records[2]["engine"]
    )
    assert (tmp_path / "out" / "results.json").read_bytes() == stored
    assert "Sized" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_an_object_that_is_given_is_left_as_it_is() -> None:
    given = Sized(1)
    eb.run({**DRIVE, "buffer": {"scheme": given, "size": ["64 KiB", "1 MiB"]}}, workload=REQUESTS, jobs=1)
    assert vars(given) == {"spare": 1}


class Held(PyLru):
    """With options and attributes of all kinds."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


@dataclass
class Weighted(PyLru):
    """As `dataclass` compares it: by its fields."""

    weights: Any
    k: int


def test_numbers_of_numpy_are_options() -> None:
    numpy = pytest.importorskip("numpy")
    given = [Held(window=numpy.int64(8)), Held(window=numpy.int64(16)), Held(window=numpy.bool_(True))]
    tables = [one["window"] for one in configured(*given)]
    assert tables == [8, 16, True]
    assert [type(one) for one in tables] == [int, int, bool]


def configured(*schemes: Any) -> list[dict[str, Any]]:
    experiments = resolve({**DRIVE, "buffer": {"scheme": list(schemes)}, "workload": REQUESTS})
    return [one.config["buffer"]["scheme"] for one in experiments]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"window": [8]}, {"window": [16]}),
        ({"window": None}, {"window": (8,)}),
        ({"_private": 1}, {"_private": 2}),
        ({"make": lambda: 1}, {"make": lambda: 2}),
    ],
    ids=["list", "tuple", "private", "function"],
)
def test_objects_that_no_record_tells_apart_are_refused(one: dict[str, Any], other: dict[str, Any]) -> None:
    with pytest.raises(
        eb.ConfigError, match="two objects of `Held` differ in attributes that no record tells"
    ):
        configured(Held(**one), Held(**other))
    # The same object, in two places, is one scheme, and its run the same one.
    same = Held(**one)
    with pytest.raises(eb.ConfigError, match="is there twice"):
        configured(same, same)


def test_what_objects_hold_beside_their_options_is_in_their_hash() -> None:
    numpy = pytest.importorskip("numpy")
    two = [{"a": numpy.arange(5), "b": numpy.arange(5) * factor} for factor in (1, 7)]
    values = ([8], [16], (8,), {"a": [1]}, {"a": [2]}, numpy.arange(3), numpy.arange(4), *two)
    found = [configured(Held(window=value))[0]["python"] for value in values]
    assert len({*found}) == len(values)
    assert found == [configured(Held(window=value))[0]["python"] for value in values]
    # Options are in the record themselves.
    assert configured(Held(window=8))[0]["python"] == configured(Held(window=9))[0]["python"]


def test_objects_are_not_held_against_one_another_by_equality() -> None:
    # Arrays have no truth value, and `==` may leave out what records tell.
    numpy = pytest.importorskip("numpy")
    some: list[Any] = [Weighted(numpy.ones(3), 1), Weighted(numpy.ones(3), 2), {"kind": "lru"}, "fab"]
    found = Comparison(["x.spc"], buffers=some, device="hbm-2010").experiments()
    kinds = [one.config["buffer"]["scheme"]["kind"] for one in found]
    assert kinds == ["Weighted", "Weighted", "lru", "fab"]


def test_objects_with_equal_arrays_are_one() -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(eb.ConfigError, match="is there twice"):
        configured(*(Held(weights=numpy.arange(3)) for _ in range(2)))
    with pytest.raises(eb.ConfigError, match="two objects of `Held` differ"):
        configured(Held(weights=numpy.arange(3)), Held(weights=numpy.ones(3)))


# Without a file, as in a notebook.
IN_A_NOTEBOOK = """
import eraseblock as eb
from eraseblock.scheme import brought

def made(window, way={"a", "b", "c", "d"}):
    class Mine(eb.Buffer):
        _private = PRIVATE
        def insert(self, page, write, *, first=FIRST):
            return page in {"x", "y", "z", "u"} and (1, frozenset({"p", "q", "r"}))
        def evict(self, page, write):
            return window, way, super().evict
        def remove(self, page):
            pass
        @property
        def limit(self):
            return LIMIT
        @staticmethod
        def helper():
            return HELPER
    return Mine
print(brought(made(WINDOW)).table["python"])
"""


NAMES = ("PRIVATE", "WINDOW", "FIRST", "LIMIT", "HELPER")


def in_a_notebook(**values: int) -> str:
    text = IN_A_NOTEBOOK
    for name, value in {**dict.fromkeys(NAMES, 1), **values}.items():
        text = text.replace(name, str(value))
    return text


def test_the_hash_of_a_scheme_without_a_file_is_the_same_in_each_process() -> None:
    def table(seed: str) -> bytes:
        command = [sys.executable, "-c", in_a_notebook()]
        return subprocess.check_output(command, env={**os.environ, "PYTHONHASHSEED": seed})

    assert len(table("1")) == 33
    assert table("1") == table("2")


def test_the_hash_of_a_scheme_without_a_file_knows_all_of_its_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def table(**values: int) -> str:
        exec(compile(in_a_notebook(**values), "<notebook>", "exec"), {"__name__": "__notebook__"})
        return capsys.readouterr().out

    tables = [table(), *(table(**{name: 2}) for name in NAMES)]
    assert len(set(tables)) == 6
    assert table() == tables[0]


def test_other_processes_run_them_too() -> None:
    drive = {**DRIVE, "buffer": {"scheme": [PyLru, "lru"], "size": "256 KiB"}}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        there = eb.run(drive, workload=REQUESTS, executor=executor)
    here = eb.run(drive, workload=REQUESTS)
    assert [{**one, "engine": None} for one in there] == [{**one, "engine": None} for one in here]


def test_compare_and_device_take_them(trace: Path) -> None:
    sets = {"nand.blocks_per_plane": 300, "ftl.exported": "32 MiB"}
    records = eb.compare(trace, buffers=["lru", PyLru], sizes="128 KiB", device="hbm-2010", sets=sets)
    assert [one["config"]["buffer"]["scheme"]["kind"] for one in records] == ["lru", "PyLru"]
    assert records[0]["hit_ratio"] == records[1]["hit_ratio"]
    device = eb.Device(DRIVE, buffer=PyLru, buffer_size="128 KiB")
    device.run(REQUESTS)
    [replayed] = eb.run({**DRIVE, "buffer": {"scheme": PyLru, "size": "128 KiB"}}, workload=REQUESTS)
    assert {**device.record(), "engine": None} == {**replayed, "engine": None}


def wrong_schemes() -> Iterator[tuple[type[eb.Buffer], str]]:
    class Raises(PyLru):
        def evict(self, page: int, write: bool) -> int:
            return 1 // 0

    class Keeps(PyLru):
        def evict(self, page: int, write: bool) -> Any:
            return None

    class Invents(PyLru):
        def evict(self, page: int, write: bool) -> int:
            return 12345

    class Words(PyLru):
        def evict(self, page: int, write: bool) -> Any:
            return "the last one"

    class Forgets(PyLru):
        def order(self) -> list[int]:
            return []

    class Pads(PyLru):
        def evict(self, page: int, write: bool) -> Any:
            return eb.Leave([self.pages.popitem(last=False)[0] for _ in range(9)], "nine", how="pad")

    class Unsure(PyLru):
        def hit(self, page: int, write: bool) -> None:
            """Nothing that the order would know of."""

        def insert(self, page: int, write: bool) -> None:
            """The same."""

        def __len__(self) -> int:
            return len(self.pages)

    class Loses(PyLru):
        def hit(self, page: int, write: bool) -> Any:
            del self.pages[page]
            return page

    class Cleans(PyLru):
        def hit(self, page: int, write: bool) -> Any:
            return eb.Leave([page], "clean", how="keep") if write else None

    class Negative(PyLru):
        def evict(self, page: int, write: bool) -> Any:
            return eb.Leave([-1], "none")

    class Starts(PyLru):
        def start(self, shape: eb.Shape) -> None:
            raise RuntimeError("not today")

    yield Raises, r"buffer `Raises`: evict raised ZeroDivisionError"
    yield Keeps, r"evict raised ValueError: the buffer is full, and nothing left"
    yield Loses, r"hit raised ValueError: page \d+ is just being written, and cannot leave"
    yield Cleans, r"hit raised ValueError: page \d+ is just being written, and cannot leave"
    yield Invents, r"evict raised ValueError: page 12345 should leave, and is not held"
    yield Words, r"evict raised TypeError: returned str, expected pages, Leave"
    yield Forgets, r"flush raised ValueError: \d+ dirty pages were not stored"
    yield Pads, r"evict raised ValueError: pages .* are of several blocks"
    yield Unsure, r"buffer `Unsure`: len\(\) is 0, and it was given \d+ pages to hold"
    yield Negative, r"evict raised OverflowError"
    yield Starts, r"start raised RuntimeError: not today"


@pytest.mark.parametrize(
    ("scheme", "said"), [pytest.param(*pair, id=pair[0].__name__) for pair in wrong_schemes()]
)
def test_what_goes_wrong_inside_is_an_error_with_its_traceback(scheme: type[eb.Buffer], said: str) -> None:
    with pytest.raises(eb.EraseblockError, match=said) as raised:
        eb.run({**DRIVE, "buffer": {"scheme": scheme, "size": "64 KiB"}}, workload=REQUESTS)
    cause = raised.value.__cause__
    if scheme.__name__ in ("Raises", "Starts", "Negative"):
        assert cause is not None
        frame = cause.__traceback__
        assert frame is not None
        assert Path(frame.tb_frame.f_code.co_filename).name in (Path(__file__).name, "scheme.py")


def test_schemes_that_cannot_be_are_refused() -> None:
    class Lacks(eb.Buffer):
        """Nothing."""

    class Taken(PyLru):
        name = "lru"

    class Reads(PyLru):
        reads: Any = "never"

    for scheme, said in (
        (Lacks, "no method `insert`"),
        (Taken, "calls itself `lru`"),
        (Reads, "Reads.reads"),
    ):
        with pytest.raises(eb.ConfigError, match=said):
            eb.Device(DRIVE, buffer=scheme)

    def made(number: int) -> type[eb.Buffer]:
        class Made(PyLru):
            def evict(self, page: int, write: bool) -> Any:
                return [self.pages.popitem(last=False)[0] for _ in range(number)]

        return Made

    with pytest.raises(eb.ConfigError, match="two schemes are called `Made`"):
        eb.compare(REQUESTS, buffers=[made(1), made(2)])
    table = {"kind": "Mine", "python": "0123"}
    with pytest.raises(eb.InputError, match="in the memory of the program that defines it"):
        eb.Device(DRIVE, buffer=table)
    with pytest.raises(ValueError, match="how: found"):
        eb.Leave([1], "why", how="away")  # type: ignore[arg-type]
