"""`eraseblock play`: a page in which one watches a buffer decide."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson

USAGE = "eraseblock play [OPTIONS] SCHEME|EVENTS"
EXAMPLES = """\
Examples:

    eraseblock play bplru --open
    eraseblock play hbm -o hbm.html
    eraseblock run experiment.toml --events decisions.jsonl.zst
    eraseblock play decisions.jsonl.zst --skip 20000 --first 1000
"""
_ENDINGS = (".html", ".htm")
# Ends of a log's name that the page's does not take over.
_OF_LOGS = (".gz", ".zst", ".jsonl", ".ndjson", ".json")


def play(
    what: str,
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="The page to write; default: NAME-player.html, here."),
    ] = None,
    skip: Annotated[int, Parameter(help="Of a log: pass over the first N requests.")] = 0,
    first: Annotated[int | None, Parameter(help="Of a log: show N requests; default: 10000.")] = None,
    open_: Annotated[
        bool, Parameter(name="--open", negative="", help="Open the page in the browser.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a page that plays a buffer's decisions, step by step, forwards and back, with their reasons.

    Args:
        what: A buffer scheme, which plays its own examples (see `eraseblock list buffers`), or a log that
            `--events` wrote.
    """
    from eraseblock.names import known, unknown
    from eraseblock.player.log import DEFAULT_FIRST, MOST_STEPS, read_log
    from eraseblock.player.page import build_player
    from eraseblock.player.scenes import scenes_of
    from eraseblock.results.files import check_replaceable, replace_file

    if skip < 0:
        raise _core.ConfigError(f"--skip: found {skip}, expected 0 or more")
    if first is not None and not 1 <= first <= MOST_STEPS:
        raise _core.ConfigError(
            f"--first: found {first}, expected 1 to {MOST_STEPS}; --skip leads further into a log"
        )
    path = output or Path(f"{_stem(what)}-player.html")
    if path.suffix.lower() not in _ENDINGS:
        raise _core.ConfigError(f"-o: {path} does not end in .html")
    check_replaceable(path)
    if what in known("buffers"):
        if skip or first is not None:
            option = "--skip" if skip else "--first"
            raise _core.ConfigError(f"{option}: `{what}` plays its examples, which are short; name a log")
        scheme, scenes, source = what, scenes_of(what), ""
    elif Path(what).exists():
        found = read_log(Path(what), skip, first or DEFAULT_FIRST)
        scheme, scenes, source = found.scheme, [found.scene], Path(what).name
    else:
        raise _core.ConfigError(f"play: there is no file {what}, and {unknown(what, 'buffers')}")
    replace_file(path, [build_player(scheme, scenes, source).encode()])
    steps = sum(len(scene.steps) for scene in scenes)
    notes = [note for scene in scenes for note in scene.notes]
    if as_json:
        sys.stdout.write(json.dumps({"player": str(path), "steps": steps, "notes": notes}) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in (f"player: {path}", *notes)))
    if open_:
        from eraseblock.cli.browser import open_page

        open_page(path)


def _stem(what: str) -> str:
    """The name of a log without what says that it is one."""
    name = Path(what).name
    while name.endswith(_OF_LOGS) and "." in name.lstrip("."):
        name = name[: name.rindex(".")]
    return name
