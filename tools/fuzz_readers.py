"""Fuzzes the trace readers and the NBD protocol: builds fuzz/, runs each target, says what was found.

`make fuzz-readers TIME=600 FORMAT=spc` runs one target, without FORMAT all of them, as many at once as
there are processors. What was learnt stays in fuzz/corpus; an input that crashes is kept in
fuzz/artifacts, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
# Coverage counters and comparisons for libFuzzer, which the stable compiler can insert as well.
FLAGS = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
]


@dataclass(frozen=True)
class Result:
    """What one target came to."""

    target: str
    executions: int
    crashes: list[Path]
    output: str


def build() -> Path:
    """The program with all targets."""
    host = _host()
    # With a target named, the flags hold for the program alone, not for what runs while it is built.
    flags = {"RUSTFLAGS": " ".join(FLAGS), "CARGO_TARGET_DIR": str(FUZZ / "target")}
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target", host]
    subprocess.run(command, cwd=FUZZ, env=os.environ | flags, check=True)
    return FUZZ / "target" / host / "release" / "eraseblock-fuzz"


def _host() -> str:
    about = subprocess.run(["rustc", "-vV"], text=True, capture_output=True, check=True).stdout
    return next(line.removeprefix("host: ") for line in about.splitlines() if line.startswith("host: "))


def targets(program: Path) -> list[str]:
    """Names of all targets."""
    run = subprocess.run(
        [program], env=os.environ | {"FUZZ_TARGET": "list"}, text=True, capture_output=True, check=True
    )
    return run.stdout.split()


def fuzz(program: Path, target: str, seconds: int) -> Result:
    """Runs one target."""
    corpus, seeds, artifacts = FUZZ / "corpus" / target, FUZZ / "seeds" / target, FUZZ / "artifacts" / target
    for folder in (corpus, seeds, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(artifacts.iterdir())
    command: list[str | Path] = [
        program,
        f"-max_total_time={seconds}",
        "-max_len=8192",
        "-timeout=20",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        f"-artifact_prefix={artifacts}/",
        corpus,
        seeds,
    ]
    env = os.environ | {"FUZZ_TARGET": target, "FUZZ_SEEDS": str(seeds)}
    run = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    output = run.stdout.decode(errors="replace")
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
    crashes = sorted(set(artifacts.iterdir()) - before)
    if run.returncode != 0 and not crashes:
        raise SystemExit(f"{target}: the target itself failed with code {run.returncode}\n{output[-4000:]}")
    return Result(target, int(counted[1]) if counted else 0, crashes, output)


def describe(result: Result, program: Path, seconds: int) -> str:
    """A row of the table; for a crash, what was said and how to see it again."""
    rate = result.executions / max(1, seconds)
    lines = [f"{result.target:<22}{result.executions:>14,}{rate:>10,.0f}{len(result.crashes):>9}"]
    if result.crashes:
        said = re.search(r"panicked at .*?\n.*?\n|==\d+==.*?\n", result.output)
        lines.append(f"  {said[0].strip() if said else 'no message'}")
    lines += [f"  again: FUZZ_TARGET={result.target} {program} {path}" for path in result.crashes]
    return "\n".join(lines)


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Fuzz one target or all."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--time", type=int, default=60, metavar="S", help="seconds for each target (60)")
    parser.add_argument("--format", metavar="NAME", help="one format alone, or `detect`, `unpack` or `nbd`")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="targets at once")
    call = parser.parse_args()
    program = build()
    known = targets(program)
    if call.format and call.format not in known:
        parser.error(f"no target `{call.format}`; known: {', '.join(known)}")
    wanted = [call.format] if call.format else known
    crashed = False
    say(f"{'target':<22}{'executions':>14}{'per s':>10}{'crashes':>9}")
    with ThreadPoolExecutor(max(1, call.jobs)) as pool:
        for result in pool.map(lambda target: fuzz(program, target, call.time), wanted):
            say(describe(result, program, call.time))
            crashed |= bool(result.crashes)
    return int(crashed)


if __name__ == "__main__":
    sys.exit(main())
