"""Colours of series, causes and maps, in light and dark; colour-blind readers tell them apart too."""

from __future__ import annotations

# (light, dark), in the order in which series take them; the shapes and dashes of plots differ too.
_SERIES = (
    ("#252d8c", "#568cbe"),
    ("#ab4712", "#d69736"),
    ("#209bc7", "#49ddfc"),
    ("#8c49a5", "#c494ff"),
    ("#376e5b", "#13bf82"),
    ("#dd6693", "#b4627c"),
    ("#8f9639", "#cbe07b"),
    ("#652712", "#738406"),
)
# Of what series are measured by, of a drive without a buffer, and of series without a colour of their own.
_BASE = ("#1d2129", "#e8eaee")
_NEUTRAL = ("#6f7682", "#a3abb8")
_REST = ("#b9bec7", "#515966")
# Of numbers, which have an order: from small to large, ever further from the paper.
_RAMP = (
    ("#e16462", "#bb3b9a"),
    ("#d6556d", "#c33d80"),
    ("#c5407e", "#d35171"),
    ("#b12a90", "#e16462"),
    ("#96159f", "#ed7953"),
    ("#7701a8", "#f68f44"),
    ("#5302a3", "#fca636"),
    ("#2c0594", "#fcce25"),
)
# Causes of programs are muted, so that nobody takes one for a series.
_CAUSES = (
    ("#9db2c7", "#6f879e"),
    ("#d9bf6b", "#bfa65a"),
    ("#7d5d52", "#b08a7c"),
    ("#a489bd", "#9a82b3"),
    ("#7fa895", "#719683"),
    ("#c79d9d", "#b58a8a"),
    ("#b9b9ae", "#8b8b80"),
    ("#d49a6a", "#b98459"),
)
# Maps go from the paper's side to the ink's, in one hue.
_MAP = (("#e9eff6", "#232a34"), ("#6fa5d2", "#2f6fa5"), ("#123d6b", "#bfe0ff"))


def colours() -> tuple[dict[str, str], dict[str, str]]:
    """CSS custom properties for light and for dark.

    `--s0` ... series, `--r0` ... numbers, `--c0` ... causes, `--m0` ... maps.
    """
    light, dark = {}, {}
    for name, pair in (("base", _BASE), ("neutral", _NEUTRAL), ("rest", _REST)):
        light[f"--{name}"], dark[f"--{name}"] = pair
    for prefix, pairs in (("s", _SERIES), ("r", _RAMP), ("c", _CAUSES), ("m", _MAP)):
        for index, pair in enumerate(pairs):
            light[f"--{prefix}{index}"], dark[f"--{prefix}{index}"] = pair
    return light, dark
