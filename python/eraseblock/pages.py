"""The page of a scheme as Markdown: what its file says, options, what its paper leaves open, examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from eraseblock import _core
from eraseblock.names import registry, source_of

Entry = dict[str, Any]

RECONSTRUCTION = "reconstruction"
BOUND = "a bound: it knows the future"
_COSTS = {"constant": "O(1)", "logarithmic": "O(log n)"}
# Pages in a row that are written as first and last.
_RUN = 3
# Stands before the examples.
_PLAYED = (
    "**Watch it decide**: `eraseblock play {name} --open` plays what follows step by step, forwards and "
    "back, in a [page](../player.md)."
)
# A link of the source's own documentation, with or without a place.
_LINK = re.compile(r"\[(`[^`\]]+`)\](\([^)]*\))?")


def scheme_page(entry: Entry) -> str:
    """Everything that is known of a buffer or an FTL."""
    parts = [f"# {entry['title']}\n\n{_facts(entry)}\n"]
    if entry["reconstruction"]:
        parts.append(
            "\n> **A reconstruction**: it is known only from its abstract or from hearsay, not from a full "
            "description; figures of the original may differ.\n"
        )
    parts.append("\n" + _prose(entry["page"]))
    if entry["options"]:
        rows = [
            [f"`{option['name']}`", f"`{json.dumps(option['default'])}`", option["type"], option["doc"]]
            for option in entry["options"]
        ]
        parts.append("\n## Options\n\n" + table(["option", "default", "type", "meaning"], rows))
    if entry.get("choices"):
        parts.append("\n## What the paper leaves open\n\n" + _choices(entry))
    examples = examples_of(entry["name"]) if _is_buffer(entry) else []
    if examples:
        parts.append(f"\n{_PLAYED.format(name=entry['name'])}\n")
    parts += ["\n" + _example(example) for example in examples]
    return "".join(parts)


def examples_of(name: str) -> list[Entry]:
    """The examples of a buffer, played; none of what is no buffer."""
    played: list[Entry] | None = json.loads(_core.examples(name))
    return played or []


def _is_buffer(entry: Entry) -> bool:
    """FTLs and policies share names with buffers, and have no examples."""
    return any(entry["page"] == buffer["page"] for buffer in registry()["buffers"])


def cost_of(entry: Entry) -> str:
    """How the cost of a step grows."""
    return _COSTS[entry["cost"]]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in row)} |\n" for row in lines
    )


def _facts(entry: Entry) -> str:
    facts = [f"`{entry['name']}`", source_of(entry), f"a step costs {cost_of(entry)}"]
    facts.append(BOUND if entry["bound"] else "")
    return " · ".join(fact for fact in facts if fact)


def _prose(comment: str) -> str:
    """The comment of a source file; its links become the names that they are about."""
    return _LINK.sub(r"\1", comment).strip() + "\n"


def _choices(entry: Entry) -> str:
    rows = [
        [
            f"`{choice['option']}`",
            choice["open"],
            f"`{json.dumps(choice['default'])}`",
            ", ".join(f"`{json.dumps(other)}`" for other in choice["others"]),
        ]
        for choice in entry["choices"]
    ]
    return table(["option", "what is open", "chosen", "other readings"], rows)


def _example(example: Entry) -> str:
    head = f"## Example: {example['source']}" if example["source"] else "## Example"
    options = json.loads(example["options"] or "{}")
    given = [f"`{key} = {json.dumps(value)}`" for key, value in options.items()]
    setting = ", ".join(
        [
            f"A buffer of {_counted(example['capacity'])}, {_counted(example['pages_per_block'])} a block",
            *given,
        ]
    )
    grouped = any(len(group) > 1 for step in example["steps"] for group in step["state"])
    rows = [
        [
            f"`{step['asked']}`",
            "; ".join(decisions(step["events"])),
            state(step["state"], grouped=grouped),
        ]
        for step in example["steps"]
    ]
    steps = table(["request", "decision", "the buffer then, in the scheme's order"], rows)
    return f"{head}\n\n{example['shows']}\n\n{setting}:\n\n{steps}"


def _counted(number: int) -> str:
    return f"{number} page{'' if number == 1 else 's'}"


def decisions(events: Iterable[Entry]) -> Iterator[str]:
    """What the buffer did, in words: pages taken in, moved, and out."""
    for event in events:
        answers = enumerate(event.get("answers", []), start=event.get("page", 0))
        for answer, group in groupby(answers, key=lambda pair: pair[1]):
            yield f"{answer} {pages(page for page, _ in group)}"
        if event.get("dropped"):
            yield f"forget {pages(event['dropped'])}"
        if event.get("battery"):
            yield "nothing to do: a battery holds the buffer up"
        for note in event.get("notes", []):
            yield _note(note)
        for eviction in event.get("evictions", []):
            yield _eviction(eviction)


def _note(note: Entry) -> str:
    value = f" {note['value']}" if "value" in note else ""
    about = f": {pages(note['pages'])}" if note.get("pages") else ""
    return f"{note['what']}{f' ({value.strip()})' if about and value else value}{about}"


def _eviction(eviction: Entry) -> str:
    of, dirty = eviction["pages"], eviction["dirty"]
    clean = [page for page in of if page not in dirty]
    kept = "" if eviction["action"] == "drop" or not clean else f", of which {pages(clean)} clean"
    to = f", to channel {eviction['channel']}" if "channel" in eviction else ""
    return f"**{eviction['action']} {pages(of)}**{kept}{to} ({eviction['reason']})"


def pages(numbers: Iterable[int]) -> str:
    """Page numbers in order, longer runs as `4-7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) >= _RUN else ", ".join(map(str, run)) for run in runs)


def state(held: Sequence[Sequence[int]], *, grouped: bool) -> str:
    """What a buffer holds; `grouped`: in brackets what stays together."""
    if not held:
        return "nothing"
    texts = (" ".join(map(str, group)) for group in held)
    return f"`{' '.join(f'[{text}]' if grouped else text for text in texts)}`"
