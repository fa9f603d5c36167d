"""`eraseblock list papers`: the papers whose results are run again, and their figures."""

from __future__ import annotations

import json
import sys

from eraseblock.toolkit import out
from eraseblock_reproduction.beyond.study import NAME as BEYOND
from eraseblock_reproduction.beyond.study import studies
from eraseblock_reproduction.data import PAPERS, paper
from eraseblock_reproduction.terminal.claims import paper_table, papers_json


def papers(name: str | None = None, *, as_json: bool = False) -> None:
    """Print all papers, or the one of this name."""
    found = [paper(each) for each in PAPERS] if name is None else [paper(name)]
    if as_json:
        sys.stdout.write(json.dumps(papers_json(found), indent=2, ensure_ascii=False) + "\n")
        return
    for each in found:
        out().print(paper_table(each))
    out().print(f"What it states, beside what comes out: eraseblock reproduce {found[0].name} FIGURE")
    if name is None:
        names = ", ".join(studies())
        out().print(f"Beyond the papers ({names}): eraseblock reproduce {BEYOND} STUDY")
