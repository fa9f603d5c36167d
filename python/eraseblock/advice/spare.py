"""How much spare flash for a write amplification."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from eraseblock.advice.answer import Answer, Picture, Table
from eraseblock.advice.case import Case
from eraseblock.advice.small import SmallDrive, cut_down, doubts_here
from eraseblock.results import units
from eraseblock.results.view import Row

ABOUT = "How much spare flash for a write amplification (--waf)?"
# Shares of spare flash that are looked through, in per cent of what the host sees.
FIRST, LAST, STEP = 3, 100, 1
# Those that drives are sold with: always in the table.
_USUAL = (7, 15, 28)
# Points between two known ones that are run together: three cost two processors hardly more than two.
_TOGETHER = 3


@dataclass
class _Curve:
    """Write amplification by the share of spare flash, as far as it is known."""

    case: Case
    drive: SmallDrive
    known: dict[int, Row] = field(default_factory=dict)
    # Where the drive has no room to collect in.
    refused: set[int] = field(default_factory=set)
    commands: list[str] = field(default_factory=list)

    def measure(self, shares: list[int]) -> None:
        """Run those that are not known yet."""
        blocks = {share: self.drive.flash_blocks(share / 100) for share in shares if share not in self}
        if not blocks:
            return
        # Neighbours may come to the same number of blocks: one run for both.
        counts = sorted(set(blocks.values()))
        sets = {**self.drive.sets(), "nand.blocks_per_plane": counts if len(counts) > 1 else counts[0]}
        rows, command = self.case.runs(
            buffers=[self.case.scheme()], ftls=["page"], sets=sets, fit="compact", may_refuse=True
        )
        by_count = {int(row.record["config"]["nand"]["blocks_per_plane"]): row for row in rows}
        self.known |= {share: by_count[count] for share, count in blocks.items() if count in by_count}
        self.refused |= blocks.keys() - self.known.keys()
        self.commands.append(command)

    def __contains__(self, share: int) -> bool:
        """Whether a share has been tried."""
        return share in self.known or share in self.refused

    @property
    def first(self) -> int:
        """The least share that is looked at: a small drive cannot have less than a few blocks."""
        return max(FIRST, math.ceil(100 * self.drive.least_spare() / self.drive.blocks))

    def real(self, share: int) -> float:
        """The share in whole blocks, from 0 on; of few blocks each is some per cent."""
        return self.drive.spare_of(self.drive.flash_blocks(share / 100))

    def percent(self, share: int) -> str:
        """The same for the eye."""
        return f"{100 * self.real(share):.0f} %"

    def shown(self, share: int) -> str:
        """Write amplification at a share that was tried, for the eye."""
        return "no room to collect" if share in self.refused else f"{self.waf(share):.2f}"

    def waf(self, share: int) -> float:
        """Write amplification at a share that was tried; a run that writes nothing has none."""
        if share in self.refused:
            return math.inf
        return float(self.known[share].figure("waf") or 0.0)


def ask(case: Case) -> Answer:
    """Look for the least spare flash that will do: where write amplification crosses what is asked for."""
    curve = _Curve(case, cut_down(case))
    goal = case.wish.waf
    found = _search(curve, goal)
    curve.measure([one for one in _USUAL if one >= curve.first])
    own = round(100 * curve.drive.spare)
    if own >= curve.first:
        curve.measure([own])
    # One of those that come to the same number of blocks, and that which is taken.
    distinct = {curve.real(share): share for share in sorted(curve.known, reverse=True)}
    shares = sorted({**distinct, **({} if found is None else {curve.real(found): found})}.values())
    rows = [
        {
            "spare": curve.real(share),
            "step_percent": share,
            "waf": row.figure("waf"),
            "erases": row.figure("flash.erases.total"),
        }
        for share in shares
        for row in [curve.known[share]]
    ]
    shown = [
        [curve.percent(share), units.ratio(row["waf"]), units.count(row["erases"])]
        for share, row in zip(shares, rows, strict=True)
    ]
    table = Table(
        {"spare": "spare", "waf": "WAF", "erases": "erases"},
        rows,
        shown,
        None if found is None else shares.index(found),
    )
    picture = Picture("line", "Write amplification by spare flash", "spare", "waf", goal=goal)
    near = [curve.known[one] for one in curve.known if found is None or one in (found, found - STEP)]
    spare = None if found is None else round(curve.real(found), 4)
    result = {"waf_goal": goal, "spare": spare, "step": STEP / 100}
    return Answer(
        "op",
        _sentence(curve, goal, found, own),
        doubts_here(curve.case, near),
        table,
        picture,
        tuple(curve.commands),
        result,
    )


def _search(curve: _Curve, goal: float) -> int | None:
    """The least share that will do, to a step; None where none of them does."""
    first = curve.first
    if first > LAST:
        return None
    curve.measure([first, LAST])
    if curve.waf(first) <= goal:
        return first
    if curve.waf(LAST) > goal:
        return None
    low, high = first, LAST
    while high - low > STEP:
        gap = high - low
        points = sorted({low + gap * part // (_TOGETHER + 1) for part in range(1, _TOGETHER + 1)} - {low})
        curve.measure(points)
        # The curve falls, but for noise: between the last that will not do and the first that will.
        will = [one for one in [*points, high] if curve.waf(one) <= goal]
        high = will[0]
        low = max([low, *(one for one in points if one < high)])
    return high


def _sentence(curve: _Curve, goal: float, found: int | None, own: int) -> str:
    drive = curve.drive
    full = (
        f"on a drive full of the {units.size(drive.bytes)} that the trace touches, under page mapping, "
        "used by the trace until it settled"
    )
    beside = f"the drive's own {own} % cannot be had there"
    if own in curve:
        beside = f"the drive's own {curve.percent(own)} give {curve.shown(own)}"
    few = f"the drive cut down has {drive.counted}, and needs {drive.least_spare()} more to collect in"
    if curve.first > LAST:
        return f"Spare flash: how much cannot be said, as {few}."
    if found is None:
        return (
            f"Spare flash: none up to {LAST} % brings write amplification to {goal:g} or less "
            f"({curve.shown(LAST)} at {LAST} %; {full}); {beside}."
        )
    if found == curve.first:
        less = "no less was tried" if found == FIRST else f"less cannot be tried, as {few}"
        return (
            f"Spare flash: {curve.percent(found)} of what the host sees is enough for a write amplification "
            f"of {goal:g} ({curve.shown(found)}; {full}), and {less}; {beside}."
        )
    below = f"{curve.shown(found - STEP)} at {curve.percent(found - STEP)}"
    return (
        f"Spare flash: {curve.percent(found)} of what the host sees for a write amplification of at most "
        f"{goal:g} ({curve.shown(found)}; {below}; {full}); {beside}."
    )
