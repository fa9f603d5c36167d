"""An `eraseblock` command that ends when whoever started it has gone, however that came, `kill -9` included.

Its arguments: a folder that goes with it then, and those of the command. Its input is a pipe in which nothing
comes: it ends when nobody is at the other end any more.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import threading


def _wait_for_the_end(folder: str) -> None:
    while os.read(0, 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _main() -> None:
    folder = sys.argv.pop(1)
    threading.Thread(target=_wait_for_the_end, args=(folder,), daemon=True).start()
    runpy.run_module("eraseblock", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
