"""What this machine has: programs, which are installed where they are missing, and the rights to mount."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

# The Debian package of each program.
PACKAGES = {
    **dict.fromkeys(("nbdinfo", "nbdcopy", "nbdfuse", "nbdsh"), "libnbd-bin"),
    **dict.fromkeys(("qemu-img", "qemu-io"), "qemu-utils"),
    "fio": "fio",
    **dict.fromkeys(("mke2fs", "e2fsck"), "e2fsprogs"),
    **dict.fromkeys(("mkfs.xfs", "xfs_repair"), "xfsprogs"),
    **dict.fromkeys(("mkfs.btrfs", "btrfs"), "btrfs-progs"),
    **dict.fromkeys(("mkfs.vfat", "fsck.vfat"), "dosfstools"),
    "mcopy": "mtools",
    **dict.fromkeys(("mkntfs", "ntfsfix", "ntfscp", "ntfscat", "ntfs-3g"), "ntfs-3g"),
    "psql": "postgresql",
    "postmark": "postmark",
}
# nbdsh takes the first Python that it finds; it is given the system's, which has to have a module.
SYSTEM_PYTHON = "/usr/bin/python3"
_LIBRARY = "python3-libnbd"
# The longest that a program may take.
PATIENCE_S = 600


class LackingError(Exception):
    """Something that this machine cannot do."""


def run(*command: str | Path, codes: tuple[int, ...] = (0,)) -> str:
    """What a program says; it has to end with one of these codes."""
    done = _done(command, codes)
    return done.stdout + done.stderr


def answer(*command: str | Path) -> str:
    """What a program writes to its standard output alone."""
    return _done(command, (0,)).stdout


def _done(command: tuple[str | Path, ...], codes: tuple[int, ...]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command],
        text=True,
        errors="replace",
        capture_output=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PATH": _path()},
        check=False,
    )
    said = (done.stderr or done.stdout)[-2000:]
    assert done.returncode in codes, f"{command[0]} ended with {done.returncode}: {said}"
    return done


def need(*programs: str) -> None:
    """Install what is missing, or say that it is."""
    if not _missing(programs):
        return
    packages = {PACKAGES[program] for program in _missing(programs)}
    why = _install(*sorted(packages | ({_LIBRARY} if "nbdsh" in programs else set())))
    if missing := _missing(programs):
        raise LackingError(f"{', '.join(missing)} missing; {why}")


def need_mounts(kind: str | None = None) -> None:
    """Say it where a file system of this kind can surely not be mounted."""
    if os.geteuid() != 0:
        raise LackingError("needs root to mount")
    for device in ("/dev/fuse", "/dev/loop-control"):
        if not Path(device).exists():
            raise LackingError(f"needs {device}")
    if kind is not None and kind not in _file_systems():
        # It may be a module.
        subprocess.run(["modprobe", "-q", kind], env={"PATH": _path()}, capture_output=True, check=False)
        if kind not in _file_systems():
            raise LackingError(f"this kernel does not know {kind}")


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _file_systems() -> list[str]:
    return Path("/proc/filesystems").read_text(encoding="ascii").split()


def _missing(programs: tuple[str, ...]) -> list[str]:
    missing = [program for program in programs if shutil.which(program, path=_path()) is None]
    if "nbdsh" in programs and "nbdsh" not in missing:
        asked = subprocess.run([SYSTEM_PYTHON, "-c", "import nbd"], capture_output=True, check=False)
        missing += ["nbdsh"] if asked.returncode else []
    return missing


def _install(*packages: str) -> str:
    """Install Debian packages where that is possible; if not, why."""
    by_hand = f"apt-get install {' '.join(packages)}"
    if shutil.which("apt-get") is None:
        return f"there is no apt-get here to install {' '.join(packages)} with"
    if os.geteuid() != 0 and shutil.which("sudo") is None:
        return by_hand
    # Others may be at it.
    with (Path(tempfile.gettempdir()) / "eraseblock-e2e-apt.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Where no package list is up to date, the newest versions are not found.
        done = _apt("update") and _apt("install", "--yes", "--no-install-recommends", *packages)
    return f"{by_hand} did not work" if not done else f"{by_hand} did not bring it"


def _apt(*words: str) -> bool:
    rights = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    return _apt_once((*rights, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", *words))


@cache
def _apt_once(command: tuple[str, ...]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
