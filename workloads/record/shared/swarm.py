"""Makes a torrent file and answers as its tracker: the part of a BitTorrent swarm that Debian's client lacks.

usage: swarm.py make FILE TRACKER-URL > TORRENT     (FILE holds zeros only, whatever its length)
       swarm.py track PORT PEER-ADDRESS PEER-PORT...
"""

import hashlib
import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PIECE = 512 * 1024


def bencode(value: object) -> bytes:
    """The encoding of torrent files and of trackers' answers."""
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, dict):
        return b"d" + b"".join(bencode(key) + bencode(value[key]) for key in sorted(value)) + b"e"
    raise TypeError(f"cannot encode {type(value).__name__}")


def torrent(path: Path, tracker: str) -> bytes:
    """Describes a file of zeros."""
    whole, rest = divmod(path.stat().st_size, PIECE)
    hashes = hashlib.sha1(bytes(PIECE)).digest() * whole
    if rest:
        hashes += hashlib.sha1(bytes(rest)).digest()
    info = {"name": path.name, "length": path.stat().st_size, "piece length": PIECE, "pieces": hashes}
    return bencode({"announce": tracker, "info": info})


def track(port: int, address: str, peer_ports: list[int]) -> None:
    """Tells everyone who asks of the same peers."""
    peers = b"".join(socket.inet_aton(address) + peer.to_bytes(2, "big") for peer in peer_ports)
    answer = bencode({"interval": 1800, "peers": peers})

    class Tracker(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    HTTPServer(("127.0.0.1", port), Tracker).serve_forever()


match sys.argv[1:]:
    case ["make", path, tracker]:
        sys.stdout.buffer.write(torrent(Path(path), tracker))
    case ["track", port, address, *peer_ports] if peer_ports:
        track(int(port), address, [int(peer) for peer in peer_ports])
    case _:
        sys.exit(__doc__)
