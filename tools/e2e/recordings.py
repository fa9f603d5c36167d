"""Five of the BPLRU paper's workloads by real programs, recorded by the drive and played in the simulation.

The paper has them in its sections 4.1 and 4.2: W1 installs programs, W4 writes at random, W5 copies music, W7
unpacks sources, W9 is Postmark. Each runs on three file systems, on the paper's drive behind BPLRU. The
simulation of what was recorded has to do the same flash operations, to the last one.
"""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.drive import COMMAND, Server
from e2e.file_systems import FileSystem, make
from e2e.job import Job
from e2e.machine import LackingError, answer, need, need_mounts, run
from e2e.mounts import Attached

# The paper's drive and buffer; the drive is used, as theirs.
_DRIVE = """
preset = "bplru-2008"
bounds = false
[buffer]
size = "8 MiB"
scheme = "bplru"
[precondition]
state = "full"
[workload]
path = "day.ebt.zst"
"""
# Packages with many files, which need no others to be unpacked.
_PACKAGES = ("vim-runtime", "perl-doc")
_POSTMARK = """
set location {}
set number 2000
set size 500 20000
set transactions 4000
set seed 9
run
quit
"""

# Each is made without trims, so that the drive stays full.
EXT4 = FileSystem("ext4", ("mke2fs", "-q", "-F", "-t", "ext4", "-E", "nodiscard", "{}"), ())
XFS = FileSystem("xfs", ("mkfs.xfs", "-q", "-f", "-K", "{}"), ())
NTFS = FileSystem("ntfs", ("mkntfs", "-F", "-F", "-q", "-Q", "{}"), ())


@dataclass(frozen=True)
class Program:
    """A workload: what it needs, what is made before it is recorded, and what it does to a file system."""

    name: str
    needs: tuple[str, ...]
    prepare: Callable[[Path], None]
    work: Callable[[Path, Path], None]


def _packages(inputs: Path) -> None:
    # Root's own folder is closed to the user that apt would fetch as.
    words = ("apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *_PACKAGES)
    try:
        run("sh", "-c", f"cd '{inputs}' && {' '.join(words)}")
    except AssertionError as error:
        raise LackingError(f"packages to install cannot be fetched: {error}") from error


def _install(inputs: Path, mount: Path) -> None:
    # Unpacked and entered into dpkg's database; the packages' own scripts would change the machine outside.
    (mount / "var/lib/dpkg/updates").mkdir(parents=True)
    (mount / "var/lib/dpkg/info").mkdir()
    (mount / "var/lib/dpkg/status").touch()
    words = ("--log=/dev/null", "--force-all", "--force-script-chrootless", "--unpack")
    run("dpkg", f"--root={mount}", *words, *sorted(inputs.glob("*.deb")))


def _write_at_random(_inputs: Path, mount: Path) -> None:
    job = ("fio", "--name=job", f"--filename={mount}/file", "--size=64M", "--ioengine=psync")
    run(*job, "--rw=write", "--bs=1M", "--fsync_on_close=1")
    run(
        *job,
        "--rw=randwrite",
        "--bs=4k",
        "--norandommap",
        "--number_ios=800",
        "--fdatasync=16",
        "--randseed=4",
    )


def _music(inputs: Path) -> None:
    for number in range(15):
        (inputs / f"{number}.mp3").write_bytes(os.urandom(4_800_000))


def _copy(inputs: Path, mount: Path) -> None:
    run("cp", "-r", inputs, mount / "Music")


def _sources(inputs: Path) -> None:
    """Python's own, without what was installed beside them: some thousand files."""

    def wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        path = Path(member.name)
        own = "site-packages" not in path.parts and (member.isdir() or path.suffix == ".py")
        return member if own else None

    with tarfile.open(inputs / "sources.tar", "w") as packed:
        packed.add(sysconfig.get_paths()["stdlib"], "sources", filter=wanted)


def _unpack(inputs: Path, mount: Path) -> None:
    run("tar", "-C", mount, "--no-same-owner", "-xf", inputs / "sources.tar")


def _postmark(inputs: Path, mount: Path) -> None:
    script = inputs / "postmark.txt"
    script.write_text(_POSTMARK.format(mount), encoding="utf-8")
    run("postmark", script)


def _nothing(_inputs: Path) -> None:
    pass


PROGRAMS = (
    Program("W1, dpkg installs packages", ("dpkg",), _packages, _install),
    Program("W4, fio writes at random", ("fio",), _nothing, _write_at_random),
    Program("W5, cp copies music", (), _music, _copy),
    Program("W7, tar unpacks sources", ("tar",), _sources, _unpack),
    Program("W9, Postmark", ("postmark",), _nothing, _postmark),
)


def recorded_ext4(job: Job) -> None:
    """Five workloads of the BPLRU paper on ext4: simulations of their recordings do the same flash work."""
    need_mounts("ext4")
    _recorded(job, EXT4, "mount")


def recorded_xfs(job: Job) -> None:
    """The same on XFS."""
    need_mounts("xfs")
    _recorded(job, XFS, "mount")


def recorded_ntfs(job: Job) -> None:
    """The same on NTFS."""
    need("ntfs-3g")
    need_mounts("fuseblk")
    _recorded(job, NTFS, "ntfs-3g", "-o", "big_writes")


def _recorded(job: Job, system: FileSystem, *mount: str) -> None:
    need(system.make[0])
    config = job.folder / "drive.toml"
    config.write_text(_DRIVE, encoding="utf-8")
    run(COMMAND, "image", "create", job.folder / "new.img", "--config", config)
    lacking = []
    for program in PROGRAMS:
        inputs = job.folder / "inputs"
        inputs.mkdir()
        try:
            need(*program.needs)
            program.prepare(inputs)
            _recorded_once(job.folder, config, system, mount, lambda at: program.work(inputs, at))  # noqa: B023
        except LackingError as error:
            lacking.append(f"{program.name}: {error}")
        except AssertionError as error:
            raise AssertionError(f"{program.name}: {error}") from error
        shutil.rmtree(inputs)
    if lacking:
        raise LackingError(f"{len(PROGRAMS) - len(lacking)} of {len(PROGRAMS)} passed; {'; '.join(lacking)}")


def _recorded_once(
    folder: Path, config: Path, system: FileSystem, mount: tuple[str, ...], work: Callable[[Path], None]
) -> None:
    """Serve a used drive, record what a file system and a program do to it, and play that."""
    image, trace, report = folder / "drive.img", folder / "day.ebt.zst", folder / "served.json"
    run("cp", "--sparse=always", folder / "new.img", image)
    server = Server(image, ("--record", str(trace), "--report", str(report))).start()
    attached = Attached(server, folder)
    make(system, attached)
    attached.up(*mount)
    attached.hold_back(4 << 20)
    work(attached.mount)
    attached.unmount()
    attached.down()
    server.end()
    begun = f'precondition={{state="image", image="{folder / "new.img"}"}}'
    [simulated] = json.loads(answer(COMMAND, "run", config, "--set", begun, "--json"))
    served = json.loads(report.read_text(encoding="utf-8"))["drive"]
    for part in ("requests", "flash", "merges", "padded_pages", "response_ns"):
        assert served[part] == simulated[part], f"{part}: served {served[part]}, simulated {simulated[part]}"
    assert served["flash"]["programs"]["total"] > 10_000, "hardly anything was written"
    for file in (image, trace, report):
        file.unlink()
