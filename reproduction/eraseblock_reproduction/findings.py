"""Reads what was learned about a paper: a text beside its claims, where there is one."""

from __future__ import annotations

from eraseblock_reproduction.data import Paper

FINDINGS_NAME = "findings.md"


def findings_of(paper: Paper) -> str:
    """The text, as Markdown; empty if there is none."""
    path = paper.folder / FINDINGS_NAME
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""
