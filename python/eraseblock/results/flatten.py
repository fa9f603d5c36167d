"""Turns a nested record into one row of dotted columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Lists with hundreds of entries each: they would make nearly all of a Parquet file.
_LONG = re.compile(r"series\.|wear\.map\.|response_ns\.\w+\.histogram$|flush_response_ns\.histogram$")


def flatten(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"a": {"b": 1}}` becomes `{"a.b": 1}`; lists stay values."""
    row: dict[str, Any] = {}
    _lay_out(nested, prefix, row)
    return row


# Asked of first: whether something is a mapping takes longer to find out.
_VALUES = (int, str, float, list, type(None))


def _lay_out(nested: Mapping[str, Any], prefix: str, row: dict[str, Any]) -> None:
    for key, value in nested.items():
        name = f"{prefix}{key}"
        if not isinstance(value, _VALUES) and isinstance(value, Mapping):
            _lay_out(value, f"{name}.", row)
        else:
            row[name] = value


def columns_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record's row in a data frame: all but the long lists of a run's course, which results.json has."""
    return {name: uniform(value) for name, value in flatten(record).items() if not _LONG.match(name)}


def uniform(value: Any) -> Any:
    """A list of pairs of numbers with one type throughout, as a column needs it."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [[float(number) for number in pair] for pair in value]
    return value
