"""What is answered before the command tree is built, which takes longer than the answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from eraseblock import _core

# `list` takes a kind and a name of that kind.
_NAMES = 2


def answer(tokens: Sequence[str]) -> bool:
    """Answer `--version` and a plain `list`; whatever is written otherwise is for the command tree."""
    if list(tokens) in (["--version"], ["-V"]):
        sys.stdout.write(f"{_core.version()}\n")
        return True
    if not tokens or tokens[0] != "list":
        return False
    as_json = "--json" in tokens
    names = [token for token in tokens[1:] if token != "--json"]
    plain = all(name[:1].isalnum() for name in names)
    if not plain or len(names) > _NAMES or tokens.count("--json") > 1:
        return False
    from eraseblock.cli.catalogue import show

    show(*[*names, None, None][:_NAMES], as_json=as_json)
    return True
