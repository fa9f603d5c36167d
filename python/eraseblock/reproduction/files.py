"""Writes what a folder of a reproduction holds beside its runs: all claims as JSON, and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from eraseblock import _core
from eraseblock.outputs import REPORT_NAME
from eraseblock.reproduction.answers import PaperAnswer
from eraseblock.reproduction.beyond.answers import StudyAnswer
from eraseblock.reproduction.beyond.study import NAME
from eraseblock.results.files import replace_file
from eraseblock.results.store import make_folder

JSON_NAME = "reproduction.json"


def write(papers: Sequence[PaperAnswer], folder: Path, studies: Sequence[StudyAnswer] = ()) -> Path:
    """Write both; returns the report's path."""
    from eraseblock.reproduction.html import build_page

    make_folder(folder)
    replace_file(folder / JSON_NAME, [to_json(papers, studies).encode()])
    path = folder / REPORT_NAME
    replace_file(path, [build_page(papers, studies).encode()])
    return path


def to_json(papers: Sequence[PaperAnswer], studies: Sequence[StudyAnswer] = ()) -> str:
    """All claims with their verdicts and figures, and the studies beyond the papers."""
    table = {"version": _core.version(), "papers": [paper.as_json() for paper in papers]}
    if studies:
        table[NAME] = [study.as_json() for study in studies]
    return json.dumps(table, indent=2, ensure_ascii=False) + "\n"
