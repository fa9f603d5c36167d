"""A small picture as SVG: readable on light and on dark paper, and at the width of a phone.

A picture is 360 units wide, about a phone's column, and is shown a third larger where there is room. It
brings its own paper, since a page cannot tell a picture which colours it has: where they differ, the picture
is a card.
"""

from __future__ import annotations

from html import escape

from eraseblock.report.palette import colours

WIDTH = 360
_SHOWN = 480
_LIGHT, _DARK = colours()
# Colours of paper, ink and page cells, in light and dark. What `palette` has is not repeated here.
OWN = {
    "paper": ("#ffffff", "#1b1f26"),
    "edge": ("#d5d9df", "#3a414c"),
    "ink": ("#1d2129", "#e8eaee"),
    "soft": ("#555d6b", "#a9b1bd"),
    "new": ("#cfe0f5", "#23425f"),
    "new-edge": ("#2f6fa5", "#6fa5d2"),
    "copy": ("#f8d9bf", "#5c3818"),
    "copy-edge": ("#ab4712", "#d69736"),
}
_TAKEN = {"one": "--s0", "two": "--s1", "rest": "--rest"} | {f"c{place}": f"--c{place}" for place in range(8)}


def _rules(dark: int) -> str:
    """Each colour as a custom property."""
    found = {name: pair[dark] for name, pair in OWN.items()}
    found |= {name: (_LIGHT, _DARK)[dark][key] for name, key in _TAKEN.items()}
    return "".join(f"--{name}:{value};" for name, value in found.items())


_STYLE = (
    f"svg{{{_rules(0)}}}@media(prefers-color-scheme:dark){{svg{{{_rules(1)}}}}}"
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}"
    ".small{font-size:11.5px}.soft{fill:var(--soft)}.strong{font-weight:600}"
    ".middle{text-anchor:middle}.end{text-anchor:end}"
    ".paper{fill:var(--paper);stroke:var(--edge)}"
    ".new{fill:var(--new);stroke:var(--new-edge)}.copy{fill:var(--copy);stroke:var(--copy-edge)}"
    ".old{fill:none;stroke:var(--soft);stroke-dasharray:3 2}.empty{fill:none;stroke:var(--rest)}"
    ".axis{stroke:var(--edge)}.curve{fill:none;stroke:var(--two);stroke-width:2}"
    + "".join(f".{name}{{fill:var(--{name})}}" for name in _TAKEN)
)


class Canvas:
    """Shapes and texts, drawn in the order in which they are added; units from the upper left corner."""

    def __init__(self, height: float, title: str) -> None:
        self._height = height
        self._parts = [f"<title>{escape(title)}</title>", f"<style>{_STYLE}</style>"]
        self.box(0.5, 0.5, WIDTH - 1, height - 1, "paper", radius=8)

    def box(self, x: float, y: float, width: float, height: float, kind: str, *, radius: float = 0) -> None:
        """A rectangle of a class of the style."""
        corner = f' rx="{_short(radius)}"' if radius else ""
        self._parts.append(
            f'<rect class="{kind}" x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" '
            f'height="{_short(height)}"{corner}/>'
        )

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        """A line of text that stands on `y`; nothing for no words."""
        if not words:
            return
        named = f' class="{kind}"' if kind else ""
        self._parts.append(f'<text{named} x="{_short(x)}" y="{_short(y)}">{escape(words)}</text>')

    def line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """A thin line."""
        self._parts.append(f'<path class="axis" d="M{_short(x0)} {_short(y0)}L{_short(x1)} {_short(y1)}"/>')

    def curve(self, points: list[tuple[float, float]]) -> None:
        """A line through points."""
        path = "L".join(f"{_short(x)} {_short(y)}" for x, y in points)
        self._parts.append(f'<path class="curve" d="M{path}"/>')

    def dot(self, x: float, y: float, kind: str) -> None:
        """A point of a series."""
        self._parts.append(f'<circle class="{kind}" cx="{_short(x)}" cy="{_short(y)}" r="4"/>')

    def cells(self, x: float, y: float, pages: list[tuple[str, str]], size: float = 26) -> float:
        """Pages side by side, each with what it says and its class; returns where they end."""
        for place, (words, kind) in enumerate(pages):
            left = x + place * (size + 2)
            self.box(left, y, size, size, kind, radius=3)
            if words:
                self.text(
                    left + size / 2, y + size / 2 + 4.5, words, "middle soft" if kind == "old" else "middle"
                )
        return x + len(pages) * (size + 2) - 2

    def legend(self, y: float, entries: list[tuple[str, str]], x: float = 14) -> None:
        """What colours mean, in a row; each entry takes what its words need, roughly."""
        for kind, words in entries:
            self.box(x, y - 9, 10, 10, kind, radius=2)
            self.text(x + 15, y, words, "small soft")
            x += 15 + 6.4 * len(words) + 12

    def render(self) -> str:
        """The file."""
        shown = round(self._height * _SHOWN / WIDTH)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SHOWN}" height="{shown}" '
            f'viewBox="0 0 {WIDTH} {_short(self._height)}" role="img">'
        )
        return "\n".join([head, *self._parts, "</svg>"]) + "\n"


def _short(number: float) -> str:
    """At most a decimal, so that no machine's rounding shows."""
    return f"{number:.1f}".removesuffix(".0")
