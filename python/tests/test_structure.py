"""Imports go one way: no circle of modules, and none against the order that ARCHITECTURE.md tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import eraseblock
from eraseblock import toolkit

ROOT = Path(__file__).parents[2]
# Where each package lies, and what of other packages counts.
PACKAGES = {"eraseblock": ROOT / "python", "eraseblock_reproduction": ROOT / "reproduction"}
COMPILED = "eraseblock._core"

# For each module those that it imports, those for types alone among them.
Graph = Mapping[str, frozenset[str]]


def modules_of(package: str) -> dict[str, Path]:
    root = PACKAGES[package]
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path) -> Iterator[str]:
    """Dotted names: of `from a import b` both `a` and `a.b`, which is a module or no name of one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are by full names"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def graph_of(package: str) -> Graph:
    modules = modules_of(package)
    known = {*modules, COMPILED}
    graph = {}
    for name, path in modules.items():
        found = set()
        for imported in imports_of(path):
            module = imported if imported in known else imported.rpartition(".")[0]
            if module in known and module != name:
                found.add(module)
        graph[name] = frozenset(found)
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Sets of modules that lead back to themselves; a package and its own children are one to the outside."""
    edges = {name: {one for one in found if not _is_child(one, name)} for name, found in graph.items()}
    reach: dict[str, set[str]] = {}
    for name, first in edges.items():
        seen: set[str] = set()
        todo = [*first]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo += edges.get(one, ())
        reach[name] = seen
    found = {tuple(sorted(other for other in reach[name] if name in reach.get(other, ()))) for name in reach}
    return [[*one] for one in sorted(found) if one]


def _is_child(module: str, package: str) -> bool:
    return module.startswith(f"{package}.")


def order() -> list[list[str]]:
    """The rows of the table: what stands in one row may import from rows above it, and from itself."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("| from below, in `python/eraseblock`")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    assert len(rows) > 5
    return rows


def part_of(module: str) -> str:
    """The package or the module below `eraseblock`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_of_modules(package: str) -> None:
    assert circles(graph_of(package)) == []


def test_circles_are_seen() -> None:
    graph = {"a": {"a.b"}, "a.b": {"a"}, "c": {"d"}, "d": {"e"}, "e": {"c"}, "f": {"c"}}
    assert circles({name: frozenset(found) for name, found in graph.items()}) == [["c", "d", "e"]]


def test_every_part_has_its_place() -> None:
    placed = [part for row in order() for part in row]
    assert len(placed) == len(set(placed))
    assert set(placed) == {part_of(name) for name in (*modules_of("eraseblock"), COMPILED)}


def test_no_import_goes_up() -> None:
    level = {part: number for number, row in enumerate(order()) for part in row}
    wrong = [
        f"{name} -> {imported}"
        for name, found in graph_of("eraseblock").items()
        for imported in found
        if part_of(imported) != part_of(name) and level[part_of(imported)] >= level[part_of(name)]
    ]
    assert wrong == []


def test_the_reproduction_uses_public_names_alone() -> None:
    public = {f"eraseblock.{name}" for name in eraseblock.__all__}
    public |= {f"eraseblock.toolkit.{name}" for name in toolkit.__all__}
    used = {
        imported
        for path in modules_of("eraseblock_reproduction").values()
        for imported in imports_of(path)
        if imported.partition(".")[0] == "eraseblock"
    }
    assert used <= public


def test_nothing_but_commands_prints() -> None:
    """A library leaves it to its caller who is told what."""
    printing = {"eraseblock.toolkit.CommandLine", "eraseblock.toolkit.out", "eraseblock.toolkit.say_error"}
    commands = {f"eraseblock_reproduction.{name}" for name in ("command", "listing")}
    wrong = [
        name
        for name, path in modules_of("eraseblock_reproduction").items()
        if name not in commands and not name.startswith("eraseblock_reproduction.terminal")
        for imported in imports_of(path)
        if imported in printing or imported.startswith("eraseblock_reproduction.terminal")
    ]
    assert wrong == []
