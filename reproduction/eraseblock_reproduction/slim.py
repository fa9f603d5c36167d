"""Makes records small."""

from __future__ import annotations

from typing import Any

# Parts of a record that no claim is about, and that are long.
_LONG = ("series", "map", "histogram")


def slim(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what no claim and no plot is about."""
    return {
        key: slim(value) if isinstance(value, dict) and key != "config" else value
        for key, value in record.items()
        if key not in _LONG
    }
