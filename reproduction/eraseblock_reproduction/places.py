"""Says which points of a claim are meant, in the few words that tell them from one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from eraseblock_reproduction.data import Claim, Selection
from eraseblock_reproduction.selection import Run, at, named, select, words

# What people call a point by, before anything else that it differs in.
FIRST = (
    *("workload", "buffer.size", "nand.page_size", "nand.channels", "buffer.scheme.kind"),
    *("buffer.scheme.threshold", "ftl.allocator.kind", "ftl.allocator.striping_unit", "ftl.gc.cost"),
)


# What a point is called by, and what it is set against; empty where that is one for all.
Place = tuple[str, str]


def places(claim: Claim, points: Sequence[tuple[Run, Run | None]]) -> list[Place]:
    """Each point by the sides of the claim that it is of, and what else it differs in from the others."""
    taken_together = together(claim)
    runs = [run for run, _ in points]
    others = [run if other is None else other for run, other in points]
    lefts, rights = sides(claim.lefts, runs), sides(claim.rights, others)
    both = [f"{left}; {right}" for left, right in zip(lefts, rights, strict=True)]
    more = _told(runs, taken_together, both)
    rest = _told(others, taken_together, [f"{one}; {name}" for one, name in zip(both, more, strict=True)])
    return [
        (" ".join(filter(None, (name, left))), " ".join(filter(None, (right, other))))
        for name, left, right, other in zip(more, lefts, rights, rest, strict=True)
    ]


def together(claim: Claim) -> set[str]:
    """The settings along or over which a claim takes runs together."""
    over = claim.table.get("over", ())
    found = {key for step in claim.table.get("along", ()) for key in step}
    found |= {over} if isinstance(over, str) else set(over)
    if "spread" in claim.table:
        found.add(claim.table["spread"])
    return found


def listed(found: Sequence[Place]) -> str:
    """Several points in one phrase.

    Example:
        >>> listed([("1 MiB", "lru"), ("2 MiB", "lru")]), listed([("1 MiB", "lru"), ("2 MiB", "fab")])
        ('1 MiB, 2 MiB against lru', '1 MiB against lru, 2 MiB against fab')
    """
    names, rivals = ([*dict.fromkeys(one)] for one in zip(*found, strict=True))
    if 1 in (len(names), len(rivals)):
        return " against ".join(filter(None, (", ".join(names), ", ".join(rivals))))
    return ", ".join(" against ".join(filter(None, one)) for one in found)


def sides(selections: Sequence[Selection], runs: Sequence[Run]) -> list[str]:
    """Of several selections the name of the one that each run is of."""
    if len(selections) < 2:
        return [""] * len(runs)
    called = list(zip(named(selections), selections, strict=True))
    return [next((name for name, one in called if select([run], one)), "") for run in runs]


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
    return sorted(named, key=lambda path: (FIRST.index(path) if path in FIRST else len(FIRST), path))


def _text(run: Run, path: str) -> str:
    value = at(run.settings, path)
    return "" if value is None else " ".join(words(path.rpartition(".")[2], value))
