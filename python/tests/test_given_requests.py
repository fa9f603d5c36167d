"""Requests from arrays and data frames: the same from each, and wrong ones named by column and row."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any, cast

import numpy
import polars
import pytest
from given_requests import DRIVE, columns, requests

import eraseblock as eb
from eraseblock.requests import requests_of

COLUMNS = columns(requests(300))
CONFIG = {**DRIVE, "buffer": {"scheme": "lru", "size": "256 KiB"}, "bounds": False}


class Arrow:
    """Gives a stream of Arrow, and nothing else."""

    def __init__(self, frame: polars.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def record_of(workload: Any) -> dict[str, Any]:
    [record] = eb.run(CONFIG, workload=workload)
    return {**record, "engine": None}


def test_every_kind_of_table_gives_the_same_record() -> None:
    frame = polars.DataFrame(COLUMNS)
    codes = {"read": 0, "write": 1, "trim": 2, "flush": 3}
    arrays = {
        "at": numpy.array(COLUMNS["at"], dtype="timedelta64[ns]"),
        "op": numpy.array([codes[op] for op in COLUMNS["op"]], dtype=numpy.int16),
        "address": numpy.array(COLUMNS["address"], dtype=numpy.int64),
        "size": numpy.array(COLUMNS["size"], dtype=numpy.uint32),
        "fua": numpy.array(COLUMNS["fua"]),
    }
    structured = numpy.zeros(
        frame.height, [("at", "u8"), ("op", "U5"), ("address", "u8"), ("size", "u8"), ("fua", "?")]
    )
    for name, values in COLUMNS.items():
        structured[name] = values
    letters = frame.with_columns(polars.col("op").str.slice(0, 1).str.to_uppercase().cast(polars.Categorical))
    expected = record_of(COLUMNS)
    assert expected["trace"]["format"] == "memory"
    assert expected["trace"]["requests"] == 300
    for table in (frame, frame.lazy(), Arrow(frame), arrays, structured, letters, {"requests": frame}):
        assert record_of(table) == expected, type(table)


def test_pandas_frames_are_read_without_arrow() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COLUMNS)
    assert record_of(frame) == record_of(COLUMNS)
    frame["op"] = frame["op"].astype("category")
    assert record_of(frame) == record_of(COLUMNS)


def test_keys_of_the_workload_hold_for_tables_too(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        'preset = "hbm-2010"\nnand.blocks_per_plane = 100\nftl.exported = "10 MiB"\nbuffer.size = "256 KiB"\n'
        'precondition.state = "full"\n[workload]\npath = "nowhere.spc"\n',
        encoding="utf-8",
    )
    [record] = eb.run(file, workload={"requests": COLUMNS, "first": 100, "ops": "w"})
    assert record["trace"]["requests"] == 100
    assert record["requests"]["reads"] == 0
    assert record["config"]["workload"].keys().isdisjoint({"path", "generate"})


def test_compare_and_a_folder_take_tables(tmp_path: Path) -> None:
    frame = polars.DataFrame(COLUMNS)
    options: Any = {
        "device": "hbm-2010",
        "buffers": ["lru", "fab"],
        "sizes": "1 MiB",
        "out": tmp_path / "out",
    }
    records = eb.compare(frame, **options)
    assert [one["trace"]["name"] for one in records] == ["requests", "requests"]
    again = eb.compare(frame, **options)
    assert [one["engine"] for one in again] == [one["engine"] for one in records]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"op": None},
            "no column `op`; found at, address, size, fua, expected at, op, address, size, fua, volume",
        ),
        ({"op": ["write", "erase"]}, "column `op`, row 1: found 'erase', expected one of read, write"),
        ({"op": [1, 4]}, "column `op`, row 1: found 4"),
        ({"address": [0, -8]}, "column `address`, row 1: found -8, expected at least 0"),
        ({"address": [0.0, 1.0]}, "column `address`: found Float64, expected whole numbers of bytes"),
        (
            {"at": [0.1, 0.2]},
            "column `at`: found Float64, expected whole numbers of ns, or times; of seconds",
        ),
        (
            {"at": [datetime.datetime(2000, 1, 1), datetime.datetime(3000, 1, 1)]},
            "column `at`, row 1: found 32503680000000000000, expected at most 18446744073709551615",
        ),
        ({"at": None, "time": [0, 1]}, "no column `at`, but `time`: call it `at`"),
        ({"size": [2**70, 4096]}, "column `size`, row 0: found 1180591620717411303424, expected at most"),
        ({"at": [5, 4]}, "request 1: comes at 4 ns, before the one above it (5 ns)"),
        ({"size": [0, 4096]}, "request 0: asks for no bytes"),
        ({"size": [None, 4096]}, "column `size`, row 0: is null"),
        ({"address": [0, 2**63 - 1]}, "beyond any drive"),
        ({"address": [0, 2**40]}, "the drive exports"),
        ({"fua": ["no", "yes"]}, "column `fua`: found String, expected true and false"),
        ({"volume": ["a", "b"]}, "column `volume`: found String, expected whole numbers of volumes"),
        ({"volume": [0, 2**32]}, "column `volume`, row 1: found 4294967296, expected at most 4294967295"),
        ({"size": [4096]}, "columns differ in length"),
    ],
)
def test_wrong_columns_are_named(change: dict[str, Any], said: str) -> None:
    table: dict[str, Any] = {
        "at": [0, 1],
        "op": ["write", "read"],
        "address": [0, 0],
        "size": [4096, 4096],
        "fua": [0, 1],
    }
    table = {name: values for name, values in {**table, **change}.items() if values is not None}
    if "op" not in table:
        table = polars.DataFrame(table)  # type: ignore[assignment]
    with pytest.raises(eb.InputError) as raised:
        eb.run(CONFIG, workload=table)
    assert said in str(raised.value)


def test_a_misspelt_key_beside_a_path_is_no_column() -> None:
    with pytest.raises(eb.ConfigError, match=r"unknown key `workload\.op`; did you mean `workload\.ops`\?"):
        eb.run(CONFIG, workload={"path": "trace.csv", "op": "w"})


def test_a_table_may_have_any_further_column() -> None:
    rows = len(COLUMNS["op"])
    assert record_of({**COLUMNS, "path": ["a"] * rows, "generate": [0] * rows}) == record_of(COLUMNS)


def test_keys_of_a_workload_are_no_trace() -> None:
    work: Any = {"generate": {"kind": "uniform"}}
    with pytest.raises(
        eb.ConfigError, match=r"found keys of a workload \(`generate`\), expected trace files"
    ):
        eb.compare(work)
    with pytest.raises(eb.ConfigError, match=r"found keys of a workload \(`first`\)"):
        eb.compare(cast(Any, {"requests": COLUMNS, "first": 3}))


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(eb.InputError, match=r"^requests: there are no requests in it$"):
        eb.run(CONFIG, workload=polars.DataFrame(COLUMNS).clear())


def test_times_of_day_are_times() -> None:
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    frame = polars.DataFrame(COLUMNS)
    frame = frame.with_columns(at=polars.lit(begin) + polars.duration(microseconds=polars.col("at") // 1000))
    record, plain = record_of(frame), record_of(COLUMNS)
    assert record["trace"]["start_ns"] == int(begin.timestamp()) * 10**9
    assert record["response_ns"] == plain["response_ns"]


def test_volumes_are_laid_out_as_those_of_a_file(tmp_path: Path) -> None:
    made = [one for one in requests(300) if one.op in ("read", "write")]
    volumes = [number % 3 for number in range(len(made))]
    table: dict[str, Any] = {**columns(made), "volume": volumes, "fua": [False] * len(made)}
    table["address"] = [address // 4096 * 4096 // 4 for address in table["address"]]
    file = tmp_path / "three.spc"
    file.write_text(
        "".join(
            f"{volume},{address // 512},{one.size},{one.op[0]},{one.at / 1e9:.9f}\n"
            for one, volume, address in zip(made, volumes, table["address"], strict=True)
        ),
        encoding="utf-8",
    )
    of_table, of_file = record_of(table), record_of(file)
    for figure in ("response_ns", "flash", "hit_ratio", "requests"):
        assert of_table[figure] == of_file[figure], figure
    assert eb.trace.info(table)["volumes"] == eb.trace.info(file)["volumes"]
    # Without the column, they would lie on top of one another.
    on_one = record_of({name: values for name, values in table.items() if name != "volume"})
    assert on_one["hit_ratio"] != of_table["hit_ratio"]
    assert on_one["trace"]["sha256"] != of_table["trace"]["sha256"]
    assert on_one == record_of({**table, "volume": [0] * len(made)})
    each = eb.run(CONFIG, workload={"requests": table, "volumes": "each"})
    assert [one["config"]["workload"]["volumes"] for one in each] == [0, 1, 2]


def test_requests_go_to_another_process_whole() -> None:
    one = requests_of({**COLUMNS, "volume": [2**32 - 1 - number for number in range(300)]})
    there = pickle.loads(pickle.dumps(one))
    assert (there.sha256, len(there)) == (one.sha256, 300)
    assert there.sha256 != requests_of(COLUMNS).sha256
    with pytest.raises(eb.InputError, match=r"requests: found 8999 packed bytes, expected a multiple of 30"):
        type(one).unpack(one.pack()[:-1])


def test_too_many_volumes_are_told_of_their_column() -> None:
    rows = 2**16 + 1
    table = {"op": ["write"] * rows, "address": [0] * rows, "size": [512] * rows, "volume": range(rows)}
    with pytest.raises(eb.InputError, match=r"requests: column `volume`: more than 65536 different volumes"):
        eb.run({**CONFIG, "host": {"replay": "untimed"}}, workload=table)
