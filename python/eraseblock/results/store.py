"""Writes the data of a folder of results and reads them again: results.json, engine.json, results.parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eraseblock import _core
from eraseblock.arguments import checked
from eraseblock.experiments import unreadable
from eraseblock.results.files import drop_parts, replace_file
from eraseblock.results.frame import to_frame
from eraseblock.results.ownership import check_owner
from eraseblock.results.record import Record
from eraseblock.results.runs import has_runs, is_delivered, read_runs

if TYPE_CHECKING:
    import polars

JSON_NAME = "results.json"
# How fast each run was, apart from the results: those are the same bytes whenever and wherever they are made.
ENGINE_NAME = "engine.json"
PARQUET_NAME = "results.parquet"
# What is made from all of these; the data are read without it.
REPORT_NAME = "report.html"


def records_json(records: Sequence[Record]) -> str:
    """The records as a JSON array, one record on each line."""
    lines = ",\n".join(json.dumps(record, ensure_ascii=False, separators=(", ", ": ")) for record in records)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def fleet_json(totals: Sequence[Any], records: Sequence[Record]) -> str:
    """The totals over volumes and the records of these as one JSON object."""
    return f'{{"fleet": {json.dumps(totals, ensure_ascii=False)},\n"records": {records_json(records)}}}\n'


def make_folder(folder: Path) -> None:
    """Create the folder of results, before any work is done for it; refuse one with files of others."""
    check_owner(folder)
    check_writable(folder)


def check_writable(folder: Path) -> None:
    """Create a folder if it is not there, and see that files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".eraseblock-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _core.InputError(
            f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}"
        ) from error


def write_records(records: Sequence[Record], folder: Path) -> None:
    """Write the files of data."""
    results = [{key: value for key, value in record.items() if key != "engine"} for record in records]
    speeds = [{"key": record["key"], **record["engine"]} for record in records if "engine" in record]
    for name in (JSON_NAME, ENGINE_NAME, PARQUET_NAME):
        drop_parts(folder / name)
    replace_file(folder / JSON_NAME, [records_json(results).encode()])
    replace_file(folder / ENGINE_NAME, [records_json(speeds).encode()])
    frame = BytesIO()
    to_frame(results).write_parquet(frame)
    replace_file(folder / PARQUET_NAME, [frame.getvalue()])


def is_under_way(folder: Path) -> bool:
    """Whether the folder's runs say more than the files that were made from them."""
    names = (JSON_NAME, PARQUET_NAME)
    return has_runs(folder) and not (is_delivered(folder) and all((folder / name).exists() for name in names))


def read_records(folder: str | Path) -> list[Record]:
    """The records of a folder; where a sweep has not ended, those of the runs that have."""
    folder = _folder(folder)
    if is_under_way(folder):
        return read_runs(folder).records
    records = _read_array(folder / JSON_NAME, _is_record)
    if (folder / ENGINE_NAME).exists():
        speeds = _read_array(folder / ENGINE_NAME, _is_speed)
        if [speed["key"] for speed in speeds] == [record.get("key") for record in records]:
            for record, speed in zip(records, speeds, strict=True):
                record["engine"] = {name: value for name, value in speed.items() if name != "key"}
    return records


def _folder(folder: str | Path) -> Path:
    if (path := Path(folder)).is_file():
        raise _core.InputError(f"{path}: is a file; name the folder of results that it lies in")
    return path


def _is_record(entry: dict[str, Any]) -> bool:
    """Whether it has what every table and page starts from."""
    try:
        config, name = entry["config"], entry["trace"]["name"]
        parts = (
            config["workload"],
            config["buffer"]["size"],
            config["buffer"]["scheme"],
            config["ftl"]["mapping"],
        )
    except (KeyError, TypeError):
        return False
    return None not in (name, *parts)


def _is_speed(entry: dict[str, Any]) -> bool:
    return "key" in entry


def _read_array(path: Path, right: Callable[[dict[str, Any]], bool]) -> list[Record]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _core.InputError(unreadable(path, error)) from error
    with suppress(ValueError):
        entries = json.loads(text)
        if isinstance(entries, list) and all(isinstance(one, dict) and right(one) for one in entries):
            return entries
    raise _core.InputError(
        f"{path}: expected an array of result records, as `eraseblock compare -o` and `run -o` write it"
    )


@checked
def load_results(folder: str | Path) -> polars.DataFrame:
    """The results of a folder as a data frame: one row per run, columns such as `response_ns.all.mean`.

    Where a sweep has not ended, the runs that have.

    Example:
        >>> frame = load_results("out/demo")  # doctest: +SKIP
        >>> frame.select("config.buffer.size", "hit_ratio.all", "waf")  # doctest: +SKIP
    """
    import polars

    folder = _folder(folder)
    if is_under_way(folder):
        return to_frame(read_runs(folder).records)
    path = folder / PARQUET_NAME
    try:
        frame = polars.read_parquet(path)
    except OSError as error:
        raise _core.InputError(unreadable(path, error)) from error
    except polars.exceptions.PolarsError as error:
        raise _core.InputError(f"{path}: not a Parquet file of results: {error}") from error
    if "key" in frame and (folder / ENGINE_NAME).exists():
        speeds = to_frame([{"engine": one} for one in _read_array(folder / ENGINE_NAME, _is_speed)])
        if speeds.height == frame.height and speeds["engine.key"].equals(frame["key"]):
            return frame.hstack(speeds.drop("engine.key"))
    return frame
