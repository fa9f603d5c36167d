"""The reading that published counts support, on all traces and sizes: of the experiment that was made of it.

reproduction/experiments/hbm-four-workloads.toml has 200,000 requests of each trace; it says what supports it.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from eraseblock_reproduction.question.printed import SYNTHETIC, TRACES
from eraseblock_reproduction.question.search import Found, told
from eraseblock_reproduction.question.trials import Cell, Figures

STAND_INS = {f"hbm-{name.lower()}-zipf": trace for name, trace in TRACES.items()} | {
    "hbm-synthetic": SYNTHETIC
}
SCHEMES = {"bplru-stored": "bplru"}


def supported(path: Path) -> list[Found]:
    """Its cases, in the form of those that were judged; a reading for each number of log blocks."""
    cases: dict[tuple[str, str, str], dict[str, Figures]] = defaultdict(dict)
    untrusted: set[tuple[str, str, str]] = set()
    with path.open(newline="", encoding="utf-8") as file:
        for one in csv.DictReader(file):
            logs = (
                "3 %"
                if float(one["ftl.mapping.log_blocks"]) < 1
                else f"{float(one['ftl.mapping.log_blocks']):.0f}"
            )
            key = (f"supported, {logs} log blocks", one["name"], one["buffer.size"])
            cases[key][SCHEMES.get(one["scheme"], one["scheme"])] = {
                "response": float(one["mean_ms"]),
                "hits": float(one["hits_pct"]),
                "erases": float(one["erases"]),
                "reads": float(one["page_reads"]),
            }
            if one["trusted"] != "True":
                untrusted.add(key)
    found: list[Found] = []
    for key, schemes in cases.items():
        reading, name, size = key
        cell = Cell(STAND_INS[name], size, schemes, key not in untrusted)
        line: Found = {
            "number": reading,
            "trace": cell.trace.name,
            "size": size,
            "static": False,
            **told(cell),
        }
        if cell.trace is not SYNTHETIC:
            found.append(line)
        found.append({**line, "static": True, "dynamic_best": cell.dynamic_best})
    return found
