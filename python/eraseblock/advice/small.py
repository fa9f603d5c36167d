"""The drive cut down to what a workload touches: long runs into a steady state take no time there.

Write amplification of a page-level FTL hangs on the share of spare flash, on how much of the drive the
workload uses, and on how it does so; hardly on how many dies there are, or on how many pages a block has, as
long as there are many blocks. So the flash is one plane with some hundred blocks, the host sees as much as
the trace touches, and the trace itself has used the drive for as long as it takes to settle. On a drive that
also holds data which the trace never touches, these take part in collection as cold data: write amplification
is lower there, not higher.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock import _core
from eraseblock.advice.case import Case, doubts_of, few_erased, short_size
from eraseblock.results import units
from eraseblock.results.units import bytes_of
from eraseblock.results.view import Row

# So many blocks at least, if the trace touches as much; few blocks would make single ones count.
_BLOCKS = 200
# Of the blocks that it touches it should touch nearly all; but more blocks than this would only take time.
_LOOSE, _MOST_BLOCKS = 1.25, 20_000
# The last program unit of a block may hold a single page: in small blocks that would take the spare flash.
_PROGRAMS = 32
# What the engine says of every such drive.
OF_ITSELF = ("untimed run", "settings without effect")
# What is not a question of chips.
_ONE_PLANE: dict[str, Any] = {
    "nand.channels": 1,
    "nand.chips_per_channel": 1,
    "nand.dies_per_chip": 1,
    "nand.planes_per_die": 1,
    "nand.multi_plane": False,
    # It stands for a drive in long use: it wears out in no run.
    "nand.endurance": 0,
    "host.replay": "untimed",
    # What the buffer holds at the end was written, too: it counts for much in a short trace.
    "host.end_of_run": "flush",
}


@dataclass(frozen=True)
class SmallDrive:
    """A drive as large as what the trace touches."""

    # Logical blocks that the trace touches, and the bytes of one.
    blocks: int
    block_bytes: int
    pages_per_block: int
    # Spare flash / what the host sees, of the drive that it stands for.
    spare: float

    @property
    def bytes(self) -> int:
        """What the host sees."""
        return self.blocks * self.block_bytes

    @property
    def counted(self) -> str:
        """Its blocks, in words."""
        return "1 block" if self.blocks == 1 else f"{self.blocks} blocks"

    def least_spare(self) -> int:
        """Blocks without which collection has no room: open ones, and erased ones that it keeps."""
        return 5

    def sets(self) -> dict[str, Any]:
        """Its settings, but for how many blocks there are."""
        return {
            **_ONE_PLANE,
            "nand.pages_per_block": self.pages_per_block,
            "ftl.over_provisioning": None,
            "ftl.exported": short_size(self.bytes),
            "precondition.state": "workload",
        }

    def flash_blocks(self, spare: float) -> int:
        """Blocks of flash, so that there is this share of spare flash."""
        return max(self.blocks + self.least_spare(), round(self.blocks * (1 + spare)))

    def has(self, spare: float) -> bool:
        """Whether it can have this share of spare flash, and not just the least that there must be."""
        return round(self.blocks * (1 + spare)) >= self.blocks + self.least_spare()

    def spare_of(self, flash_blocks: int) -> float:
        """The share of spare flash."""
        return (flash_blocks - self.blocks) / self.blocks


def cut_down(case: Case) -> SmallDrive:
    """Measure what the trace touches, and cut the drive down to it; once for all questions."""
    known = case.memory.get("small")
    if not isinstance(known, SmallDrive):
        known = case.memory["small"] = _cut_down(case)
    return known


def _cut_down(case: Case) -> SmallDrive:
    config = case.config()
    nand = config["nand"]
    page, program = bytes_of(nand["page_size"]), int(nand["pages_per_program"])
    pages = int(nand["pages_per_block"])
    spare = _core.spare_share(json.dumps(config))
    footprint = case.profile()["profile"]["footprint"]["bytes"]
    # As large as the drive's, halved while the trace touches too few of them, or too little of each.
    while True:
        touched = _touched(case, nand, pages)
        loose = touched * pages * page > _LOOSE * footprint and touched < _MOST_BLOCKS
        if (touched >= _BLOCKS and not loose) or pages % (2 * program) or pages < 2 * _PROGRAMS * program:
            return SmallDrive(touched, pages * page, pages, spare)
        pages //= 2


def doubts_here(case: Case, rows: Sequence[Row]) -> tuple[str, ...]:
    """What stands against runs on such a drive."""
    drive = cut_down(case)
    least = units.share(drive.spare_of(drive.blocks + drive.least_spare()))
    raised = f"the drive cut down has only {drive.counted}, and {least} is the least spare flash it can have"
    share = case.profile()["write_bytes"] / drive.bytes
    again = (
        f"the trace writes {units.share(share)} of this drive before it begins anew, and repeated so often "
        "it is more regular than a longer one would be"
    )
    return (
        *doubts_of(rows, OF_ITSELF),
        *few_erased(rows),
        *([] if drive.has(drive.spare) else [raised]),
        *([again] if 0 < share < 1 else []),
    )


def _touched(case: Case, nand: dict[str, Any], pages: int) -> int:
    """Logical blocks of so many pages that the trace reads or writes."""
    planes = nand["channels"] * nand["chips_per_channel"] * nand["dies_per_chip"] * nand["planes_per_die"]
    sets = {
        **_ONE_PLANE,
        "precondition.state": "empty",
        "bounds": False,
        "nand.pages_per_block": pages,
        # Twice the drive has room for whatever blocks of this size hold.
        "nand.blocks_per_plane": 2 * planes * nand["blocks_per_plane"] * nand["pages_per_block"] // pages,
    }
    rows, _ = case.runs(buffers=["none"], ftls=["page"], sets=sets, fit="compact", keep=False)
    fit: int = rows[0].figure("trace.fit.footprint_bytes")
    blocks = math.ceil(fit / (pages * bytes_of(nand["page_size"])))
    if blocks == 0:
        raise _core.InputError(
            f"{case.wish.trace}: reads and writes nothing, so there is nothing to advise on"
        )
    return blocks
