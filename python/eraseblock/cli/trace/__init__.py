"""`eraseblock trace`: works on traces without simulating anything."""

from __future__ import annotations

from cyclopts import App

from eraseblock.cli.trace import info

app = App(name="trace", help="Look at traces.", help_epilogue=info.EXAMPLES, help_format="plaintext")
app.command(info.info, help_epilogue=info.EXAMPLES)
