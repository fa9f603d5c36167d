"""A drive that is being served, and that loses its power."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.machine import PATIENCE_S

COMMAND = str(Path(sys.executable).with_name("eraseblock"))
SMALL = (
    *("--device", "hbm-2010", "--set", "nand.blocks_per_plane=1300", "--set", 'ftl.exported="128 MiB"'),
    *("--set", 'buffer.size="2 MiB"'),
)
# The smallest that mkfs.xfs and PostgreSQL are content with.
LARGE = (
    *("--device", "hbm-2010", "--set", "nand.blocks_per_plane=4500", "--set", 'ftl.exported="512 MiB"'),
    *("--set", 'buffer.size="8 MiB"'),
)

# How to take down what is up, whatever has happened; the last first.
UP: list[Callable[[], None]] = []


def take_down() -> None:
    """Take down everything that a check has left up."""
    while UP:
        UP.pop()()


@dataclass
class Server:
    """A drive that is being served."""

    image: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[str] | None = None
    uri: str = ""

    def start(self) -> Server:
        """Start, and wait until clients can come."""
        command = [COMMAND, "serve", "--image", str(self.image), *self.options]
        self.process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE)
        UP.append(self.kill)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert " at " in said, f"the server said {said!r}"
        self.uri = said.rsplit(" at ", 1)[1].strip()
        return self

    def kill(self) -> None:
        """Kill it, as power goes."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self) -> None:
        """End it as it should end."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE_S)
        assert code == 0, f"the server ended with {code}"
