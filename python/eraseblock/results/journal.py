"""An append-only file of JSON lines with checksums: what was appended stays, a cut-off end is noticed.

One file, since 100,000 runs as 100,000 files would cost two syncs and a name in the folder each, and a seek
each to read them back; here a run costs one write and one sync, however many came before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from eraseblock import _core
from eraseblock.results.files import naming, replace_file

_HEADER = b'{"format":"eraseblock runs","version":1}'
_CHECK_BYTES = 8
# A line is `{"check":"<16 hexadecimal digits>",` and the rest of its object; the check is of that rest.
_PREFIX = b'{"check":"'
_CHECK_END = len(_PREFIX) + 2 * _CHECK_BYTES
_REST = _CHECK_END + len(b'",')


@dataclass(frozen=True)
class Line:
    """Where a line lies in the file."""

    offset: int
    length: int


@dataclass
class Scan:
    """Goes through a journal from end to end, and keeps what was wrong with it."""

    path: Path
    file: BinaryIO
    # Lines that fail their check, as number and byte offset; and the end of the last line that does not.
    damaged: list[tuple[int, int]] = field(default_factory=list)
    good_end: int = 0
    size: int = 0

    def __iter__(self) -> Iterator[tuple[Line, bytes]]:
        """Each good line after the first, with the object it holds."""
        for number, raw in enumerate(self.file, start=1):
            line = Line(self.size, len(raw))
            self.size += len(raw)
            body = _unsealed(raw)
            if number == 1 and body != _HEADER:
                raise _core.InputError(
                    f"{self.path}: not a journal of runs that this version of eraseblock can read; "
                    "name another folder, or move the file away"
                )
            if body is None:
                self.damaged.append((number, line.offset))
                continue
            self.good_end = self.size
            if number > 1:
                yield line, body

    def sentences(self, *, only_read: bool = False) -> list[str]:
        """What was wrong, and what comes of it, for people; valid once all lines have been seen.

        Where a folder is only read nothing is run, and another process may be writing the last line.
        """
        if only_read:
            again = "a run in it is missing here, and the command that made the folder runs it again"
            cut, left = "is not whole or was cut off", "passed over"
        else:
            again = "a run in it that is asked for, and is in no other line, is done again"
            cut, left = "was cut off", "dropped"
        said = [
            f"{self.path}: line {number} (byte {offset}) is damaged; passed over: {again}"
            for number, offset in self.damaged
            if offset < self.good_end
        ]
        if self.size > self.good_end:
            said.append(
                f"{self.path}: its last {self.size - self.good_end} bytes are of a write that {cut}; "
                f"{left}: {again}"
            )
        return said


class Journal:
    """A journal that one process appends to; threads take turns by a lock of their own."""

    def __init__(self, path: Path) -> None:
        """Open the journal at `path`; create it if there is none. `lines` reads it, and must come first."""
        _core.check_replaceable(str(path))
        if not path.exists() or path.stat().st_size == 0:
            replace_file(path, [_sealed(_HEADER)])
        self.path = path
        self._file = path.open("r+b", buffering=0)
        self._end = 0

    def close(self) -> None:
        """Nothing can be read or appended any more."""
        self._file.close()

    def lines(self) -> tuple[Scan, Iterator[tuple[Line, bytes]]]:
        """All good lines; once they have been seen, what a stopped write left at the end is cut off."""
        file = self.path.open("rb")
        scan = Scan(self.path, file)

        def recovering() -> Iterator[tuple[Line, bytes]]:
            with file:
                yield from scan
            self._end = scan.good_end
            if scan.size > scan.good_end:
                self._file.truncate(scan.good_end)
                os.fsync(self._file.fileno())

        return scan, recovering()

    def append(self, body: bytes) -> Line:
        """Add an object; it is on the disk when this returns."""
        return self.extend([body])[0]

    def extend(self, bodies: Iterable[bytes]) -> list[Line]:
        """Add objects, with one wait for the disk: all of them, or none."""
        lines: list[Line] = []
        end = self._end
        with naming(self.path):
            try:
                self._file.seek(end)
                for body in bodies:
                    sealed = _sealed(body)
                    written = 0
                    while written < len(sealed):
                        written += self._file.write(sealed[written:])
                    lines.append(Line(end, len(sealed)))
                    end += len(sealed)
                os.fsync(self._file.fileno())
            except OSError:
                # Half a line would take the next one with it.
                self._file.truncate(self._end)
                raise
        self._end = end
        return lines

    def read(self, line: Line) -> bytes:
        """The object of a line."""
        body = _unsealed(self._raw(line))
        if body is None:
            raise _core.InputError(f"{self.path}: byte {line.offset} has changed since the file was opened")
        return body

    def keep_only(self, lines: Iterable[Line]) -> list[Line]:
        """Replace the file by one with these lines alone; returns where they lie now."""
        kept: list[Line] = []
        end = len(_sealed(_HEADER))

        def parts() -> Iterator[bytes]:
            nonlocal end
            yield _sealed(_HEADER)
            for line in lines:
                kept.append(Line(end, line.length))
                end += line.length
                yield self._raw(line)

        replace_file(self.path, parts())
        self._file.close()
        self._file = self.path.open("r+b", buffering=0)
        self._end = end
        return kept

    def _raw(self, line: Line) -> bytes:
        self._file.seek(line.offset)
        parts = bytearray()
        while len(parts) < line.length and (part := self._file.read(line.length - len(parts))):
            parts += part
        return bytes(parts)


def read_line(path: Path, line: Line) -> bytes:
    """The object of a line of a journal that another process may be appending to."""
    with path.open("rb") as file:
        file.seek(line.offset)
        body = _unsealed(file.read(line.length))
    if body is None:
        raise _core.InputError(f"{path}: byte {line.offset} has changed since the file was read")
    return body


def begins_journal(path: Path) -> bool:
    """Whether the first line of a file is that of a journal."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _unsealed(file.readline(256)) == _HEADER


def last_object(path: Path, most: int = 4096) -> bytes | None:
    """The last object of a journal, if it is whole and short."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - most))
        end = file.read()
    start = end.rfind(b"\n", 0, -1) + 1
    return _unsealed(end[start:])


def _sealed(body: bytes) -> bytes:
    rest = body[1:]
    return b"".join((_PREFIX, _check(rest), b'",', rest, b"\n"))


def _unsealed(raw: bytes) -> bytes | None:
    """The object of a line; none where the line is not what was written."""
    if not raw.startswith(_PREFIX) or raw[_CHECK_END:_REST] != b'",' or not raw.endswith(b"\n"):
        return None
    rest = raw[_REST:-1]
    return b"{" + rest if _check(rest) == raw[len(_PREFIX) : _CHECK_END] else None


def _check(rest: bytes) -> bytes:
    return blake2b(rest, digest_size=_CHECK_BYTES).hexdigest().encode()
