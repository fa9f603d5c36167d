"""`eraseblock trace`: works on traces without simulating anything."""

from __future__ import annotations

from cyclopts import App

from eraseblock.cli.trace import convert, generate, info

_EXAMPLES = """\
Examples:

    eraseblock trace info mysql.load.zst
    eraseblock trace convert mysql.load.zst mysql.ebt
    eraseblock trace generate hbm-financial -o financial.ebt
"""

app = App(
    name="trace",
    help="Look at traces, convert them, and make them.",
    help_epilogue=_EXAMPLES,
    help_format="plaintext",
)
app.command(info.info, help_epilogue=info.EXAMPLES)
app.command(convert.convert, help_epilogue=convert.EXAMPLES)
app.command(generate.generate, help_epilogue=generate.EXAMPLES, usage=generate.USAGE)
