"""Writes an experiment for each scheme, of the workloads on which it is worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from eraseblock_reproduction.adversaries.bench import FTLS, ORDINARY, drive
from eraseblock_reproduction.adversaries.stored import Found
from eraseblock_reproduction.adversaries.survey import HELD_OUT
from eraseblock_reproduction.adversaries.words import against, measured

FOLDER_NAME = "cases"


def name_of(found: Found) -> str:
    """Of the case in a scheme's experiment."""
    return f"{found.ftl}, {found.measure}"


def experiments(found: Sequence[Found]) -> dict[str, str]:
    """By the name of its file, with its runs: the scheme, and the ordinary ones."""
    by_scheme = groupby(sorted(found, key=lambda one: one.scheme), key=lambda one: one.scheme)
    return {f"{scheme}.toml": _experiment(scheme, list(some)) for scheme, some in by_scheme}


def _experiment(scheme: str, found: Sequence[Found]) -> str:
    lines = [
        f"# Where {scheme} is worst: made by `eraseblock reproduce adversaries --page docs/adversaries.md`,"
    ]
    lines += ["# which says what was searched, and how. The drive is that of ../drive.toml."]
    for one in found:
        lines += [f"# {name_of(one)}: {measured(one)} {against(one)}.", f"#   {one.workload.words}"]
    names = list(dict.fromkeys([scheme, *ORDINARY]))
    plain = [line for line in drive().splitlines() if not line.startswith("#")]
    text = "\n".join(plain).strip().replace("[buffer]\n", f"[buffer]\nscheme = {_value(names)}\n")
    lines += ["", text]
    seed, length = HELD_OUT[0]
    for one in found:
        lines += ["", "[[case]]", f'name = "{name_of(one)}"', f"ftl.mapping = {_value(FTLS[one.ftl])}"]
        lines += [f"{key} = {_value(value)}" for key, value in one.workload.settings(length, seed).items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """In TOML, on one line."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_value(item)}' for key, item in value.items())} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
