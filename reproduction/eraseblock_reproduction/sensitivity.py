"""What verdicts hang on: for each claim, how many of the choices that its paper leaves open keep the verdict.

It takes long to find out (`study.py`), so it is stored beside the claims and reused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from eraseblock import InputError
from eraseblock.toolkit import check_writable, replace_file
from eraseblock_reproduction.data import Claim, Paper

STUDY_NAME = "sensitivity.json"
_FORMAT = "eraseblock sensitivity 2"


@dataclass(frozen=True)
class Way:
    """Something done in another way than in the paper's experiments here."""

    # What is left open, in a sentence, and the choice that this is one of the other ways of.
    open: str
    choice: str
    figures: tuple[str, ...]
    # Runs of it, those that were refused or cannot be trusted, and why.
    runs: int
    left_out: int
    errors: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the paper leaves it open; else it only shows what something is worth."""
        return not self.open.startswith("nothing")

    @property
    def note(self) -> str:
        """What was not compared, and why; empty if everything was."""
        if not self.left_out:
            return ""
        why = f"; refused: {'; '.join(self.errors)}" if self.errors else ""
        return (
            f"{self.left_out} of {self.runs} runs refused or not to be trusted, left out on both sides{why}"
        )


@dataclass(frozen=True)
class Under:
    """What comes out for a claim under another way."""

    verdict: str
    ours: str


@dataclass(frozen=True)
class Hangs:
    """What the verdict on one claim hangs on; everything with one seed."""

    verdict: str
    ours: str
    # The choices under whose other ways it was judged, and those that keep its verdict in all of them.
    choices: int
    kept: int
    moved: Mapping[str, Under] = field(default_factory=dict)
    # Pairs of ways under which something comes out that comes out under neither alone.
    pairs: Mapping[str, Under] = field(default_factory=dict)
    # What the claim asked when it was judged.
    asked: str = ""

    @property
    def robust(self) -> str:
        """How many of how many choices keep the verdict."""
        return f"{self.kept} of {self.choices}"


@dataclass(frozen=True)
class Sensitivity:
    """All of it for one paper, and the engine that it was made with."""

    engine: str
    ways: Mapping[str, Way]
    claims: Mapping[str, Hangs]
    # How many pairs of ways were tried.
    pairs: int = 0

    @property
    def choices(self) -> int:
        """How many things that are left open were done in other ways."""
        return len({way.choice for way in self.ways.values() if way.is_open})

    def sentence(self, ids: Collection[str] | None = None) -> str:
        """How many of these claims, or of all, keep their verdict whatever is done in another way."""
        tried = [one for name, one in self.claims.items() if one.choices and (ids is None or name in ids)]
        if not tried:
            return "No claim hangs on anything that could be done in another way."
        kept = sum(one.kept == one.choices for one in tried)
        pairs = sum(bool(one.pairs) for one in tried)
        some = (
            f"some bring to {pairs} claim{'s' * (pairs > 1)} what neither brings alone"
            if pairs
            else "none brings anything new"
        )
        together = f" Of {self.pairs} pairs of them {some}." if self.pairs else ""
        # A study may be of some figures alone, and what has no figure cannot be tried.
        whole = f" ({len(ids) - len(tried)} were not tried)" if ids and len(ids) > len(tried) else ""
        return (
            f"{kept} of {len(tried)} verdicts{whole} stay what they are under each other way to do one of "
            f"{self.choices} things that are left open.{together}"
        )

    def movers(self, ids: Collection[str] | None = None) -> dict[str, list[tuple[str, Hangs, Under]]]:
        """By way the claims that it moves, of these or of all; those that move most come first."""
        found: dict[str, list[tuple[str, Hangs, Under]]] = {name: [] for name in self.ways}
        for claim, one in self.claims.items():
            if ids is not None and claim not in ids:
                continue
            for name, under in one.moved.items():
                found[name].append((claim, one, under))
        moving = {name: some for name, some in found.items() if some}
        return dict(sorted(moving.items(), key=lambda item: -len(item[1])))

    def as_json(self) -> dict[str, Any]:
        """Everything about it."""
        return {
            "format": _FORMAT,
            "engine": self.engine,
            "pairs": self.pairs,
            "ways": {name: _plain(way) for name, way in self.ways.items()},
            "claims": {name: _plain(one) for name, one in self.claims.items()},
        }


def write(paper: Paper, found: Sensitivity) -> None:
    """Store it beside the paper's claims, a line for each way and each claim."""
    check_writable(paper.folder)
    table = found.as_json()
    parts = [f'"{key}": {_line(table[key])}' for key in ("format", "engine", "pairs")]
    for key in ("ways", "claims"):
        rows = [f"  {_line(name)}: {_line(one)}" for name, one in table[key].items()]
        parts.append(f'"{key}": {{\n' + ",\n".join(rows) + "\n}")
    replace_file(paper.folder / STUDY_NAME, [("{\n" + ",\n".join(parts) + "\n}\n").encode()])


def write_part(paper: Paper, found: Sensitivity) -> None:
    """Store what was found so far, but not in the place of what another engine found of more claims."""
    known = stored(paper)
    if known is None or known.engine == found.engine or len(known.claims) <= len(found.claims):
        write(paper, found)


def stored(paper: Paper) -> Sensitivity | None:
    """What is stored for a paper, of the claims that still ask the same; None if nothing is."""
    path = paper.folder / STUDY_NAME
    if not path.exists():
        return None
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if table["format"] != _FORMAT:
            raise ValueError(f"its format is not `{_FORMAT}`")
        known = {part.id: asked(paper, part) for claim in paper.claims for part in claim.parts()}
        return Sensitivity(
            engine=table["engine"],
            ways={name: _way(one) for name, one in table["ways"].items()},
            claims={
                name: _hangs(one)
                for name, one in table["claims"].items()
                if name in known and known[name] == one["asked"]
            },
            pairs=table["pairs"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not what `reproduce {paper.name} --sensitivity` writes: {error}; remove it, or run that"
        ) from error


def asked(paper: Paper, claim: Claim) -> str:
    """What a claim asks, in a few characters: another question is another claim, whatever its name."""
    words = ("id", "says", "note", "section", "cause", "follows", "shows")
    table = {key: value for key, value in claim.table.items() if key not in words}
    quantities = [paper.quantities[table[key]].value for key in ("quantity", "with") if key in table]
    text = json.dumps([table, quantities], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def keeping(choices: Mapping[str, Iterable[bool]]) -> int:
    """Of how many choices all ways keep a verdict."""
    return sum(all(kept) for kept in choices.values())


def _way(table: dict[str, Any]) -> Way:
    lists = {key: tuple(table.get(key, ())) for key in ("figures", "errors")}
    return Way(**{**table, **lists})


def _hangs(table: dict[str, Any]) -> Hangs:
    unders = {
        key: {name: Under(*one) for name, one in table.get(key, {}).items()} for key in ("moved", "pairs")
    }
    return Hangs(**{**table, **unders})


def _plain(one: Way | Hangs) -> dict[str, Any]:
    """As JSON, without what is empty."""
    table = asdict(one)
    for key in ("moved", "pairs"):
        if key in table:
            table[key] = {name: [under["verdict"], under["ours"]] for name, under in table[key].items()}
    return {key: value for key, value in table.items() if value not in ((), {}, [])}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
