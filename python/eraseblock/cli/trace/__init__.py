"""`eraseblock trace`: works on traces without simulating anything."""

from __future__ import annotations

from cyclopts import App

from eraseblock.cli.trace import convert, info

app = App(name="trace", help="Look at traces, and convert them.", help_epilogue=f"{info.EXAMPLES}{convert.EXAMPLES.removeprefix('Examples:\n\n')}", help_format="plaintext")
app.command(info.info, help_epilogue=info.EXAMPLES)
app.command(convert.convert, help_epilogue=convert.EXAMPLES)
