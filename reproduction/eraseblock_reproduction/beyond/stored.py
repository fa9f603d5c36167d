"""What came out of a study, stored beside it: no page needs its thousands of runs again."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eraseblock import InputError
from eraseblock.toolkit import check_writable, engine, replace_file
from eraseblock_reproduction.beyond.study import Study
from eraseblock_reproduction.beyond.trials import Design, Figures, Trial

_FORMAT = "eraseblock study 1"


@dataclass(frozen=True)
class Stored:
    """A study's trials, and the engine that made them."""

    engine: str
    trials: tuple[Trial, ...]


def path_of(study: Study) -> Path:
    """Where a study's outcome is stored: beside its experiment."""
    return study.path.with_suffix(".outcome.json.gz")


def write(study: Study, trials: Sequence[Trial]) -> None:
    """Store it, a line for each design; the same trials make the same bytes."""
    path = path_of(study)
    check_writable(path.parent)
    lines = [_line({"format": _FORMAT, "engine": engine()}), *(_line(_plain(one)) for one in trials)]
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as file:
        file.write(("\n".join(lines) + "\n").encode())
    replace_file(path, [packed.getvalue()])


def stored(study: Study) -> Stored | None:
    """What is stored of a study; None if nothing is."""
    path = path_of(study)
    if not path.exists():
        return None
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            head, *lines = [json.loads(line) for line in file]
        if head["format"] != _FORMAT:
            raise ValueError(f"its format is not `{_FORMAT}`")
        return Stored(head["engine"], tuple(_trial(line) for line in lines))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not what `reproduce beyond {study.name}` writes: {error}; remove it, or run that"
        ) from error


def _plain(trial: Trial) -> dict[str, Any]:
    """As JSON, without what is empty; six digits of each figure, as there are half a million."""
    table: dict[str, Any] = {"design": list(asdict(trial.design).values())}
    table["figures"] = {
        name: [
            _rounded(one.value),
            None if one.bound is None else _rounded(one.bound),
            *map(_rounded, one.parts),
        ]
        for name, one in trial.figures.items()
    }
    table |= {key: getattr(trial, key) for key in ("offline", "distrust", "error", "refused", "made")}
    if trial.flash is not None:
        table["flash"] = list(trial.flash)
    return {key: value for key, value in table.items() if value not in (False, "", {})}


def _trial(table: dict[str, Any]) -> Trial:
    figures = {
        name: Figures(value, tuple(parts), bound)
        for name, (value, bound, *parts) in table.pop("figures", {}).items()
    }
    flash = table.pop("flash", None)
    return Trial(
        Design(*table.pop("design")), figures, flash=None if flash is None else tuple(flash), **table
    )


def _rounded(figure: float) -> float:
    found = float(f"{figure:.6g}")
    return int(found) if found.is_integer() else found


def _line(table: dict[str, Any]) -> str:
    return json.dumps(table, ensure_ascii=False, separators=(",", ":"))
