"""Writes everything that a folder of results shows: its data, what other readings make of them, its page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from eraseblock import _core
from eraseblock.arguments import checked
from eraseblock.readings.analysis import is_of
from eraseblock.results.files import drop_parts, replace_file
from eraseblock.results.fleet import totals_of
from eraseblock.results.missing import Missing, write_missing
from eraseblock.results.record import Analysis, Record
from eraseblock.results.runs import has_runs
from eraseblock.results.store import REPORT_NAME, make_folder, write_records

SENSITIVITY_NAME = "sensitivity.json"
# Totals over the volumes of a trace, and how far these are apart.
FLEET_NAME = "fleet.json"


@checked
def save_results(records: Sequence[Mapping[str, Any]], folder: str | Path) -> Path:
    """Write `results.json`, `results.parquet` and `report.html`; returns the report's path.

    A folder that a sweep keeps its runs in (`out=`, `-o`) is refused: its results come from those runs.

    Example:
        >>> report = save_results(records, "out/mysql")  # doctest: +SKIP
    """
    folder = Path(folder)
    if not records:
        raise _core.InputError(f"{folder}: there are no records to save")
    make_folder(folder)
    if has_runs(folder):
        raise _core.InputError(
            f"{folder}: holds the runs of a sweep, which its results are made from; name another folder"
        )
    return write_results(cast(Sequence[Record], records), folder)


def write_results(
    records: Sequence[Record],
    folder: Path,
    analysis: Analysis | None = None,
    missing: Sequence[Missing] = (),
) -> Path:
    """Write everything that is made from records; returns the report's path.

    An analysis of other records that is there goes, as their results do.
    """
    drop_parts(folder / SENSITIVITY_NAME)
    write_records(records, folder)
    if analysis is not None:
        replace_file(folder / SENSITIVITY_NAME, [analysis_json(analysis).encode()])
    else:
        # One that cannot be read is none: it was made from runs that are all in the journal.
        with suppress(_core.InputError):
            analysis = read_analysis(folder, records)
        if analysis is None:
            (folder / SENSITIVITY_NAME).unlink(missing_ok=True)
    write_missing(missing, folder)
    _write_fleet(records, folder)
    return write_report(records, folder, analysis=analysis, missing=missing)


def _write_fleet(records: Sequence[Record], folder: Path) -> None:
    """Write what volumes come to together; where no design ran on several, there is no such file."""
    drop_parts(folder / FLEET_NAME)
    if totals := totals_of(records):
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in totals)
        replace_file(folder / FLEET_NAME, [f"[\n{lines}\n]\n".encode()])
    else:
        (folder / FLEET_NAME).unlink(missing_ok=True)


def write_report(
    records: Sequence[Record],
    folder: Path,
    sources: Sequence[str] = (),
    analysis: Analysis | None = None,
    missing: Sequence[Missing] = (),
) -> Path:
    """Build the page alone; returns its path. `sources`: where each record is from, if from several."""
    # It brings all that draws, and who asks for a name of this module may want data alone.
    from eraseblock.report.page import build_page

    path = folder / REPORT_NAME
    replace_file(path, [build_page(records, sources, analysis, missing).encode()])
    return path


def analysis_json(analysis: Analysis) -> str:
    """An analysis as text, its parts on lines of their own."""
    return json.dumps(analysis, ensure_ascii=False, indent=1) + "\n"


def read_analysis(folder: Path, records: Sequence[Record]) -> Analysis | None:
    """The analysis of a folder, if there is one and it is of these very records."""
    path = folder / SENSITIVITY_NAME
    try:
        analysis = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _core.InputError(
            f"{path}: not an analysis as `--sensitivity` writes it ({error}); remove it, or run again"
        ) from error
    return analysis if is_of(analysis, records) else None
