"""Colours of series, causes and maps, in light and dark; colour-blind readers tell them apart too."""

from __future__ import annotations

# (light, dark), in the order in which series take them; the shapes and dashes of plots differ too.
_SERIES = (
    ("#0067a5", "#5cb3ef"),
    ("#c8500a", "#ff9a57"),
    ("#00805d", "#3fcf9f"),
    ("#a8437f", "#ee8fc4"),
    ("#8a6a00", "#e8c547"),
    ("#6250b0", "#b3a5ff"),
    ("#7a3b1d", "#d9a28a"),
    ("#00798c", "#66d3e0"),
)
# Of a drive without a buffer, which others are compared with.
_NEUTRAL = ("#6f7682", "#a3abb8")
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
    """CSS custom properties for light and for dark: `--s0` ... series, `--c0` ... causes, `--m0` ... maps."""
    light, dark = {"--neutral": _NEUTRAL[0]}, {"--neutral": _NEUTRAL[1]}
    for prefix, pairs in (("s", _SERIES), ("c", _CAUSES), ("m", _MAP)):
        for index, pair in enumerate(pairs):
            light[f"--{prefix}{index}"], dark[f"--{prefix}{index}"] = pair
    return light, dark
