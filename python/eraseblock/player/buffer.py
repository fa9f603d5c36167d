"""What a buffer holds, as the lines of its log tell; a line that cannot be true is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

Json = dict[str, Any]

# Operations of a log and the keys that each has to have, beside `start`.
_NEEDED = {
    "read": ("request", "page", "count", "answers"),
    "write": ("request", "page", "count", "answers"),
    "force": ("request", "page", "count"),
    "trim": ("request", "page", "count", "dropped"),
    "flush": ("request",),
    "end": (),
}
_ANSWERS = {"read": ("hit", "fill", "bypass"), "write": ("hit", "insert", "bypass")}
_ACTIONS = ("flush", "flush-padded", "write-back", "drop")


class DamageError(ValueError):
    """A line that no buffer can have written there."""


@dataclass
class Counts:
    """Pages since the log began: what the host asked for, and what went to and from flash for it."""

    pages: int = 0
    hits: int = 0
    host_writes: int = 0
    to_flash: int = 0
    from_flash: int = 0
    evictions: int = 0
    evicted: int = 0

    def row(self) -> list[int]:
        """The figures, in this order."""
        return list(vars(self).values())


@dataclass
class Buffer:
    """The pages in it, the one used last at the end, each with whether it is newer than flash.

    What changed since `begin_step` is kept beside it: pages that were used, came, were not there before,
    became clean, and left.
    """

    capacity: int
    pages_per_block: int
    held: dict[int, bool] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    touched: dict[int, None] = field(default_factory=dict)
    came: set[int] = field(default_factory=set)
    new: set[int] = field(default_factory=set)
    cleaned: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)

    def begin_step(self) -> None:
        """Forget what changed."""
        self.touched = {}
        self.came, self.new, self.cleaned, self.gone = set(), set(), set(), set()

    def play(self, event: Json) -> list[Json]:
        """Follow one line; returns what was done, in order. What it holds afterwards is in `held`.

        Raises:
            DamageError: the line has no such form, or does not go with what the buffer held before it.
        """
        check_form(event)
        op, first = event["op"], event.get("page", 0)
        answers = event.get("answers", [])
        evictions, notes = _by_place(event.get("evictions", ())), _by_place(event.get("notes", ()))
        done: list[Json] = []
        for place in range(len(answers) + 1):
            done += map(self._leave, evictions.get(place, ()))
            # The log does not say which of both came first. A note may be about the page that comes in.
            said = [_note(one) for one in notes.get(place, ())]
            if place < len(answers):
                page = first + place
                self._answer(op, page, answers[place])
                done += [one for one in said if page not in one.get("pages", ())]
                done.append({"do": answers[place], "pages": [page]})
                said = [one for one in said if page in one.get("pages", ())]
            done += said
        if event.get("dropped"):
            done.append(self._forget(event["dropped"]))
        if event.get("battery"):
            done.append({"do": "battery"})
        if len(self.held) > self.capacity:
            raise DamageError(f"the buffer has {self.capacity} pages, and would hold {len(self.held)}")
        return list(_joined(done))

    def _answer(self, op: str, page: int, answer: str) -> None:
        holds, writes = page in self.held, op == "write"
        if answer == "hit" and not holds:
            raise DamageError(f"page {page} is a hit, and the buffer does not hold it")
        if answer != "hit" and holds:
            raise DamageError(f"page {page}: {answer}, and the buffer holds it already")
        counts = self.counts
        counts.pages += 1
        counts.hits += answer == "hit"
        counts.host_writes += writes
        if answer == "bypass":
            counts.to_flash += writes
            counts.from_flash += not writes
            return
        counts.from_flash += answer == "fill"
        # Behind all others: the one used last.
        self.held[page] = self.held.pop(page, False) or writes
        self.touched.pop(page, None)
        self.touched[page] = None
        self.cleaned.discard(page)
        if not holds:
            self.came.add(page)
            if page not in self.gone:
                self.new.add(page)
            self.gone.discard(page)

    def _leave(self, eviction: Json) -> Json:
        pages, dirty, action = eviction["pages"], set(eviction["dirty"]), eviction["action"]
        for page in pages:
            if page not in self.held:
                raise DamageError(f"page {page} leaves, and the buffer does not hold it")
            if self.held[page] != (page in dirty):
                was, said = ("dirty", "clean") if self.held[page] else ("clean", "dirty")
                raise DamageError(f"page {page} is {was}, and leaves as {said}")
            if action == "write-back":
                self.held[page] = False
                self.cleaned.add(page)
            else:
                self._remove(page)
        counts = self.counts
        counts.evictions += 1
        counts.evicted += len(pages)
        padding = self._padding(pages) if action == "flush-padded" else []
        counts.from_flash += len(padding)
        counts.to_flash += 0 if action == "drop" else len(pages) + len(padding)
        told = {key: eviction[key] for key in ("action", "reason", "pages", "dirty")}
        told |= {key: eviction[key] for key in ("pattern", "channel") if key in eviction}
        return {"do": "leave", **told, **({"padding": padding} if padding else {})}

    def _padding(self, pages: list[int]) -> list[int]:
        """What these pages lack to be whole blocks."""
        size = self.pages_per_block
        blocks = sorted({page // size for page in pages})
        there = set(pages)
        return [
            page for block in blocks for page in range(block * size, (block + 1) * size) if page not in there
        ]

    def _forget(self, pages: list[int]) -> Json:
        for page in pages:
            if page not in self.held:
                raise DamageError(f"page {page} is forgotten, and the buffer does not hold it")
            self._remove(page)
        return {"do": "forget", "pages": pages}

    def _remove(self, page: int) -> None:
        del self.held[page]
        self.touched.pop(page, None)
        self.came.discard(page)
        self.cleaned.discard(page)
        # What came and left within a step was never there.
        if page not in self.new:
            self.gone.add(page)


def check_form(event: Any) -> None:
    """Refuse what is no line of a log.

    Raises:
        DamageError: says which key is wrong.
    """
    if not isinstance(event, dict) or event.get("op") not in _NEEDED:
        raise DamageError('has no "op" that a log of decisions has')
    op = event["op"]
    for key in _NEEDED[op]:
        if key not in event:
            raise DamageError(f'`{op}` has no "{key}"')
    for key in ("request", "page", "count"):
        if key in event and not _is_number(event[key]):
            raise DamageError(f'"{key}" is no number')
    for key in ("answers", "notes", "evictions"):
        if not isinstance(event.get(key, []), list):
            raise DamageError(f'"{key}" is no list')
    answers = event.get("answers", [])
    _check_answers(op, answers, event.get("count"))
    _check_pages(event.get("dropped", []), "dropped")
    for note in event.get("notes", ()):
        _check_note(note, len(answers))
    for eviction in event.get("evictions", ()):
        _check_eviction(eviction, len(answers))


def _check_answers(op: str, answers: list[Any], count: int | None) -> None:
    if op not in _ANSWERS:
        return
    if len(answers) != count:
        raise DamageError(f'"answers" has {len(answers)} answers for {count} pages')
    wrong = next((answer for answer in answers if answer not in _ANSWERS[op]), None)
    if wrong is not None:
        raise DamageError(f'"answers" of a {op} holds {wrong!r}')


def _check_note(note: Any, answers: int) -> None:
    _check_place(note, "notes", answers)
    if not isinstance(note.get("what"), str) or not note["what"].strip():
        raise DamageError('"notes" has no "what" that says something')
    _check_pages(note.get("pages", []), "notes[].pages")


def _check_eviction(eviction: Any, answers: int) -> None:
    _check_place(eviction, "evictions", answers)
    if eviction.get("action") not in _ACTIONS or not isinstance(eviction.get("reason"), str):
        raise DamageError('"evictions" has no "action" or no "reason" that a buffer has')
    _check_pages(eviction.get("pages"), "evictions[].pages")
    _check_pages(eviction.get("dirty"), "evictions[].dirty")


def _check_place(one: Any, key: str, answers: int) -> None:
    if not isinstance(one, dict) or not _is_number(one.get("before")) or one["before"] > answers:
        raise DamageError(f'"{key}" has no "before" that names a page of the request')


def _check_pages(value: Any, key: str) -> None:
    if not isinstance(value, list) or not all(map(_is_number, value)):
        raise DamageError(f'"{key}" is no list of pages')


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _note(note: Json) -> Json:
    return {"do": "note", **{key: note[key] for key in ("what", "value", "pages") if key in note}}


def _by_place(found: Iterable[Json]) -> dict[int, list[Json]]:
    """Evictions or notes by the page of the request before which they came."""
    places: dict[int, list[Json]] = {}
    for one in found:
        places.setdefault(one["before"], []).append(one)
    return places


def _joined(done: list[Json]) -> Iterator[Json]:
    """Neighbours with the same answer become one."""
    for do, group in groupby(done, key=lambda one: one["do"]):
        if do in ("leave", "note"):
            yield from group
        else:
            pages = [page for one in group for page in one.get("pages", ())]
            yield {"do": do, "pages": pages} if pages else {"do": do}
