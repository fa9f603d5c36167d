"""`eraseblock list`: everything that has a name."""

from __future__ import annotations

import json
import sys
from typing import Any

from eraseblock import _core
from eraseblock.cli.options import AsJson
from eraseblock.names import nearest, registry, source_of

_TITLES = {
    "buffers": "Buffers",
    "ftls": "FTLs",
    "devices": "Devices",
    "formats": "Trace formats",
    "generators": "Generators",
    "arrivals": "Arrival processes of generators",
    "stand-ins": "Stand-ins for published workloads",
}

EXAMPLES = """\
Examples:

    eraseblock list
    eraseblock list buffers
    eraseblock list generators
    eraseblock list devices --json
"""


def listing(kind: str | None = None, /, *, as_json: AsJson = False) -> None:
    """List what can be named in a command or an experiment.

    Args:
        kind: buffers, ftls, devices, formats, generators, arrivals or stand-ins; all if left out.
    """
    entries = registry()
    if kind is not None:
        if kind not in entries:
            known = list(entries)
            raise _core.ConfigError(
                f"list: there is no `{kind}`{nearest(kind, known)} (known: {', '.join(known)})"
            )
        entries = {kind: entries[kind]}
    if as_json:
        sys.stdout.write(
            json.dumps(entries if kind is None else entries[kind], indent=2, ensure_ascii=False) + "\n"
        )
        return
    _print(entries, brief=kind is None)


def _print(entries: dict[str, list[dict[str, Any]]], *, brief: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from eraseblock.terminal.console import out

    console = out()
    for kind, items in entries.items():
        table = Table(
            title=_TITLES.get(kind, kind),
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        table.add_column("name", no_wrap=True, style="bold")
        table.add_column("what it is")
        if not brief:
            table.add_column("source", overflow="fold", max_width=34)
        for item in items:
            cells = [_summary(item)] if brief else [_describe(item), source_of(item)]
            table.add_row(item["name"], *map(Text, cells))
        console.print(table)
    if brief:
        console.print(f"More about a kind, and its options: eraseblock list {'|'.join(entries)}")


def _summary(item: dict[str, Any]) -> str:
    """What it is, in a sentence; how a format is recognised is told with its details."""
    is_format = "columns" in item
    return str(item["title"]) if is_format else f"{item['title']}: {item['summary']}"


def _describe(item: dict[str, Any]) -> str:
    """Everything that is known of it; options on lines of their own."""
    lines = [f"{item['title']}: {item['summary']}"]
    lines += [f"{key}: {item[key]}" for key in ("columns", "units") if item.get(key)]
    for option in item.get("options") or []:
        default = json.dumps(option["default"])
        lines.append(f"{option['name']} = {default} ({option['type']}): {option['doc']}")
    return "\n".join(lines)
