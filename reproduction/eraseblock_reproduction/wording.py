"""Says claims and findings in words: what is stated, and what came out, as one short text each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eraseblock_reproduction import grading
from eraseblock_reproduction.data import Claim, Paper, Quantity
from eraseblock_reproduction.finding import UNDECIDED, Finding
from eraseblock_reproduction.places import listed, places

_SIGNS = {"less": "<", "more": ">", "at most": "≤", "at least": "≥", "equal": "="}
_PERCENT = ("reduction", "increase")
# What rounding of sums may make of equal figures.
_SAME = 1e-9
# Significant digits of a figure, and at most, where fewer would tell something else.
_DIGITS, _MOST = 3, 7
# Percents of which digits beyond these say nothing.
_HUGE = 10_000


def stated(paper: Paper, claim: Claim) -> str:
    """What the paper states, in figures; empty where it states none."""
    quantity = paper.quantities[claim.quantity] if claim.quantity else None
    table = claim.table
    match claim.kind:
        case "reduction" | "increase" | "ratio" | "difference" | "number" | "exact" if "value" in table:
            up_to = {"max": "up to ", "min": "at least "}.get(claim.aggregate, "")
            figure = value(claim, quantity, float(table["value"]), exact=True) + _give(claim, quantity)
            return up_to + figure + _reading(claim)
        case "range":
            low, high = (table.get(key) for key in ("low", "high"))
            parts = [f"≥ {value(claim, quantity, low, exact=True)}" if low is not None else ""]
            parts.append(f"≤ {value(claim, quantity, high, exact=True)}" if high is not None else "")
            return " and ".join(part for part in parts if part) + _reading(claim)
        case "order" if "relation" in table:
            ahead = f" by {number(100 * table['ahead'])} % or more (our reading)" if "ahead" in table else ""
            same = _within(claim) if table["relation"] == "equal" else ""
            where = {"some": " somewhere", "mean": " in the mean"}.get(claim.aggregate or "", "")
            return f"{_SIGNS[table['relation']]}{ahead}{same}{where}"
        case "trend":
            return f"{table['relation']}{_within(claim) if table['relation'] == 'flat' else ''}"
        case "agree":
            order = "opposite order" if table.get("opposite") else "same order"
            share = table.get("similar")
            some = "" if share is None else f" for {number(100 * share)} % of the pairs (our reading)"
            return order + some
    return ""


def _reading(claim: Claim) -> str:
    """That the figures beside which ours are set are not printed."""
    return " (our reading)" if claim.table.get("our_bound") else ""


def _give(claim: Claim, quantity: Quantity | None) -> str:
    """By how much a figure may differ from the stated one, where that is not a tenth."""
    if "within" in claim.table:
        return f" ± {number(float(claim.table['within']) * _scale(claim, quantity), exact=True)}"
    return f" ± {number(100 * claim.tolerance(1), exact=True)} %" if "tolerance" in claim.table else ""


def _within(claim: Claim) -> str:
    """By how much figures may differ that are said to be the same."""
    return f" within {number(100 * claim.tolerance(1))} % (our reading)"


def ours(paper: Paper, claim: Claim, finding: Finding) -> str:
    """What came out, in figures."""
    quantity = paper.quantities[claim.quantity] if claim.quantity else None
    parts = []
    if finding.steps:
        parts.append(_steps(claim, quantity, finding))
    if finding.ours is not None:
        parts.append(_figure(claim, quantity, finding))
    some = ""
    if finding.held is not None and finding.held[1] > 1 and claim.kind not in _MEANS:
        some = _some(paper, claim, finding)
        parts.append(f"holds at {finding.held[0]} of {finding.held[1]}{some}")
    if finding.hardest and not some:
        parts.append(f"hardest: {_hardest(paper, finding)}")
    if finding.pairs is not None:
        parts.append(f"{finding.pairs[0]} of {finding.pairs[1]} pairs are in this order")
    if finding.level:
        parts.append(f"seeds leave {finding.level if len(finding.effects) > 1 else 'it'} open")
    if finding.leadless:
        points = len(finding.effects) or len(finding.steps)
        parts.append(f"no sure lead at {finding.leadless} of {points}" if points > 1 else "no sure lead")
    if finding.untrusted and finding.verdict != UNDECIDED:
        of = f": {finding.untrusted_of.replace(f'{paper.name}-', '')}" if finding.untrusted_of else ""
        parts.append(f"{len(finding.untrusted)} more not trusted{of}")
    if (finding.ours is not None or finding.steps) and finding.verdict == UNDECIDED:
        parts.append("not trusted")
    return "; ".join(parts)


def _steps(claim: Claim, quantity: Quantity | None, finding: Finding) -> str:
    """The steps of a trend; of several points they are relative to their means, and have no unit."""
    digits = _digits_of_steps(claim, finding.steps)
    if finding.held is not None and finding.held[1] == 1:
        *before, last = (_plain(quantity, step, claim, digits) for step in finding.steps)
        unit = last.partition(" ")[2]
        return " → ".join([*(step.removesuffix(f" {unit}") for step in before), last])
    return " → ".join(number(step, digits=digits) for step in finding.steps)


def _digits_of_steps(claim: Claim, steps: Sequence[float]) -> int:
    """So many that steps that are flat, or are not, are so as they are shown, too."""
    if claim.table["relation"] != "flat" or not steps:
        return _DIGITS

    def flat(figures: Sequence[float]) -> bool:
        return max(figures) - min(figures) <= claim.tolerance(min(figures)) * (1 + _SAME)

    shown = range(_DIGITS, _MOST + 1)
    return next((n for n in shown if flat([float(_rounded(one, n)) for one in steps]) == flat(steps)), _MOST)


# Of several that decide so many are named; and where a claim holds, or does not, so many points.
_NAMED, _FEW = 2, 3


def _some(paper: Paper, claim: Claim, finding: Finding) -> str:
    """Where it holds, or where it does not, if that is at few points and these decide."""
    holding = [holds for _, _, holds in finding.where]
    failing = len(holding) - sum(holding)
    # Of one point against each of several it is told whom it is against.
    alone = finding.hardest and len(holding) == len(claim.pairs)
    fewer = min(failing, sum(holding))
    if not 0 < fewer <= _FEW or alone or claim.aggregate in ("mean", "some"):
        return ""
    found = places(claim, [(run, other) for run, other, _ in finding.where])
    wanted, lead_in = (False, ", not at ") if failing == fewer else (True, ": ")
    told = listed([one for one, holds in zip(found, holding, strict=True) if holds == wanted])
    return lead_in + told.replace(f"{paper.name}-", "")


def _hardest(paper: Paper, finding: Finding) -> str:
    """Those of several that decide, the hardest first; a workload without the name of its paper."""
    told = [
        f"{name.replace(f'{paper.name}-', '')} {signed(found.mean)}".lstrip()
        for name, found in finding.hardest[:_NAMED]
    ]
    more = len(finding.hardest) - len(told)
    return ", ".join(told) + (f", {more} more" if more else "")


def other_reading(paper: Paper, claim: Claim, finding: Finding) -> str:
    """What comes out under another reading of the quantity, or why nothing does."""
    return ours(paper, claim, finding) or finding.reason


# Kinds of which one number is said, whatever single points do.
_MEANS = ("number", "reduction", "increase", "ratio", "difference", "setting")


def _figure(claim: Claim, quantity: Quantity | None, finding: Finding) -> str:
    assert finding.ours is not None
    if claim.kind == "order" and len(finding.points) == 1:
        [point] = finding.points
        left, right = _two(quantity, point.left, point.right, claim)
        return f"{left} {_between(point.left, point.right)} {right}"
    if claim.kind == "order":
        scale = 400 / (2 - finding.ours.mean) ** 2 if finding.ours.mean < 2 else 0
        huge = _percent(finding.ours.mean) >= _HUGE
        text = f"{signed(finding.ours.mean)}{_half(finding, scale, huge=huge)}"
        return text if _are_same(finding.effects) else f"{text}, {_span(claim, quantity, finding)}"
    share = quantity is not None and quantity.is_share
    bounds = grading.limits(claim, share=share)
    text = value(claim, quantity, finding.ours.mean, bounds=bounds) + _half(finding, _scale(claim, quantity))
    return text if _are_same(finding.effects) else f"{text} ({_span(claim, quantity, finding)})"


def _are_same(effects: Sequence[float]) -> bool:
    return max(effects) - min(effects) <= _SAME * abs(max(effects))


def _span(claim: Claim, quantity: Quantity | None, finding: Finding) -> str:
    """The least and the most of the points."""
    effects = finding.effects
    ends = min(effects), max(effects)
    least, most = (signed(one) if claim.kind == "order" else value(claim, quantity, one) for one in ends)
    unit = most.partition(" ")[2]
    return f"{least.removesuffix(f' {unit}')} to {most}"


def _half(finding: Finding, scale: float, *, huge: bool = False) -> str:
    """Half of the interval, rounded where a `huge` mean is; none where it is what rounding of sums makes."""
    if finding.ours is None or finding.ours.half is None:
        return ""
    half = finding.ours.half
    shown = half > _SAME * max(1.0, abs(finding.ours.mean))
    told = float(f"{half * scale:.2g}") if huge else half * scale
    return f" ± {number(told, digits=2)}" if shown else ""


def _scale(claim: Claim, quantity: Quantity | None) -> float:
    """What a figure is multiplied by to be shown."""
    return 100 if _is_percent(claim, quantity) else 1


def _is_percent(claim: Claim, quantity: Quantity | None) -> bool:
    if claim.kind in _PERCENT or "spread" in claim.table:
        return not claim.table.get("absolute")
    if claim.kind == "difference" and "relative_to" in claim.table:
        # Of shares of what both sides are relative to.
        return claim.table.get("relative") != "difference"
    if claim.kind == "ratio" or (
        "relative_to" in claim.table and claim.table.get("relative") != "difference"
    ):
        return False
    # What is set beside another simulator's or a drive's figures is no quantity here: it differs by a share.
    return quantity is None or quantity.is_share


def value(
    claim: Claim,
    quantity: Quantity | None,
    figure: float,
    *,
    exact: bool = False,
    bounds: Sequence[float] = (),
) -> str:
    """A figure of the kind that the claim is about; `exact`: with all of its digits.

    It is on the side of each of the bounds on which it is before it is rounded.
    """
    exact = exact or claim.kind == "exact"
    if _is_percent(claim, quantity):
        unit = "points" if claim.kind == "difference" and "relative_to" not in claim.table else "%"
        shown = number(100 * figure, exact=exact, bounds=[100 * one for one in (*bounds, 1.0)])
        return f"{shown} {unit}"
    unit = "" if claim.kind == "ratio" else _unit(quantity, claim)
    return f"{number(figure, exact=exact, bounds=bounds)}{unit}"


def _two(quantity: Quantity | None, left: float, right: float | None, claim: Claim) -> list[str]:
    """Two figures of the quantity itself, with as many digits as tell them apart."""
    if right is None:
        return [_plain(quantity, left, claim), "-"]
    for digits in range(_DIGITS, _MOST + 1):
        shown = [_plain(quantity, one, claim, digits) for one in (left, right)]
        if shown[0] != shown[1]:
            break
    return shown


def _plain(quantity: Quantity | None, figure: float, claim: Claim, digits: int = _DIGITS) -> str:
    """A figure of the quantity itself, with its unit."""
    if _is_percent(claim, quantity):
        return f"{number(100 * figure, digits=digits)} %"
    return f"{number(figure, digits=digits)}{_unit(quantity, claim)}"


def _unit(quantity: Quantity | None, claim: Claim) -> str:
    relative = "relative_to" in claim.table and claim.table.get("relative") != "difference"
    return f" {quantity.unit}" if quantity is not None and quantity.unit is not None and not relative else ""


def number(figure: float, *, exact: bool = False, digits: int = _DIGITS, bounds: Sequence[float] = ()) -> str:
    """Three significant digits, or as many as keep it on its side of each bound; whole numbers in full.

    Example:
        >>> number(0.89612), number(0.89612, digits=2), number(0.89996, bounds=[0.9]), number(12345.6)
        ('0.896', '0.9', '0.89996', '12,346')
    """
    if abs(figure - round(figure)) < 1e-9 * max(1.0, abs(figure)):
        return f"{round(figure):,}"
    if exact:
        return f"{figure:.10g}"
    for some in range(digits, _MOST + 1):
        text = _rounded(figure, some)
        if all((float(text) - bound) * (figure - bound) > 0 or figure == bound for bound in bounds):
            break
    return f"{float(text):,.0f}" if abs(figure) >= 1000 and "." not in text else text


def _rounded(figure: float, digits: int) -> str:
    """So many significant digits, and none of a whole number less."""
    size = abs(figure)
    if size < 1e-4:
        return f"{figure:.1e}"
    whole = len(str(int(size)))
    return f"{figure:.{digits}g}" if digits > whole else f"{figure:.0f}"


def signed(effect: float) -> str:
    """How much more the left side is than the right one; `effect` is relative to the mean of both."""
    if effect >= 2:
        return "+∞ %"
    percent = _percent(effect)
    if percent >= _HUGE:
        return f"+{float(f'{percent:.{_DIGITS}g}'):,.0f} %"
    # Nearly nothing left is more than nothing left.
    return f"{'' if percent < 0 else '+'}{number(percent, bounds=[-100])} %"


def _percent(effect: float) -> float:
    """An effect that is relative to the mean of both sides, relative to the right one."""
    return 100 * ((2 + effect) / (2 - effect) - 1) if effect < 2 else math.inf


def _between(left: float, right: float | None) -> str:
    if right is None or left == right:
        return "="
    return "<" if left < right else ">"
