"""Lets real programs at a served drive: nbdinfo, nbdcopy, nbdsh, qemu, fio, file systems and databases.

`make test-e2e` runs it. What a check needs and this machine lacks is installed with apt-get where that is
possible; what cannot be is skipped, and said. Ends with 1 if a check has failed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("eraseblock"))
# The Debian package of each program.
PACKAGES = {
    **dict.fromkeys(("nbdinfo", "nbdcopy", "nbdfuse", "nbdsh"), "libnbd-bin"),
    **dict.fromkeys(("qemu-img", "qemu-io"), "qemu-utils"),
    "fio": "fio",
    "mke2fs": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "sqlite3": "sqlite3",
    **dict.fromkeys(("mkfs.xfs", "xfs_repair"), "xfsprogs"),
    **dict.fromkeys(("mkfs.btrfs", "btrfs"), "btrfs-progs"),
    **dict.fromkeys(("mkfs.vfat", "fsck.vfat"), "dosfstools"),
    "mcopy": "mtools",
    "psql": "postgresql",
}
MORE = {"nbdsh": "python3-libnbd"}
SMALL = (
    *("--device", "hbm-2010", "--set", "nand.blocks_per_plane=1300", "--set", 'ftl.exported="128 MiB"'),
    *("--set", 'buffer.size="2 MiB"'),
)
# The smallest that mkfs.xfs and PostgreSQL are content with.
LARGE = (
    *("--device", "hbm-2010", "--set", "nand.blocks_per_plane=4500", "--set", 'ftl.exported="512 MiB"'),
    *("--set", 'buffer.size="8 MiB"'),
)
PATIENCE_S = 300
# How often the server of each file system and database is killed (--kills).
KILLS = 10
# Files on a drive at a time.
FILES = 24


class LackingError(Exception):
    """Something that this machine cannot do."""


# What is up, to be taken down whatever has happened.
UP: list[Server | Mounted] = []


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
        UP.append(self)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if " at " not in said:
            raise AssertionError(f"the server said {said!r}")
        self.uri = said.rsplit(" at ", 1)[1].strip()
        return self

    def kill(self) -> None:
        """Kill it, as power goes."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    down = kill

    def end(self) -> None:
        """End it as it should end."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE_S)
        assert code == 0, f"the server ended with {code}"


def run(*command: str | Path, codes: tuple[int, ...] = (0,)) -> str:
    """What a program says; it has to end with one of these codes."""
    done = subprocess.run(
        [str(part) for part in command], text=True, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode in codes, f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout + done.stderr


def need(*programs: str) -> None:
    """Install what is missing, or say that it is."""
    missing = [program for program in programs if shutil.which(program, path=_path()) is None]
    if not missing:
        return
    packages = sorted({PACKAGES[program] for program in missing} | {MORE[p] for p in missing if p in MORE})
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for words in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            subprocess.run(["apt-get", "-qq", *words], capture_output=True, check=False)
    left = [program for program in missing if shutil.which(program, path=_path()) is None]
    if left:
        raise LackingError(f"{', '.join(left)} missing (apt-get install {' '.join(packages)})")


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def announced(folder: Path) -> None:
    """Nbdinfo is told sizes and what the drive can do."""
    need("nbdinfo")
    server = Server(folder / "drive.img", SMALL).start()
    said = run("nbdinfo", server.uri)
    wanted = (
        "export-size: 134217728",
        "can_fast_zero: true",
        "can_multi_conn: true",
        "block_size_maximum: 33554432",
    )
    for one in (*wanted, "base:allocation", "is_read_only: false"):
        assert one in said, f"no {one} in {said}"
    assert "hole,zero" in run("nbdinfo", "--map", server.uri)
    server.end()


def copied(folder: Path) -> None:
    """Nbdcopy in and out, with a kill between."""
    need("nbdcopy")
    here, back = folder / "here", folder / "back"
    here.write_bytes(random.Random(1).randbytes(100 << 20) + bytes(28 << 20))
    server = Server(folder / "drive.img", SMALL).start()
    run("nbdcopy", "--flush", here, server.uri)
    server.kill()
    server.start()
    run("nbdcopy", server.uri, back)
    server.end()
    assert hashlib.sha256(here.read_bytes()).digest() == hashlib.sha256(back.read_bytes()).digest()


def scripted(folder: Path) -> None:
    """Nbdsh: unaligned requests, zeroes, trims, a request too long, FUA."""
    need("nbdsh")
    server = Server(folder / "drive.img", SMALL).start()
    script = """
h.pwrite(b"abc" * 5000, 4000)
assert h.pread(15000, 4000) == b"abc" * 5000
h.zero(6000, 5000)
assert h.pread(15000, 4000) == (b"abc" * 5000)[:1000] + bytes(6000) + (b"abc" * 5000)[7000:]
h.trim(4096, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 4096) == bytes(4096)
h.pwrite(b"last", h.get_size() - 4, nbd.CMD_FLAG_FUA)
h.cache(65536, 0)
for wrong in (lambda: h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE),):
    try:
        wrong()
    except nbd.Error as error:
        assert error.errnum in (22, 95), error
    else:
        raise AssertionError("that should have failed")
h.flush()
h.shutdown()
"""
    # It takes the first `python3` that it finds, which has to be the system's.
    shell = ("env", "PATH=/usr/bin:/bin", "nbdsh", "-u")
    run(*shell, server.uri, "-c", script)
    server.kill()
    server.start()
    run(*shell, server.uri, "-c", 'assert h.pread(4, h.get_size() - 4) == b"last"')
    server.end()


def virtual_machine(folder: Path) -> None:
    """Qemu-img converts a disk onto the drive and back; qemu-io writes and reads patterns."""
    need("qemu-img", "qemu-io")
    disk, back = folder / "disk.qcow2", folder / "back.raw"
    run("qemu-img", "create", "-q", "-f", "qcow2", disk, "128M")
    fill = [f"write -P {7 + i} {i * 9}M {1 + i % 3}M" for i in range(12)]
    run("qemu-io", "-f", "qcow2", *[word for one in fill for word in ("-c", one)], disk)
    server = Server(folder / "drive.img", SMALL).start()
    run("qemu-img", "convert", "-n", "-O", "raw", disk, server.uri)
    assert "identical" in run("qemu-img", "compare", "-f", "qcow2", "-F", "raw", disk, server.uri)
    server.kill()
    server.start()
    asked = [
        "read -P 8 9M 2M",
        "discard 9M 1M",
        "read -P 0 9M 1M",
        "read -P 8 10M 1M",
        "write -z 70k 5k",
        "flush",
    ]
    said = run("qemu-io", "-f", "raw", *[word for one in asked for word in ("-c", one)], server.uri)
    assert "verification failed" not in said, said
    run("qemu-img", "convert", "-f", "raw", "-O", "raw", server.uri, back)
    assert back.stat().st_size == 128 << 20
    server.end()


def hammered(folder: Path) -> None:
    """Fio verifies random reads, writes and trims, on several FTLs."""
    need("fio")
    if "nbd" not in run("fio", "--enghelp"):
        raise LackingError("this fio has no engine for NBD")
    for mapping in ("page", "dftl", "fast", "bast"):
        server = Server(folder / f"{mapping}.img", (*SMALL, "--set", f"ftl.mapping={mapping}")).start()
        job = (
            *("fio", "--name=job", "--ioengine=nbd", f"--uri={server.uri}", "--iodepth=16", "--size=64M"),
            *(
                "--bs=4k-32k",
                "--bs_unaligned=0",
                "--verify=crc32c",
                "--verify_backlog=64",
                "--verify_fatal=1",
            ),
            "--output-format=terse",
        )
        run(*job, "--rw=randrw", "--rwmixread=30", "--randseed=3")
        run(*job, "--rw=randtrimwrite", "--verify=0", "--randseed=4")
        server.end()
        assert '"wrong": []' in run(COMMAND, "image", "check", server.image, "--json")


class Mounted:
    """The drive as a file, by nbdfuse, and as a loop device with a file system."""

    # Whether one has been mounted.
    works = False

    def __init__(self, server: Server, folder: Path) -> None:
        need("nbdfuse", "mke2fs")
        if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
            raise LackingError("needs root, FUSE and loop devices")
        self.at, self.mount = folder / "nbd", folder / "mount"
        self.at.mkdir(exist_ok=True)
        self.mount.mkdir(exist_ok=True)
        self.loop = ""
        # It says much when its server is killed.
        command = ["nbdfuse", str(self.at / "drive"), server.uri]
        self.fuse = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        UP.append(self)
        end = time.monotonic() + 20
        while not (self.at / "drive").exists():
            if time.monotonic() > end or self.fuse.poll() is not None:
                why = "nbdfuse does not come up here"
                raise AssertionError(why) if Mounted.works else LackingError(why)
            time.sleep(0.05)

    def up(self) -> None:
        """Mount it. Only where it has never been possible it is this machine's fault."""
        try:
            self.loop = run("losetup", "--find", "--show", self.at / "drive").strip()
            run("mount", self.loop, self.mount)
        except (AssertionError, FileNotFoundError) as error:
            self.down()
            if Mounted.works:
                raise
            raise LackingError(f"loop devices do not work here: {error}") from error
        Mounted.works = True

    def unmount(self) -> None:
        """Unmount it as it should be unmounted."""
        run("umount", self.mount)
        run("losetup", "-d", self.loop)
        self.loop = ""

    def down(self) -> None:
        """Take everything down, whatever state it is in."""
        subprocess.run(["umount", "-l", str(self.mount)], capture_output=True, check=False)
        if self.loop:
            subprocess.run(["losetup", "-d", self.loop], capture_output=True, check=False)
        subprocess.run(["umount", "-l", str(self.at)], capture_output=True, check=False)
        self.fuse.terminate()
        self.fuse.wait()


@dataclass(frozen=True)
class FileSystem:
    """How a file system is made and checked; `{}` stands for the drive."""

    name: str
    make: tuple[str, ...]
    # Of those that have to be mounted to replay their log.
    replays: bool
    checks: tuple[tuple[str, ...], ...]


EXT4 = FileSystem(
    "ext4",
    ("mke2fs", "-q", "-F", "-t", "ext4", "{}"),
    False,
    (("e2fsck", "-f", "-p", "{}"), ("e2fsck", "-f", "-n", "{}")),
)
XFS = FileSystem("xfs", ("mkfs.xfs", "-q", "-f", "{}"), True, (("xfs_repair", "-n", "{}"),))
BTRFS = FileSystem("btrfs", ("mkfs.btrfs", "-q", "-f", "{}"), True, (("btrfs", "check", "--readonly", "{}"),))


def checked(system: FileSystem, mounted: Mounted) -> None:
    """Let a file system's own check look at the drive."""
    if system.replays:
        mounted.up()
        mounted.unmount()
    for check in system.checks:
        run(*(part.format(mounted.at / "drive") for part in check), codes=(0, 1) if "-p" in check else (0,))


def file_system(folder: Path, system: FileSystem) -> None:
    """Kill the server under load, again and again: what was synced is there, and the file system whole."""
    need(system.make[0], system.checks[0][0])
    if os.geteuid() != 0:
        raise LackingError("needs root to mount")
    if system.name not in Path("/proc/filesystems").read_text(encoding="ascii"):
        raise LackingError(f"this kernel does not know {system.name}")
    server = Server(folder / "drive.img", LARGE).start()
    mounted = Mounted(server, folder)
    run(*(part.format(mounted.at / "drive") for part in system.make))
    content: dict[str, bytes] = {}
    chance = random.Random(system.name)
    for number in range(KILLS + 1):
        mounted.up()
        for name, data in content.items():
            assert (mounted.mount / name).read_bytes() == data, f"{name} is not what was synced"
        if number == KILLS:
            break
        for file_number in range(3 * number, 3 * number + 3):
            # Old ones are written anew, so that the drive does not fill up.
            name, data = f"file-{file_number % FILES}", os.urandom(chance.randrange(1, 2 << 20))
            with (mounted.mount / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            content[name] = data
        folder_of = os.open(mounted.mount, os.O_RDONLY)
        os.fsync(folder_of)
        os.close(folder_of)
        copies = f"while :; do cp {mounted.mount}/file-0 {mounted.mount}/x; rm {mounted.mount}/x; sync; done"
        load = subprocess.Popen(["sh", "-c", copies], stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.8))
        server.kill()
        load.kill()
        load.wait()
        mounted.down()
        server.start()
        mounted = Mounted(server, folder)
        checked(system, mounted)
    mounted.down()
    server.end()


def ext4(folder: Path) -> None:
    """Ext4 under load, and kills."""
    file_system(folder, EXT4)


def xfs(folder: Path) -> None:
    """XFS under load, and kills."""
    file_system(folder, XFS)


def btrfs(folder: Path) -> None:
    """Btrfs under load, and kills."""
    file_system(folder, BTRFS)


def vfat(folder: Path) -> None:
    """FAT with tools that need no kernel: what was synced is there after kills."""
    need("nbdfuse", "mkfs.vfat", "fsck.vfat", "mcopy")
    server = Server(folder / "drive.img", SMALL).start()
    mounted = Mounted(server, folder)
    run("mkfs.vfat", "-F", "32", mounted.at / "drive")
    here, back = folder / "here", folder / "back"
    content: dict[str, bytes] = {}
    for number in range(KILLS):
        name = f"file-{number % FILES}"
        content[name] = random.Random(number).randbytes(100_000 * (number % 10 + 1))
        here.write_bytes(content[name])
        run("mcopy", "-o", "-i", mounted.at / "drive", here, f"::{name}")
        run("sync", mounted.at / "drive")
        server.kill()
        mounted.down()
        server.start()
        mounted = Mounted(server, folder)
        run("fsck.vfat", "-n", mounted.at / "drive")
        for name, data in content.items():
            run("mcopy", "-n", "-o", "-i", mounted.at / "drive", f"::{name}", back)
            assert back.read_bytes() == data, f"{name} is not what was synced"
    mounted.down()
    server.end()


def postgresql(folder: Path) -> None:
    """PostgreSQL on ext4 under pgbench, and kills: nothing committed is lost, and amcheck is content."""
    need("mke2fs", "psql")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if os.geteuid() != 0 or not programs:
        raise LackingError("needs root to mount, and PostgreSQL (apt-get install postgresql)")
    folder.chmod(0o755)
    server = Server(folder / "drive.img", LARGE).start()
    mounted = Mounted(server, folder)
    run("mke2fs", "-q", "-F", "-t", "ext4", mounted.at / "drive")
    mounted.up()
    data, sockets = mounted.mount / "data", folder / "sockets"
    for made in (data, sockets):
        made.mkdir()
        shutil.chown(made, "postgres")
    data.chmod(0o700)

    def postgres(program: str, *words: str | Path) -> str:
        return run("runuser", "-u", "postgres", "--", programs[-1] / program, *words)

    def start() -> int:
        options = f"-c listen_addresses= -k {sockets} -c shared_buffers=16MB"
        log = ("-l", sockets / "log", "-t", "120")
        postgres("pg_ctl", "-D", data, *log, "-o", options, "-w", "start")
        return int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])

    def ask(what: str) -> str:
        return postgres("psql", "-h", sockets, "-At", "-c", what, "postgres").strip()

    postgres("initdb", "-D", data, "--data-checksums")
    main = start()
    ask("CREATE EXTENSION amcheck")
    ask("CREATE TABLE done (n integer PRIMARY KEY, much text)")
    postgres("pgbench", "-h", sockets, "-q", "-i", "-s", "1", "postgres")
    chance, committed = random.Random(5), 0
    for _ in range(KILLS):
        bench = ["runuser", "-u", "postgres", "--", str(programs[-1] / "pgbench"), "-h", str(sockets)]
        load = subprocess.Popen(
            [*bench, "-n", "-c", "2", "-T", "60", "postgres"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + chance.uniform(0.3, 1.5)
        while time.monotonic() < end:
            ask(f"INSERT INTO done VALUES ({committed}, repeat(md5('{committed}'), 100))")
            committed += 1
        server.kill()
        # The others of its processes end when they find it gone.
        os.kill(main, signal.SIGKILL)
        load.kill()
        load.wait()
        mounted.down()
        server.start()
        mounted = Mounted(server, folder)
        checked(EXT4, mounted)
        mounted.up()
        main = start()
        postgres("pg_amcheck", "-h", sockets, "--heapallindexed", "postgres")
        assert ask("SELECT count(*) FROM done") == str(committed), "a committed row is lost"
        sums = (
            "SELECT (SELECT sum(abalance) FROM pgbench_accounts)"
            " = (SELECT sum(bbalance) FROM pgbench_branches)"
            " AND (SELECT coalesce(sum(delta), 0) FROM pgbench_history)"
            " = (SELECT sum(tbalance) FROM pgbench_tellers)"
        )
        assert ask(sums) == "t", "accounts and history do not agree"
    postgres("pg_ctl", "-D", data, "-w", "stop")
    mounted.down()
    server.end()


def database(folder: Path) -> None:
    """SQLite on ext4: what was committed is there after a kill, and its own check is content."""
    need("sqlite3")
    if os.geteuid() != 0:
        raise LackingError("needs root to mount")
    server = Server(folder / "drive.img", SMALL).start()
    mounted = Mounted(server, folder)
    run("mke2fs", "-q", "-F", "-t", "ext4", mounted.at / "drive")
    mounted.up()
    base = mounted.mount / "base.db"
    run("sqlite3", base, "PRAGMA journal_mode=WAL; CREATE TABLE t (n INTEGER PRIMARY KEY, text)")
    committed = 0
    killer = subprocess.Popen(["sh", "-c", f"sleep 3; kill -9 {server.process.pid if server.process else 0}"])
    insert = "PRAGMA synchronous=FULL; INSERT INTO t (text) VALUES (hex(randomblob(2000)))"
    while True:
        done = subprocess.run(["sqlite3", str(base), insert], capture_output=True, check=False, timeout=60)
        if done.returncode != 0 or killer.poll() is not None:
            break
        committed += 1
    killer.wait()
    server.kill()
    mounted.down()
    server.start()
    mounted = Mounted(server, folder)
    run("e2fsck", "-f", "-p", mounted.at / "drive", codes=(0, 1))
    mounted.up()
    assert run("sqlite3", base, "PRAGMA integrity_check").strip() == "ok"
    found = int(run("sqlite3", base, "SELECT count(*) FROM t"))
    mounted.down()
    server.end()
    assert found >= committed > 0, f"{committed} rows were committed, {found} are there"


def full_disk(folder: Path) -> None:
    """A host's disk that is full: writes fail, what was flushed can be read, then and later."""
    need("nbdsh")
    if os.geteuid() != 0:
        raise LackingError("needs root to mount a small disk")
    disk = folder / "disk"
    disk.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk)
    try:
        server = Server(disk / "drive.img", SMALL).start()
        script = """
import os
done = 0
try:
    for at in range(0, h.get_size(), 1 << 20):
        h.pwrite(bytes([1 + at // (1 << 20)]) * (1 << 20), at)
        h.flush()
        done = at + (1 << 20)
except nbd.Error as error:
    assert error.errnum in (5, 28), error
assert 0 < done < 24 << 20, done
for at in range(0, done, 1 << 20):
    assert h.pread(1 << 20, at) == bytes([1 + at // (1 << 20)]) * (1 << 20), at
print(done)
"""
        shell = ("env", "PATH=/usr/bin:/bin", "nbdsh", "-u")
        done = int(run(*shell, server.uri, "-c", script))
        server.kill()
        run("mount", "-o", "remount,size=64m", disk)
        server.start()
        same = "h.pread(1 << 20, at) == bytes([1 + at // (1 << 20)]) * (1 << 20)"
        run(*shell, server.uri, "-c", f"assert all({same} for at in range(0, {done}, 1 << 20))")
        server.end()
    finally:
        subprocess.run(["umount", "-l", str(disk)], capture_output=True, check=False)


CHECKS: tuple[Callable[[Path], None], ...] = (
    *(announced, copied, scripted, virtual_machine, hammered),
    *(ext4, xfs, btrfs, vfat, database, postgresql, full_disk),
)


def main() -> int:
    """Run all checks, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checks", nargs="*", help=f"some of {', '.join(check.__name__ for check in CHECKS)}")
    parser.add_argument("--kills", type=int, default=KILLS, help="how often a server is killed under load")
    parser.add_argument("--done", type=Path, help="a file: checks that passed are noted there, and left out")
    asked = parser.parse_args()
    names = asked.checks
    globals()["KILLS"] = asked.kills
    done = asked.done.read_text(encoding="utf-8").split() if asked.done and asked.done.exists() else []
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for check in CHECKS:
        if (names and check.__name__ not in names) or check.__name__ in done:
            continue
        start = time.monotonic()
        outcome, why = "passed", ""
        with tempfile.TemporaryDirectory(prefix="eraseblock-e2e-", ignore_cleanup_errors=True) as folder:
            try:
                check(Path(folder))
            except LackingError as lacking:
                outcome, why = "skipped", f": {lacking}"
            except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                outcome, why = "failed", f": {error}"
            while UP:
                UP.pop().down()
        counts[outcome] += 1
        if asked.done and outcome == "passed":
            with asked.done.open("a", encoding="utf-8") as file:
                file.write(f"{check.__name__}\n")
        about = (check.__doc__ or "").splitlines()[0]
        sys.stdout.write(f"{outcome}  {time.monotonic() - start:5.1f} s  {check.__name__}: {about}{why}\n")
        sys.stdout.flush()
    sys.stdout.write(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + "\n")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
