"""What a write buffer saves: programs by cause in runs of examples/saves.toml; what leaves tiny buffers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import eraseblock
from eraseblock.results.record import Record
from eraseblock.results.units import count
from pictures.canvas import Canvas
from pictures.picture import Picture

# Whose programs they are, as the record and the picture call them.
_CAUSES = (("host", "c0", "host's pages"), ("padding", "c1", "padding"), ("merge", "c3", "merge copies"))
_TITLES = {"none": "no buffer", "lru": "lru", "fab": "fab", "bplru": "bplru"}
_WHAT = {"none": "", "lru": "pages", "fab": "blocks", "bplru": "whole blocks"}

# The writes of the HBM thesis, table 1.1: first page, pages.
_WRITES = ((0, 4), *((page, 1) for page in (5, 9, 11, 14, 7, 3, 11, 2, 14, 1, 10, 7)))
_PAGE = 2048
# Eight pages of RAM, four pages to a block.
_TINY: dict[str, Any] = {
    "preset": "hbm-2010",
    "nand": {"pages_per_block": 4, "blocks_per_plane": 60},
    "ftl": {"exported": "256 KiB", "mapping": {"kind": "bast", "log_blocks": 4}},
}


def pictures(records: list[Record]) -> list[Picture]:
    """Bars of programs, and pages that leave."""
    return [_programs(records), _leaving()]


def _programs(records: list[Record]) -> Picture:
    canvas = Canvas(58 + 44 * len(records), "Pages programmed for each 100 that the host writes")
    canvas.text(14, 24, "pages programmed for each 100 that the host writes", "small soft")
    longest = max(_total(record) for record in records)
    for row, record in enumerate(records):
        y, x = 36 + 44 * row, 104.0
        scheme = record["config"]["buffer"]["scheme"]["kind"]
        canvas.text(14, y + 14, _TITLES[scheme], "strong")
        canvas.text(14, y + 28, _WHAT[scheme], "small soft")
        for cause, kind, _ in _CAUSES:
            width = 200 * _each(record, cause) / longest
            canvas.box(x, y, width, 26, kind)
            x += width
        canvas.text(x + 6, y + 18, f"{_total(record):.0f}")
    canvas.legend(38 + 44 * len(records) + 6, [(kind, words) for _, kind, words in _CAUSES])
    _, lru, fab, bplru = records
    merge = [f"{_each(record, 'merge'):.0f}" for record in records]
    erases = [count(record["flash"]["erases"]["total"]) for record in records]
    caption = (
        f"A buffer of {lru['config']['buffer']['size']}. Hits and coalescing keep "
        f"{100 - _each(lru, 'host'):.0f} of 100 written pages from flash with `lru`, "
        f"{100 - _each(fab, 'host'):.0f} with `fab`. Merge copies fall from {merge[0]} to {merge[1]} with "
        f"`lru`, {merge[2]} with `fab`, {merge[3]} with `bplru`, which pays {_each(bplru, 'padding'):.0f} "
        f"pages of padding instead. Erases: {erases[0]} without a buffer, then {', '.join(erases[1:])}."
    )
    return Picture(
        "buffer-programs",
        "Programs by cause, without a buffer and with three schemes",
        caption,
        canvas.render(),
    )


def _each(record: Record, cause: str) -> float:
    return float(100 * record["flash"]["programs"][cause] / record["host_pages"]["write"])


def _total(record: Record) -> float:
    return sum(_each(record, cause) for cause, _, _ in _CAUSES)


def _leaving() -> Picture:
    """What the logs of three schemes say that leaves, under the same writes."""
    canvas = Canvas(216, "What leaves a buffer of eight pages")
    canvas.text(14, 24, "what leaves a buffer of 8 pages, 4 pages a block", "small soft")
    told = []
    for row, scheme in enumerate(("lru", "fab", "bplru")):
        y, x = 38 + 50 * row, 104.0
        canvas.text(14, y + 14, _TITLES[scheme], "strong")
        canvas.text(14, y + 28, _WHAT[scheme], "small soft")
        evictions = _evictions(scheme)
        for eviction in evictions:
            x = canvas.cells(x, y, _cells(eviction)) + 16
        each = " and then ".join(", ".join(map(str, eviction["pages"])) for eviction in evictions)
        told.append(f"`{scheme}` lets {each} leave")
    canvas.legend(202, [("new", "written by the host"), ("copy", "read to complete the block")])
    caption = (
        f"The same {len(_WRITES)} writes to pages 0 to 14: {'; '.join(told)}, the latter padded with what "
        "the block lacks."
    )
    return Picture(
        "buffer-leaving",
        "Pages that leave under three schemes, grouped as they leave",
        caption,
        canvas.render(),
    )


def _cells(eviction: dict[str, Any]) -> list[tuple[str, str]]:
    dirty, pages = eviction["dirty"], eviction["pages"]
    if eviction["action"] == "flush-padded":
        first = pages[0] // 4 * 4
        pages = list(range(first, first + 4))
    return [(str(page), "new" if page in dirty else "copy") for page in pages]


def _evictions(scheme: str) -> list[dict[str, Any]]:
    workload = {
        "op": ["write"] * len(_WRITES),
        "address": [page * _PAGE for page, _ in _WRITES],
        "size": [pages * _PAGE for _, pages in _WRITES],
        "at": [100_000_000 * place for place in range(len(_WRITES))],
    }
    drive = {**_TINY, "buffer": {"scheme": scheme, "size": "16 KiB"}}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        eraseblock.run(drive, workload=workload, events=log)
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [eviction for line in lines for eviction in line.get("evictions", [])]
