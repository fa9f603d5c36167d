"""Names the commands. Their modules are thin: what is heavy to import, they import when they are called."""

from __future__ import annotations

from importlib import import_module

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


def commands_with(option: str) -> list[str]:
    """The commands that have an option of this name, in the order of the help."""
    app = build_app(None)
    return [name for name in _COMMANDS if option in _options(app[name])]


def _options(command: App) -> set[str]:
    if command.default_command is None:
        return set()
    return {name for argument in command.assemble_argument_collection() for name in argument.names}


def _add(app: App, name: str) -> None:
    """Import a command and add it: its module holds an app of its own, or a function of the module's name."""
    home = "listing" if name == "list" else name
    module = import_module(f"eraseblock.cli.{home}")
    if hasattr(module, "app"):
        app.command(module.app)
        return
    # What is about the whole command line gets a way to build it.
    about_all = hasattr(module, "command")
    command = module.command(lambda: build_app(None)) if about_all else getattr(module, home)
    usage = getattr(module, "USAGE", None)
    app.command(command, name=name, help_epilogue=module.EXAMPLES, usage=usage)
