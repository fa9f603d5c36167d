"""`eraseblock man`: the manual page, made of what `--help` says."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator

from cyclopts import App

EXAMPLES = """\
Examples:

    eraseblock man > ~/.local/share/man/man1/eraseblock.1
    eraseblock man | man -l -
"""
_WIDTH = 88


def command(whole: Callable[[], App]) -> Callable[[], None]:
    """The command, which is about all commands."""

    def man() -> None:
        """Print the manual page, with all commands and their options."""
        sys.stdout.write(page(whole()))

    return man


def page(app: App) -> str:
    """The whole page."""
    from eraseblock import _core

    lines = [
        f'.TH ERASEBLOCK 1 "" "eraseblock {_core.version()}" "User Commands"',
        ".SH NAME",
        r"eraseblock \- simulate what a workload does to a solid-state drive",
        ".SH SYNOPSIS",
        r".B eraseblock",
        r".I COMMAND",
        r"[\fIOPTIONS\fR]",
        ".SH DESCRIPTION",
        *_literal(_help(app, [])),
    ]
    for command in _commands(app, []):
        lines += [f".SH {' '.join(command).upper()}", *_literal(_help(app, command))]
    return "\n".join(lines) + "\n"


def _commands(app: App, before: list[str]) -> Iterator[list[str]]:
    """Every command and every one of its own, in the order of the help."""
    for name in app:
        if name.startswith("-"):
            continue
        yield [*before, name]
        yield from _commands(app[name], [*before, name])


def _help(app: App, command: list[str]) -> str:
    from rich.console import Console

    console = Console(
        file=io.StringIO(), width=_WIDTH, no_color=True, color_system=None, legacy_windows=False
    )
    app.help_print(command, console=console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def _literal(text: str) -> list[str]:
    """Lines as they are: frames of tables become blanks, a leading dot no command of roff."""
    plain = text.translate({ord(sign): " " for sign in "╭╮╰╯│─"})
    lines = [
        line.rstrip().replace("\\", r"\e").replace("-", r"\-") for line in plain.strip("\n").splitlines()
    ]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return [".nf", *(f"\\&{line}" if line.startswith((".", "'")) else line for line in kept), ".fi"]
