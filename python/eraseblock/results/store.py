"""Writes a folder of results and reads it again: results.json, results.parquet, report.html."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from eraseblock import _core
from eraseblock.experiments import unreadable
from eraseblock.results.flatten import columns_of
from eraseblock.sweep import Record

if TYPE_CHECKING:
    import polars

JSON_NAME = "results.json"
PARQUET_NAME = "results.parquet"
REPORT_NAME = "report.html"


def records_json(records: Sequence[Record]) -> str:
    """The records as a JSON array, one record on each line."""
    lines = ",\n".join(json.dumps(record, ensure_ascii=False, separators=(", ", ": ")) for record in records)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def to_frame(records: Sequence[Record]) -> polars.DataFrame:
    """One row per record, nested keys as dotted columns."""
    import polars

    rows = [columns_of(record) for record in records]
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return polars.DataFrame(
        {name: polars.Series(name, values, strict=False) for name, values in columns.items()}
    )


def make_folder(folder: Path) -> None:
    """Create the folder of results, before any work is done for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".eraseblock-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _core.InputError(
            f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}"
        ) from error


def save_results(records: Sequence[Record], folder: str | Path) -> Path:
    """Write `results.json`, `results.parquet` and `report.html`; returns the report's path.

    Example:
        >>> report = save_results(records, "out/mysql")  # doctest: +SKIP
    """
    folder = Path(folder)
    make_folder(folder)
    _write(folder / JSON_NAME, records_json(records).encode())
    frame_path = folder / f"{PARQUET_NAME}.part"
    to_frame(records).write_parquet(frame_path)
    frame_path.replace(folder / PARQUET_NAME)
    return write_report(records, folder)


def write_report(records: Sequence[Record], folder: Path, sources: Sequence[str] = ()) -> Path:
    """Build the page alone; returns its path. `sources`: where each record is from, if from several."""
    from eraseblock.report.page import build_page

    path = folder / REPORT_NAME
    _write(path, build_page(records, sources).encode())
    return path


def read_records(folder: str | Path) -> list[Record]:
    """The records of a folder that `save_results` wrote."""
    path = Path(folder) / JSON_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _core.InputError(unreadable(path, error)) from error
    problem = "expected an array of result records"
    with suppress(ValueError):
        records = json.loads(text)
        if isinstance(records, list) and all(isinstance(one, dict) and "config" in one for one in records):
            return records
    raise _core.InputError(f"{path}: {problem}, as `eraseblock compare -o` and `run -o` write it")


def load_results(folder: str | Path) -> polars.DataFrame:
    """The results of a folder as a data frame: one row per run, columns such as `response_ns.all.mean`.

    Example:
        >>> frame = load_results("out/demo")  # doctest: +SKIP
        >>> frame.select("config.buffer.size", "hit_ratio.all", "waf")  # doctest: +SKIP
    """
    import polars

    path = Path(folder) / PARQUET_NAME
    try:
        return polars.read_parquet(path)
    except OSError as error:
        raise _core.InputError(unreadable(path, error)) from error
    except polars.exceptions.PolarsError as error:
        raise _core.InputError(f"{path}: not a Parquet file of results: {error}") from error


def _write(path: Path, content: bytes) -> None:
    """Replace `path` in one step, so that a stopped program leaves the old file or the new one."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)
