"""Sets of readings: what the thesis leaves open of the drive, the schemes and its traces, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from random import Random
from typing import Any

from eraseblock_reproduction.question.printed import SYNTHETIC, Trace

Reading = dict[str, Any]

# Log blocks of the thesis (3 % of 32 GiB), and the requests of all of Financial2: in a shorter run as many
# would never run out.
LOG_BLOCKS, WHOLE = 7864, 3_699_194

# One of a list, or a pair of floats: anything between them, by the logarithm where they are far apart.
CHOICES: Mapping[str, Sequence[Any]] = {
    # The trace: places drawn by Zipf's law, or returned to after few requests; how many there are, how far
    # apart, how many reads and writes have in common.
    "places": (10_000.0, 1_000_000.0),
    "kind": ["zipf", "recent"],
    "theta_reads": (0.5, 1.4),
    "theta_writes": (0.5, 1.4),
    "shared": [0.0, 0.25, 0.5, 0.75, 1.0],
    "recent_share": (0.3, 0.99),
    "recent_requests": [256, 1024, 4096, 16_384, 65_536],
    "read_after_write": [None, 0.0, 0.2, 0.5],
    "write_after_read": [None, 0.0, 0.2, 0.5],
    "apart_kib": [2, 4, 8, 16, 32, 64],
    "write_length": [1.0, 1.5, 2.5],
    # The drive.
    "log_blocks": ["stated", "scaled"],
    "bus_us": [0, 100],
    "copy_back": [False, True],
    "state": ["trace", "full", "empty"],
    "write_back": ["foreground", "background"],
    "replay": ["open", "closed"],
    "merge_erase": ["before", "after"],
    "merge_timing": ["lazy", "eager"],
    "first_write": ["log", "direct"],
    "partial_merge": [True, False],
    "log_victim": ["lru", "fifo"],
    # The schemes.
    "hbm_room": ["request", "page"],
    "hbm_size_tie": ["most-pages", "fewest-pages"],
    "hbm_read_hits_count": [True, False],
    "hbm_page_region_counts": [True, False],
    "hbm_exchange_counts": [False, True],
    "hbm_settle": [100, 1],
    "pad_unwritten": [False, True],
    "lb_read_hits_count": [False, True],
    "lb_heuristics": [True, False],
    "evict_order": ["evict-first", "touch-first"],
}

# Choices that one kind of trace does not know.
IDLE = {
    "zipf": {"recent_share", "recent_requests", "read_after_write", "write_after_read"},
    "recent": {"theta_reads", "theta_writes", "shared"},
}

# What others print of the traces and of the simulator supports this one (docs/hbm-workloads.md).
SUPPORTED: Reading = {
    **{name: values[0] for name, values in CHOICES.items()},
    "places": 655_000,
    "theta_reads": 1.12,
    "theta_writes": 1.03,
    "log_blocks": "scaled",
    "bus_us": 100,
}

# By the thesis (Table 4.2, 2.2, 2.4.2, 4.2.2, Algorithm 3.3) and FlashSim (docs/hbm-workloads.md).
STATED: Reading = {
    "log_blocks": "stated",
    "bus_us": 100,
    "copy_back": False,
    "state": "trace",
    "write_back": "foreground",
    "replay": "open",
    "merge_erase": "before",
    "partial_merge": True,
    "pad_unwritten": False,
    "hbm_size_tie": "most-pages",
}


def drawn(random: Random) -> Reading:
    """Any reading."""
    return {name: _value(values, random) for name, values in CHOICES.items()}


def changed(reading: Reading, random: Random) -> Reading:
    """The same with one to four choices drawn anew, of those that matter to its trace."""
    matter = sorted(CHOICES.keys() - IDLE[reading["kind"]])
    names = random.sample(matter, random.randint(1, 4))
    return reading | {name: _value(CHOICES[name], random) for name in names}


def _value(values: Sequence[Any], random: Random) -> Any:
    if isinstance(values, list):
        return random.choice(values)
    low, high = values
    if high > 10 * low:
        return round(exp(random.uniform(log(low), log(high))))
    return round(random.uniform(low, high), 3)


def experiment(
    reading: Reading, trace: Trace, sizes: Sequence[str], requests: int, thresholds: Sequence[Any]
) -> dict[str, Any]:
    """The runs of four schemes under a reading; with several thresholds, those of HBM alone."""
    return {
        "preset": "hbm-2010",
        "bounds": False,
        "nand": {"copy_back": reading["copy_back"], "timing": {"transfer": f"{reading['bus_us']} us"}},
        "ftl": {
            "mapping": {
                "kind": "bast",
                "log_blocks": 0.03
                if reading["log_blocks"] == "stated"
                else max(8, round(LOG_BLOCKS * requests / WHOLE)),
                "merge_erase": reading["merge_erase"],
                "merge_timing": reading["merge_timing"],
                "first_write": reading["first_write"],
                "partial_merge": reading["partial_merge"],
                "victim": reading["log_victim"],
            }
        },
        "precondition": {"state": reading["state"]},
        "host": {"replay": reading["replay"]},
        "buffer": {
            "size": list(sizes),
            "write_back": reading["write_back"],
            "scheme": _schemes(reading, thresholds),
        },
        "workload": {"generate": workload(reading, trace, requests)},
    }


def _schemes(reading: Reading, thresholds: Sequence[Any]) -> list[dict[str, Any]]:
    evict = reading["evict_order"]
    others = [
        {"kind": "bplru", "pad_unwritten": reading["pad_unwritten"], "evict_order": evict},
        {"kind": "fab", "evict_order": evict},
        {
            "kind": "lb-clock",
            "read_hits_count": reading["lb_read_hits_count"],
            "heuristics": reading["lb_heuristics"],
        },
    ]
    hbm = {
        "kind": "hbm",
        "threshold": list(thresholds),
        "room": reading["hbm_room"],
        "size_tie": reading["hbm_size_tie"],
        "read_hits_count": reading["hbm_read_hits_count"],
        "page_region_counts": reading["hbm_page_region_counts"],
        "exchange_counts": reading["hbm_exchange_counts"],
        "settle": reading["hbm_settle"],
    }
    return [*(others if len(thresholds) == 1 else []), hbm]


def workload(reading: Reading, trace: Trace, requests: int) -> dict[str, Any]:
    """What stands for a trace: Table 4.1 by its own figures, all else as the reading has it."""
    if trace is SYNTHETIC:
        return {"kind": "standin", "name": "hbm-synthetic", "requests": requests}
    # Requests start at pages under Financial, elsewhere at clusters of NTFS; only mean lengths are told.
    small = trace.name == "Financial"
    least = 2 if small else 4
    apart = max(least, reading["apart_kib"])
    longer = reading["write_length"] if small else 1.0
    weights = {"2 KiB": 40, "4 KiB": 45, "8 KiB": 12}
    if longer > 1:
        weights["16 KiB"] = 3
    if not small:
        weights = {"4 KiB": 50, "8 KiB": 30, "16 KiB": 10, "32 KiB": 5, "64 KiB": 2}
    read = trace.request / (1 - trace.writes + trace.writes * longer)
    means = {"read": read, "write": read * longer, "any": trace.request}
    of = {kind: {**weights, "mean": f"{round(mean)} B"} for kind, mean in means.items()}
    if reading["kind"] == "recent":
        return {
            "kind": "calibrated",
            "requests": requests,
            "read_share": 1 - trace.writes,
            "read_size": of["read"],
            "write_size": of["write"],
            "sequential_share": trace.sequential,
            "footprint": f"{reading['places'] * least} KiB",
            "span": "32 GiB",
            # A piece of the footprint holds the longest request.
            "extent": f"{max(apart, int(list(weights)[-1].split()[0]))} KiB",
            "align": f"{least} KiB",
            "recent_share": reading["recent_share"],
            "recent_requests": reading["recent_requests"],
            "read_after_write": reading["read_after_write"],
            "write_after_read": reading["write_after_read"],
            "interval": trace.interval,
            "arrivals": "exponential",
        }
    return {
        "kind": "mixed",
        "order": "shuffle",
        "interval": trace.interval,
        "arrivals": "exponential",
        "streams": _streams(reading, trace, requests, apart, of),
    }


def _streams(
    reading: Reading, trace: Trace, requests: int, apart: int, of: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Reads and writes in places of their own, and those that go to places that both use."""
    own, reads = 1 - reading["shared"], 1 - trace.writes
    # No place lies beyond the drive's 32 GiB.
    places = min(reading["places"], (30 << 20) // (2 * apart))
    parts = {
        "reads": (requests * own * reads, 1.0, 0.66, reading["theta_reads"], of["read"]),
        "writes": (requests * own * trace.writes, 0.0, 0.34, reading["theta_writes"], of["write"]),
        "both": (requests * reading["shared"], reads, 1.0, reading["theta_reads"], of["any"]),
    }
    start, streams = 0, {}
    for name, (count, read_share, share, theta, size) in parts.items():
        extent = max(64, round(places * share)) * apart
        if round(count):
            streams[name] = {
                "kind": "zipf",
                "requests": round(count),
                "read_share": read_share,
                "footprint": f"{extent} KiB",
                "theta": theta,
                "start": f"{start} KiB",
                "align": f"{apart} KiB",
                "size": size,
            }
        start += extent + 1024
    return streams
