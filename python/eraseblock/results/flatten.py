"""Turns a nested record into one row of dotted columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flatten(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"a": {"b": 1}}` becomes `{"a.b": 1}`; lists stay values."""
    row: dict[str, Any] = {}
    for key, value in nested.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            row.update(flatten(value, f"{name}."))
        else:
            row[name] = value
    return row


def uniform(value: Any) -> Any:
    """A list of pairs of numbers with one type throughout, as a column needs it."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [[float(number) for number in pair] for pair in value]
    return value
