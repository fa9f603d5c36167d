"""Names the commands. Their modules are thin: what is heavy to import, they import when they are called."""

from __future__ import annotations

from cyclopts import App

from eraseblock import _core

_EPILOGUE = """\
Examples:

    eraseblock compare mysql.load.zst --buffer-size 1MiB,4MiB -o out/mysql
    eraseblock run experiment.toml --set host.speedup=2
    eraseblock reproduce hbm table1.1
    eraseblock list buffers

Exit code 2: a wrong call or input; 1: a failure; 130: interrupted; 143: ended by SIGTERM.
"""


# Every command, in the order of the help.
_COMMANDS = (
    "compare",
    "advise",
    "tune",
    "run",
    "list",
    "schema",
    "trace",
    "report",
    "play",
    "serve",
    "ctl",
    "image",
    "completion",
    "man",
)


def build_app(asked: str | None) -> App:
    """The command line, with `asked` alone where that is a command of ours: nobody will see the others.

    None stands for its help, which is about all of them.
    """
    app = App(
        name="eraseblock",
        help="Simulate what a workload does to a solid-state drive, and compare write buffers and FTLs.",
        help_epilogue=_EPILOGUE,
        help_format="plaintext",
        version=_core.version,
        version_flags=["--version", "-V"],
        suppress_keyboard_interrupt=False,
    )
    if asked in _COMMANDS:
        _add(app, asked)
        return app
    for name in _COMMANDS:
        _add(app, name)
    from eraseblock.cli.extensions import add_commands

    add_commands(app, load=asked is None)
    return app


def _add(app: App, name: str) -> None:
    """Import a command and add it."""

    def whole() -> App:
        return build_app(None)

    match name:
        case "compare":
            from eraseblock.cli import compare

            app.command(compare.compare, help_epilogue=compare.EXAMPLES, usage=compare.USAGE)
        case "advise":
            from eraseblock.cli import advise

            app.command(advise.advise, help_epilogue=advise.EXAMPLES, usage=advise.USAGE)
        case "tune":
            from eraseblock.cli import tune

            app.command(tune.tune, help_epilogue=tune.EXAMPLES, usage=tune.USAGE)
        case "run":
            from eraseblock.cli import run

            app.command(run.run, help_epilogue=run.EXAMPLES)
        case "list":
            from eraseblock.cli import listing

            app.command(listing.listing, name="list", help_epilogue=listing.EXAMPLES)
        case "schema":
            from eraseblock.cli import schema

            app.command(schema.schema, help_epilogue=schema.EXAMPLES)
        case "trace":
            from eraseblock.cli import trace

            app.command(trace.app)
        case "report":
            from eraseblock.cli import report

            app.command(report.report, help_epilogue=report.EXAMPLES, usage=report.USAGE)
        case "ctl":
            from eraseblock.cli import ctl

            app.command(ctl.app)
        case "play":
            from eraseblock.cli import play

            app.command(play.play, help_epilogue=play.EXAMPLES, usage=play.USAGE)
        case "serve":
            from eraseblock.cli import serve

            app.command(serve.serve, help_epilogue=serve.EXAMPLES)
        case "image":
            from eraseblock.cli import image

            app.command(image.app)
        case "completion":
            from eraseblock.cli import completion

            app.command(completion.command(whole), name=name, help_epilogue=completion.EXAMPLES)
        case "man":
            from eraseblock.cli import man

            app.command(man.command(whole), name=name, help_epilogue=man.EXAMPLES)
