"""The command line: one thin file per command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

# The conventional exit code of a program that Ctrl-C ended.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 2 for a wrong call or input, 1 for a failure."""
    from cyclopts import CycloptsError

    from eraseblock import _core
    from eraseblock.cli.app import build_app
    from eraseblock.terminal.console import say_error

    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = build_app()(
            tokens, exit_on_error=False, print_error=False, verbose=False, result_action="return_value"
        )
        sys.stdout.flush()
        return int(code or 0)
    except CycloptsError as error:
        say_error(f"{error} (see --help)")
        return 2
    except (_core.ConfigError, _core.InputError) as error:
        say_error(str(error))
        return 2
    except _core.SimulationError as error:
        say_error(str(error))
        return 1
    except BrokenPipeError:
        # The reader has gone, which is its right; nothing more may be written, not even while Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        say_error(f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("eraseblock: interrupted\n")
        sys.stderr.flush()
        # Threads that are inside the engine are not waited for.
        os._exit(INTERRUPTED)
