"""The three merges of a log block, each played on a drive: what is drawn is held against what it did."""

from __future__ import annotations

from dataclasses import dataclass

import eraseblock
from eraseblock.results.units import duration
from pictures.canvas import WIDTH, Canvas
from pictures.picture import Picture, PictureError

# Pages of a block: few enough to be drawn.
PAGES = 8
# A write to another logical block needs the only log block, and so makes the merge happen.
ELSEWHERE = PAGES
_DRIVE = {
    "preset": "hbm-2010",
    "nand": {"pages_per_block": PAGES, "blocks_per_plane": 16},
    "ftl": {"exported": "128 KiB", "mapping": {"kind": "bast", "log_blocks": 1}},
    "buffer": {"scheme": "none"},
    "precondition": {"state": "full"},
}
_LEFT, _CELL = 108, 26


@dataclass(frozen=True)
class Case:
    """Writes that end in a merge, in the words of its caption."""

    name: str
    writes: tuple[int, ...]
    why: str


CASES = (
    Case("switch", (0, 1, 2, 3, 4, 5, 6, 7), "all pages of the block were written in order"),
    Case("partial", (0, 1, 2, 3, 4), "the first pages of the block were written in order"),
    Case("full", (0, 2, 1, 2, 5, 2, 3, 6), "pages were written out of order, or more than once"),
)


@dataclass(frozen=True)
class Done:
    """What the drive did: a merge of one kind, its copies and erases, and the ns that the last write took."""

    kind: str
    copies: int
    erases: int
    response_ns: int


def play(case: Case) -> Done:
    """Write the pages one after the other, then one of another logical block."""
    device = eraseblock.Device(_DRIVE, cache=False)
    size = device.page_bytes
    for page in (*case.writes, ELSEWHERE):
        last = device.write(at=device.clock, address=page * size, size=size)
        device.drain()
    record = device.record()
    merges = record["merges"]
    [kind] = [name for name, count in merges.items() if count]
    flash = record["flash"]
    assert last.response is not None
    return Done(kind, flash["programs"]["merge"], flash["erases"]["merge"], last.response)


def pictures() -> list[Picture]:
    """One for each case."""
    return [_picture(case, play(case)) for case in CASES]


def _picture(case: Case, done: Done) -> Picture:
    log, data, merged, erased = drawn(case)
    copies = sum(kind == "copy" for _, kind in merged)
    if (done.kind, done.copies, done.erases) != (case.name, copies, erased):
        raise PictureError(
            f"the picture of the {case.name} merge has {copies} copies, {erased} erases; the drive: {done}"
        )
    canvas = Canvas(238, f"{case.name.capitalize()} merge")
    was = "a new block" if done.kind == "full" else "was the log"
    rows = (
        ("data block", "before", data, 14),
        ("log block", "before", log, 56),
        ("data block", was, merged, 116),
    )
    for words, below, pages, y in rows:
        canvas.text(14, y + 13, words, "strong" if pages is merged else "")
        canvas.text(14, y + 26, below, "small soft")
        canvas.cells(_LEFT, y, pages, _CELL)
    canvas.line(14, 100, WIDTH - 14, 100)
    legend = [("new", "newest"), ("copy", "copied"), ("old", "out of date"), ("empty", "erased")]
    canvas.legend(172, legend)
    canvas.text(14, 201, f"{_copies(copies)}, {_erases(erased)}", "strong")
    canvas.text(14, 221, f"the write that needed room took {duration(done.response_ns)}")
    caption = (
        f"*{case.name.capitalize()} merge*: {case.why}. {_copies(copies).capitalize()}, {_erases(erased)}; "
        f"the write that needed the log block took {duration(done.response_ns)}."
    )
    return Picture(
        f"merge-{case.name}",
        f"{case.name.capitalize()} merge: data block and log block before, and after",
        caption,
        canvas.render(),
    )


Cells = list[tuple[str, str]]


def drawn(case: Case) -> tuple[Cells, Cells, Cells, int]:
    """Pages of the log block, of the data block and of what comes of them, and the blocks that are erased."""
    newest = {page: place for place, page in enumerate(case.writes)}
    log = [(str(page), "new" if newest[page] == place else "old") for place, page in enumerate(case.writes)]
    data = [(str(page), "old" if page in newest else "new") for page in range(PAGES)]
    stays = list(case.writes) == list(range(len(case.writes)))
    merged = [(str(page), "new" if stays and page in newest else "copy") for page in range(PAGES)]
    return log + [("", "empty")] * (PAGES - len(log)), data, merged, 1 if stays else 2


def _copies(count: int) -> str:
    return f"{count} page copied" if count == 1 else f"{count or 'no'} pages copied"


def _erases(count: int) -> str:
    return f"{count} block erased" if count == 1 else f"{count} blocks erased"
