"""Says which points of a claim are meant, in the few words that tell them from one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from eraseblock_reproduction.data import Claim
from eraseblock_reproduction.selection import Run, at, words

# What people call a point by, before anything else that it differs in.
_FIRST = (
    *("workload", "buffer.size", "nand.page_size", "nand.channels", "buffer.scheme.kind"),
    *("buffer.scheme.threshold", "ftl.allocator.kind", "ftl.allocator.striping_unit", "ftl.gc.cost"),
)


def places(claim: Claim, points: Sequence[tuple[Run, Run | None]]) -> list[str]:
    """Each point by what its run differs in from those of the others; then by what its counterpart does."""
    taken_together = {key for step in claim.table.get("along", ()) for key in step}
    over = claim.table.get("over", ())
    taken_together |= {over} if isinstance(over, str) else set(over)
    if "spread" in claim.table:
        taken_together.add(claim.table["spread"])
    names = _told([run for run, _ in points], taken_together, [""] * len(points))
    others = [other for _, other in points if other is not None]
    if len(set(names)) == len(names) or len(others) < len(points):
        return names
    rivals = _told(others, taken_together, names)
    return [" against ".join(filter(None, both)) for both in zip(names, rivals, strict=True)]


def _told(runs: Sequence[Run], left_out: Collection[str], beside: Sequence[str]) -> list[str]:
    """The values of as few settings as tell the runs apart that what stands `beside` them does not."""
    keys: list[tuple[str, ...]] = [(name,) for name in beside]
    for path in _differing(runs, left_out):
        if len(set(keys)) == len(keys):
            break
        longer = [(*key, _text(run, path)) for key, run in zip(keys, runs, strict=True)]
        if len(set(longer)) > len(set(keys)):
            keys = longer
    return [" ".join(filter(None, key[1:])) for key in keys]


def _differing(runs: Sequence[Run], left_out: Collection[str]) -> list[str]:
    """The settings that not all of the runs have alike, the best known first; but how a workload is made."""
    inside = tuple(f"{path}." for path in (*left_out, "how"))
    count = Counter(leaf for run in runs for leaf in dict.fromkeys(run.leaves))
    differ = {path for (path, _), times in count.items() if times < len(runs)}
    named = [path for path in differ if path not in left_out and not path.startswith(inside)]
    return sorted(named, key=lambda path: (_FIRST.index(path) if path in _FIRST else len(_FIRST), path))


def _text(run: Run, path: str) -> str:
    value = at(run.settings, path)
    return "" if value is None else " ".join(words(path.rpartition(".")[2], value))
