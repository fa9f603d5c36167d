"""Says which verdicts hang on what is left open: every claim judged again under each switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock_reproduction import wording
from eraseblock_reproduction.data import Claim, Paper
from eraseblock_reproduction.finding import DIRECTION, NOT, REPRODUCED, Finding
from eraseblock_reproduction.plan import needs_a_run
from eraseblock_reproduction.switches import Variant
from eraseblock_reproduction.verdicts import judge

# From good to bad; other verdicts hang on no switch.
_GRADES = (REPRODUCED, DIRECTION, NOT)


@dataclass(frozen=True)
class Change:
    """A claim whose verdict is another one under a switch; both are of one seed."""

    paper: Paper
    claim: Claim
    before: Finding
    after: Finding

    @property
    def better(self) -> bool:
        """Whether more of what the paper states comes out."""
        return _GRADES.index(self.after.verdict) < _GRADES.index(self.before.verdict)

    def ours(self, finding: Finding) -> str:
        """Our figure before or after it, in words."""
        return wording.ours(self.paper, self.claim, finding)

    def as_json(self) -> dict[str, Any]:
        """Everything about it."""
        return {
            "id": self.claim.id,
            "before": self.before.verdict,
            "after": self.after.verdict,
            "ours_before": self.ours(self.before),
            "ours_after": self.ours(self.after),
        }


@dataclass(frozen=True)
class Switched:
    """What one switch does to the verdicts of a paper."""

    name: str
    open: str
    # The figures whose runs it concerns.
    figures: tuple[str, ...]
    # Claims judged with it and without it.
    claims: tuple[str, ...]
    changes: tuple[Change, ...]
    # Runs under the switch; those that were refused, or cannot be trusted with it or without, are left out.
    runs: int
    left_out: int
    errors: tuple[str, ...]

    @property
    def better(self) -> int:
        """Claims of which more comes out."""
        return sum(change.better for change in self.changes)

    @property
    def worse(self) -> int:
        """Claims of which less comes out."""
        return len(self.changes) - self.better

    @property
    def notes(self) -> list[str]:
        """What was not compared, and why; empty if everything was."""
        if not self.left_out:
            return []
        why = f"; refused: {'; '.join(self.errors)}" if self.errors else ""
        return [
            f"{self.left_out} of {self.runs} runs refused or not to be trusted, left out on both sides{why}"
        ]

    def as_json(self) -> dict[str, Any]:
        """Everything about it."""
        return {
            "switch": self.name,
            "open": self.open,
            "figures": list(self.figures),
            "claims": len(self.claims),
            "better": self.better,
            "worse": self.worse,
            "changes": [change.as_json() for change in self.changes],
            "runs": self.runs,
            "left_out": self.left_out,
            "errors": list(self.errors),
        }


def switched(variants: Sequence[Variant]) -> list[Switched]:
    """The switches of one paper, each over all of its figures; those that change most come first."""
    names = dict.fromkeys(variant.name for variant in variants)
    found = [_switched([variant for variant in variants if variant.name == name]) for name in names]
    return sorted(found, key=lambda one: -len(one.changes))


def sentence(found: Sequence[Switched]) -> str:
    """How many claims hang on none of them."""
    claims = {claim for one in found for claim in one.claims}
    moved = {change.claim.id for one in found for change in one.changes}
    if not claims:
        return ""
    return (
        f"{len(claims) - len(moved)} of {len(claims)} claims have the same verdict whichever of "
        f"{len(found)} things that are left open is done in another way, one at a time, with one seed."
    )


def _switched(variants: Sequence[Variant]) -> Switched:
    claims: list[str] = []
    changes: list[Change] = []
    for variant in variants:
        before_runs, after_runs = ([pair[side] for pair in variant.compared] for side in (0, 1))
        for claim in variant.paper.claims_of(variant.figure.name):
            if not needs_a_run(variant.paper, claim):
                continue
            before = judge(variant.paper, variant.figure, claim, before_runs)
            after = judge(variant.paper, variant.figure, claim, after_runs)
            if before.verdict not in _GRADES or after.verdict not in _GRADES:
                continue
            claims.append(claim.id)
            if before.verdict != after.verdict:
                changes.append(Change(variant.paper, claim, before, after))
    return Switched(
        name=variants[0].name,
        open=variants[0].open,
        figures=tuple(variant.figure.name for variant in variants),
        claims=tuple(claims),
        changes=tuple(changes),
        runs=sum(len(variant.experiments) for variant in variants),
        left_out=sum(variant.left_out for variant in variants),
        errors=tuple(dict.fromkeys(error for variant in variants for error in variant.errors)),
    )
