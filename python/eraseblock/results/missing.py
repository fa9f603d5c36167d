"""Runs of a sweep that have no results: which, and why. Kept in `missing.json`, so that reports name them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from eraseblock import _core
from eraseblock.results.files import replace_file

MISSING_NAME = "missing.json"


@dataclass(frozen=True)
class Missing:
    """One reason and the runs that it stopped."""

    # What the schemes refuse, such as a buffer too small for them, or what went wrong.
    refused: bool
    sentence: str
    runs: list[str]


def as_missing(left_out: Mapping[str, list[str]]) -> list[Missing]:
    """What was left out before anything ran: the runs by reason."""
    return [Missing(True, sentence, runs) for sentence, runs in left_out.items()]


def write_missing(missing: Sequence[Missing], folder: Path) -> None:
    """Keep the list beside the results; where nothing is missing there is none."""
    path = folder / MISSING_NAME
    if missing:
        text = json.dumps([asdict(one) for one in missing], ensure_ascii=False, indent=1)
        replace_file(path, [text.encode(), b"\n"])
    else:
        path.unlink(missing_ok=True)


def read_missing(folder: Path) -> list[Missing]:
    """The list of a folder."""
    path = folder / MISSING_NAME
    try:
        return [Missing(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise _core.InputError(
            f"{path}: cannot be read ({error}); run the sweep again, or remove the file"
        ) from error
