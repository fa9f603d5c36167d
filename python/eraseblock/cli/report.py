"""`eraseblock report`: builds the page of a folder of results again, or one page of several."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson
from eraseblock.terminal.console import say_error

if TYPE_CHECKING:
    from eraseblock.results.record import Record

USAGE = "eraseblock report [OPTIONS] FOLDER..."
EXAMPLES = """\
Examples:

    eraseblock report out/demo
    eraseblock report out/demo --open
    eraseblock report out/before out/after -o out/both
"""


def report(
    *folders: Path,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"], help="Folder for report.html; default: the folder of the results."
        ),
    ] = None,
    open_: Annotated[
        bool, Parameter(name="--open", negative="", help="Open the page in the browser.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild report.html from the results in a folder; of several, put their runs into one page.

    Of a sweep that has not ended, the runs that have are shown.

    Args:
        folders: What `-o` of `compare` or `run` named.
    """
    from eraseblock.outputs import read_analysis, write_report
    from eraseblock.results.missing import read_missing
    from eraseblock.results.store import make_folder

    if not folders:
        raise _core.ConfigError("report needs a FOLDER of results, as in: eraseblock report out/demo")
    if output is None and len(folders) > 1:
        raise _core.ConfigError("report of several folders: say with -o into which folder the page goes")
    found = [(folder, _records_of(folder)) for folder in folders]
    records = [record for _, some in found for record in some]
    names = _names(folders)
    sources = [name for name, (_, some) in zip(names, found, strict=True) for _ in some]
    if output is not None:
        make_folder(output)
    # What is said about the readings of one folder does not hold for several together.
    analysis = read_analysis(folders[0], records) if len(folders) == 1 else None
    missing = [one for folder in folders for one in read_missing(folder)]
    path = write_report(records, output or folders[0], sources, analysis, missing)
    sys.stdout.write((json.dumps({"report": str(path)}) if as_json else f"report: {path}") + "\n")
    if open_:
        from eraseblock.cli.browser import open_page

        open_page(path)


def _records_of(folder: Path) -> list[Record]:
    """The records of a folder; says so where they are not those of the whole sweep."""
    from eraseblock.results.runs import read_runs
    from eraseblock.results.store import JSON_NAME, is_under_way, read_records

    if not is_under_way(folder):
        records = read_records(folder)
        if not records:
            raise _core.InputError(f"{folder / JSON_NAME}: holds no runs")
        return records
    stored = read_runs(folder)
    if not stored.records:
        raise _core.InputError(f"{folder}: no run of its sweep has ended yet")
    for notice in stored.notices:
        say_error(notice)
    say_error(f"{len(stored.records)} of {stored.asked_for} runs of the sweep in {folder} have ended")
    return stored.records


def _names(folders: tuple[Path, ...]) -> list[str]:
    """The folders' own names where those differ, else their paths."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
