"""Workloads side by side: one row for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.results import units
from eraseblock.terminal.fitting import left_out

Figures = Mapping[str, Any]


def _reuse(profile: Figures) -> str:
    pages = profile["reuse"]["all"]["distance_pages"]["p50"]
    return units.NOTHING if pages is None else units.size(pages * profile["footprint"]["page_bytes"])


def _sequential(profile: Figures) -> str:
    """Reads and writes together, each by its number of requests."""
    parts = [
        (profile["mix"][kind]["requests"], profile[f"sequential_{kind}s"]["stream_share"])
        for kind in ("read", "write")
    ]
    known = [(count, share) for count, share in parts if share is not None]
    total = sum(count for count, _ in known)
    return units.share(sum(count * share for count, share in known) / total if total else None)


_COLUMNS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("requests", lambda p: units.count(p["requests"])),
    ("writes", lambda p: units.share(p["mix"]["write"]["requests_share"])),
    ("mean size", lambda p: units.size(p["size_bytes"]["all"]["mean"])),
    ("sequential", _sequential),
    ("requests/s", lambda p: units.count(p["arrivals"]["requests_per_s"])),
    ("footprint", lambda p: units.size(p["footprint"]["bytes"])),
    ("overwrites", lambda p: units.ratio(p["footprint"]["overwrite_ratio"])),
    ("top 10 %", lambda p: units.share(p["hot_spots"]["all"]["top_10_percent_share"])),
    ("re-use", _reuse),
)
# What goes first where the terminal is narrow.
_LEAST = ("re-use", "overwrites", "mean size", "requests/s", "sequential")


def print_comparison(console: Console, infos: Sequence[Figures]) -> None:
    """Print one row for each workload; a narrow terminal shows fewer figures."""
    shown = [title for title, _ in _COLUMNS]
    names = max(12, min(max(len(info["name"]) for info in infos), console.width // 3))
    for title in _LEAST:
        if names + sum(max(len(one), 8) + 3 for one in shown) >= console.width:
            shown.remove(title)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("trace", width=names, overflow="fold")
    chosen = [(title, show) for title, show in _COLUMNS if title in shown]
    for title, _ in chosen:
        table.add_column(title, justify="right", no_wrap=True)
    for info in infos:
        table.add_row(Text(info["name"]), *(show(info["profile"]) for _, show in chosen))
    console.print(table)
    if no_room := left_out(title for title, _ in _COLUMNS if title not in shown):
        console.print(Text(no_room, "dim"))
