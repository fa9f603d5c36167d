"""Says claims and findings in words: what is stated, and what came out, as one short text each."""

from __future__ import annotations

from eraseblock_reproduction.data import Claim, Paper, Quantity
from eraseblock_reproduction.finding import Finding

_SIGNS = {"less": "<", "more": ">", "at most": "≤", "at least": "≥", "equal": "="}
_PERCENT = ("reduction", "increase")
# What rounding of sums may make of equal figures.
_SAME = 1e-9


def stated(paper: Paper, claim: Claim) -> str:
    """What the paper states, in figures; empty where it states none."""
    quantity = paper.quantities[claim.quantity] if claim.quantity else None
    table = claim.table
    match claim.kind:
        case "reduction" | "increase" | "ratio" | "difference" | "number" | "exact" if "value" in table:
            up_to = {"max": "up to ", "min": "at least "}.get(claim.aggregate, "")
            return up_to + value(claim, quantity, float(table["value"]), exact=True)
        case "range":
            low, high = (table.get(key) for key in ("low", "high"))
            parts = [f"≥ {value(claim, quantity, low, exact=True)}" if low is not None else ""]
            parts.append(f"≤ {value(claim, quantity, high, exact=True)}" if high is not None else "")
            bound = " (our reading)" if table.get("our_bound") else ""
            return " and ".join(part for part in parts if part) + bound
        case "order" if "relation" in table:
            ahead = f" by {number(100 * table['ahead'])} % or more (our reading)" if "ahead" in table else ""
            where = {"some": " somewhere", "mean": " in the mean"}.get(claim.aggregate or "", "")
            return f"{_SIGNS[table['relation']]}{ahead}{where}"
        case "trend":
            return str(table["relation"])
        case "agree":
            order = "opposite order" if table.get("opposite") else "same order"
            share = table.get("similar")
            return order if share is None else f"{order}, {number(100 * share)} % of the pairs (our reading)"
    return ""


def ours(paper: Paper, claim: Claim, finding: Finding) -> str:
    """What came out, in figures."""
    quantity = paper.quantities[claim.quantity] if claim.quantity else None
    parts = []
    if finding.steps:
        parts.append(" → ".join(number(step) for step in finding.steps))
    if finding.ours is not None:
        parts.append(_figure(claim, quantity, finding))
    if finding.held is not None and finding.held[1] > 1 and claim.kind not in _MEANS:
        parts.append(f"holds at {finding.held[0]} of {finding.held[1]}")
    if finding.hardest is not None:
        parts.append(f"against the hardest {signed(finding.hardest.mean)}")
    if finding.pairs is not None:
        parts.append(f"{finding.pairs[0]} of {finding.pairs[1]} pairs are in this order")
    return "; ".join(parts)


def other_reading(paper: Paper, claim: Claim, finding: Finding) -> str:
    """What comes out under another reading of the quantity, or why nothing does."""
    return ours(paper, claim, finding) or finding.reason


# Kinds of which one number is said, whatever single points do.
_MEANS = ("number", "reduction", "increase", "ratio", "difference", "setting")


def _figure(claim: Claim, quantity: Quantity | None, finding: Finding) -> str:
    assert finding.ours is not None
    if claim.kind == "order" and len(finding.points) == 1:
        [point] = finding.points
        right = plain(quantity, point.right, claim)
        return f"{plain(quantity, point.left, claim)} {_between(point.left, point.right)} {right}"
    if claim.kind == "order":
        scale = 400 / (2 - finding.ours.mean) ** 2 if finding.ours.mean < 2 else 0
        return f"{signed(finding.ours.mean)}{_half(finding, scale)}, {_span(claim, quantity, finding)}"
    text = value(claim, quantity, finding.ours.mean) + _half(finding, _scale(claim, quantity))
    effects = finding.effects
    same = max(effects) - min(effects) <= _SAME * abs(max(effects))
    return text if same else f"{text} ({_span(claim, quantity, finding)})"


def _span(claim: Claim, quantity: Quantity | None, finding: Finding) -> str:
    """The least and the most of the points."""
    effects = finding.effects
    if claim.kind == "order":
        return f"{signed(min(effects))} to {signed(max(effects))}"
    return f"{value(claim, quantity, min(effects))} to {value(claim, quantity, max(effects))}"


def _half(finding: Finding, scale: float) -> str:
    half = finding.ours.half if finding.ours is not None else None
    return f" ± {number(half * scale)}" if half is not None and half > _SAME * abs(scale) else ""


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
    return quantity is not None and quantity.is_share


def value(claim: Claim, quantity: Quantity | None, figure: float, *, exact: bool = False) -> str:
    """A figure of the kind that the claim is about; `exact`: with all of its digits."""
    if _is_percent(claim, quantity):
        return f"{number(100 * figure, exact=exact)} %"
    if claim.kind == "ratio":
        return number(figure, exact=exact)
    return plain(quantity, figure, claim, exact=exact)


def plain(quantity: Quantity | None, figure: float | None, claim: Claim, *, exact: bool = False) -> str:
    """A figure of the quantity itself, with its unit."""
    if figure is None:
        return "-"
    if claim.kind == "order" and _is_percent(claim, quantity):
        return f"{number(100 * figure, exact=exact)} %"
    relative = "relative_to" in claim.table and claim.table.get("relative") != "difference"
    unit = f" {quantity.unit}" if quantity is not None and quantity.unit is not None and not relative else ""
    return f"{number(figure, exact=exact)}{unit}"


def number(figure: float, *, exact: bool = False) -> str:
    """Three significant digits, or all; whole numbers in full."""
    if abs(figure - round(figure)) < 1e-9 * max(1.0, abs(figure)):
        return f"{round(figure):,}"
    if exact:
        return f"{figure:.10g}"
    size = abs(figure)
    if size >= 100:
        return f"{figure:,.0f}"
    if size >= 1:
        return f"{figure:.3g}"
    return f"{figure:.2g}" if size >= 1e-4 else f"{figure:.1e}"


def signed(effect: float) -> str:
    """How much more the left side is than the right one; `effect` is relative to the mean of both."""
    if effect >= 2:
        return "+∞ %"
    return f"{100 * ((2 + effect) / (2 - effect) - 1):+.3g} %"


def _between(left: float, right: float | None) -> str:
    if right is None or left == right:
        return "="
    return "<" if left < right else ">"
