"""Builds the page that a server shows of its drive; the page asks the server for figures by itself."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from eraseblock import _core
from eraseblock.report.assets import asset, page_style, template
from eraseblock.report.palette import colours

_LIVE = "eraseblock.live"
# In the order in which they need each other; `main` starts the page.
_SHARED = ("dom", "theme", "units")
_SCRIPTS = ("samples", "lines", "map", "main")


def build_live(name: str, config: dict[str, Any]) -> str:
    """The page as HTML text, which needs nothing but its own server.

    Args:
        name: of the image.
        config: the drive's configuration, as an image holds it.
    """
    light, dark = colours()
    return template("live.html.j2", _LIVE).render(
        name=name,
        buffer=_named(config["buffer"]["scheme"]),
        mapping=_named(config["ftl"]["mapping"]),
        styles=[Markup(page_style()), Markup(asset("styles", "live.css", _LIVE))],
        scripts=[
            *(Markup(asset("scripts", f"{script}.js")) for script in _SHARED),
            *(Markup(asset("scripts", f"{script}.js", _LIVE)) for script in _SCRIPTS),
        ],
        colours={key: (light[key], dark[key]) for key in light},
        version=_core.version(),
    )


def _named(scheme: str | dict[str, Any]) -> str:
    """The name of a scheme, which stands alone or with its options."""
    return scheme if isinstance(scheme, str) else str(scheme["kind"])
