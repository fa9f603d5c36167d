"""How what was found is told."""

from __future__ import annotations

from eraseblock_reproduction.adversaries.stored import Found

# What a ratio is of.
TOLD = {"response": "the mean response", "programs": "the pages programmed"}


def times(ratio: float) -> str:
    """A ratio with as many digits as it bears.

    Example:
        >>> times(1.234), times(23.4), times(1234.5)
        ('1.23', '23.4', '1,234')
    """
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:,.0f}"


def spread(found: Found) -> str:
    """The ratio, and its range over seeds that decided nothing."""
    low, high = min(found.held_out), max(found.held_out)
    return f"{times(found.ratio)} [{times(low)}, {times(high)}]"


def measured(found: Found) -> str:
    """The ratio in words."""
    return f"{spread(found)} times {TOLD[found.measure]}"


def against(found: Found) -> str:
    """Whose figure it is a multiple of."""
    return f"of {found.best}"


def why(found: Found) -> str:
    """Where the scheme's own counts differ from those of the best ordinary one, which stand behind them.

    What differs by less than a tenth, and what neither has, is left out.
    """
    own, best = found.figures[found.scheme], found.figures[found.best]
    told = []
    for key, title in (("hits", "hits"), ("flush", "pages a flush"), ("waf", "WAF"), ("erases", "erases")):
        mine, other = own[key], best[key]
        if mine == other or (mine and other and 0.9 < mine / other < 1.1):
            continue
        shown = [_share(one) if key == "hits" else _count(one) for one in (mine, other)]
        told.append(f"{title} {shown[0]} for {shown[1]}")
    if own["padded"] > own["programs"] / 10:
        told.append(f"{100 * own['padded'] / own['programs']:.0f} % of its programs are padding")
    return ", ".join(told)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _count(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 20 or value == int(value) else f"{value:.1f}"
