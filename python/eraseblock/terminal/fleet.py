"""Tables of what the volumes of a trace come to: totals of each design, and how far volumes are apart."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.results import units
from eraseblock.results.fleet import Fleet, Spread, Totals, sentences_of
from eraseblock.terminal.names import styled

# More volumes than this have tables of their own only where all runs are asked for.
FEW = 4
# Of each design: what its columns are called, and what stands in them.
_SPREADS = (
    ("mean", "mean_response_ns", units.duration),
    ("p99", "p99_response_ns", units.duration),
    ("WAF", "waf", units.ratio),
    ("erases", "erases", units.count),
)


def print_fleets(console: Console, fleets: Sequence[Fleet]) -> None:
    """Print the totals of each trace's designs, the spread over volumes, and which design is ahead."""
    traces: dict[str, list[Fleet]] = {}
    for fleet in fleets:
        traces.setdefault(fleet.row.trace, []).append(fleet)
    for trace, designs in traces.items():
        totals = [fleet.totals() for fleet in designs]
        most = max(one["volumes"] for one in totals)
        requests = units.count(max(one["requests"] for one in totals))
        parts = [trace, f"{most:,} volumes, a drive for each", f"{requests} requests"]
        drives = list(dict.fromkeys(fleet.row.drive for fleet in designs))
        parts += drives if len(drives) == 1 else []
        console.print(Text(" · ".join(parts), "bold", overflow="fold"))
        heads = _heads(designs)
        console.print(_totals(heads, totals))
        console.print(_spread(heads, totals))
        console.print()
    for sentence in sentences_of(fleets):
        console.print(styled(sentence))


def _heads(designs: Sequence[Fleet]) -> dict[str, list[str]]:
    """The columns that tell the designs apart."""
    sizes = [fleet.row.buffer_bytes for fleet in designs]
    found = {
        "drive": [fleet.row.drive for fleet in designs],
        "FTL": [fleet.row.ftl_in_full for fleet in designs],
        "buffer": [units.size(one) if one else "none" for one in sizes],
    }
    kept = {title: cells for title, cells in found.items() if len(set(cells)) > 1}
    return {**kept, "scheme": [fleet.name for fleet in designs]}


def _table(heads: dict[str, list[str]], titles: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in heads:
        table.add_column(title, overflow="fold")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _totals(heads: dict[str, list[str]], totals: Sequence[Totals]) -> Table:
    titles = ("volumes", "written", "flash writes", "erases", "WAF", "hits", "mean")
    table = _table(heads, titles)
    for cells, one in zip(zip(*heads.values(), strict=True), totals, strict=True):
        table.add_row(
            *cells,
            f"{one['volumes']:,}" + (f" ({one['untrusted']:,} !)" if one["untrusted"] else ""),
            units.size(one["write_bytes"]),
            units.count(one["flash_writes"]),
            units.count(one["erases"]),
            units.ratio(one["waf"]),
            units.share(one["hit_ratio"]),
            units.duration(one["mean_response_ns"]),
        )
    return table


def _spread(heads: dict[str, list[str]], totals: Sequence[Totals]) -> Table:
    """A line for each design and figure: the middle volume, the one at nine tenths, and the worst by name."""
    table = _table({**heads, "of volumes": []}, ("median", "p90", "worst", "which"))
    for cells, one in zip(zip(*heads.values(), strict=True), totals, strict=True):
        shown = [row for row in _SPREADS if one["spread"][row[1]] is not None]
        for place, (title, key, show) in enumerate(shown):
            spread: Spread | None = one["spread"][key]
            if spread is None:
                continue
            worst = spread["worst"]
            figures = (show(spread["median"]), show(spread["p90"]), show(worst["value"]))
            table.add_row(
                *(cells if place == 0 else [""] * len(cells)), title, *figures, f"volume {worst['volume']}"
            )
    return table
