"""The first thing a reader wants: which scheme does best on this trace, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eraseblock.results import units
from eraseblock.results.view import Row


@dataclass(frozen=True)
class Finding:
    """The winner of one figure at the largest buffer size."""

    figure: str
    scheme: str
    value: str
    margin: str


_FIGURES = (
    ("Mean response", "response_ns.all.mean", units.duration, False),
    ("99th percentile", "response_ns.all.p99", units.duration, False),
    ("Hit ratio", "hit_ratio.all", units.share, True),
    ("Block erases", "flash.erases.total", units.count, False),
    ("Write amplification", "waf", units.ratio, False),
)


def findings_of(rows: Sequence[Row]) -> tuple[str, list[Finding]]:
    """The largest buffer size, and the best scheme there for each figure; runs not trusted don't compete."""
    largest = max(row.buffer_bytes for row in rows)
    peers = [row for row in rows if row.buffer_bytes == largest and row.trusted]
    findings = []
    for name, path, show, high in _FIGURES:
        ranked = sorted(
            ((value, row) for row in peers if (value := row.figure(path)) is not None),
            key=lambda pair: pair[0],
            reverse=high,
        )
        if len(ranked) > 1 and ranked[0][0] != ranked[1][0]:
            (best, winner), (second, runner_up) = ranked[:2]
            findings.append(
                Finding(name, winner.scheme, show(best), _margin(best, second, runner_up.scheme, high))
            )
    return units.size(largest), findings


def _margin(best: float, second: float, runner_up: str, high: bool) -> str:
    if high:
        return f"{100 * (best - second):.1f} points above {runner_up}"
    return f"{100 * (second - best) / second:.0f} % below {runner_up}"
