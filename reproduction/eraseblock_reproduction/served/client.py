"""A host of a served drive: it speaks NBD by hand, and waits for the answer to each request."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from types import TracebackType

from eraseblock import SimulationError

_WRITE, _DISCONNECT, _FLUSH = 1, 2, 3
_FUA = 1
_REQUEST, _REPLY = 0x25609513, 0x67446698
_NOTHING = memoryview(b"")


class Client:
    """A connection to an NBD server at a Unix socket."""

    def __init__(self, path: Path, patience_s: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(patience_s)
        self._socket.connect(str(path))
        if self._take(18)[:16] != b"NBDMAGICIHAVEOPT":
            raise SimulationError(f"{path}: not an NBD server of today")
        # The default export, the shortest way.
        self._socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self._take(10)
        self._cookie = 0

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def write(self, offset: int, data: memoryview, *, fua: bool = False) -> None:
        """Write bytes, and wait for the answer; with `fua` it comes when they are stored."""
        self._ask(_WRITE, offset, data, _FUA if fua else 0)

    def flush(self) -> None:
        """Wait until all that was written is stored."""
        self._ask(_FLUSH)

    def leave(self) -> None:
        """Say that nothing more comes."""
        self._socket.sendall(struct.pack(">IHHQQI", _REQUEST, 0, _DISCONNECT, 0, 0, 0))

    def _ask(self, command: int, offset: int = 0, data: memoryview = _NOTHING, flags: int = 0) -> None:
        self._cookie += 1
        head = struct.pack(">IHHQQI", _REQUEST, flags, command, self._cookie, offset, len(data))
        self._socket.sendall(head)
        self._socket.sendall(data)
        magic, error, cookie = struct.unpack(">IIQ", self._take(16))
        if (magic, cookie) != (_REPLY, self._cookie):
            raise SimulationError("the server does not keep to the protocol")
        if error:
            raise SimulationError(f"the drive answers a request with error {error}")

    def _take(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count:
            more = self._socket.recv(count - len(taken))
            if not more:
                raise SimulationError("the server has gone")
            taken += more
        return bytes(taken)
