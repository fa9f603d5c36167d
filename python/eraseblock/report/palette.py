"""Colours of schemes and causes, told apart with common colour-vision deficiencies, in light and dark."""

from __future__ import annotations

from collections.abc import Sequence

# (light, dark), in the order in which schemes take them.
_SCHEMES = (
    ("#0067a5", "#5cb3ef"),
    ("#c8500a", "#ff9a57"),
    ("#00805d", "#3fcf9f"),
    ("#a8437f", "#ee8fc4"),
    ("#8a6a00", "#e8c547"),
    ("#6250b0", "#b3a5ff"),
    ("#7a3b1d", "#d9a28a"),
    ("#00798c", "#66d3e0"),
)
_NEUTRAL = ("#6f7682", "#a3abb8")
# Causes of programs are muted, so that nobody takes one for a scheme.
_CAUSES = (
    ("#9db2c7", "#6f879e"),
    ("#d9bf6b", "#bfa65a"),
    ("#7d5d52", "#b08a7c"),
    ("#a489bd", "#9a82b3"),
    ("#7fa895", "#719683"),
    ("#c79d9d", "#b58a8a"),
)


def colours(schemes: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """CSS custom properties for light and for dark: `--s0` ... for schemes, `--c0` ... for causes."""
    light, dark = {}, {}
    taken = 0
    for index, scheme in enumerate(schemes):
        if scheme == "none":
            pair = _NEUTRAL
        else:
            pair = _SCHEMES[taken % len(_SCHEMES)]
            taken += 1
        light[f"--s{index}"], dark[f"--s{index}"] = pair
    for index, pair in enumerate(_CAUSES):
        light[f"--c{index}"], dark[f"--c{index}"] = pair
    return light, dark
