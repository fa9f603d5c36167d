"""Writes what a folder of a reproduction holds beside its runs: all claims as JSON, and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from eraseblock import _core
from eraseblock.reproduction.answers import PaperAnswer
from eraseblock.results.files import replace_file
from eraseblock.results.store import REPORT_NAME, make_folder

JSON_NAME = "reproduction.json"


def write(papers: Sequence[PaperAnswer], folder: Path) -> Path:
    """Write both; returns the report's path."""
    from eraseblock.reproduction.html import build_page

    make_folder(folder)
    replace_file(folder / JSON_NAME, [to_json(papers).encode()])
    path = folder / REPORT_NAME
    replace_file(path, [build_page(papers).encode()])
    return path


def to_json(papers: Sequence[PaperAnswer]) -> str:
    """All claims with their verdicts and figures."""
    table = {"version": _core.version(), "papers": [paper.as_json() for paper in papers]}
    return json.dumps(table, indent=2, ensure_ascii=False) + "\n"
