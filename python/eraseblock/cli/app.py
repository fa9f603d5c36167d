"""Names the commands. Their modules are thin: what is heavy to import, they import when they are called."""

from __future__ import annotations

from cyclopts import App

from eraseblock import _core
from eraseblock.cli import compare, extensions, listing, report, run, schema, trace

_EPILOGUE = """\
Examples:

    eraseblock compare mysql.load.zst --buffer-size 1MiB,4MiB -o out/mysql
    eraseblock run experiment.toml --set host.speedup=2
    eraseblock reproduce hbm table1.1
    eraseblock list buffers

Exit code 2: a wrong call or input; 1: a failure; 130: interrupted; 143: ended by SIGTERM.
"""


def build_app(*, for_help: bool = False) -> App:
    """The whole command line; `for_help`: with what all commands say of themselves."""
    app = App(
        name="eraseblock",
        help="Simulate what a workload does to a solid-state drive, and compare write buffers and FTLs.",
        help_epilogue=_EPILOGUE,
        help_format="plaintext",
        version=_core.version,
        version_flags=["--version", "-V"],
        suppress_keyboard_interrupt=False,
    )
    app.command(compare.compare, help_epilogue=compare.EXAMPLES, usage=compare.USAGE)
    app.command(run.run, help_epilogue=run.EXAMPLES)
    app.command(listing.listing, name="list", help_epilogue=listing.EXAMPLES)
    app.command(schema.schema, help_epilogue=schema.EXAMPLES)
    app.command(trace.app)
    app.command(report.report, help_epilogue=report.EXAMPLES, usage=report.USAGE)
    extensions.add_commands(app, load=for_help)
    return app
