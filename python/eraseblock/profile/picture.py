"""Writes the plots of workloads as PNG, SVG, or a page that follows the reader's light or dark setting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.plotting import plotting_script
from eraseblock.results.files import replace_file

_ENDINGS = (".png", ".svg", ".html")
# Paper, text, quiet text, rules; then the colours of all, read, write, write alone.
_THEMES = {
    "light": ("#ffffff", "#1b1f24", "#5b6470", "#e3e6ea", ("#6f7682", "#0067a5", "#c8500a", "#a8437f")),
    "dark": ("#15181d", "#e8eaed", "#a3abb8", "#30363f", ("#a3abb8", "#5cb3ef", "#ff9a57", "#ee8fc4")),
}


def check_name(path: Path) -> None:
    """Refuse a file name that tells no known kind of picture, or is no file's, before any work is done."""
    if path.suffix.lower() not in _ENDINGS:
        raise _core.ConfigError(f"--plot: {path} ends in none of {', '.join(_ENDINGS)}")
    _core.check_replaceable(str(path))


def save(infos: Sequence[Mapping[str, Any]], path: Path, *, dark: bool = False) -> None:
    """Write all plots of all workloads into one file."""
    from eraseblock.profile.charts import picture

    save_spec(picture(infos).to_dict(), ", ".join(str(info["name"]) for info in infos), path, dark=dark)


def save_spec(spec: dict[str, Any], name: str, path: Path, *, dark: bool = False) -> None:
    """Write a Vega-Lite specification as a file of the kind that its ending tells; pages have this name."""
    import vl_convert

    # The theme is laid over it.
    del spec["config"]
    theme = config("dark" if dark else "light")
    match path.suffix.lower():
        case ".png":
            content: bytes = vl_convert.vegalite_to_png(spec, scale=2, config=theme)
        case ".svg":
            content = vl_convert.vegalite_to_svg(spec, config=theme).encode()
        case _:
            content = _page(spec, name).encode()
    replace_file(path, [content])


def config(theme: str) -> dict[str, Any]:
    """The Vega configuration of a theme."""
    paper, text, quiet, rule, colours = _THEMES[theme]
    return {
        "background": paper,
        "font": "system-ui, -apple-system, Segoe UI, Noto Sans, DejaVu Sans, sans-serif",
        "padding": 20,
        "range": {"category": list(colours)},
        "view": {"stroke": None},
        "title": {"color": text, "subtitleColor": quiet, "subtitleFontSize": 11, "subtitlePadding": 4},
        "axis": {
            "labelColor": quiet,
            "titleColor": quiet,
            "titleFontWeight": 400,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "gridColor": rule,
            "domainColor": rule,
            "tickColor": rule,
            "labelPadding": 5,
        },
        "axisY": {"domain": False, "ticks": False},
        "legend": {
            "labelColor": quiet,
            "labelFontSize": 11,
            "symbolType": "square",
            "symbolSize": 90,
            "fillColor": paper,
            "padding": 4,
        },
    }


def _page(spec: Mapping[str, Any], name: str) -> str:
    import jinja2
    from markupsafe import Markup

    template = resources.files("eraseblock.profile").joinpath("templates", "profile.html.j2")
    themes = {theme: config(theme) for theme in _THEMES}
    data = json.dumps({"spec": spec, "themes": themes}).replace("<", "\\u003c")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        name=name, plotting=Markup(plotting_script("plot")), data=Markup(data), version=_core.version()
    )
