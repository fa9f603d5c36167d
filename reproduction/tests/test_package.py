"""The package itself: its examples, and what it is installed as."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from importlib.metadata import entry_points

import pytest

import eraseblock_reproduction

PACKAGE = eraseblock_reproduction.__name__
MODULES = [found.name for found in pkgutil.walk_packages(eraseblock_reproduction.__path__, f"{PACKAGE}.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    ("group", "name"), [("eraseblock.commands", "reproduce"), ("eraseblock.lists", "papers")]
)
def test_the_command_line_finds_it(group: str, name: str) -> None:
    """`make` installs it; what was installed before an entry point came is stale."""
    [found] = (one for one in entry_points(group=group) if one.name == name)
    assert found.value.partition(":")[0] in MODULES
    assert callable(found.load())
