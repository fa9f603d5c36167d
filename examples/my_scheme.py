"""A buffer scheme in a few lines: CLOCK. docs/python-scheme.md makes it a file of Rust, step by step.

python examples/my_scheme.py TRACE
"""

from __future__ import annotations

import sys
from collections import OrderedDict

import eraseblock as eb


class MyClock(eb.Buffer):
    """A hand goes round the pages: one that was used since it last passed gets a second chance."""

    reason = "first page at the hand that was not used since"

    def start(self, shape: eb.Shape) -> None:
        """Begin empty; the hand points to the first page, which is the one it meets next.

        A plain dict would not do: it finds its first key the slower, the more were taken there.
        """
        self.used: OrderedDict[int, bool] = OrderedDict()

    def hit(self, page: int, write: bool) -> None:
        """The page was used."""
        self.used[page] = True

    def insert(self, page: int, write: bool) -> None:
        """A new page stands right behind the hand, and is met last."""
        self.used[page] = False

    def evict(self, page: int, write: bool) -> int:
        """Go round until a page is met that was not used."""
        while True:
            met, was_used = self.used.popitem(last=False)
            if not was_used:
                return met
            self.used[met] = False

    def remove(self, page: int) -> None:
        """The page was trimmed."""
        del self.used[page]

    def order(self) -> list[int]:
        """A flush command stores pages as they would leave: those that were used one turn later."""
        return sorted(self.used, key=self.used.__getitem__)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/my_scheme.py TRACE")
    for record in eb.compare(sys.argv[1], buffers=["lru", MyClock]):
        scheme, ratio = record["config"]["buffer"]["scheme"]["kind"], record["hit_ratio"]["all"]
        print(f"{scheme}: hit ratio {ratio:.1%}")
