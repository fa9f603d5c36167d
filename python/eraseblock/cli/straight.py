"""`run FILE --json` of one run: its record goes to stdout without the command tree.

To import that takes longer than many a run. Whatever is written otherwise, or has more to it than one run, is
for the command tree.
"""
# To import `pathlib` takes as long as all of this.
# ruff: noqa: PTH113, PTH120, PTH123

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from eraseblock import _core

# Options without a value, and what they are called here.
_FLAGS = {"--json": "as_json", "--verify": "verify", "--no-cache": "no_cache"}


class Straight:
    """A resolved run, and how it is made."""

    def __init__(self, text: str, base: str, flags: set[str]) -> None:
        """Keep what the engine is told."""
        self._text, self._base, self._flags = text, base, flags

    def answer(self) -> None:
        """Run it, and write its record as the command tree would."""
        import json
        from functools import partial

        from eraseblock.terminal.progress import ProgressLines

        cache = "no_cache" not in self._flags
        lines = ProgressLines(1)
        progress = partial(lines.update, 0)
        text = _core.run(self._text, self._base, "verify" in self._flags, progress, cache=cache, alone=True)
        record = json.dumps(json.loads(text), ensure_ascii=False, separators=(", ", ": "))
        sys.stdout.write(f"[\n{record}\n]\n")


def found(tokens: Sequence[str]) -> Straight | None:
    """The run that is asked for; none where the command tree has to see to it.

    Raises:
        ConfigError: the experiment, or an override, is wrong.
    """
    call = _read(tokens)
    # On a terminal people want to see how a run gets on.
    if call is None or sys.stderr is None or sys.stderr.isatty():
        return None
    path, sets, flags = call
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError):
        return None
    runs = _core.resolve(text, path, sets)
    # A run of each volume is not one run.
    if len(runs) != 1 or '"each' in runs[0] or '"busiest' in runs[0]:
        return None
    return Straight(runs[0], os.path.dirname(path) or ".", flags)


def _read(tokens: Sequence[str]) -> tuple[str, list[str], set[str]] | None:
    """File, overrides and flags of a plain call."""
    if not tokens or tokens[0] != "run":
        return None
    paths, sets, flags = list[str](), list[str](), set[str]()
    rest = iter(tokens[1:])
    for token in rest:
        if token in _FLAGS and _FLAGS[token] not in flags:
            flags.add(_FLAGS[token])
        elif token == "--set" and "=" in (value := next(rest, "")) and not value.startswith("-"):
            sets.append(value)
        elif token and not token.startswith("-"):
            paths.append(token)
        else:
            return None
    if len(paths) != 1 or "as_json" not in flags:
        return None
    # What comes through a pipe lies in no folder, and may be read once; other names may be those of traces.
    path = paths[0]
    plain = (
        path.endswith(".toml")
        and os.path.isfile(path)
        and path == os.path.normpath(path)
        and not path.startswith("/dev/")
    )
    return (path, sets, flags) if plain else None
