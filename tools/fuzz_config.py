"""Runs random drives under random workloads, and looks for panics, hangs, stale reads and lost requests.

`make fuzz-config TIME=1200` draws configurations from the schema of an experiment file, so that whatever
can be configured is drawn: small arrays, any FTL under any buffer with any options, now and then a value
that makes no sense. Each is refused with a sentence, or runs twice: with every read checked, and without;
both must give the same record, and account for every request. A case that fails is printed with the
command that repeats it (`SEED=... CASE=...`), and the exit code is 1.
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import os
import random
import re
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import eraseblock

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

Json = dict[str, Any]

# A case takes milliseconds; one that takes this long hangs.
HANG_S = 60.0
# Seconds between two lines about how far it is.
TELL_S = 30.0
MEMORY = 6 << 30
REQUESTS = 300
# So many of the places that an exception came through are told.
PLACES = 12

RECORDINGS = Path(__file__).resolve().parent.parent / "workloads"

# Values that a key may have to bear, whatever it expects.
WILD = [0, -1, 1, 2, 3, 0.5, 1e-300, 1e300, 2**32, 2**64, True, False, "", "0 B", "1 B", "3 KiB", "1 TiB",
        "0 ns", "1 ns", "9 h", "none", "\u0000", [], {}, {"kind": "lru"}]  # fmt: skip


@cache
def schema() -> Json:
    """The schema of an experiment file."""
    return eraseblock.schema()


class Drawer:
    """Draws values that a schema allows, small ones more often than large ones."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def value(self, of: Json) -> Any:
        """A value of this schema."""
        if "$ref" in of:
            name = of["$ref"].removeprefix("#/$defs/")
            return self.dice.choice(TEXTS[name]) if name in TEXTS else self.value(schema()["$defs"][name])
        for several in ("anyOf", "oneOf"):
            if several in of:
                # A list of values is an axis: one run at a time will do.
                return self.value(
                    self.dice.choice([one for one in of[several] if one.get("type") != "array"])
                )
        return self.single(of)

    def single(self, of: Json) -> Any:
        """A value of a schema that stands for no other."""
        kinds = of.get("type", "string")
        kind = self.dice.choice(kinds) if isinstance(kinds, list) else kinds
        if "const" in of:
            value = of["const"]
        elif "enum" in of:
            value = self.dice.choice(of["enum"])
        elif kind == "object":
            value = self.table(of)
        elif kind == "integer":
            value = max(int(of.get("minimum", 0)), self.dice.choice([0, 1, 2, 3, 4, 8, 13, 64]))
        elif kind == "array":
            value = [self.value(of["items"]) for _ in range(self.dice.choice([0, 1, 2, 3]))]
        else:
            value = self.dice.choice(SINGLE[kind])
        return value

    def table(self, of: Json, share: float = 0.4) -> Json:
        """A table with some of its keys."""
        always = set(of.get("required", [])) | {"kind"}
        drawn = {
            key: self.value(what)
            for key, what in of.get("properties", {}).items()
            if key in always or self.dice.random() < share
        }
        # What an experiment file calls nothing is not there.
        return {key: value for key, value in drawn.items() if value is not None}


TEXTS = {
    "Bytes": ["0 B", "512 B", "4 KiB", "4 KiB", "8 KiB", "12 KiB", "64 KiB", "256 KiB", "1 MiB"],
    "Nanos": ["0 ns", "1 ns", "25 us", "200 us", "3 us", "1.5 ms"],
    "PageTimes": ["25 us", "40 us / 65 us", "0 ns", "200 us / 200 us / 1.3 ms"],
}

SINGLE: dict[str, list[Any]] = {
    "boolean": [False, True],
    "number": [0.0, 0.05, 0.1, 0.3, 0.5, 0.5, 0.9, 1.0, 1.0, 2.0, 3.0, 5.0],
    "string": ["CWDP", "PDWC", "WCPD", "x", ""],
    "null": [None],
}


def draw(dice: random.Random) -> Json:
    """One experiment: a small drive, most of whose keys are drawn from the schema."""
    drawer = Drawer(dice)
    top = schema()["properties"]

    def part(name: str, share: float) -> Json:
        definition = next(one for one in top[name]["anyOf"] if "$ref" in one)
        return drawer.table(schema()["$defs"][definition["$ref"].removeprefix("#/$defs/")], share)

    page = dice.choice(["2 KiB", "4 KiB", "4 KiB", "8 KiB"])
    drawn = part("nand", 0.15)
    nand = {
        **drawn,
        "timing": {
            "read": "25 us",
            "program": "200 us",
            "erase": "1.5 ms",
            "transfer": "50 us",
            "command": "0 ns",
        }
        | drawn.get("timing", {}),
        "channels": dice.choice([1, 1, 2, 3]),
        "chips_per_channel": dice.choice([1, 1, 2]),
        "dies_per_chip": dice.choice([1, 1, 2]),
        "planes_per_die": dice.choice([1, 1, 2, 4]),
        "blocks_per_plane": dice.choice([4, 8, 12, 20, 40]),
        "pages_per_block": dice.choice([2, 4, 4, 8, 16, 6]),
        "page_size": page,
    }
    if dice.random() < 0.7:
        # Mappings of whole blocks work with none of these.
        for key in ("pages_per_program", "mapping_unit"):
            nand.pop(key, None)
        nand["program_order"] = dice.choice(["ascending", "any"])
    ftl = {**part("ftl", 0.3), "mapping": drawer.value(schema()["$defs"]["MappingConfig"])}
    ftl.pop("exported", None)
    ftl["over_provisioning"] = dice.choice([0.07, 0.3, 1.0, 2.0, 4.0])
    if dice.random() < 0.7:
        # The composed parts concern page-level mappings alone.
        ftl = {"mapping": ftl["mapping"], "over_provisioning": ftl["over_provisioning"]}
    buffer = {**part("buffer", 0.3), "scheme": drawer.value(schema()["$defs"]["BufferConfig"])}
    # Mostly something holds the drive up that is told for how long, and one thing keeps the RAM.
    if dice.random() < 0.9 and buffer.get("power_loss") != "capacitor":
        buffer.pop("hold_up", None)
    if dice.random() < 0.9 and buffer.get("battery"):
        buffer.pop("power_loss", None)
    buffer["size"] = dice.choice(["0 B", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "512 KiB"])
    precondition = part("precondition", 0.5)
    if dice.random() < 0.9:
        # There is no image.
        precondition.pop("image", None)
        if precondition.get("state") == "image":
            precondition["state"] = "full"
    experiment: Json = {
        "nand": nand,
        "ftl": ftl,
        "buffer": buffer,
        "host": part("host", 0.4),
        "precondition": {**precondition, "max_drive_writes": dice.choice([1, 2, 3])},
        "workload": _workload(dice, drawer),
        "seed": dice.randrange(1000),
        "bounds": dice.random() < 0.5,
        "metrics": [name for name in schema()["$defs"]["Metric"]["enum"] if dice.random() < 0.2],
    }
    if dice.random() < 0.15:
        spoil(dice, experiment)
    return experiment


def _workload(dice: random.Random, drawer: Drawer) -> Json:
    fit = {"fit": dice.choice(["wrap", "wrap", "scale", "compact", "clip"]), "first": REQUESTS}
    if dice.random() < 0.03:
        # Rarely: each is read whole, for its hash.
        recording = dice.choice(sorted(RECORDINGS.glob("*.zst")))
        return {**fit, "path": str(recording), "ops": dice.choice(["rw", "w"])}
    kinds = [one for one in schema()["$defs"]["GenerateConfig"]["anyOf"] if "properties" in one]
    # Patterns of a place each; the traces' own tests have the generators that are made of others.
    generator = dice.choice([one for one in kinds if {"trim_share", "footprint"} <= one["properties"].keys()])
    table = drawer.table(generator, 0.2)
    table |= {
        "requests": dice.randrange(REQUESTS),
        "footprint": dice.choice(["64 KiB", "256 KiB", "1 MiB", "4 MiB"]),
        "size": dice.choice(["512 B", "4 KiB", "4 KiB", "8 KiB", "20 KiB", {"4 KiB": 3, "24 KiB": 1}]),
    }
    if dice.random() < 0.8:
        shares = {"read_share": 0.3, "trim_share": 0.1, "flush_share": 0.05, "fua_share": 0.05}
        table |= {key: share for key, share in shares.items() if key in generator["properties"]}
    return {**fit, "generate": table}


def spoil(dice: random.Random, experiment: Json) -> None:
    """Puts a value that may make no sense at a place or two."""
    for _ in range(dice.choice([1, 1, 2])):
        table = experiment
        while True:
            key = dice.choice([*table, "no_such_key"])
            below = table.get(key)
            if isinstance(below, dict) and below and dice.random() < 0.8:
                table = below
                continue
            # A copy: what is put into it later must not be in the next case.
            table[key] = copy.deepcopy(dice.choice(WILD))
            break


@dataclass
class Tally:
    """What became of the cases."""

    ran: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    ran_with: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def attempt(experiment: Mapping[str, Any]) -> tuple[str, str]:
    """Runs one; `ran`, `refused` or `failed`, and what there is to say."""
    try:
        record = eraseblock.run(experiment, jobs=1, verify=True)[0]
        again = eraseblock.run(experiment, jobs=1, verify=False, cache=False)[0]
    except (eraseblock.ConfigError, eraseblock.InputError) as error:
        return ("refused", str(error)) if str(error).strip() else ("failed", "refused without a word")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        # Whatever else comes is a fault; a panic is no `Exception`.
        return "failed", f"{type(error).__name__}: {error}{_places(error)}"
    fault = fault_of(record, again)
    buffer, ftl = (_name(experiment, part) for part in (("buffer", "scheme"), ("ftl", "mapping")))
    return ("failed", fault) if fault else ("ran", f"{buffer} on {ftl}")


def _places(error: BaseException) -> str:
    """The innermost places that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__)[-PLACES:]
    return "".join(f"\n  in {frame.name}, {frame.filename}:{frame.lineno}" for frame in frames)


def fault_of(record: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """What is wrong with the records of the same run with reads checked and without; empty if nothing is."""
    requests = record["requests"]
    lost = requests["submitted"] - requests["completed"]
    if lost and not record.get("end_of_life"):
        return f"{lost} of {requests['submitted']} requests were never answered"
    kinds = sum(requests[kind] for kind in ("reads", "writes", "trims", "flushes"))
    if kinds != requests["submitted"]:
        return f"{kinds} reads, writes, trims and flushes of {requests['submitted']} requests"
    # Time and checks of the run itself differ.
    differing = [
        key
        for key in record
        if key not in ("verified_reads", "engine", "key") and record[key] != again.get(key)
    ]
    return f"checking reads changed {', '.join(differing)}" if differing else ""


def _name(experiment: Mapping[str, Any], path: tuple[str, str]) -> str:
    chosen = experiment[path[0]][path[1]]
    return str(chosen["kind"] if isinstance(chosen, dict) else chosen)


def work(pipe: Connection, seed: int, first: int, step: int, until: float) -> None:
    """Makes every `step`-th case and tells of each before and after it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    case = first
    while time.monotonic() < until:
        pipe.send((case, None))
        pipe.send((case, attempt(draw(random.Random(f"{seed}/{case}")))))
        case += step
    pipe.close()


def note(tally: Tally, case: int, outcome: tuple[str, str], seed: int) -> None:
    """Counts an outcome, and prints a failure at once."""
    what, text = outcome
    if what == "ran":
        tally.ran += 1
        tally.ran_with[text] += 1
    elif what == "refused":
        # The same reason with other numbers is the same reason.
        tally.refused[re.sub(r"\d+(\.\d+)?", "#", text.splitlines()[0])[:110]] += 1
    else:
        failure = f"{text}\n  again: make fuzz-config SEED={seed} CASE={case}"
        tally.failures.append(failure)
        tell(f"FAILED {failure}")


class Workers:
    """Processes that make cases; one that hangs or dies is replaced."""

    def __init__(self, seed: int, seconds: float, jobs: int) -> None:
        self.seed, self.jobs = seed, jobs
        self.until = time.monotonic() + seconds
        self.tally = Tally()
        self.context = multiprocessing.get_context("spawn")
        self.at: dict[Connection, tuple[SpawnProcess, int, float]] = {}
        for first in range(jobs):
            self.start(first)

    def start(self, first: int) -> None:
        """A process that begins with case `first`."""
        ours, theirs = self.context.Pipe(duplex=False)
        call = (theirs, self.seed, first, self.jobs, self.until)
        process = self.context.Process(target=work, args=call, daemon=True)
        process.start()
        theirs.close()
        self.at[ours] = (process, first, time.monotonic())

    def hear(self, pipe: Connection) -> None:
        """Takes what a process has to say, or that it is gone."""
        process, case, _ = self.at[pipe]
        try:
            case, outcome = pipe.recv()
        except EOFError:
            process.join()
            self.lose(pipe, f"the process ended with {process.exitcode}" if process.exitcode else "")
            return
        if outcome is not None:
            note(self.tally, case, outcome, self.seed)
        self.at[pipe] = (process, case, time.monotonic())

    def lose(self, pipe: Connection, why: str) -> None:
        """A process has come to its end, or to a bad one: then another goes on after its case."""
        _, case, _ = self.at.pop(pipe)
        if why:
            note(self.tally, case, ("failed", why), self.seed)
            self.start(case + self.jobs)

    def watch(self) -> Tally:
        """Works until the time is over."""
        told = time.monotonic()
        while self.at:
            for pipe in wait(list(self.at), timeout=1.0):
                self.hear(cast("Connection", pipe))
            for pipe, (process, _, since) in list(self.at.items()):
                if time.monotonic() - since > HANG_S:
                    process.kill()
                    self.lose(pipe, f"no end after {HANG_S:.0f} s")
            if time.monotonic() - told > TELL_S:
                told = time.monotonic()
                refused, failed = sum(self.tally.refused.values()), len(self.tally.failures)
                left = max(0, self.until - told)
                tell(f"{self.tally.ran:,} ran, {refused:,} refused, {failed} failed; {left:.0f} s left")
        return self.tally


def tell(text: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def report(tally: Tally) -> None:
    """What was run, and the commonest reasons for refusing."""
    refused, failed = sum(tally.refused.values()), len(tally.failures)
    total = tally.ran + refused + failed
    tell(f"\n{total:,} cases: {tally.ran:,} ran, {refused:,} were refused, {failed} failed")
    tell(f"{len(tally.ran_with)} pairs of buffer and FTL ran")
    tell("Refused most often:")
    for reason, count in tally.refused.most_common(15):
        tell(f"  {count:7,}  {reason}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--time", type=float, default=60, help="seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seed", type=int, default=1, help="which sequence of cases")
    parser.add_argument("--case", type=int, help="one case of the sequence, told in full")
    call = parser.parse_args()
    if call.case is not None:
        experiment = draw(random.Random(f"{call.seed}/{call.case}"))
        tell(json.dumps(experiment, indent=2))
        what, text = attempt(experiment)
        tell(f"{what}: {text}")
        return int(what == "failed")
    tally = Workers(call.seed, call.time, call.jobs).watch()
    report(tally)
    return int(bool(tally.failures) or not tally.ran)


if __name__ == "__main__":
    sys.exit(main())
