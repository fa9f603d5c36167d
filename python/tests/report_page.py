"""What tests need to look into a report: its packed data and its runs."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any


def unpack(text: str) -> Any:
    """The inverse of the page's packing."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def element(page: str, name: str) -> str:
    """The text of one of the page's data elements."""
    found = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found[1].strip()


def data_of(page: str) -> dict[str, Any]:
    """Axes, figures, settings, sentences and commands of all runs."""
    data: dict[str, Any] = unpack(element(page, "data"))
    return data


def details_of(page: str) -> list[dict[str, Any]]:
    """Distributions, series and wear map of each run."""
    text = element(page, "details")
    return [unpack(line) for line in text.split("\n")] if text else []


def column(of: Any, runs: int) -> list[Any]:
    """A column with an entry for each run."""
    return of if isinstance(of, list) else [of["all"]] * runs


def figures(data: dict[str, Any], path: str) -> list[Any]:
    """The values of a figure."""
    [figure] = [one for one in data["figures"] if one["path"] == path]
    return column(figure["of"], data["count"])
