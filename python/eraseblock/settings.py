"""What an experiment's file can set: each key with its type, default and meaning, from the JSON Schema."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from eraseblock import _core

Node = dict[str, Any]

# Definitions whose values are named, and listed with their own options elsewhere.
_NAMED = {
    "MappingConfig": "an FTL",
    "AllocatorConfig": "an allocator",
    "VictimConfig": "a victim policy",
    "WearConfig": "a wear leveller",
    "BufferConfig": "a buffer scheme",
    "GenerateConfig": "a generator",
    "FormatChoice": "a trace format",
}
_WRITTEN = {
    "Bytes": "size",
    "Nanos": "time",
    "PageTimes": "time, or one for each page type",
}
# In the registry's shape, under this name.
_TOP = {"name": "experiment", "title": "The experiment", "summary": "What stands outside the tables."}


@cache
def _schema() -> Node:
    schema: Node = json.loads(_core.schema())
    return schema


def sections() -> list[Node]:
    """The tables of an experiment's file, in the shape of the registry's entries: one option for each key.

    Example:
        >>> [option["type"] for option in sections()[1]["options"] if option["name"] == "nand.channels"]
        ['integer']
    """
    top: Node = {**_TOP, "options": []}
    tables = []
    for key, node in _schema()["properties"].items():
        inner = _table(node)
        if inner is None:
            top["options"].append(_option(key, node))
            continue
        title, _, summary = str(node["description"]).partition(": ")
        summary = summary[:1].upper() + summary[1:]
        tables.append(
            {"name": key, "title": title.rstrip("."), "summary": summary, "options": _options(key, inner)}
        )
    tables.sort(key=lambda table: table["name"] != "nand")
    return [top, *tables]


@cache
def keys() -> frozenset[str]:
    """All keys of an experiment, those in tables by their path.

    Example:
        >>> "workload.fit" in keys()
        True
    """
    return frozenset(str(option["name"]) for section in sections() for option in section["options"])


def dotted(values: Node, prefix: str = "") -> list[tuple[str, Any]]:
    """The keys of a table, with those of tables in it by their path, and their values.

    Example:
        >>> dotted({"nand": {"channels": 4, "timing": {"read": "25 us"}}})
        [('nand.channels', 4), ('nand.timing.read', '25 us')]
    """
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        path = f"{prefix}{key}"
        found += (
            dotted(value, f"{path}.") if isinstance(value, dict) and "kind" not in value else [(path, value)]
        )
    return found


def _options(prefix: str, table: Node) -> list[Node]:
    """The keys of a table, those of tables in it after their name and a dot."""
    options = []
    for name, node in table["properties"].items():
        key = f"{prefix}.{name}"
        inner = _table(node)
        if inner is None or "default" in node:
            options.append(_option(key, node, is_table=inner is not None))
        options += _options(key, inner) if inner is not None else []
    return options


def _option(key: str, node: Node, *, is_table: bool = False) -> Node:
    default = node.get("default")
    return {
        "name": key,
        "type": "table" if is_table else _type(_one(node)),
        # A table's defaults are those of its keys.
        "default": default if not (is_table and isinstance(default, dict)) else {},
        # What a drive has no default for, a preset gives.
        "required": "." in key and "default" not in node and not _may_be_missing(node),
        "doc": " ".join(" ".join([str(node.get("description", "")), *_meanings(_one(node))]).split()),
    }


def _may_be_missing(node: Node) -> bool:
    """Whether `null` is among the values."""
    kind = node.get("type")
    return (
        kind == "null"
        or (isinstance(kind, list) and "null" in kind)
        or any(_may_be_missing(option) for option in node.get("anyOf", []))
    )


def _one(node: Node) -> Node:
    """A single value: not the list that makes it an axis, and not `null`."""
    options = node.get("anyOf", [])
    found = [o for o in options if o.get("type") not in ("array", "null")]
    if len(found) == 1 and len(options) == 2:
        return _one(found[0])
    return node


def _table(node: Node) -> Node | None:
    """The table that a key holds, if its keys are always the same."""
    inner = _one(node)
    name = inner.get("$ref", "").rpartition("/")[2]
    if name in _WRITTEN or name in _NAMED:
        return None
    target: Node = _schema()["$defs"][name] if name else inner
    return target if "properties" in target and "oneOf" not in target and "anyOf" not in target else None


def _type(node: Node) -> str:
    name = node.get("$ref", "").rpartition("/")[2]
    if name in _NAMED:
        return f"{_NAMED[name]}: a name, or a table with `kind` and its options"
    if name:
        return _WRITTEN.get(name) or _type(_schema()["$defs"][name])
    options = [*node.get("oneOf", []), *node.get("anyOf", [])]
    constants = [option["const"] for option in options if "const" in option]
    if len(constants) < len(options):
        return str(node["description"]) if "description" in node else _type(options[0])
    if constants or "enum" in node:
        return f"one of {', '.join(constants or node['enum'])}"
    kind = node.get("type", "any")
    if kind == "array":
        return f"list: any of {_type(node['items']).removeprefix('one of ')}"
    return next(k for k in kind if k != "null") if isinstance(kind, list) else str(kind)


def _meanings(node: Node) -> list[str]:
    """What each of the values means that can be chosen from."""
    name = node.get("$ref", "").rpartition("/")[2]
    if name in _NAMED or name in _WRITTEN:
        return []
    target = _schema()["$defs"][name] if name else node
    described = [o for o in target.get("oneOf", []) if "const" in o and "description" in o]
    return [f"`{option['const']}`: {option['description']}" for option in described]
