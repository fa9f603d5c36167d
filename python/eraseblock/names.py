"""Names of schemes, drives and formats: what exists, and what a misspelt one may have meant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from eraseblock import _core
from eraseblock.settings import sections

Registry = dict[str, list[dict[str, Any]]]


@cache
def _registry_text() -> str:
    return _core.registry()


def registry() -> Registry:
    """Everything that has a name, by kind: buffers, ftls, devices, formats, settings and so on.

    Example:
        >>> "lru" in [buffer["name"] for buffer in registry()["buffers"]]
        True
    """
    entries: Registry = json.loads(_registry_text())
    return {**entries, "settings": sections()}


def known(kind: str) -> list[str]:
    """Names of one kind, in the registry's order."""
    return list(_names_by_kind()[kind])


@cache
def _names_by_kind() -> dict[str, tuple[str, ...]]:
    return {kind: tuple(str(entry["name"]) for entry in entries) for kind, entries in registry().items()}


def check(names: str | Iterable[str], kind: str, option: str) -> list[str]:
    """`names`, or the one name, if the registry has each of them; `all` stands for every one."""
    given = as_list(names)
    everything = known(kind)
    if given == ["all"]:
        return everything
    if "all" in given:
        raise _core.ConfigError(f"{option}: `all` stands for every one; leave out the others, or `all`")
    for name in given:
        if name not in everything:
            raise _core.ConfigError(f"{option}: {unknown(name, kind)}")
    once(given, option)
    return given


def once(values: Iterable[Any], place: str) -> None:
    """Refuse a value that a list has twice: its runs would pass for runs with several seeds."""
    seen: list[Any] = []
    for value in values:
        if value in seen:
            raise _core.ConfigError(f"{place}: `{value}` is there twice; once is enough")
        seen.append(value)


def as_list(values: str | Iterable[str]) -> list[str]:
    """A text is one value: whoever writes `"lru"` does not mean its letters."""
    return [values] if isinstance(values, str) else list(values)


def unknown(name: str, kind: str) -> str:
    """What to say of a name that no entry of this kind has."""
    everything = registry()
    meant = [entry["name"] for entry in everything[kind] if name.lower() in entry.get("also", [])]
    others = [other for other, entries in everything.items() if any(e["name"] == name for e in entries)]
    if meant:
        hint = f"; here it is called `{meant[0]}`"
    elif others:
        hint = f"; it is one of the {others[0]}"
    else:
        hint = nearest(name, known(kind))
    return f"there is no `{name}`{hint} (known: {', '.join(known(kind))})"


def source_of(entry: dict[str, Any]) -> str:
    """Where an entry of the registry was published, and what was read in its place; empty if it was not."""
    source = str(entry.get("paper") or entry.get("reference") or "").rstrip(".")
    year = entry.get("year")
    if year and str(year) not in source:
        source = f"{source} ({year})" if source else str(year)
    if entry.get("described_in"):
        source = f"{source}; built after {entry['described_in']}"
    return f"{source}; a reconstruction" if entry.get("reconstruction") else source


@cache
def reconstructions(kind: str) -> frozenset[str]:
    """Names of one kind that are known without a full description."""
    return frozenset(str(entry["name"]) for entry in registry()[kind] if entry["reconstruction"])


# Of a name shorter than this half may be wrong, of others less.
_SHORT = 4


def nearest(name: str, candidates: Sequence[str]) -> str:
    """`, did you mean ...?` where a candidate comes close, else nothing."""
    import difflib

    lower = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5 if len(name) < _SHORT else 0.6)
    return f"; did you mean `{lower[close[0]]}`?" if close else ""


def key_of(keyword: str) -> str:
    """The key of an experiment for which a Python keyword stands: the same with `_` for each dot.

    Raises:
        ConfigError: there is no such key.

    Example:
        >>> key_of("nand_blocks_per_plane")
        'nand.blocks_per_plane'
    """
    keys = {
        str(option["name"]).replace(".", "_"): str(option["name"])
        for section in sections()
        for option in section["options"]
    }
    if keyword not in keys:
        raise _core.ConfigError(
            f"there is no setting `{keyword}`{nearest(keyword, list(keys))}; docs/reference.md has all keys"
        )
    return keys[keyword]
