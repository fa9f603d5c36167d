"""Makes bad workloads plain: parts are left out and figures set to plain values, while they stay as bad."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from eraseblock_reproduction.adversaries.space import GRID, Workload, possible, workload_of

# Gives workloads that are plainer in one thing, the plainest first, and is told the first that is bad enough.
Shrinking = Generator[Sequence[Workload], Workload | None, Workload]
# So many of the plainest values of a figure are tried.
_PLAINEST = 2


def shrinking(workload: Workload) -> Shrinking:
    """The plainest that is reached by one change after another, each of which leaves it bad enough."""
    at = (yield _halves(workload)) or workload
    before = None
    while at != before:
        before = at
        for name in GRID:
            if some := _plainer(at, name):
                at = (yield some) or at
    return at


def _halves(workload: Workload) -> list[Workload]:
    """Each of two parts alone."""
    if workload.second is None:
        return []
    return [one for one in (Workload(workload.first), Workload(workload.second)) if possible(one)]


def _plainer(workload: Workload, name: str) -> list[Workload]:
    """The same with plainer values of one figure, the plainest first."""
    point = workload.point
    if name not in point or name == "parts":
        return []
    values = GRID[name]
    plainer = (workload_of({**point, name: value}) for value in values[: values.index(point[name])])
    return [one for one in plainer if possible(one)][:_PLAINEST]
