"""Grades what came out: numbers and effects against stated ones, and what holds at some points only."""

from __future__ import annotations

from collections.abc import Sequence

from eraseblock_reproduction.data import Claim
from eraseblock_reproduction.finding import DIRECTION, NOT, PARTLY, REPRODUCED
from eraseblock_reproduction.intervals import ROUNDING, Estimate

# An effect that is at least this share of the stated one, and at most its inverse, is there in part.
_HALF = 0.5


def of_number(claim: Claim, value: float, *, share: bool) -> str:
    """A figure of one side against a stated one, or against a range."""
    if claim.kind == "range":
        low, high = claim.table.get("low"), claim.table.get("high")
        slack = ROUNDING * abs(value)
        fits = (low is None or value >= low - slack) and (high is None or value <= high + slack)
        return REPRODUCED if fits else NOT
    stated = float(claim.table["value"])
    if _is_near(claim, stated, value):
        return REPRODUCED
    if claim.kind == "exact" or not _is_half(stated, value):
        return NOT
    # Of 93 % stated, 50 % is more than half, but what is left is seven times as much.
    return PARTLY if not share or _is_half(1 - stated, 1 - value) else NOT


def of_effect(claim: Claim, ours: Estimate) -> str:
    """A reduction, increase, ratio or difference against the stated one."""
    stated = float(claim.table["value"])
    near, neutral = _is_near(claim, stated, ours.mean), neutral_of(claim)
    told = ours.side(neutral) * (stated - neutral) > 0
    # Where the paper says that nothing changes, or by how little we may miss, there is no order to be shown.
    if near and (told or stated == neutral or "within" in claim.table):
        return REPRODUCED
    if near and (ours.mean - neutral) * (stated - neutral) > 0:
        return PARTLY
    if not told:
        return NOT
    half = _is_half(stated - neutral, ours.mean - neutral)
    # A reduction is a share of the right side: no larger one than 50 % could be missed by more than double.
    if claim.kind == "reduction":
        half = half and _is_half(1 - stated, 1 - ours.mean)
    return PARTLY if half else DIRECTION


def is_untold(claim: Claim, ours: Estimate) -> bool:
    """Whether an effect is as large as stated, and yet the seeds do not tell on which side it is."""
    near = _is_near(claim, float(claim.table["value"]), ours.mean)
    return near and of_effect(claim, ours) == PARTLY


def neutral_of(claim: Claim) -> float:
    """The effect of two sides that are equal; of a ratio that is a share of a gain, no gain."""
    return float(claim.table.get("neutral", 1.0 if claim.kind == "ratio" else 0.0))


def of_points(holding: Sequence[bool], *, in_mean: bool) -> str:
    """An order, a trend or a range that holds at all points, at half of them, or in the mean alone."""
    if all(holding):
        return REPRODUCED
    if not in_mean:
        return NOT
    return PARTLY if sum(holding) >= _HALF * len(holding) else DIRECTION


def of_lead(lead: float, asked: float) -> str:
    """A lead that is smaller than asked for."""
    return PARTLY if lead >= _HALF * asked else DIRECTION


def limits(claim: Claim, *, share: bool) -> list[float]:
    """The figures at which a verdict on a number, an effect or a range becomes another one."""
    if claim.kind == "range":
        return [float(claim.table[key]) for key in ("low", "high") if key in claim.table]
    if "value" not in claim.table or claim.kind == "exact":
        return []
    stated = float(claim.table["value"])
    neutral = 0.0 if claim.kind == "number" else neutral_of(claim)
    allowed, effect = claim.tolerance(stated), stated - neutral
    found = [stated - allowed, stated + allowed, neutral + _HALF * effect, neutral + effect / _HALF]
    if claim.kind == "reduction" or (claim.kind == "number" and share):
        found += [1 - _HALF * (1 - stated), 1 - (1 - stated) / _HALF]
    return found


def _is_near(claim: Claim, stated: float, value: float) -> bool:
    slack = ROUNDING * max(abs(stated), abs(value))
    allowed = 0.0 if claim.kind == "exact" else claim.tolerance(stated)
    return abs(value - stated) <= allowed + slack


def _is_half(stated: float, value: float) -> bool:
    """Whether a figure is between half of the stated one and double."""
    low, high = sorted((abs(stated), abs(value)))
    return stated * value > 0 and low >= _HALF * high * (1 - ROUNDING)
