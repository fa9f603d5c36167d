"""Reads the log of a run (`--events`) as a scene: all of it, or a window of requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.player.buffer import Buffer, DamageError, Json, check_form
from eraseblock.player.scenes import Scene, mentions, step_of

# What a browser steps through without effort.
DEFAULT_FIRST = 10_000
MOST_STEPS = 100_000
# Of all steps together: a page of some megabytes.
_MOST_MENTIONS = 600_000
# Version of the log's format that is read here.
_FORMAT = 1
_BATCH = 5_000
_LARGEST_BLOCK = 1 << 20
# A line of its own, without a request: what leaves at the end.
_END = "end"


@dataclass(frozen=True)
class LogScene:
    """A scene with the name of the scheme that its log is of."""

    scheme: str
    scene: Scene


def read_log(path: Path, skip: int = 0, first: int = DEFAULT_FIRST) -> LogScene:
    """Read a log, plain or packed; `skip` requests are only followed, then `first` of them become steps.

    Raises:
        InputError: it is no log, or a line of it is damaged; says which.
    """
    lines = _events(path)
    _, start = next(lines, (1, None))
    if not isinstance(start, dict) or start.get("op") != "start":
        raise _core.InputError(f"{path}: line 1 is not the start of a log as `--events` writes it")
    if start.get("events") != _FORMAT:
        raise _core.InputError(
            f"{path}: line 1: found version {start.get('events')} of the log's format, expected {_FORMAT}"
        )
    scheme, buffer = _head(path, start)
    trace = start.get("trace")
    scene = Scene(
        title=str(trace["name"]) if isinstance(trace, dict) and "name" in trace else path.name,
        shows="",
        capacity=buffer.capacity,
        pages_per_block=buffer.pages_per_block,
        settings=[f"{key} = {json.dumps(value)}" for key, value in scheme.items() if key != "kind"],
    )
    _fill(scene, buffer, _Requests(path, lines), skip, first)
    return LogScene(str(scheme["kind"]), scene)


def _head(path: Path, start: Json) -> tuple[Json, Buffer]:
    scheme = start.get("scheme")
    scheme = {"kind": scheme} if isinstance(scheme, str) else scheme
    if not isinstance(scheme, dict) or "kind" not in scheme:
        raise _core.InputError(f'{path}: line 1 has no "scheme"')
    for key, least, most in (("buffer_pages", 0, 1 << 40), ("pages_per_block", 1, _LARGEST_BLOCK)):
        value = start.get(key)
        if not isinstance(value, int) or not least <= value <= most:
            raise _core.InputError(f'{path}: line 1: "{key}" is no number of pages')
    return scheme, Buffer(start["buffer_pages"], start["pages_per_block"])


def _fill(scene: Scene, buffer: Buffer, requests: _Requests, skip: int, first: int) -> None:
    """Follow the requests to be skipped, then keep the steps of the others, as many as a page can carry."""
    passed = size = 0
    more = False
    for numbers, events in requests:
        if passed == skip:
            scene.start = _held(buffer)
            scene.before = buffer.counts.row()
        kept = passed >= skip
        if kept and (len(scene.steps) == first or (size > _MOST_MENTIONS and scene.steps)):
            more = True
            break
        step = _step(requests.path, buffer, numbers, events)
        passed += 1
        if kept:
            scene.steps.append(step)
            size += mentions(step)
    if not scene.steps:
        ends = f"the log has {passed:,} requests" if passed else "the log holds no requests"
        raise _core.InputError(
            f"{requests.path}: nothing to play: {ends}{f', --skip {skip}' if skip else ''}"
        )
    if skip:
        scene.notes.append(f"The first {skip:,} requests are not shown; the figures count them.")
    if more:
        shown = len(scene.steps)
        these = "this request" if shown == 1 else f"these {shown:,} requests"
        scene.notes.append(f"The log goes on after {these}; --skip {skip + shown} shows what follows.")
    elif not requests.ended:
        scene.notes.append("The log stops before its run came to an end.")


def _held(buffer: Buffer) -> Json:
    return {"pages": list(buffer.held), "dirty": [page for page, dirty in buffer.held.items() if dirty]}


def _step(path: Path, buffer: Buffer, numbers: list[int], events: list[Json]) -> Json:
    try:
        return step_of(buffer, events)
    except DamageError as error:
        lines = f"line {numbers[0]}" if len(numbers) == 1 else f"lines {numbers[0]} to {numbers[-1]}"
        raise _core.InputError(f"{path}: {lines}: {error}") from error


class _Requests:
    """The lines of each request, with their numbers; `ended`: the last line of the log was there."""

    def __init__(self, path: Path, lines: Iterator[tuple[int, Any]]) -> None:
        self.path = path
        self.ended = False
        self._lines = lines

    def __iter__(self) -> Iterator[tuple[list[int], list[Json]]]:
        numbers: list[int] = []
        events: list[Json] = []
        for number, event in self._lines:
            self._check(number, event)
            if events and event.get("request") != events[0].get("request"):
                yield numbers, events
                numbers, events = [], []
            if event["op"] == _END:
                self.ended = True
                if not event.get("evictions"):
                    continue
            numbers.append(number)
            events.append(event)
        if events:
            yield numbers, events

    def _check(self, number: int, event: Any) -> None:
        if self.ended:
            raise _core.InputError(f"{self.path}: line {number}: more follows after the end of the log")
        try:
            check_form(event)
        except DamageError as error:
            raise _core.InputError(f"{self.path}: line {number}: {error}") from error


def _events(path: Path) -> Iterator[tuple[int, Any]]:
    """Each line with its number, read a batch at a time."""
    for number, text in enumerate(_lines(path), start=1):
        try:
            event = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _core.InputError(f"{path}: line {number} is no line of JSON: {text[:60]!r}") from error
        yield number, event


def _lines(path: Path) -> Iterator[str]:
    import polars as pl

    if path.is_dir():
        raise _core.InputError(f"{path}: is a folder; name one of the logs in it")
    try:
        if path.stat().st_size == 0:
            return
        batches = pl.scan_lines(str(path), glob=False).collect_batches(chunk_size=_BATCH)
        for batch in batches:
            yield from batch.to_series()
    except pl.exceptions.PolarsError as error:
        raise _core.InputError(f"{path}: cannot be read: {error}") from error
    except OSError as error:
        raise _core.InputError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error
