"""The command: `eraseblock`, and `python -m eraseblock`."""

import sys


def main() -> int:
    """Heed Ctrl-C from the first moment on, then import and run the command line."""
    try:
        from eraseblock.interrupts import end_at_once

        end_at_once()
        from eraseblock.cli import main as run
    except KeyboardInterrupt:
        import os

        sys.stderr.write("eraseblock: interrupted\n")
        sys.stderr.flush()
        os._exit(130)
    return run()


if __name__ == "__main__":
    sys.exit(main())
