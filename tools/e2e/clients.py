"""Programs that speak NBD themselves: nbdinfo, nbdcopy, nbdsh, qemu, fio."""

from __future__ import annotations

import hashlib
import random
import subprocess

from e2e.drive import COMMAND, SMALL, UP, Server
from e2e.job import Job
from e2e.machine import SYSTEM_PYTHON, LackingError, need, need_mounts, run

# nbdsh with the system's Python.
_SHELL = (SYSTEM_PYTHON, "-m", "nbd", "-u")


def announced(job: Job) -> None:
    """Nbdinfo is told sizes and what the drive can do."""
    need("nbdinfo")
    server = Server(job.folder / "drive.img", SMALL).start()
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


def copied(job: Job) -> None:
    """Nbdcopy in and out, with a kill between."""
    need("nbdcopy")
    here, back = job.folder / "here", job.folder / "back"
    here.write_bytes(random.Random(1).randbytes(100 << 20) + bytes(28 << 20))
    server = Server(job.folder / "drive.img", SMALL).start()
    run("nbdcopy", "--flush", here, server.uri)
    server.kill()
    server.start()
    run("nbdcopy", server.uri, back)
    server.end()
    assert hashlib.sha256(here.read_bytes()).digest() == hashlib.sha256(back.read_bytes()).digest()


def scripted(job: Job) -> None:
    """Nbdsh: unaligned requests, zeroes, trims, a request that cannot be, FUA."""
    need("nbdsh")
    server = Server(job.folder / "drive.img", SMALL).start()
    script = """
h.pwrite(b"abc" * 5000, 4000)
assert h.pread(15000, 4000) == b"abc" * 5000
h.zero(6000, 5000)
assert h.pread(15000, 4000) == (b"abc" * 5000)[:1000] + bytes(6000) + (b"abc" * 5000)[7000:]
h.trim(4096, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 4096) == bytes(4096)
h.pwrite(b"last", h.get_size() - 4, nbd.CMD_FLAG_FUA)
h.cache(65536, 0)
try:
    h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)
except nbd.Error as error:
    assert error.errnum in (22, 95), error
else:
    raise AssertionError("that should have failed")
h.flush()
h.shutdown()
"""
    run(*_SHELL, server.uri, "-c", script)
    server.kill()
    server.start()
    run(*_SHELL, server.uri, "-c", 'assert h.pread(4, h.get_size() - 4) == b"last"')
    server.end()


def virtual_machine(job: Job) -> None:
    """Qemu-img converts a disk onto the drive and back; qemu-io writes and reads patterns."""
    need("qemu-img", "qemu-io")
    disk, back = job.folder / "disk.qcow2", job.folder / "back.raw"
    run("qemu-img", "create", "-q", "-f", "qcow2", disk, "128M")
    fill = [f"write -P {7 + i} {i * 9}M {1 + i % 3}M" for i in range(12)]
    run("qemu-io", "-f", "qcow2", *[word for one in fill for word in ("-c", one)], disk)
    server = Server(job.folder / "drive.img", SMALL).start()
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


def hammered(job: Job) -> None:
    """Fio verifies random reads, writes and trims by checksums, on several FTLs."""
    need("fio")
    if "nbd" not in run("fio", "--enghelp"):
        raise LackingError("this fio has no engine for NBD")
    for mapping in ("page", "dftl", "fast", "bast"):
        server = Server(job.folder / f"{mapping}.img", (*SMALL, "--set", f"ftl.mapping={mapping}")).start()
        jobs = (
            *("fio", "--name=job", "--ioengine=nbd", f"--uri={server.uri}", "--iodepth=16", "--size=64M"),
            *("--verify=crc32c", "--verify_backlog=64", "--verify_fatal=1", "--output-format=terse"),
        )
        run(*jobs, "--bs=4k-32k", "--rw=randrw", "--rwmixread=30", "--randseed=3")
        # What was trimmed has to read as zeroes.
        trims = ("--trim_percentage=20", "--trim_backlog=64", "--trim_verify_zero=1")
        run(*jobs, "--bs=4k", "--rw=randwrite", *trims, "--randseed=4")
        server.end()
        assert '"wrong": []' in run(COMMAND, "image", "check", server.image, "--json")


def full_disk(job: Job) -> None:
    """A host's disk that is full: writes fail, what was flushed can be read, then and later."""
    need("nbdsh")
    need_mounts()
    disk = job.folder / "disk"
    disk.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk)
    UP.append(lambda: _unmount(str(disk)))
    server = Server(disk / "drive.img", SMALL).start()
    script = """
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
    done = int(run(*_SHELL, server.uri, "-c", script))
    server.kill()
    run("mount", "-o", "remount,size=64m", disk)
    server.start()
    same = "h.pread(1 << 20, at) == bytes([1 + at // (1 << 20)]) * (1 << 20)"
    run(*_SHELL, server.uri, "-c", f"assert all({same} for at in range(0, {done}, 1 << 20))")
    server.end()


def _unmount(disk: str) -> None:
    subprocess.run(["umount", "-l", disk], capture_output=True, check=False)
