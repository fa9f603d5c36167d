"""`eraseblock schema`: what an experiment file may say."""

from __future__ import annotations

import sys

from eraseblock import _core
from eraseblock.cli.options import AsJson

EXAMPLES = """\
Examples:

    eraseblock schema > eraseblock.schema.json
"""


def schema(*, as_json: AsJson = False) -> None:  # noqa: ARG001
    """Print the JSON Schema of an experiment file, for editors and generators."""
    # It is JSON either way; the option is taken because every command has it.
    sys.stdout.write(_core.schema().rstrip("\n") + "\n")
