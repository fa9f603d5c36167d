"""Requests that a program holds, in data frames or arrays, as columns of numbers for the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eraseblock import _core

if TYPE_CHECKING:
    import polars

# Operations by code.
OPS = ("read", "write", "trim", "flush")
_SHORT = {"r": 0, "w": 1, "t": 2, "f": 3}
_COLUMNS = ("at", "op", "address", "size", "fua", "volume")
_NEEDED = ("op", "address", "size")
# What a mapping has one of that holds the keys of a workload, not columns.
_WORKLOAD = {"path", "generate", "requests", "given"}
# How the name of a column of times often begins, and what else it is called.
_TIMES = ("time", "arriv", "at_")
_TIME = ("at", "ts")
# Nanoseconds of a unit of polars' times.
_NS = {"ns": 1, "us": 1000, "ms": 1_000_000}
# The largest numbers that the engine reads.
_MOST = 2**64 - 1
_MOST_OF = {"volume": 2**32 - 1}
# What a column of whole numbers holds, where it is not bytes.
_WHOLE = {"at": "whole numbers of ns, or times", "volume": "whole numbers of volumes"}
# What stands in messages for the whole.
_WHAT = "requests"


def is_table(value: object) -> bool:
    """Whether it holds columns: a data frame, an Arrow table, a mapping of arrays, a structured array."""
    if isinstance(value, Mapping):
        # A table may have further columns of any name.
        return "op" in value and ("address" in value or not _WORKLOAD & value.keys())
    # A look at the names of a frame that is not made yet could take long.
    return any(hasattr(type(value), name) for name in ("__arrow_c_stream__", "columns", "dtype"))


def requests_of(table: Any) -> _core.Requests:
    """The requests of a table, for the engine.

    Args:
        table: a data frame of polars or pandas, anything that gives an Arrow stream, a mapping of arrays or
            lists, or a structured array of numpy. Columns `op` ("read", "write", "trim", "flush", their first
            letters, or 0 to 3), `address` and `size` in bytes; where the run has times `at`, whole ns or
            times and durations, in order; `fua`, true where a write is forced; and `volume`, the number of
            the volume whose address it is. Others are left alone.

    Raises:
        InputError: names the column, and the row, that cannot be.
    """
    import numpy

    frame = _framed(table)
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing:
        raise _core.InputError(
            f"{_WHAT}: no column `{missing[0]}`; found {', '.join(frame.columns) or 'none'}, "
            f"expected {', '.join(_COLUMNS)} (at, fua and volume may be left out)"
        )
    _refuse_misnamed(table, frame)
    rows = frame.height
    at = _numbers(frame, "at") if "at" in frame.columns else numpy.zeros(rows, numpy.uint64)
    fua = _flags(frame) if "fua" in frame.columns else numpy.zeros(rows, numpy.uint8)
    volume = _numbers(frame, "volume") if "volume" in frame.columns else numpy.zeros(rows)
    return _core.Requests(
        at,
        _ops(frame["op"]),
        _numbers(frame, "address"),
        _numbers(frame, "size"),
        fua,
        volume.astype(numpy.uint32),
    )


def _refuse_misnamed(table: Any, frame: polars.DataFrame) -> None:
    """What is not read may not look like what a run takes, or nobody would notice."""
    if isinstance(table, Mapping):
        names = list(table)
    else:
        # pandas' own columns: of the frame only those are left that are read.
        source = table if hasattr(table, "iloc") else frame
        names = list(getattr(getattr(table, "dtype", None), "names", None) or source.columns)
    lower = {str(name): str(name).lower() for name in names}
    meant = [name for name, word in lower.items() if word.startswith(_TIMES) or word in _TIME]
    if "at" not in names and meant:
        raise _core.InputError(
            f"{_WHAT}: no column `at`, but `{meant[0]}`: call it `at` (ns, or times), or leave it out"
        )


def _framed(table: Any) -> polars.DataFrame:
    import numpy
    import polars

    if isinstance(table, polars.LazyFrame):
        return table.collect()
    if isinstance(table, polars.DataFrame):
        return table
    if isinstance(table, numpy.ndarray):
        if table.dtype.names is None:
            raise _core.InputError(
                f"{_WHAT}: an array without names of columns; give a mapping of arrays, such as "
                '{"op": ..., "address": ..., "size": ...}'
            )
        table = {name: numpy.ascontiguousarray(table[name]) for name in table.dtype.names}
    elif not isinstance(table, Mapping) and hasattr(table, "columns") and hasattr(table, "iloc"):
        # pandas, whose own way to Arrow takes another library.
        table = {str(name): table[name].to_numpy() for name in table.columns}
    if not isinstance(table, Mapping):
        return polars.DataFrame(table)
    columns = []
    for name in _COLUMNS:
        if name not in table:
            continue
        try:
            columns.append(polars.Series(name, table[name]))
        except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError) as error:
            raise _core.InputError(f"{_WHAT}: column `{name}` cannot be read: {error}") from None
    heights = {column.name: column.len() for column in columns}
    if len(set(heights.values())) > 1:
        raise _core.InputError(f"{_WHAT}: columns differ in length: {heights}")
    return polars.DataFrame(columns)


def _no_nulls(column: polars.Series) -> None:
    if column.null_count():
        row = column.is_null().arg_true()[0]
        raise _core.InputError(f"{_WHAT}: column `{column.name}`, row {row}: is null")


def _numbers(frame: polars.DataFrame, name: str) -> Any:
    """A column of whole numbers from 0; times in whatever unit become ns."""
    import polars

    column = frame[name]
    _no_nulls(column)
    kind = column.dtype
    scale = 1
    if name == "at" and isinstance(kind, polars.Datetime | polars.Duration):
        scale = _NS[kind.time_unit]
        column = column.cast(polars.Int64)
    elif not kind.is_integer() and column.len():
        hint = (
            "; of seconds make them with (seconds * 1e9).round()" if name == "at" and kind.is_float() else ""
        )
        expected = _WHOLE.get(name, "whole numbers of bytes")
        raise _core.InputError(f"{_WHAT}: column `{name}`: found {kind}, expected {expected}{hint}")
    low, high = column.min(), column.max()
    if isinstance(low, int) and low < 0:
        row = column.arg_min()
        raise _core.InputError(
            f"{_WHAT}: column `{name}`, row {row}: found {low * scale}, expected at least 0"
        )
    most = _MOST_OF.get(name, _MOST)
    if isinstance(high, int) and high * scale > most:
        row = column.arg_max()
        raise _core.InputError(
            f"{_WHAT}: column `{name}`, row {row}: found {high * scale}, expected at most {most}"
        )
    column = column.cast(polars.UInt64)
    return (column * scale if scale > 1 else column).to_numpy()


def _flags(frame: polars.DataFrame) -> Any:
    import polars

    column = frame["fua"]
    _no_nulls(column)
    if column.dtype != polars.Boolean and not column.dtype.is_integer():
        raise _core.InputError(f"{_WHAT}: column `fua`: found {column.dtype}, expected true and false")
    return column.cast(polars.Boolean).cast(polars.UInt8).to_numpy()


def _ops(column: polars.Series) -> Any:
    import polars

    _no_nulls(column)
    if column.dtype.is_integer():
        codes = column.cast(polars.Int64)
        wrong = ~codes.is_between(0, len(OPS) - 1)
    else:
        words = {name: code for code, name in enumerate(OPS)} | _SHORT
        texts = column.cast(polars.String).str.to_lowercase()
        codes = texts.replace_strict(words, default=None, return_dtype=polars.Int64)
        wrong = codes.is_null()
    if wrong.any():
        row = wrong.arg_true()[0]
        raise _core.InputError(
            f"{_WHAT}: column `op`, row {row}: found {column[row]!r}, expected one of {', '.join(OPS)}, "
            "their first letters, or 0 to 3"
        )
    return codes.cast(polars.UInt8).to_numpy()
