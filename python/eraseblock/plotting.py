"""The plotting library for pages, as a script: bundled once on a machine, and kept.

To bundle it takes longer than all else that a page needs. What is kept lies in the user's folder for such
things (`XDG_CACHE_HOME`, or `~/.cache`), and is used only where it is whole and of the same version; where it
cannot be kept, it is bundled each time.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from eraseblock import _core
from eraseblock.results.files import replace_file


def plotting_script(name: str) -> str:
    """The library as `window.<name>`, unable to end its script element early."""
    version = metadata.version("vl-convert-python")
    path = _place(f"plotting-{name}.js")
    kept = path and _kept(path, version)
    if kept:
        return kept
    import vl_convert

    script = vl_convert.javascript_bundle(f"window.{name} = vegaEmbed;").replace("</script", "<\\/script")
    # Whether it can be kept changes nothing but the time that the next page takes.
    if path:
        with suppress(OSError, _core.EraseblockError):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, [f"{_head(version, script)}\n{script}".encode()])
    return script


@cache
def enclosed_script(name: str) -> str:
    """The same for a page with scripts of its own: the library's names are kept to itself."""
    return f"(() => {{{plotting_script(name)}}})();"


def _place(name: str) -> Path | None:
    """Where it is kept; nowhere for a user without a home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative folder is to be ignored, as those say who thought of the variable.
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            return None
    return base / "eraseblock" / name


def _head(version: str, script: str) -> str:
    """The first line of what is kept: tells a whole file of this version from anything else."""
    return f"// {version} {hashlib.sha256(script.encode()).hexdigest()}"


def _kept(path: Path, version: str) -> str | None:
    try:
        # Line ends are part of the script: read as they are.
        head, _, script = path.read_bytes().decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if head == _head(version, script) else None
