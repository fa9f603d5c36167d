"""The pictures of the explanations under docs, drawn from runs.

`make format` writes them, `make lint` checks that they are what the engine does now.
"""

from __future__ import annotations

from pathlib import Path

import eraseblock
from eraseblock.results.record import Record
from pictures import buffers, merges, spare, tail
from pictures.picture import Picture

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def all_pictures() -> dict[str, Picture]:
    """Every picture by its name."""
    found = [
        *merges.pictures(),
        *spare.pictures(_records("spare")),
        *buffers.pictures(_records("saves")),
        *tail.pictures(_records("tail")),
    ]
    return {picture.name: picture for picture in found}


def _records(example: str) -> list[Record]:
    """The runs of a committed example."""
    return [dict(record) for record in eraseblock.run(EXAMPLES / f"{example}.toml", cache=False)]
