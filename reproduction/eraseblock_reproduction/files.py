"""Writes what a folder of a reproduction holds beside its runs: all claims as JSON, and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from eraseblock.toolkit import REPORT_NAME, make_folder, replace_file, version
from eraseblock_reproduction.answers import PaperAnswer
from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.record import study_json
from eraseblock_reproduction.beyond.study import NAME

JSON_NAME = "reproduction.json"


def write(papers: Sequence[PaperAnswer], folder: Path, studies: Sequence[StudyAnswer] = ()) -> Path:
    """Write both; returns the report's path."""
    from eraseblock_reproduction.html import build_page

    make_folder(folder)
    replace_file(folder / JSON_NAME, [to_json(papers, studies).encode()])
    path = folder / REPORT_NAME
    replace_file(path, [build_page(papers, studies).encode()])
    return path


def to_json(papers: Sequence[PaperAnswer], studies: Sequence[StudyAnswer] = ()) -> str:
    """All claims with their verdicts and figures, and the studies beyond the papers."""
    table = {"version": version(), "papers": [paper.as_json() for paper in papers]}
    if studies:
        table[NAME] = [study_json(study) for study in studies]
    return json.dumps(table, indent=2, ensure_ascii=False) + "\n"
