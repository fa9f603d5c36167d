"""Judges claims: what a paper states, against what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eraseblock_reproduction import sequences, sides
from eraseblock_reproduction.data import NEEDS, Claim, Figure, Paper
from eraseblock_reproduction.finding import (
    CONTRADICTS,
    NOT,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Finding,
    UndecidedError,
    worst,
)
from eraseblock_reproduction.points import Question
from eraseblock_reproduction.selection import Run, at, matches, select
from eraseblock_reproduction.untold import shared, untold


def judge(paper: Paper, figure: Figure, claim: Claim, runs: Sequence[Run]) -> Finding:
    """The verdict on a claim, with our figure where there is one."""
    listed = _without_runs(figure, claim)
    if listed is not None and listed.verdict != CONTRADICTS:
        return listed
    finding = listed
    if claim.kind != "statement" and not _absent(figure, claim):
        found = _judged(paper, claim, runs)
        finding = found if listed is None else replace(found, verdict=listed.verdict, reason=listed.reason)
    if finding is None:
        return Finding(UNDECIDED, reason=claim.table.get("note", "no figure tells it"))
    return finding


def _absent(figure: Figure, claim: Claim) -> bool:
    """Whether nothing is run for it."""
    return bool(figure.needs or claim.table.get("needs") or claim.table.get("waits"))


def _without_runs(figure: Figure, claim: Claim) -> Finding | None:
    """The verdict that a claim has whatever comes out, if it has one."""
    if "contradicts" in claim.table:
        return Finding(CONTRADICTS, reason=claim.table["contradicts"])
    for table, needs, reason in (
        ("claim", claim.table.get("needs"), claim.table.get("reason")),
        ("figure", figure.needs, figure.reason),
    ):
        if needs is not None:
            why = reason or f"the {table} says no more"
            return Finding(UNDECIDED, reason=f"{NEEDS[needs]}: {why}")
    if waits := claim.table.get("waits"):
        return Finding(UNDECIDED, reason=f"waits for {', '.join(waits)}")
    if claim.kind == "statement" and "test" in claim.table:
        return Finding(REPRODUCED, reason=f"shown by a test, {claim.table['test']}")
    return None


def _judged(paper: Paper, claim: Claim, runs: Sequence[Run]) -> Finding:
    if claim.kind == "setting":
        return _setting(claim, runs)
    if claim.quantity is None:
        return Finding(UNDECIDED, reason="it names no quantity")
    quantity = paper.quantities[claim.quantity]
    finding = _reading(paper, claim, quantity.value, runs)
    others = {name: _reading(paper, claim, text, runs) for name, text in quantity.readings.items()}
    return replace(finding, readings=others)


def _reading(paper: Paper, claim: Claim, text: str, runs: Sequence[Run]) -> Finding:
    """The verdict under one reading of the quantity."""
    question = Question(claim, paper.quantities[str(claim.quantity)], text, runs)
    return _as_far_as_told(paper, claim, _found(paper, question))


def _as_far_as_told(paper: Paper, claim: Claim, finding: Finding) -> Finding:
    """A claim of several workloads or schemes is reproduced in part at most if nothing tells of one."""
    if not finding.untrusted or finding.verdict == UNDECIDED:
        return finding
    points = [(run, other, True) for run, other, _ in finding.where]
    points += [(run, other, False) for run, other in finding.untrusted]
    names = untold(claim, points)
    finding = replace(finding, untold=names, untrusted_of=shared(claim, points))
    if not names:
        return finding
    told = f"nothing that is to be trusted tells of {', '.join(names)}".replace(f"{paper.name}-", "")
    verdict = worst([finding.verdict, PARTLY])
    return replace(finding, verdict=verdict, reason="; ".join(filter(None, [finding.reason, told])))


def _found(paper: Paper, question: Question) -> Finding:
    """The verdict on all points that decide."""
    claim = question.claim
    try:
        match claim.kind:
            case "trend":
                return sequences.trend(question)
            case "agree":
                other = paper.quantities[claim.table["with"]]
                return sequences.agree(question, Question(claim, other, other.value, question.runs))
            case "number" | "exact" | "range":
                return sides.one_sided(question)
            case _:
                return sides.two_sided(question)
    except sides.UntrustedError as error:
        return sides.untrusted(claim, error)
    except UndecidedError as error:
        return Finding(UNDECIDED, reason=str(error))


def _setting(claim: Claim, runs: Sequence[Run]) -> Finding:
    """A table of parameters: all runs have them."""
    chosen = select(runs, claim.where)
    if not chosen:
        return Finding(UNDECIDED, reason="no run has these settings")
    wanted = claim.table["is"]
    differ = {
        key: at(run.settings, key)
        for run in chosen
        for key, one in wanted.items()
        if not matches(at(run.settings, key), one)
    }
    if differ:
        found = ", ".join(f"{key} = {value}" for key, value in differ.items())
        return Finding(NOT, reason=f"settings differ here: {found}")
    return Finding(
        REPRODUCED,
        held=(len(wanted), len(wanted)),
        reason=f"{len(wanted)} setting{'s' if len(wanted) != 1 else ''}",
    )
