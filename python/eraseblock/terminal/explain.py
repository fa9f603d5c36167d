"""Prints why runs were slow: a sentence, the parts of responses, and a waterfall of the slowest requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.explain.sentence import METRIC, PARTS, QUANTILES, sentences
from eraseblock.results import units
from eraseblock.results.record import Record

# Letters and colours of the parts in a waterfall.
_MARKS = {
    "admission": ("a", "bright_black"),
    "slot": ("s", "yellow"),
    "ram": ("r", "white"),
    "die": ("d", "blue"),
    "bus": ("b", "cyan"),
    "flash": ("f", "green"),
    "merge": ("m", "magenta"),
    "collection": ("c", "red"),
}
_WIDTH = 56
_ROWS = 8


def print_explanations(console: Console, records: Sequence[Record], names: Sequence[str]) -> None:
    """Print the explanation of each run; the tables of the first few only, where there are many."""
    for record, name in zip(records, names, strict=True):
        console.print()
        if len(records) > 1:
            console.print(Text(name, "bold"))
        waits = record.get(METRIC)
        if not waits:
            console.print("Why it was slow cannot be said: the run took no time (host.replay).")
            continue
        for sentence in sentences(record):
            console.print(Text(sentence))
        for kind in ("read", "write"):
            if waits[kind]:
                console.print(_parts(kind, waits[kind]))
        console.print(_waterfall(waits["slowest"]))


def _parts(kind: str, split: Mapping[str, Any]) -> Table:
    table = Table(title=f"{kind}s", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    told = [part for part in PARTS if any(split[quantile][part] for quantile in QUANTILES)]
    for title in ("mean", *told):
        table.add_column(title, justify="right", no_wrap=True)
    for quantile, words in QUANTILES.items():
        means = split[quantile]
        cells = [units.duration(means["response"]), *(units.duration(means[part]) for part in told)]
        table.add_row(words, *cells)
    return table


def _waterfall(slowest: Sequence[Mapping[str, Any]]) -> Table:
    """The longest requests on one scale of time, from the arrival of each."""
    table = Table(title="The slowest requests", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("request", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    longest = max((one["response_ns"] for one in slowest), default=0)
    seen = set[str]()
    for one in slowest[:_ROWS]:
        seen.update(part for part in PARTS if one["parts"][part])
        bar = _bar(one, longest)
        table.add_row(
            f"{one['number']:,}", "write" if one["write"] else "read", units.duration(one["response_ns"]), bar
        )
    table.caption = ", ".join(f"{mark} {part}" for part, (mark, _) in _MARKS.items() if part in seen)
    table.caption_justify = "left"
    return table


def _bar(one: Mapping[str, Any], longest: int) -> Text:
    """What the request waited for at each moment; a stretch of several things shows them side by side."""
    text, at = Text(), 0.0
    for piece in one["pieces"]:
        for part in PARTS:
            end = at + piece["parts"][part] / max(1, longest) * _WIDTH
            mark, colour = _MARKS[part]
            text.append(mark * (round(end) - round(at)), colour)
            at = end
    return text
