"""Write amplification against spare flash: runs of examples/spare.toml beside the closed form."""

from __future__ import annotations

import math

from eraseblock.results.record import Record
from eraseblock.results.units import ratio
from pictures.canvas import WIDTH, Canvas
from pictures.picture import Picture, spare_of

# The plot's frame, and the values at its edges; spare flash goes by its ratios.
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, WIDTH - 20, 40, 230
_LEAST, _MOST, _HIGHEST = 0.065, 1.08, 7


def greedy_waf(blocks: float, user_pages: float, pages_per_block: int) -> float:
    """Write amplification of greedy collection under uniform random writes.

    Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR 2012). With victims of `x` valid pages of
    `n`, `user / (n - x) / i` blocks hold `i` of them, for each `i` above `x`; their number is that of all
    blocks, which fixes `x`, between whole numbers by linear interpolation. Write amplification is `n / (n -
    x)`.

    Raises:
        ValueError: so many blocks cannot hold so many pages.
    """

    def needed(valid: int) -> float:
        gained = pages_per_block - valid
        return sum(user_pages / gained / i for i in range(valid + 1, pages_per_block + 1))

    above = needed(0)
    if blocks > above:
        return 1.0  # Victims hold nothing that counts.
    for valid in range(1, pages_per_block):
        below = needed(valid)
        if below <= blocks <= above:
            between = valid - 1 + (above - blocks) / (above - below)
            return pages_per_block / (pages_per_block - between)
        above = below
    raise ValueError(f"{blocks} blocks cannot hold {user_pages} pages")


def pictures(records: list[Record]) -> list[Picture]:
    """The curve, and what a victim holds."""
    return [_curve(records), _victims(records)]


def _curve(records: list[Record]) -> Picture:
    canvas = Canvas(302, "Write amplification against spare flash")
    canvas.text(14, 24, "write amplification", "small soft")
    for value in range(1, _HIGHEST + 1):
        canvas.line(_LEFT, _y(value), _RIGHT, _y(value))
        canvas.text(_LEFT - 8, _y(value) + 4, str(value), "end small soft")
    for share in (0.07, 0.15, 0.28, 0.5, 1.0):
        canvas.text(_x(share), _BOTTOM + 18, f"{100 * share:.0f} %", "middle small soft")
    canvas.text(_RIGHT, _BOTTOM + 36, "spare flash / what the host sees", "end small soft")
    pages = records[0]["config"]["nand"]["pages_per_block"]
    user = _user_blocks(records[0])
    steps = [_LEAST * (_MOST / _LEAST) ** (step / 60) for step in range(61)]
    waf = [(share, greedy_waf(user * (1 + share), user * pages, pages)) for share in steps]
    canvas.curve([(_x(share), _y(value)) for share, value in waf if value <= _HIGHEST])
    for record in records:
        canvas.dot(_x(spare_of(record)), _y(_waf(record)), "one")
    canvas.legend(_BOTTOM + 60, [("one", "measured")])
    canvas.legend(_BOTTOM + 60, [("two", "closed form")], 112)
    off = max(
        abs(_waf(one) / greedy_waf(user * (1 + spare_of(one)), user * pages, pages) - 1) for one in records
    )
    some = ", with ".join(f"{_share(records[at])} {ratio(_waf(records[at]))}" for at in (4, -1))
    caption = (
        f"Uniform random writes, greedy collection, in steady state. With {_share(records[0])} spare flash "
        f"the engine measures {ratio(_waf(records[0]))}, with {some}; the closed form (Desnoyers, SYSTOR "
        f"2012) is at most {math.ceil(1000 * off) / 10:.1f} % off."
    )
    told = "Write amplification falls as spare flash grows: measured points on the line of the closed form"
    return Picture("waf-spare", told, caption, canvas.render())


def _victims(records: list[Record]) -> Picture:
    some = [records[place] for place in (0, 2, 4, 7)]
    pages = records[0]["config"]["nand"]["pages_per_block"]
    canvas = Canvas(216, "What a collected block holds")
    canvas.text(14, 24, "spare", "small soft")
    canvas.text(82, 24, f"the {pages} pages of a collected block, on average", "small soft")
    for row, record in enumerate(some):
        y = 34 + 38 * row
        flash = record["flash"]
        copied = flash["programs"]["gc"] / flash["erases"]["gc"]
        canvas.text(14, y + 19, _share(record), "strong")
        width = 262 / pages
        canvas.box(82, y, width * copied, 28, "copy", radius=2)
        canvas.box(82 + width * copied, y, width * (pages - copied), 28, "new", radius=2)
        _inside(canvas, 82, y, width * copied, (f"{copied:.1f}", "copied"))
        _inside(canvas, 82 + width * copied, y, width * (pages - copied), (f"{pages - copied:.1f}", "won"))
    canvas.legend(204, [("copy", "copied before the erase"), ("new", "won for new writes")])
    flash = some[0]["flash"]
    held = flash["programs"]["gc"] / flash["erases"]["gc"]
    caption = (
        f"With {_share(some[0])} spare flash a collected block still holds {held:.1f} of {pages} pages "
        "that count: they are copied to win the rest."
    )
    return Picture(
        "waf-victims",
        "The less spare flash, the more pages of a collected block are copied",
        caption,
        canvas.render(),
    )


def _inside(canvas: Canvas, x: float, y: float, width: float, words: tuple[str, str]) -> None:
    """What a part of a bar says, as far as there is room: a figure, and what it is."""
    if width >= 26:
        canvas.text(x + width / 2, y + 19, " ".join(words) if width > 80 else words[0], "middle small")


def _user_blocks(record: Record) -> float:
    nand = record["config"]["nand"]
    return float(nand["blocks_per_plane"] / (1 + spare_of(record)))


def _waf(record: Record) -> float:
    return float(record["waf"])


def _share(record: Record) -> str:
    return f"{100 * spare_of(record):.0f} %"


def _x(share: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * math.log(share / _LEAST) / math.log(_MOST / _LEAST)


def _y(waf: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (waf - 1) / (_HIGHEST - 1)
