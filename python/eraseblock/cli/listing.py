"""`eraseblock list`: everything that has a name."""

from __future__ import annotations

from eraseblock.cli.options import AsJson

EXAMPLES = """\
Examples:

    eraseblock list
    eraseblock list buffers
    eraseblock list buffers hbm
    eraseblock list generators
    eraseblock list devices nvme-tlc
    eraseblock list papers
    eraseblock list papers hbm
    eraseblock list settings nand
    eraseblock list devices --json
"""


def listing(kind: str | None = None, name: str | None = None, /, *, as_json: AsJson = False) -> None:
    """List what can be named in a command or an experiment; with a name, print all about one of them.

    Args:
        kind: buffers, ftls, allocators, victims, levellers, devices, formats, generators, arrivals,
            stand-ins, metrics, settings or papers; all but the papers if left out.
        name: One of that kind. A buffer or an FTL has a page: rules, options, choices, worked examples.
            A device shows its values, a section of the settings its keys.
    """
    from eraseblock.cli.catalogue import show

    show(kind, name, as_json=as_json)
