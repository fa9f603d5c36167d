"""Compare the speed of a served drive with nbdkit's memory plugin; or, with `--pace`, how late answers are.

The speed, in paired runs of the same fio job:

Both export 1 GiB over a Unix socket and have been written once before. Ours is `nvme-tlc` with an array cut
down to fit (page mapping, about a third spare), 64 MiB of page LRU, without `--pace`. Runs alternate, the
two servers taking turns at going first; IOPS are fio's, processor time is the server's (user and system) for
each request. On a machine that does other things only the processor time says something.

`--pace`: `nvme-tlc` as it is, one request under way. First as fast as it answers, then at half of that; the
server says how late answers were. It means something on an idle machine alone.

The image lies in memory where it can, as what nbdkit serves does: a disk that has to keep up with what is
programmed makes the server wait (`--folder`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("eraseblock"))
DRIVE = (
    *("--device", "nvme-tlc", "--set", 'ftl.exported="1 GiB"', "--set", 'buffer.size="64 MiB"'),
    *("--set", "nand.pages_per_block=24", "--set", "nand.blocks_per_plane=64"),
)
JOBS = {"4 KiB writes": ("--rw=randwrite",), "70/30 mix": ("--rw=randrw", "--rwmixread=70")}
# Where what lies there is in memory.
MEMORY = Path("/dev/shm")
# What is asked of the paced drive: the part of it that has been written.
PACED = ("--device", "nvme-tlc", "--set", 'buffer.size="64 MiB"')
LATE_US = 75
PATIENCE_S = 60


def say(line: str) -> None:
    """Show a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Server:
    """A server that is up."""

    name: str
    process: subprocess.Popen[bytes]
    socket: Path

    @property
    def uri(self) -> str:
        """As clients name it."""
        return f"nbd+unix:///?socket={self.socket}"

    def processor_s(self) -> float:
        """Seconds of user and system time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """What came of a run."""

    iops: float
    # Of the server, for each request.
    processor_us: float


def start(name: str, command: list[str], socket: Path, stack: ExitStack) -> Server:
    """Start a server, and wait for its socket."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    server = Server(name, process, socket)

    def end() -> None:
        process.terminate()
        process.wait()

    stack.callback(end)
    until = time.monotonic() + PATIENCE_S
    while not socket.is_socket():
        if time.monotonic() > until or process.poll() is not None:
            sys.exit(f"{name} does not come up")
        time.sleep(0.05)
    return server


def measure(server: Server, depth: int, seconds: float, job: tuple[str, ...]) -> Run:
    """One run of fio."""
    command = [
        *(
            "fio",
            "--name=job",
            "--ioengine=nbd",
            f"--uri={server.uri}",
            "--bs=4k",
            "--size=1G",
            "--norandommap",
        ),
        *(
            f"--iodepth={depth}",
            "--time_based",
            f"--runtime={seconds}",
            "--randrepeat=0",
            "--output-format=json",
        ),
    ]
    before = server.processor_s()
    done = subprocess.run([*command, *job], check=True, text=True, stdout=subprocess.PIPE)
    used = server.processor_s() - before
    [found] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    requests = found["read"]["total_ios"] + found["write"]["total_ios"]
    return Run(found["read"]["iops"] + found["write"]["iops"], 1e6 * used / requests)


def compare(options: argparse.Namespace) -> bool:
    """Print all pairs; whether the goal has been reached everywhere."""
    reached = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        sockets = folder / "ours", folder / "theirs"
        image = ["--image", str(folder / "drive.img")]
        serve = [COMMAND, "serve", *image, "--socket", str(sockets[0]), *DRIVE]
        nbdkit = ["nbdkit", "--foreground", "--unix", str(sockets[1]), "memory", "1G"]
        servers = (
            start("eraseblock", serve, sockets[0], stack),
            start("nbdkit", nbdkit, sockets[1], stack),
        )
        for server in servers:
            fill = (
                "--rw=write",
                "--bs=1M",
                "--size=1G",
                "--iodepth=4",
                "--ioengine=nbd",
                f"--uri={server.uri}",
            )
            subprocess.run(["fio", "--name=fill", *fill], check=True, stdout=subprocess.DEVNULL)
        for name, job in JOBS.items():
            for depth in options.depth:
                say(f"{name}, depth {depth}, {options.seconds:g} s each")
                say(f"{'':>12}{'eraseblock':>22}{'nbdkit':>22}{'ratio':>16}")
                ratios: list[tuple[float, float]] = []
                for number in range(1, options.pairs + 1):
                    turns = servers if number % 2 else servers[::-1]
                    runs = {one.name: measure(one, depth, options.seconds, job) for one in turns}
                    ours, theirs = runs["eraseblock"], runs["nbdkit"]
                    ratios.append((ours.iops / theirs.iops, theirs.processor_us / ours.processor_us))
                    cells = "".join(
                        f"{run.iops:>13,.0f}{run.processor_us:>6.1f} us" for run in (ours, theirs)
                    )
                    say(f"{number:>12}{cells}{ratios[-1][0]:>8.2f}{ratios[-1][1]:>8.2f}")
                iops, processor = (statistics.median(column) for column in zip(*ratios, strict=True))
                reached &= iops >= options.goal
                say(f"median of the ratios: {iops:.2f} of nbdkit's IOPS (goal: {options.goal:g}), ")
                say(f"  {processor:.2f} of its requests in the same processor time of the server")
    return reached


def pace(options: argparse.Namespace) -> bool:
    """Print how late answers are at half the load that the drive can bear; whether the goal is reached."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        rates: list[float] = []
        for load in ("as fast as it answers", "at half of that"):
            socket, report = folder / f"{len(rates)}.sock", folder / f"{len(rates)}.json"
            serve = [COMMAND, "serve", "--image", str(folder / "drive.img"), "--socket", str(socket), *PACED]
            with ExitStack() as stack:
                server = start("eraseblock", [*serve, "--pace", "--report", str(report)], socket, stack)
                if not rates:
                    fill = ("--rw=write", "--bs=1M", "--size=1G", "--ioengine=nbd", f"--uri={server.uri}")
                    subprocess.run(["fio", "--name=fill", *fill], check=True, stdout=subprocess.DEVNULL)
                    # How late those were does not count.
                    cut = [COMMAND, "ctl", str(folder / "drive.img.ctl"), "power-cut"]
                    subprocess.run(cut, check=True, stdout=subprocess.DEVNULL)
                job = JOBS["70/30 mix"]
                if rates:
                    # Of reads and of writes.
                    job = (*job, f"--rate_iops={rates[0] * 0.35:.0f},{rates[0] * 0.15:.0f}")
                rates.append(measure(server, 1, options.seconds, job).iops)
            late = json.loads(report.read_text(encoding="utf-8"))["lateness_ns"]
            figures = ", ".join(f"{key} {late[key] / 1000:.1f} us" for key in ("p50", "p99", "max"))
            say(f"{load}: {rates[-1]:,.0f} requests a second, late by {figures} (p99 goal: {LATE_US} us)")
    return bool(late["p99"] <= LATE_US * 1000)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5, help="length of a run (5)")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs of each job (3)")
    parser.add_argument("--depth", type=int, nargs="+", default=[16, 32], help="requests under way (16 32)")
    parser.add_argument("--pace", action="store_true", help="how late answers of a paced drive are, instead")
    parser.add_argument("--goal", type=float, default=0.8, help="ratio of IOPS that is wanted (0.8)")
    parser.add_argument(
        "--folder",
        type=Path,
        default=MEMORY if MEMORY.is_dir() else None,
        help=f"where the image is made ({MEMORY}, or the system's for temporary files)",
    )
    options = parser.parse_args()
    programs = ("fio",) if options.pace else ("fio", "nbdkit")
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        parser.error(f"needs {' and '.join(missing)} (apt-get install {' '.join(missing)})")
    if options.seconds <= 0 or options.pairs < 1:
        parser.error("--seconds and --pairs: expected more than 0")
    sys.exit(0 if (pace if options.pace else compare)(options) else 1)


if __name__ == "__main__":
    main()
