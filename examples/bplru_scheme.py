"""BPLRU in Python: it decides as the engine's own `bplru` does, page by page.

docs/buffers/bplru.md says what the scheme does, and where its paper is silent.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import eraseblock as eb

# Where the next write has to begin for a block to be written sequentially: nowhere any more.
BROKEN = -1


@dataclass(slots=True)
class Block:
    """The pages of a block that are held, and where it would be written next, if in order."""

    pages: set[int] = field(default_factory=set)
    expected: int = BROKEN


class PyBplru(eb.Buffer):
    """A write buffer of whole blocks in LRU order, which pads a block before it writes it."""

    reads = "bypass"
    pads_blocks = True

    def start(self, shape: eb.Shape) -> None:
        """Begin empty."""
        self.per_block = shape.pages_per_block
        # The block that leaves next comes first.
        self.blocks: OrderedDict[int, Block] = OrderedDict()

    def hit(self, page: int, write: bool) -> None:
        """A write to a held page: its block is the most recent one. Reads come past a write buffer."""
        number = page // self.per_block
        self.blocks.move_to_end(number)
        self._follow(number, page)

    def insert(self, page: int, write: bool) -> None:
        """A page joins its block, or begins it."""
        number = page // self.per_block
        if number in self.blocks:
            self.blocks.move_to_end(number)
        else:
            self.blocks[number] = Block()
        self.blocks[number].pages.add(page)
        self._follow(number, page)

    def evict(self, page: int, write: bool) -> eb.Leave:
        """The block written longest ago makes room, or one that was written sequentially."""
        number, block = next(iter(self.blocks.items()))
        sequential = self._is_sequential(block)
        return self._take(
            number, "block written sequentially" if sequential else "least recently written block"
        )

    def remove(self, page: int) -> None:
        """A trim: no write, so it neither moves the block nor breaks its sequence."""
        number = page // self.per_block
        pages = self.blocks[number].pages
        pages.remove(page)
        if not pages:
            del self.blocks[number]

    def flush(self) -> list[eb.Leave]:
        """A flush command empties the buffer block by block."""
        return [self._take(number, "flush command") for number in list(self.blocks)]

    def force(self, first: int, count: int) -> eb.Leave:
        """Forced unit access sends the whole block."""
        return self._take(first // self.per_block, "forced unit access")

    def _take(self, number: int, reason: str) -> eb.Leave:
        return eb.Leave(sorted(self.blocks.pop(number).pages), reason, how="pad")

    def _is_sequential(self, block: Block) -> bool:
        return block.expected == self.per_block == len(block.pages)

    def _follow(self, number: int, page: int) -> None:
        """Keep track of sequential writing; a block that is complete goes first."""
        block = self.blocks[number]
        offset = page % self.per_block
        if offset == 0:
            block.expected = 1
        else:
            block.expected = offset + 1 if block.expected == offset else BROKEN
        if self._is_sequential(block):
            self.blocks.move_to_end(number, last=False)
