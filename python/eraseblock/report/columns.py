"""Columns of the page's data: one list for each axis, figure and setting, with an entry for each run."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from eraseblock.report.figures import describe, in_order
from eraseblock.results.flatten import columns_of, flatten
from eraseblock.results.record import Record
from eraseblock.results.units import number_of, size
from eraseblock.results.view import DRIVE, Row, plain

Json = dict[str, Any]

# Figures in the page keep so many digits; results.json has all.
DIGITS = 9
_MAIN_AXES = ("trace", "ftl", "scheme", "size")
# What a preset brings along.
_OF_A_DRIVE = ("ftl", "size")
# Parts of a record that have a place of their own in the page.
_NOT_FIGURES = (
    "key",
    "name",
    "version",
    "engine",
    "config",
    "trace",
    "trusted",
    "reasons",
    "warnings",
    "offline",
)


def axes_of(rows: Sequence[Row], sources: Sequence[str]) -> list[Json]:
    """What runs can be told apart by; settings that some runs lack have the value `-` there.

    An axis that another one tells already, such as an option that only one policy has, is `implied`.
    """
    drives = [row.drive for row in rows]
    axes = [_axis("drive", "Drive", drives)] if len(set(drives)) > 1 else []
    axes += [
        _axis("trace", "Workload", [row.trace for row in rows]),
        _axis("ftl", "FTL", [row.ftl_in_full for row in rows]),
        _axis("scheme", "Scheme", [row.scheme_in_full for row in rows]),
        _axis("size", "Buffer size", [size(row.buffer_bytes) for row in rows]),
    ]
    keys = dict.fromkeys(key for row in rows for key in row.settings if key != DRIVE)
    axes += [_axis(key, key, [row.settings.get(key, "-") for row in rows]) for key in keys]
    if len(set(sources)) > 1:
        axes.append(_axis("results", "Results", list(sources)))
    _mark_implied(axes)
    return axes


def _mark_implied(axes: Sequence[Json]) -> None:
    """Marks what says nothing new: FTL and buffer beside the drive, a setting beside any other axis."""
    told = [axis for axis in axes if axis["id"] == "drive"]
    for axis in (one for one in axes if one["id"] in _MAIN_AXES):
        if len(axis["labels"]) > 1:
            axis["implied"] = any(_tells(other, axis) for other in told if axis["id"] in _OF_A_DRIVE)
            if not axis["implied"]:
                told.append(axis)
    others = [axis for axis in axes if axis["id"] not in ("drive", *_MAIN_AXES) and len(axis["labels"]) > 1]
    # That with most values tells most of the others.
    for axis in sorted(others, key=lambda one: -len(one["labels"])):
        axis["implied"] = any(_tells(other, axis) for other in told)
        if not axis["implied"]:
            told.append(axis)


def _tells(axis: Json, other: Json) -> bool:
    """Whether each value of an axis comes with one value of the other."""
    pairs = set(zip(axis["of"], other["of"], strict=True))
    return len(pairs) == len(axis["labels"])


def _axis(name: str, title: str, of: Sequence[str]) -> Json:
    labels = list(dict.fromkeys(of))
    numbers = None if name in ("drive", "trace", "results") else [number_of(label) for label in labels]
    if numbers and None not in numbers:
        pairs = sorted(zip(numbers, labels, strict=True), key=lambda pair: pair[0] or 0)
        numbers, labels = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    else:
        numbers = None
    places = {label: place for place, label in enumerate(labels)}
    return {
        "id": name,
        "title": title,
        "labels": labels,
        "numbers": numbers,
        "of": [places[label] for label in of],
    }


def figures_of(records: Sequence[Record]) -> list[Json]:
    """Every number of the records that is not configuration, identity, list or speed of the simulator."""
    columns: dict[str, list[Any]] = {}
    for index, record in enumerate(records):
        parts = {key: value for key, value in record.items() if key not in _NOT_FIGURES}
        for path, value in columns_of(parts).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                columns.setdefault(path, [None] * len(records))[index] = _short(value)
    return [{**describe(path), "of": _column(columns[path])} for path in in_order(list(columns))]


def settings_of(tables: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Each key with its values as text, once each, and which run has which (null: has no such key)."""
    flat = [flatten(table) for table in tables]
    columns = []
    for key in dict.fromkeys(key for table in flat for key in table):
        texts = [None if table.get(key) is None else plain(table[key]) for table in flat]
        values = [text for text in dict.fromkeys(texts) if text is not None]
        if values:
            places = {text: place for place, text in enumerate(values)}
            of = [None if text is None else places[text] for text in texts]
            columns.append({"key": key, "values": values, "of": _column(of)})
    return columns


def sentences_of(records: Sequence[Record], cut_short: Container[int]) -> Json:
    """Reasons for distrust and warnings of each run, each sentence once, and which runs knew the future.

    Args:
        records: the runs.
        cut_short: those (`id`) whose drives wore out before others had served as much.
    """
    places: dict[str, int] = {}

    def numbers(record: Record, key: str) -> list[int]:
        return [places.setdefault(str(sentence), len(places)) for sentence in record.get(key) or []]

    found = {
        "trusted": _column([int(bool(record.get("trusted", True))) for record in records]),
        "offline": _column([int(bool(record.get("offline"))) for record in records]),
        "cut": _column([int(id(record) in cut_short) for record in records]),
        "reasons": _column([numbers(record, "reasons") for record in records]),
        "warnings": _column([numbers(record, "warnings") for record in records]),
    }
    return {**found, "sentences": list(places)}


def keys_of(records: Sequence[Record]) -> list[str]:
    """A short name for each run, for its address in the page: the start of its key, as long as needed."""
    full = [str(record.get("key") or f"run{index}") for index, record in enumerate(records, start=1)]
    length = next((n for n in (8, 12, 16) if len({key[:n] for key in full}) == len(set(full))), 64)
    seen: dict[str, int] = {}
    names = []
    for key in (key[:length] for key in full):
        seen[key] = seen.get(key, 0) + 1
        names.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return names


def _column(values: list[Any]) -> Any:
    """`{"all": value}` where every run has the same."""
    return {"all": values[0]} if all(value == values[0] for value in values) else values


def _short(value: float) -> float:
    if isinstance(value, int):
        return value
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
