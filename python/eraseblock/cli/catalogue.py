"""What `eraseblock list` prints. Its tables need nothing that takes long to import."""

from __future__ import annotations

import json
import sys
from typing import Any

from eraseblock import _core
from eraseblock.names import nearest, registry, source_of, unknown
from eraseblock.settings import dotted
from eraseblock.terminal.columns import Column, Line, lines_of, write_columns, write_text

_TITLES = {
    "buffers": "Buffers",
    "ftls": "FTLs",
    "allocators": "Allocators",
    "victims": "Victim policies",
    "levellers": "Wear levellers",
    "devices": "Devices",
    "formats": "Trace formats",
    "generators": "Generators",
    "arrivals": "Arrival processes of generators",
    "stand-ins": "Stand-ins for published workloads",
    "metrics": "Metrics of a record",
    "settings": "Settings of an experiment's file",
}


def show(kind: str | None, name: str | None, *, as_json: bool) -> None:
    """Everything with a name, one kind of it, or all about one of that kind."""
    entries = registry()
    if kind is not None:
        if kind not in entries:
            # What other projects list is looked for only where it is asked for: that takes long.
            from eraseblock.cli.extensions import listing_of, lists

            if kind in lists():
                listing_of(kind)(name, as_json=as_json)
                return
            kinds = [*entries, *lists()]
            raise _core.ConfigError(
                f"list: there is no `{kind}`{nearest(kind, kinds)} (known: {', '.join(kinds)})"
            )
        entries = {kind: entries[kind]}
    if name is not None and kind is not None:
        found = [entry for entry in entries[kind] if entry["name"] == name]
        if not found:
            raise _core.ConfigError(f"list {kind}: {unknown(name, kind)}")
        entries = {kind: found}
    if as_json:
        shown: Any = entries if kind is None else entries[kind]
        if name is not None and kind is not None:
            shown = _whole(kind, entries[kind][0])
        sys.stdout.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    elif name is not None and kind is not None and "page" in entries[kind][0]:
        _print_page(entries[kind][0])
    else:
        _print(entries, brief=kind is None, one=name is not None)


def _whole(kind: str, entry: dict[str, Any]) -> dict[str, Any]:
    """An entry, a buffer with its examples."""
    if kind != "buffers":
        return entry
    from eraseblock.pages import examples_of

    return {**entry, "examples": examples_of(entry["name"])}


def _print_page(entry: dict[str, Any]) -> None:
    from rich.markdown import Markdown
    from rich.theme import Theme

    from eraseblock.pages import scheme_page
    from eraseblock.terminal.console import out

    console = out()
    # As quiet as the other screens, on light terminals and on dark ones.
    quiet = {"code": "cyan", "h1": "bold", "h2": "bold", "table.border": "dim", "table.header": "bold"}
    with console.use_theme(Theme({f"markdown.{name}": style for name, style in quiet.items()})):
        console.print(Markdown(scheme_page(entry)))


def _print(entries: dict[str, list[dict[str, Any]]], *, brief: bool, one: bool) -> None:
    for kind, items in entries.items():
        with_page = "page" in items[0]
        sources = [source_of(item) for item in items]
        described = [[Line(_summary(item))] if brief else _describe(item, values=one) for item in items]
        columns = [
            Column("name", lines_of((item["name"] for item in items), "bold"), fixed=True),
            Column("what it is", described),
        ]
        if not brief and any(sources):
            columns.append(Column("source", lines_of(sources), most=34))
        if not brief and with_page:
            from eraseblock.pages import cost_of

            columns.append(Column("step", lines_of(map(cost_of, items)), fixed=True))
        write_columns(_TITLES.get(kind, kind), columns)
    if brief:
        write_text(f"More about a kind, and its options: eraseblock list {'|'.join(entries)}")
    elif not one and any("page" in items[0] for items in entries.values()):
        kind = next(iter(entries))
        write_text(f"Rules, options and examples of one of them: eraseblock list {kind} {items[-1]['name']}")


def _summary(item: dict[str, Any]) -> str:
    """What it is, in a sentence; how a format is recognised is told with its details."""
    is_format = "columns" in item
    return str(item["title"]) if is_format or not item["summary"] else f"{item['title']}: {item['summary']}"


def _describe(item: dict[str, Any], *, values: bool) -> list[Line]:
    """Everything that is known of it; what options mean is told on the page of a scheme that has one."""
    lines = [Line(f"{item['title']}: {item['summary']}" if item["summary"] else item["title"])]
    lines += [Line(f"{key}: {item[key]}") for key in ("columns", "units") if item.get(key)]
    lines += [Line(f"{figure['path']}: {figure['what']}") for figure in item.get("figures", [])]
    lines += [Line(f"kept with {item['asked_by']}", "dim")] if item.get("asked_by") else []
    if values:
        lines += [Line(f"{key} = {json.dumps(value)}") for key, value in dotted(item.get("values", {}))]
    given = [(f"{option['name']} = {json.dumps(option['default'])}", option) for option in item["options"]]
    if "page" in item:
        lines += [Line(", ".join(name for name, _ in given), "dim")] if given else []
    else:
        lines += [
            Line(f"{option['name'] if option.get('required') else name} ({option['type']}): {option['doc']}")
            for name, option in given
        ]
    return lines
