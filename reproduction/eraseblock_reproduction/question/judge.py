"""Judges readings that were fitted to Financial with 1 MiB on the other sizes and traces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from eraseblock import EraseblockError
from eraseblock.toolkit import engine
from eraseblock_reproduction.question.printed import SIZES, SYNTHETIC, TRACES
from eraseblock_reproduction.question.readings import SUPPORTED
from eraseblock_reproduction.question.search import Found, best, load, told
from eraseblock_reproduction.question.trials import cells

# So that what is written does not all fit into 64 MiB.
REQUESTS = {
    "Financial": 150_000,
    "MSNFS": 60_000,
    "Exchange": 30_000,
    "CAMWEBDEV": 60_000,
    "Synthetic": 30_000,
}
STATIC = (2, 4, 8, 64)


def judged(searched: Path, stored: Path, many: int, thresholds: int) -> Iterator[Found]:
    """The supported and the best readings everywhere; the first `thresholds` with static thresholds, too."""
    done = {(one["number"], one["trace"]) for one in load(stored)}
    found = load(searched)
    supported = [one for one in found if one["reading"] == SUPPORTED]
    others = [one for one in best(found, many) if one not in supported]
    for place, chosen in enumerate([*supported, *others][:many]):
        for trace in (*TRACES.values(), *((SYNTHETIC,) if place < thresholds else ())):
            if (chosen["number"], trace.name) in done:
                continue
            also: Sequence[int | str] = STATIC if place < thresholds else ()
            lines: list[Found] = []
            key = {"number": chosen["number"], "engine": engine(), "trace": trace.name}
            try:
                ran = cells(chosen["reading"], trace, SIZES, REQUESTS[trace.name], ["dynamic", *also])
                lines = [
                    {
                        **key,
                        "size": cell.size,
                        "dynamic_best": cell.dynamic_best if also else None,
                        **told(cell),
                    }
                    for cell in ran
                ]
            except EraseblockError as error:
                lines = [{**key, "size": size, "refused": str(error)} for size in SIZES]
            with stored.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            yield from lines
