"""What a run gives: one JSON object; docs/results.md says what is in it."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
# What `eraseblock.readings.analysis` makes of the records of all readings.
Analysis = dict[str, Any]
