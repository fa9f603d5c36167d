"""Records made up for tests of what is said of them: a scheme, a mean response, and how it spreads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eraseblock.results.view import Row, rows_of


def record(scheme: str, mean: float | None, **other: Any) -> dict[str, Any]:
    """A record; `mean` in ms. `parts`: mean of each of equally long parts, else all are like the whole."""
    parts: Sequence[float] = other.pop("parts", [mean or 0.0] * 20)
    config = {
        "name": "made up",
        "preset": other.pop("drive", "hbm-2010"),
        "case": None,
        "seed": other.pop("seed", 1),
        "buffer": {"size": other.pop("size", "4 MiB"), "scheme": {"kind": scheme}},
        "ftl": {
            "mapping": {"kind": other.pop("ftl", "page")},
            "victim": other.pop("victim", None),
            "over_provisioning": other.pop("spare", None),
        },
        "host": {"speedup": other.pop("speedup", 1.0)},
    }
    programs = other.pop("programs", 100)
    return {
        "config": config,
        "trace": {"name": "made-up.spc", "sha256": other.pop("sha256", "0")},
        "requests": {"submitted": 1000},
        "trusted": not other.get("reasons"),
        "reasons": [],
        "warnings": [],
        "response_ns": {"all": {"mean": None if mean is None else mean * 1e6, "p99": None}},
        "hit_ratio": {"all": other.pop("hits", 0.5)},
        "host_pages": {"write": 100},
        "flush_pages": {"after_padding": {"mean": other.pop("flush", None)}},
        "flash": {
            "programs": {"total": programs},
            "erases": {"total": other.pop("erases", 10)},
            "reads": {"total": 7},
        },
        "waf": programs / 100,
        "bound": {"hit_ratio": 0.9, "flash_programs": 50, "waf": 0.5, "erases": 0},
        "series": {
            "response_sum_ns": [part * 1e6 for part in parts],
            "programs": [programs / len(parts)] * len(parts),
        },
        **other,
    }


def rows(*records: dict[str, Any]) -> list[Row]:
    """As tables and verdicts have them."""
    return rows_of(list(records))
