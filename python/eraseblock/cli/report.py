"""`eraseblock report`: builds the page of a folder of results again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from eraseblock.cli.options import AsJson

EXAMPLES = """\
Examples:

    eraseblock report out/demo
"""


def report(folder: Path, /, *, as_json: AsJson = False) -> None:
    """Rebuild report.html from the results.json of a folder.

    Args:
        folder: What `-o` of `compare` or `run` named.
    """
    from eraseblock.results.store import read_records, write_report

    path = write_report(read_records(folder), folder)
    sys.stdout.write((json.dumps({"report": str(path)}) if as_json else f"report: {path}") + "\n")
