"""What pages are filled in from: templates, styles and scripts that lie in a package of their own."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

_REPORT = "eraseblock.report"


def asset(folder: str, name: str, package: str = _REPORT) -> str:
    """The text of a package's file; the report's unless another package is named."""
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")


def template(name: str, package: str = _REPORT) -> jinja2.Template:
    """A page's template; what is filled in is escaped unless it is `Markup`."""
    # Commands that make no page do not load it.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def page_style() -> str:
    """The style sheet that every page starts from; colours are those of `eraseblock.report.palette`."""
    return asset("styles", "page.css")
