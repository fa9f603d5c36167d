"""`eraseblock list`: everything that has a name."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from eraseblock import _core
from eraseblock.cli.options import AsJson
from eraseblock.names import nearest, registry, source_of, unknown
from eraseblock.pages import cost_of, examples_of, scheme_page
from eraseblock.settings import dotted

if TYPE_CHECKING:
    from rich.text import Text

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

EXAMPLES = """\
Examples:

    eraseblock list
    eraseblock list buffers
    eraseblock list buffers hbm
    eraseblock list generators
    eraseblock list devices nvme-tlc
    eraseblock list papers
    eraseblock list papers hbm
    eraseblock list settings nand
    eraseblock list devices --json
"""


def listing(kind: str | None = None, name: str | None = None, /, *, as_json: AsJson = False) -> None:
    """List what can be named in a command or an experiment; with a name, print all about one of them.

    Args:
        kind: buffers, ftls, allocators, victims, levellers, devices, formats, generators, arrivals,
            stand-ins, metrics, settings or papers; all but the papers if left out.
        name: One of that kind. A buffer or an FTL has a page: rules, options, choices, worked examples.
            A device shows its values, a section of the settings its keys.
    """
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
    return {**entry, "examples": examples_of(entry["name"])}


def _print_page(entry: dict[str, Any]) -> None:
    from rich.markdown import Markdown
    from rich.theme import Theme

    from eraseblock.terminal.console import out

    console = out()
    # As quiet as the other screens, on light terminals and on dark ones.
    quiet = {"code": "cyan", "h1": "bold", "h2": "bold", "table.border": "dim", "table.header": "bold"}
    with console.use_theme(Theme({f"markdown.{name}": style for name, style in quiet.items()})):
        console.print(Markdown(scheme_page(entry)))


def _print(entries: dict[str, list[dict[str, Any]]], *, brief: bool, one: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from eraseblock.terminal.console import out

    console = out()
    for kind, items in entries.items():
        with_page = "page" in items[0]
        table = Table(
            title=_TITLES.get(kind, kind),
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        table.add_column("name", no_wrap=True, style="bold")
        table.add_column("what it is")
        sources = {item["name"]: source_of(item) for item in items}
        with_source = not brief and any(sources.values())
        if with_source:
            table.add_column("source", overflow="fold", max_width=34)
        if with_page and not brief:
            table.add_column("step", no_wrap=True)
        for item in items:
            cells = [Text(_summary(item)) if brief else _describe(item, values=one)]
            if with_source:
                cells.append(Text(sources[item["name"]]))
            if with_page and not brief:
                cells.append(Text(cost_of(item)))
            table.add_row(item["name"], *cells)
        console.print(table)
    if brief:
        console.print(f"More about a kind, and its options: eraseblock list {'|'.join(entries)}")
    elif not one and any("page" in items[0] for items in entries.values()):
        kind = next(iter(entries))
        console.print(
            f"Rules, options and examples of one of them: eraseblock list {kind} {items[-1]['name']}"
        )


def _summary(item: dict[str, Any]) -> str:
    """What it is, in a sentence; how a format is recognised is told with its details."""
    is_format = "columns" in item
    return str(item["title"]) if is_format or not item["summary"] else f"{item['title']}: {item['summary']}"


def _describe(item: dict[str, Any], *, values: bool) -> Text:
    """Everything that is known of it; what options mean is told on the page of a scheme that has one."""
    from rich.text import Text

    lines = [Text(f"{item['title']}: {item['summary']}" if item["summary"] else item["title"])]
    lines += [Text(f"{key}: {item[key]}") for key in ("columns", "units") if item.get(key)]
    lines += [Text(f"{figure['path']}: {figure['what']}") for figure in item.get("figures", [])]
    lines += [Text(f"kept with {item['asked_by']}", "dim")] if item.get("asked_by") else []
    if values:
        lines += [Text(f"{key} = {json.dumps(value)}") for key, value in dotted(item.get("values", {}))]
    given = [(f"{option['name']} = {json.dumps(option['default'])}", option) for option in item["options"]]
    if "page" in item:
        lines += [Text(", ".join(name for name, _ in given), "dim")] if given else []
    else:
        lines += [
            Text(f"{option['name'] if option.get('required') else name} ({option['type']}): {option['doc']}")
            for name, option in given
        ]
    return Text("\n").join(lines)
