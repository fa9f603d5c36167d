"""Builds the player's page: scenes, style and scripts in one file that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from markupsafe import Markup

from eraseblock import _core
from eraseblock.names import registry, source_of
from eraseblock.player.scenes import Scene
from eraseblock.report.assets import asset, page_style, template
from eraseblock.report.details import pack
from eraseblock.report.palette import colours

_PLAYER = "eraseblock.player"
# In the order in which they need each other; `main` starts the page.
_SHARED = ("dom", "theme")
_SCRIPTS = ("data", "words", "picture", "told", "rail", "controls", "main")


def build_player(scheme: str, scenes: Sequence[Scene], source: str = "") -> str:
    """The page as HTML text.

    Args:
        scheme: name of the buffer scheme that decided; one of another project is told by its name alone.
        scenes: what is played; the page offers a choice where there are several.
        source: name of the log, if it is of one.
    """
    entry: dict[str, Any] = next((one for one in registry()["buffers"] if one["name"] == scheme), {})
    title = str(entry.get("title", scheme))
    data = {"title": title, "source": source, "scenes": [asdict(scene) for scene in scenes]}
    light, dark = colours()
    return template("player.html.j2", _PLAYER).render(
        title=title,
        summary=entry.get("summary", ""),
        paper=source_of(entry) if entry else "",
        source=source,
        styles=[Markup(page_style()), Markup(asset("styles", "player.css", _PLAYER))],
        scripts=[
            *(Markup(asset("scripts", f"{name}.js")) for name in _SHARED),
            *(Markup(asset("scripts", f"{name}.js", _PLAYER)) for name in _SCRIPTS),
        ],
        data=Markup(pack(data)),
        colours={key: (light[key], dark[key]) for key in light},
        version=_core.version(),
    )
