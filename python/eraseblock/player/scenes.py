"""What a page plays: a log or an example in steps, a request each, and what the buffer holds after them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from eraseblock.pages import examples_of
from eraseblock.player.buffer import Buffer, Json


@dataclass
class Scene:
    """A buffer and its steps, in the form that the page reads.

    Attributes:
        title: what is played.
        shows: what there is to see, in words.
        capacity: pages of the buffer.
        pages_per_block: pages of a logical block.
        settings: options of the scheme as they are written, if they are worth telling.
        steps: a table for each request: its number; its lines (operation, first page, pages); what was done,
            in order; the pages that were used, and of these those that came and those that are dirty; other
            pages that became clean; pages that left; figures so far; `order` where the scheme's is known.
        start: pages in the buffer before the first step, the one used last at the end, and which are dirty.
        before: figures before the first step.
        notes: what the page has to say of what it does not show.
    """

    title: str
    shows: str
    capacity: int
    pages_per_block: int
    settings: list[str] = field(default_factory=list)
    steps: list[Json] = field(default_factory=list)
    start: Json = field(default_factory=lambda: {"pages": [], "dirty": []})
    before: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def scenes_of(scheme: str) -> list[Scene]:
    """The examples of a buffer scheme, played."""
    found = examples_of(scheme)
    return [_example(one, place if len(found) > 1 else 0) for place, one in enumerate(found, start=1)]


def _example(example: Json, number: int) -> Scene:
    options: dict[str, Any] = json.loads(example["options"] or "{}")
    name = f"Example {number}" if number else "Example"
    source = example["source"]
    scene = Scene(
        title=f"{source[0].upper()}{source[1:]}" if source else name,
        shows=example["shows"],
        capacity=example["capacity"],
        pages_per_block=example["pages_per_block"],
        settings=[f"{key} = {json.dumps(value)}" for key, value in options.items()],
    )
    buffer = Buffer(scene.capacity, scene.pages_per_block)
    scene.before = buffer.counts.row()
    for number_of_request, step in enumerate(example["steps"]):
        made = step_of(buffer, step["events"])
        scene.steps.append(
            {**made, "request": number_of_request, "asked": step["asked"], "order": step["state"]}
        )
    return scene


def step_of(buffer: Buffer, events: Sequence[Json]) -> Json:
    """Play all lines of a request, and say what came of it.

    Raises:
        DamageError: a line cannot be true.
    """
    buffer.begin_step()
    done: list[Json] = []
    lines = []
    for event in events:
        lines.append([event["op"], event.get("page"), event.get("count")])
        # A request over several blocks is served block by block.
        done += [{"do": "part", "line": len(lines) - 1}] if len(events) > 1 else []
        done += buffer.play(event)
    used = list(buffer.touched)
    return {
        "request": events[0].get("request"),
        "lines": lines,
        "done": done,
        "used": used,
        "came": [page for page in used if page in buffer.came],
        "dirty": [page for page in used if buffer.held[page]],
        "cleaned": sorted(buffer.cleaned - buffer.touched.keys()),
        "gone": sorted(buffer.gone),
        "counts": buffer.counts.row(),
    }


def mentions(step: Json) -> int:
    """How many page numbers a step carries: what makes a page large."""
    done: Iterable[Json] = step["done"]
    return len(step["used"]) + sum(len(one.get("pages", ())) for one in done)
