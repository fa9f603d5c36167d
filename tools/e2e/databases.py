"""Databases on ext4 on a served drive that loses its power while they commit."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from e2e.drive import LARGE, SMALL, Server
from e2e.file_systems import EXT4, check, make
from e2e.job import Job
from e2e.machine import LackingError, need, need_mounts, run
from e2e.mounts import Attached

# Commits rows from a number on, each of them told when it is committed, until the drive has gone.
_COMMITS = """
import random, sqlite3, sys
path, journal, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
base = sqlite3.connect(path, isolation_level=None)
base.execute(f"PRAGMA journal_mode={journal}")
# With less, a journal that was deleted to commit may be there again.
base.execute("PRAGMA synchronous=EXTRA")
while True:
    base.execute("BEGIN")
    base.execute("INSERT INTO rows VALUES (?, ?)", (number, random.Random(number).randbytes(2000)))
    base.execute("UPDATE total SET rows = rows + 1, sum = sum + ?", (number,))
    base.execute("COMMIT")
    print(number, flush=True)
    number += 1
"""


def sqlite(job: Job) -> None:
    """SQLite with several journals: nothing committed is lost or in halves, and its own check is content."""
    need("mke2fs", "e2fsck")
    need_mounts("ext4")
    server = Server(job.folder / "drive.img", SMALL).start()
    attached = Attached(server, job.folder)
    make(EXT4, attached)
    attached.up()
    path = attached.mount / "base.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, bytes BLOB)")
        base.execute("CREATE TABLE total (rows INTEGER, sum INTEGER)")
        base.execute("INSERT INTO total VALUES (0, 0)")
        base.commit()
    os.sync()
    chance, committed = job.chance, 0
    for round_ in job.rounds():
        journal = ("WAL", "DELETE", "PERSIST")[round_.number % 3]
        words = [sys.executable, "-c", _COMMITS, str(path), journal, str(committed)]
        with subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as load:
            assert load.stdout is not None
            first = load.stdout.readline()
            time.sleep(chance.uniform(0, 1))
            server.kill()
            # It ends at the first error of the drive; what waits for that for ever is ended.
            with suppress(subprocess.TimeoutExpired):
                load.wait(timeout=10)
            load.kill()
            told = [first, *load.stdout]
        assert told[0].strip(), "nothing could be committed"
        # The last line may be a part of one.
        before, committed = committed, int([line for line in told if line.endswith("\n")][-1]) + 1
        attached.down()
        server.start()
        attached = Attached(server, job.folder)
        check(EXT4, attached)
        attached.up()
        committed = _found(path, before, committed, looks_at_all=round_.looks_at_all)
        if committed > 20_000:
            # The drive is small.
            committed = _emptied(path)
    attached.down()
    server.end()


def _found(path: Path, before: int, committed: int, *, looks_at_all: bool) -> int:
    """How many rows are there, which have to be all that were committed, each as it was written."""
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        [(rows, total, most)] = base.execute("SELECT count(*), sum(number), max(number) FROM rows").fetchall()
        last = -1 if most is None else most
        assert rows == last + 1, f"{rows} rows are there, the last is {most}"
        assert base.execute("SELECT rows, sum FROM total").fetchall() == [(rows, total)], "half a transaction"
        # Of the last one the kill may have come before it was told.
        assert committed <= rows <= committed + 1, f"{committed} rows were committed, {rows} are there"
        some: Iterable[int] = range(rows)
        if not looks_at_all:
            some = {*range(before, rows), *random.Random(rows).sample(range(rows), min(rows, 50))}
        for number in some:
            [(found,)] = base.execute("SELECT bytes FROM rows WHERE number = ?", (number,)).fetchall()
            assert found == random.Random(number).randbytes(2000), f"row {number} is another one"
    return int(rows)


def _emptied(path: Path) -> int:
    with closing(sqlite3.connect(path)) as base:
        base.execute("DELETE FROM rows")
        base.execute("UPDATE total SET rows = 0, sum = 0")
        base.commit()
    return 0


@dataclass(frozen=True)
class _Postgres:
    """A cluster of PostgreSQL, whose programs run as its own user."""

    programs: Path
    data: Path
    sockets: Path

    def run(self, program: str, *words: str | Path) -> str:
        """What one of its programs says."""
        return run("runuser", "-u", "postgres", "--", self.programs / program, *words)

    def start(self) -> int:
        """Start the server; its main process."""
        options = f"-c listen_addresses= -k {self.sockets} -c shared_buffers=16MB"
        log = ("-l", self.sockets / "log", "-t", "120")
        self.run("pg_ctl", "-D", self.data, *log, "-o", options, "-w", "start")
        return int((self.data / "postmaster.pid").read_text(encoding="utf-8").split()[0])

    def ask(self, what: str) -> str:
        """What it answers to SQL."""
        return self.run("psql", "-h", self.sockets, "-At", "-c", what, "postgres").strip()

    def load(self) -> subprocess.Popen[bytes]:
        """Pgbench, at work."""
        bench = ["runuser", "-u", "postgres", "--", str(self.programs / "pgbench"), "-h", str(self.sockets)]
        words = [*bench, "-n", "-c", "2", "-T", "60", "postgres"]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait_for_end(process: int) -> None:
    """Wait until it has gone: a server that was killed is there until its last write has failed."""
    end = time.monotonic() + 60
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.kill(process, 0)
            time.sleep(0.02)


# Whether what pgbench has moved between accounts, tellers and branches adds up.
_SUMS = (
    "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(bbalance) FROM pgbench_branches)"
    " AND (SELECT coalesce(sum(delta), 0) FROM pgbench_history) = (SELECT sum(tbalance) FROM pgbench_tellers)"
)


def postgresql(job: Job) -> None:
    """PostgreSQL under pgbench: nothing committed is lost, accounts add up, and amcheck is content."""
    need("mke2fs", "e2fsck", "psql")
    need_mounts("ext4")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        raise LackingError("PostgreSQL's server is not under /usr/lib/postgresql")
    job.folder.chmod(0o755)
    server = Server(job.folder / "drive.img", LARGE).start()
    attached = Attached(server, job.folder)
    make(EXT4, attached)
    attached.up()
    postgres = _Postgres(programs[-1], attached.mount / "data", job.folder / "sockets")
    for made in (postgres.data, postgres.sockets):
        made.mkdir()
        shutil.chown(made, "postgres")
    postgres.data.chmod(0o700)
    postgres.run("initdb", "-D", postgres.data, "--data-checksums")
    main = postgres.start()
    postgres.ask("CREATE EXTENSION amcheck")
    postgres.ask("CREATE TABLE done (n integer PRIMARY KEY, much text)")
    postgres.run("pgbench", "-h", postgres.sockets, "-q", "-i", "-s", "1", "postgres")
    chance, committed = job.chance, 0
    for round_ in job.rounds():
        load = postgres.load()
        end = time.monotonic() + chance.uniform(0.3, 1.5)
        while time.monotonic() < end:
            postgres.ask(f"INSERT INTO done VALUES ({committed}, repeat(md5('{committed}'), 100))")
            committed += 1
        server.kill()
        # The others of its processes end when they find it gone.
        os.kill(main, signal.SIGKILL)
        load.kill()
        load.wait()
        attached.down()
        _wait_for_end(main)
        server.start()
        attached = Attached(server, job.folder)
        check(EXT4, attached)
        attached.up()
        main = postgres.start()
        thorough = ("--heapallindexed",) if round_.looks_at_all else ()
        postgres.run("pg_amcheck", "-h", postgres.sockets, *thorough, "postgres")
        wrong = f"SELECT count(*) FROM done WHERE n >= {committed} OR much <> repeat(md5(n::text), 100)"
        assert postgres.ask("SELECT count(*) FROM done") == str(committed), "a committed row is lost"
        assert postgres.ask(wrong) == "0", "a committed row is another one"
        assert postgres.ask(_SUMS) == "t", "accounts and history do not agree"
    postgres.run("pg_ctl", "-D", postgres.data, "-w", "stop")
    attached.down()
    server.end()
