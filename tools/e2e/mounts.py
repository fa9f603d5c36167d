"""A served drive as a file, by nbdfuse, and as a file system on a loop device."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from e2e.drive import UP, Server
from e2e.machine import LackingError, need, need_mounts, run


class Attached:
    """The drive as a file, `drive`, by nbdfuse."""

    # Whether one has been up, or mounted. Where none ever was it is this machine's fault; then it is ours.
    came_up = False
    mounted_once = False

    def __init__(self, server: Server, folder: Path) -> None:
        need("nbdfuse")
        need_mounts()
        self._at, self.mount = folder / "nbd", folder / "mount"
        self._at.mkdir(exist_ok=True)
        self.mount.mkdir(exist_ok=True)
        self.drive = self._at / "drive"
        self._loop = ""
        self._is_down = False
        # It says much when its server is killed.
        command = ["nbdfuse", str(self.drive), server.uri]
        self._fuse = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        UP.append(self.down)
        end = time.monotonic() + 60
        while not self.drive.exists():
            if time.monotonic() > end or self._fuse.poll() is not None:
                why = "nbdfuse does not come up here"
                raise AssertionError(why) if Attached.came_up else LackingError(why)
            time.sleep(0.02)
        Attached.came_up = True

    def up(self, *mount: str) -> None:
        """Mount its file system, by `mount` or another program."""
        try:
            # The file system's requests reach nbdfuse as they are, with no second cache between.
            self._loop = run("losetup", "--find", "--show", "--direct-io=on", self.drive).strip()
            run(*(mount or ("mount",)), self._loop, self.mount)
        except (AssertionError, FileNotFoundError) as error:
            self.down()
            if Attached.mounted_once:
                raise
            raise LackingError(f"loop devices do not work here: {error}") from error
        Attached.mounted_once = True

    def hold_back(self, most: int) -> None:
        """Let the kernel hold back so many bytes of what is written at most, as a small host does."""
        self._set(strict_limit=1, max_bytes=most)

    def unmount(self) -> None:
        """Unmount it as it should be unmounted."""
        run("umount", self.mount)
        self._set(strict_limit=0, max_ratio=100)
        run("losetup", "-d", self._loop)
        self._loop = ""

    def down(self) -> None:
        """Take everything down, whatever state it is in."""
        if self._is_down:
            return
        self._is_down = True
        _try("umount", "-l", self.mount)
        if self._loop:
            self._set(strict_limit=0, max_ratio=100)
            _try("losetup", "-d", self._loop)
            self._loop = ""
        _try("umount", "-l", self._at)
        self._fuse.terminate()
        self._fuse.wait()

    def _set(self, **values: int) -> None:
        """Settings of the loop device's cache, which outlast what it is attached to."""
        settings = Path("/sys/block", Path(self._loop).name, "bdi")
        for name, value in values.items():
            # Kernels before 6.2 have not all of them.
            if (settings / name).exists():
                (settings / name).write_text(f"{value}\n", encoding="ascii")


def _try(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], capture_output=True, check=False)
