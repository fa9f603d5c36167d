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
        for key, value in _leaves(text):
            if key in given and not agree(given[key], value):
                raise _core.ConfigError(
                    f"{options[key]} and --set {text} both set `{key}`; leave one of them out"
                )


def keys_of(sets: Sequence[str]) -> set[str]:
    """The keys that overrides set."""
    return {key for text in sets for key, _ in _leaves(text)}


def _leaves(text: str) -> Iterator[tuple[str, Any]]:
    """The keys of an override: a table has several."""
    key, value = said_by(text)
    yield from dotted({key: value})


def agree(given: Any, value: Any) -> bool:
    """Whether both are the same. A scheme's name is the same as its table, which has its options besides."""
    one, other = (
        part[0] if isinstance(part, list | tuple) and len(part) == 1 else part for part in (given, value)
    )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one == other
    return _plain(one) == _plain(other)


def _plain(value: Any) -> list[str]:
    """The values of a list, or the one, however they are written."""
    if isinstance(value, list | tuple):
        return [text for one in value for text in _plain(one)]
    text = str(value.get("kind") if isinstance(value, Mapping) else value).replace(" ", "").lower()
    with suppress(ValueError):
        return [str(float(text))]
    return [text]
