"""A web site and its reader: serves a folder's pages and has a browser load one after the other.

usage: surf.py FOLDER MEGABYTES COMMAND...

Starts COMMAND with the address of the first page as its last argument, and ends it when MEGABYTES were
sent and the browser has had time to write its files.
"""

import json
import random
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

PAUSE_MS = 150  # between one page and the next
SETTLE_SECONDS = 10
STALL_SECONDS = 60
READER = """<!doctype html><title>reader</title><iframe id="page" width="1200" height="900"></iframe><script>
const pages = %s, frame = document.getElementById("page");
let next = 0, timer;
function turn() {
  clearTimeout(timer);
  if (next < pages.length) { frame.src = pages[next++]; timer = setTimeout(turn, 5000); }
}
frame.onload = () => { clearTimeout(timer); timer = setTimeout(turn, %d); };
turn();
</script>"""


class Site(SimpleHTTPRequestHandler):
    """Pages that may be kept for a week, as is usual of pictures and style sheets."""

    protocol_version = "HTTP/1.1"
    reader = b""
    sent = 0
    files = 0
    count = threading.Lock()

    def do_GET(self) -> None:
        """Answers with the reader's page or a file."""
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(self.reader)))
        self.end_headers()
        self.wfile.write(self.reader)

    def send_header(self, keyword: str, value: str) -> None:
        """Counts what is sent, and lets the browser keep it."""
        if keyword.lower() == "content-length":
            with Site.count:
                Site.sent += int(value)
                Site.files += 1
            super().send_header("Cache-Control", "public, max-age=604800")
        super().send_header(keyword, value)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def surf(folder: Path, megabytes: int, command: list[str]) -> None:
    """Serves until enough was sent."""
    pages = sorted("/" + quote(str(page.relative_to(folder))) for page in folder.rglob("*.html"))
    random.Random(42).shuffle(pages)
    Site.reader = (READER % (json.dumps(pages), PAUSE_MS)).encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    with subprocess.Popen(
        [*command, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as browser:
        last, since = -1, time.monotonic()
        while Site.sent < megabytes * 1_000_000:
            time.sleep(0.2)
            if Site.sent != last:
                last, since = Site.sent, time.monotonic()
            elif time.monotonic() - since > STALL_SECONDS or browser.poll() is not None:
                browser.kill()
                sys.exit(f"surf.py: the browser stopped after {Site.sent:,} bytes in {Site.files} files")
        time.sleep(SETTLE_SECONDS)
        browser.terminate()
    sys.stderr.write(f"surf.py: {Site.files} files, {Site.sent:,} bytes\n")


if len(sys.argv) < 4:
    sys.exit(__doc__)
surf(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
