"""Page LRU in Python: it decides as the engine's own `lru` does, page by page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import eraseblock as eb


class PyLru(eb.Buffer):
    """The page that was used longest ago leaves."""

    reason = "least recently used page"

    def start(self, shape: eb.Shape) -> None:
        """Begin empty."""
        # The page that was used longest ago comes first.
        self.pages: OrderedDict[int, None] = OrderedDict()

    def hit(self, page: int, write: bool) -> None:
        """The page is the most recent one."""
        self.pages.move_to_end(page)

    def insert(self, page: int, write: bool) -> None:
        """So is one that has been taken in."""
        self.pages[page] = None

    def evict(self, page: int, write: bool) -> int:
        """The least recent one makes room."""
        return self.pages.popitem(last=False)[0]

    def remove(self, page: int) -> None:
        """The page was trimmed."""
        del self.pages[page]

    def order(self) -> Iterable[int]:
        """A flush command stores them in the order in which they would leave."""
        return list(self.pages)
