"""Styles and scripts that go into pages."""

from __future__ import annotations

from importlib import resources


def asset(folder: str, name: str) -> str:
    """The text of a file beside this module."""
    return resources.files("eraseblock.report").joinpath(folder, name).read_text(encoding="utf-8")


def page_style() -> str:
    """The style sheet that every page starts from; colours are those of `eraseblock.report.palette`."""
    return asset("styles", "page.css")
