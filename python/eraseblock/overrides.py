"""Overrides as texts, `KEY=VALUE`: what one says, and that it does not contradict an option."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from eraseblock import _core
from eraseblock.settings import dotted


def said_by(text: str) -> tuple[str, Any]:
    """Key and value of an override; words need no quotes, nor do those of a list."""
    key, _, value = text.partition("=")
    with suppress(tomllib.TOMLDecodeError):
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    word = value.strip()
    if word.startswith("["):
        return key.strip(), [one.strip().strip("\"'") for one in word.strip("[]").split(",")]
    return key.strip(), word


def refuse_both(given: Mapping[str, Any], sets: Sequence[str], options: Mapping[str, str]) -> None:
    """Refuse an override of a key that an option sets, too, unless both say the same.

    Args:
        given: values by key.
        sets: overrides.
        options: the option that gave each value.
    """
    for text in sets:
        for key, value in leaves_of(text):
            # A list of tables takes the place of all that is in the table.
            tables = isinstance(value, list) and any(isinstance(one, dict) for one in value)
            within = next((one for one in given if tables and one.startswith(f"{key}.")), None)
            both = within or (key if key in given and not agree(given[key], value) else None)
            if both is not None:
                raise _core.ConfigError(
                    f"{options[both]} and --set {text} both set `{both}`; leave one of them out"
                )


def keys_of(sets: Sequence[str]) -> set[str]:
    """The keys that overrides set."""
    return {key for text in sets for key, _ in leaves_of(text)}


def leaves_of(text: str) -> Iterator[tuple[str, Any]]:
    """The keys of an override: a table has several."""
    key, value = said_by(text)
    yield from dotted({key: value})


def agree(given: Any, value: Any) -> bool:
    """Whether both are the same.

    A scheme's name that is given is the same as its table, which has its options besides; given with options
    it would lose them to a name.
    """
    one, other = (
        part[0] if isinstance(part, list | tuple) and len(part) == 1 else part for part in (given, value)
    )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one == other
    if any(isinstance(part, Mapping) and len(part) > 1 for part in _parts(given)):
        return bool(given == value)
    return _plain(one) == _plain(other)


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _plain(value: Any) -> list[str]:
    """The values of a list, or the one, however they are written."""
    if isinstance(value, list | tuple):
        return [text for one in value for text in _plain(one)]
    text = str(value.get("kind") if isinstance(value, Mapping) else value).replace(" ", "").lower()
    with suppress(ValueError):
        return [str(float(text))]
    return [text]
