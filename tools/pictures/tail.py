"""What slow reads wait for: runs of examples/tail.toml."""

from __future__ import annotations

from typing import Any

from eraseblock.explain.sentence import PARTS
from eraseblock.results.record import Record
from eraseblock.results.units import duration
from pictures.canvas import Canvas
from pictures.picture import Picture, spare_of

# Parts that reads have here, as the picture calls and colours them.
_DRAWN = {
    "flash": ("c4", "flash"),
    "bus": ("c1", "bus"),
    "die": ("c0", "die"),
    "collection": ("c7", "collection"),
}
_QUANTILES = {"all": "all reads", "p99": "slowest 1 %", "p999": "slowest 0.1 %"}
_SLOWEST = 5
_X, _WIDTH = 102.0, 186.0


def pictures(records: list[Record]) -> list[Picture]:
    """Means of reads by part, and the slowest reads moment by moment."""
    return [_parts(records), _slowest(records[0])]


def _parts(records: list[Record]) -> Picture:
    canvas = Canvas(34 + 113 * len(records), "What reads wait for, on average")
    longest = max(record["waits"]["read"]["p999"]["response"] for record in records)
    y = 0.0
    for record in records:
        canvas.text(14, y + 24, record["config"]["case"], "strong")
        y += 32
        for quantile, words in _QUANTILES.items():
            means = record["waits"]["read"][quantile]
            canvas.text(14, y + 14, words, "small")
            end = _bar(canvas, means, y, longest)
            canvas.text(end + 6, y + 14, duration(means["response"]), "small")
            y += 25
        y += 6
    canvas.legend(y + 14, [(kind, words) for kind, words in _DRAWN.values()])
    reads = [record["waits"]["read"] for record in records]
    tail = reads[0]["p99"]
    spare = [f"{100 * spare_of(record):.0f} % spare flash" for record in records]
    mean, slow = ([duration(read[quantile]["response"]) for read in reads] for quantile in ("all", "p99"))
    caption = (
        f"With {spare[0]} a read takes {mean[0]} on average, one of the slowest hundredth {slow[0]}, of "
        f"which {100 * tail['collection'] / tail['response']:.0f} % is collection. With {spare[1]} "
        f"collection comes less often: {mean[1]} and {slow[1]}. Where programs and erases give way to reads, "
        f"too: {mean[2]} and {slow[2]}."
    )
    return Picture(
        "tail-parts",
        "Reads by what they wait for: the slower, the more of it is collection",
        caption,
        canvas.render(),
    )


def _slowest(record: Record) -> Picture:
    """The slowest reads, each from its arrival to its answer."""
    reads = [one for one in record["waits"]["slowest"] if not one["write"]][:_SLOWEST]
    canvas = Canvas(64 + 26 * len(reads), "The slowest reads, from arrival to answer")
    canvas.text(14, 24, f"the {len(reads)} slowest reads, from arrival to answer", "small soft")
    longest = max(one["response_ns"] for one in reads)
    for row, one in enumerate(reads):
        y, x = 36 + 26.0 * row, _X
        canvas.text(14, y + 14, f"read {one['number']:,}", "small")
        for piece in one["pieces"]:
            x = _bar(canvas, piece["parts"], y, longest, x)
        canvas.text(x + 6, y + 14, duration(one["response_ns"]), "small")
    canvas.legend(36 + 26 * len(reads) + 14, [(kind, words) for kind, words in _DRAWN.values()])
    first = reads[0]
    parts = {part: duration(first["parts"][part]) for part in PARTS}
    most = max(PARTS, key=lambda part: first["parts"][part])
    caption = (
        f"Read {first['number']:,} took {duration(first['response_ns'])}: {parts[most]} of it {most}, "
        f"{parts['bus']} bus, {parts['flash']} the array's own read."
    )
    return Picture(
        "tail-slowest",
        "The slowest reads moment by moment: first collection, last the read itself",
        caption,
        canvas.render(),
    )


def _bar(canvas: Canvas, parts: dict[str, Any], y: float, longest: float, x: float = _X) -> float:
    """The parts of a time side by side; returns where they end."""
    for part in reversed(_DRAWN):
        width = _WIDTH * parts[part] / longest
        if width > 0.05:
            canvas.box(x, y, width, 19, _DRAWN[part][0])
        x += width
    return x
