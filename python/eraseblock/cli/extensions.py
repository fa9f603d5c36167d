"""Commands, and kinds of `eraseblock list`, that other projects bring: they say so by entry points."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

from cyclopts import App, Parameter

from eraseblock import _core

COMMANDS = "eraseblock.commands"
LISTS = "eraseblock.lists"
# What projects in the source tree of eraseblock bring, and their folder there.
_HERE = {COMMANDS: {"reproduce": "reproduction"}, LISTS: {"papers": "reproduction"}}

# Prints what there is, or all about the one that is named.
Listing = Callable[..., None]


def add_commands(app: App, *, load: bool) -> None:
    """Put all commands of other projects beside the own ones; unless `load`, each is imported when called.

    What is not imported has no help.
    """
    found = _found(COMMANDS)
    for name, entry in found.items():
        app.command(entry.load() if load else entry.value, name=name)
    for name in _HERE[COMMANDS].keys() - found.keys():
        app.command(_absent(name), name=name)


def lists() -> list[str]:
    """The kinds that other projects list, whether they are installed or not."""
    return sorted({*_found(LISTS), *_HERE[LISTS]})


def listing_of(kind: str) -> Listing:
    """What lists a kind of another project."""
    found = _found(LISTS)
    if kind not in found:
        raise _core.ConfigError(f"list {kind}: {_how(_HERE[LISTS][kind])}")
    load: Listing = found[kind].load()
    return load


def _found(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}


def _absent(name: str) -> Callable[..., None]:
    """A command that says how to get the real one."""
    how = _how(_HERE[COMMANDS][name])

    def absent(*_: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
        raise _core.ConfigError(f"{name}: {how}")

    absent.__doc__ = f"Not installed: {how}."
    return absent


def _how(folder: str) -> str:
    return (
        f"is part of a project of its own, eraseblock-{folder}, which is not installed; "
        f"in the source tree of eraseblock: pip install -e {folder} (make does so)"
    )
