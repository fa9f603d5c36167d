"""Compare the speed of page LRU with libCacheSim's, in paired runs over the same Zipf stream.

Both read the same file of 24-byte records (oracleGeneral) and serve every access in one thread; the time is
that of the loop, the reading included on both sides. libCacheSim runs its loop in C, over its memory-mapped
reader, with sizes ignored and a hash table of the size that suits the buffer best (its default of 2^24
entries halves its speed). The engine's buffer is called once for each access, with no drive behind it, as
libCacheSim has none. Both must count the same hits.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAGES = 800_000


def say(line: str) -> None:
    """Show a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def ours(bench: list[str], stream: Path, buffer: int) -> tuple[int, float]:
    """Hits and seconds of this project's page LRU."""
    command = [*bench, "stream", str(stream), "lru", str(buffer)]
    found = json.loads(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout)
    return found["hits"], found["seconds"]


def theirs(stream: Path, buffer: int, accesses: int) -> tuple[int, float]:
    """Hits and seconds of libCacheSim's LRU."""
    import libcachesim

    parameters = libcachesim.ReaderInitParam(ignore_obj_size=True)
    reader = libcachesim.TraceReader(str(stream), libcachesim.TraceType.ORACLE_GENERAL_TRACE, parameters)
    cache = libcachesim.LRU(cache_size=buffer, hashpower=buffer.bit_length())
    start = time.perf_counter()
    misses, _ = cache.process_trace(reader)
    return round((1 - misses) * accesses), time.perf_counter() - start


def compare(bench: list[str], accesses: int, runs: int) -> float:
    """Print every pair of runs and the median of their ratios; return that."""
    buffer = PAGES // 10
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder) / "zipf.oracleGeneral"
        subprocess.run([*bench, "zipf", str(stream), str(accesses)], check=True)
        say(f"page LRU, {accesses:,} accesses, Zipf over {PAGES:,} pages, buffer of {buffer:,}; M accesses/s")
        say(f"{'run':>5}{'eraseblock':>14}{'libCacheSim':>14}{'ratio':>8}")
        for run in range(1, runs + 1):
            (hits, mine), (expected, other) = ours(bench, stream, buffer), theirs(stream, buffer, accesses)
            if hits != expected:
                sys.exit(f"different work: {hits:,} hits here, {expected:,} in libCacheSim")
            ratios.append(other / mine)
            say(f"{run:>5}{accesses / mine / 1e6:>14.2f}{accesses / other / 1e6:>14.2f}{ratios[-1]:>7.2f}x")
    median = statistics.median(ratios)
    say(f"median of the ratios: {median:.2f}x (goal: 2x); {hits:,} hits on both sides")
    return median


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accesses", type=int, default=10_000_000, help="length of the stream (10000000)")
    parser.add_argument("--runs", type=int, default=7, help="pairs of runs (7)")
    options = parser.parse_args()
    if options.accesses < 1 or options.runs < 1:
        parser.error("--accesses and --runs: expected at least 1")
    cargo = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "eraseblock-bench", "--"]
    compare(cargo, options.accesses, options.runs)


if __name__ == "__main__":
    main()
