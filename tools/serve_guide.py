"""Run the commands of docs/serve.md as they stand, from top to bottom, in a folder of their own.

`eraseblock serve` goes on beside what follows it, as in a terminal of its own, until the next one or until a
command needs the image. `make test` runs it with `--small`: on a part of the drive, and without what root is
for. What is not installed is skipped, and said.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "serve.md"
SMALL = ("nand.channels=1", 'ftl.exported="1 GiB"', "nand.blocks_per_plane=36")
# The page's ports, instead of which any are taken that are free.
PORTS = ("9464", "10809", "5433")
BUILT_IN = ("cd", "export", "new()", "new", "until", "mkdir", "cp")
# Before it there is no -CA of a request: certificates are made another way.
OPENSSL = 3
PATIENCE_S = 300


def say(line: str) -> None:
    """Show a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def lines() -> list[str]:
    """The commands of the page with their prompts, and what is said to come of them."""
    blocks = re.findall(r"```console\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    found = [line for block in blocks for line in block.splitlines()]
    for port in PORTS:
        with socket.create_server(("127.0.0.1", 0)) as free:
            found = [line.replace(port, str(free.getsockname()[1])) for line in found]
    return found


def signs() -> bool:
    """Whether the openssl that is here can make the certificates as the page says."""
    if shutil.which("openssl") is None:
        return False
    said = subprocess.run(["openssl", "version"], text=True, capture_output=True, check=False).stdout
    found = re.match(r"OpenSSL (\d+)\.", said)
    return found is not None and int(found[1]) >= OPENSSL


class Shell:
    """A shell that stays, with what was set in it."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
        self.environment = {**os.environ, "PATH": path}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            ["bash"],
            text=True,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=self.environment,
        )

    def end(self) -> None:
        """Nothing more is run."""
        self.process.kill()
        self.process.communicate()

    def run(self, command: str) -> None:
        """Run a command; it has to end with 0."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        # None of them takes what is said to the shell.
        self.process.stdin.write(f"{{ {command}\n}} </dev/null; code=$?; echo; echo ended with $code\n")
        self.process.stdin.flush()
        said: list[str] = []
        for line in self.process.stdout:
            if line.startswith("ended with "):
                if line != "ended with 0\n":
                    sys.exit(f"{command}: {line}{''.join(said)}")
                return
            said.append(line)
        sys.exit(f"{command}: the shell has gone: {''.join(said)}")


def write_some(at: Path) -> None:
    """Write a little to a drive at a Unix socket, so that there is something to be seen and recorded."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(at))
        client.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
        client.recv(28, socket.MSG_WAITALL)
        for number in range(64):
            data = bytes([number + 1]) * 16_384
            client.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 1, number, number << 20, len(data)) + data)
            client.recv(16, socket.MSG_WAITALL)


class Guide:
    """The page, being done."""

    def __init__(self, folder: Path, *, small: bool) -> None:
        self.folder, self.small, self.shell = folder, small, Shell(folder)
        self.server: subprocess.Popen[str] | None = None
        self.skipped: list[str] = []
        self.signs = signs()

    def end_server(self) -> None:
        """Ctrl-C in its terminal."""
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            code = self.server.wait(timeout=PATIENCE_S)
            self.server = None
            if code != 0:
                sys.exit(f"the server ended with {code}")

    def serve(self, command: str, expected: list[str]) -> None:
        """Begin to serve, and compare what is said with the page."""
        self.end_server()
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            text=True,
            stdout=subprocess.PIPE,
            cwd=self.folder,
            env=self.shell.environment,
        )
        assert self.server.stdout is not None
        said = self.server.stdout.readline().rstrip()
        if " at nbd" not in said:
            sys.exit(f"{command}: it said {said!r}")
        for line in expected:
            where = line.rsplit(" at ", 1)[1]
            if not said.endswith(f" at {where}") or (not self.small and said != line):
                sys.exit(f"{command}: it said {said!r}, and the page says {line!r}")
            if line is not expected[-1]:
                said = self.server.stdout.readline().rstrip()
        if " at nbd+unix" in said or expected:
            write_some(self.folder / f"{command.split()[3]}.sock")

    def do(self, prompt: str, command: str, expected: list[str]) -> None:
        """Do what a line says."""
        word = command.split(maxsplit=1)[0]
        known = word in BUILT_IN or shutil.which(word, path=self.shell.environment["PATH"])
        if prompt == "#" and (self.small or os.geteuid() != 0):
            self.skipped.append(f"{word} (needs root)")
            return
        if not known:
            self.skipped.append(f"{word} (not installed)")
            return
        if not self.signs and (word in {"new", "new()"} or (word != "mkdir" and "certificates" in command)):
            self.skipped.append(f"{word} with certificates (needs OpenSSL {OPENSSL})")
            return
        if self.small and "--device nvme-tlc" in command:
            command += "".join(f" --set '{one}'" for one in SMALL)
        say(command)
        if command.startswith("eraseblock serve "):
            self.serve(command, expected)
            return
        if word == "cp" or command.startswith(("eraseblock image ", "eraseblock compare ")):
            self.end_server()
        self.shell.run(command)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="on a part of the drive, without root's part")
    parser.add_argument(
        "--folder", type=Path, help="where its folder is made (the system's for temporary files)"
    )
    options = parser.parse_args()
    prefix = "eraseblock-guide-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=options.folder, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        guide = Guide(folder, small=options.small)
        try:
            page = lines()
            for number, line in enumerate(page):
                if not line.startswith(("$ ", "# ")):
                    continue
                rest = page[number + 1 :]
                said = next((n for n, one in enumerate(rest) if one.startswith(("$ ", "# "))), len(rest))
                guide.do(line[0], line[2:], rest[:said])
            guide.end_server()
        finally:
            if guide.server is not None:
                guide.server.kill()
            for part in ("data", "disk"):
                subprocess.run(["umount", "-l", str(folder / part)], capture_output=True, check=False)
            guide.shell.end()
    if guide.skipped:
        say(f"skipped: {', '.join(dict.fromkeys(guide.skipped))}")


if __name__ == "__main__":
    main()
