"""Opens a page that a command has written."""

from __future__ import annotations

from pathlib import Path

from eraseblock import _core


def open_page(path: Path) -> None:
    """Show it in the user's browser; says so where there is none."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        raise _core.InputError(f"{path}: found no browser to open it with; the page is written")
