"""How near schemes come to what any buffer of their size could reach, in erases."""

from __future__ import annotations

from collections.abc import Sequence

from eraseblock.results import units
from eraseblock.results.headline import ERASES
from eraseblock.results.view import Row
from eraseblock.results.wording import percent

# The metric that tells it.
METRIC = "erase_bounds"


def sentences(rows: Sequence[Row]) -> list[str]:
    """A sentence for each workload, drive, mapping and buffer size, in the order of the runs.

    It names the scheme with fewest erases of those that are to be trusted and do not know the future. Where
    there is nothing to say of any, one sentence says why.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.figure("erase_bound.fewest") is not None and row.competes:
            groups.setdefault((row.trace, row.drive, row.variant, row.ftl, row.buffer_bytes), []).append(row)
    if not groups:
        return ["bound on erases: none is known for these runs (docs/bounds.md says of which there is one)"]
    several = len({key[:3] for key in groups}) > 1
    return [_sentence(found, several) for found in groups.values()]


def _sentence(rows: Sequence[Row], several: bool) -> str:
    best = min(rows, key=lambda row: int(row.figure(ERASES.path)))
    erases, fewest = (int(best.figure(path)) for path in (ERASES.path, "erase_bound.fewest"))
    reachable = best.figure("erase_bound.reachable")
    where = f"{best.trace} on {best.drive}{best.variant and f' ({best.variant})'}, " if several else ""
    head = (
        f"{where}{best.ftl}, {units.size(best.buffer_bytes)}: `{best.scheme}` ({ERASES.show(erases)} erases)"
    )
    if erases == fewest:
        return f"{head} erases as little as any buffer could."
    if not fewest:
        return f"{head}; of this workload no bound says that any buffer has to erase."
    is_better = reachable is not None and int(reachable) < erases
    known = f", and {ERASES.show(reachable)} can be reached" if is_better else ""
    return (
        f"{head} is within {percent(erases / fewest - 1)} of what any buffer could reach: "
        f"none has fewer than {ERASES.show(fewest)}{known}."
    )
