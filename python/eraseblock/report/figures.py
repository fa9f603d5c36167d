"""What the report knows of each figure: words, unit, which end of it is good, and where it is shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Unit = Literal["time", "share", "count", "ratio", "pages", "size", "seconds", "number"]


@dataclass(frozen=True)
class Figure:
    """One figure of a run. `table`, `plot`: shown from the start; `bound`: where the best possible stands."""

    path: str
    title: str
    unit: Unit
    good: Literal["low", "high"] | None = None
    note: str = ""
    table: bool = False
    plot: bool = False
    bound: str = ""


_KNOWN = (
    Figure("response_ns.all.mean", "Mean response time", "time", "low", table=True, plot=True),
    Figure("response_ns.read.mean", "Mean read response", "time", "low", table=True),
    Figure("response_ns.write.mean", "Mean write response", "time", "low", table=True),
    Figure("response_ns.all.p99", "99th percentile response", "time", "low", table=True, plot=True),
    Figure(
        "hit_ratio.all",
        "Hit ratio",
        "share",
        "high",
        "host pages found in the buffer",
        True,
        True,
        "bound.hit_ratio",
    ),
    Figure("flash.erases.total", "Block erases", "count", "low", table=True, plot=True, bound="bound.erases"),
    Figure(
        "waf",
        "Write amplification",
        "ratio",
        "low",
        "pages programmed per host page",
        True,
        True,
        "bound.waf",
    ),
    Figure(
        "flush_pages.after_padding.mean",
        "Pages per flush",
        "pages",
        None,
        "mean length of a flush",
        True,
        True,
    ),
    Figure("throughput.iops", "Requests per second", "count", table=True),
    Figure("energy_mj", "Energy (mJ)", "count", "low", table=True),
    Figure(
        "buffer_paper_bytes",
        "Memory in a controller",
        "size",
        "low",
        "what the scheme needs beside its pages, as its paper counts it",
        table=True,
    ),
    Figure("buffer_metadata_bytes", "Memory of the simulator", "size", None, "not what a controller needs"),
    Figure(
        "bound.hit_ratio", "Highest possible hit ratio", "share", None, "no buffer of this size can have more"
    ),
    Figure(
        "bound.erases", "Fewest possible erases", "count", None, "no buffer of this size can do with less"
    ),
    Figure("bound.waf", "Lowest possible write amplification", "ratio"),
    Figure("bound.flash_programs", "Fewest possible flash programs", "count"),
    Figure("hit_ratio.read", "Read hit ratio", "share", "high"),
    Figure("hit_ratio.write", "Write hit ratio", "share", "high"),
    Figure("map_hit_ratio", "Map hit ratio", "share", "high", "entries found in RAM"),
    Figure("co_hit.read", "Read hits on written pages", "share"),
    Figure("co_hit.write", "Write hits on read pages", "share"),
    Figure(
        "patterns.change_ratio.sequential_random",
        "Pattern changes, sequential and random",
        "share",
        None,
        "blocks written in the other way than before",
    ),
    Figure(
        "patterns.change_ratio.read_write",
        "Pattern changes, reads and writes",
        "share",
        None,
        "blocks that became read- or write-intensive",
    ),
    Figure("policy_switches", "Policy switches", "count"),
    Figure("service_ns.read.io.mean", "Mean read service", "time", "low", "on an idle drive"),
    Figure("service_ns.write.io.mean", "Mean write service", "time", "low", "on an idle drive"),
    Figure("service_ns.write.gc.mean", "Collection per write", "time", "low", "added on an idle drive"),
    Figure(
        "flush_response_ns.mean", "Mean response of the flash", "time", "low", "to what leaves the buffer"
    ),
    Figure(
        "flush_response_per_write_ns",
        "Response of the flash per host write",
        "time",
        "low",
        "sum over what leaves the buffer / host writes",
    ),
    Figure("throughput.bytes_per_s", "Bytes per second", "size"),
    Figure("simulated_s", "Simulated time", "seconds"),
    Figure("wear.erases_mean", "Mean erases of a block", "ratio", "low"),
    Figure("wear.erases_max", "Most erases of a block", "count", "low"),
    Figure("wear.cv_block", "Unevenness of erases over blocks", "ratio", "low", "coefficient of variation"),
    Figure("wear.cv_channel", "Unevenness of erases over channels", "ratio", "low"),
    Figure("end_of_life.host_bytes", "Written until the end of life", "size", "high", table=True),
    Figure("end_of_life.unanswered", "Requests unanswered at the end of life", "count"),
    Figure("map_bytes", "Mapping state", "size", "low"),
    Figure("padded_pages", "Padded pages", "count", "low"),
    Figure("merges.switch", "Switch merges", "count"),
    Figure("merges.partial", "Partial merges", "count", "low"),
    Figure("merges.full", "Full merges", "count", "low"),
)
_RESPONSES = {"all": "Response", "read": "Read response", "write": "Write response"}
_POINTS = {
    "mean": "mean",
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "max": "maximum",
}
_KINDS = {"flash.reads.": "Flash reads", "flash.programs.": "Flash programs", "flash.erases.": "Flash erases"}
_CAUSES = {"gc": "garbage collection", "wear": "wear levelling"}
# How the end of a path tells the unit of a figure that is not listed.
_SUFFIXES: tuple[tuple[str, Unit], ...] = (
    ("_bytes", "size"),
    ("bytes_per_s", "size"),
    ("_ns", "time"),
    ("seconds", "seconds"),
    ("_s", "seconds"),
    ("waf", "ratio"),
)


def describe(path: str) -> dict[str, Any]:
    """The figure at a dotted path, for the page; what is not listed here is told by its path."""
    known = next((figure for figure in _KNOWN if figure.path == path), None)
    described = asdict(known or _guess(path))
    return {key: value for key, value in described.items() if value not in (None, "", False)}


def in_order(paths: list[str]) -> list[str]:
    """The listed figures first, in their order; then the others in theirs."""
    places = {figure.path: place for place, figure in enumerate(_KNOWN)}
    return sorted(paths, key=lambda path: places.get(path, len(places)))


def _guess(path: str) -> Figure:
    head, _, last = path.rpartition(".")
    if path.startswith(("response_ns.", "flush_response_ns.")):
        part = path.split(".")[1]
        kind = _RESPONSES.get(part, part) if path.startswith("response_ns.") else "Flash response"
        if last == "count":
            return Figure(path, f"{kind}: requests", "count")
        return Figure(path, f"{kind}: {_POINTS.get(last, last)}", "time", "low")
    for prefix, title in _KINDS.items():
        if path.startswith(prefix):
            return Figure(path, f"{title}: {_CAUSES.get(last, last)}", "count", "low")
    if head.startswith("flush_pages"):
        return Figure(path, path, "pages")
    for suffix, unit in _SUFFIXES:
        if last.endswith(suffix):
            return Figure(path, path, unit)
    return Figure(path, path, "number")
