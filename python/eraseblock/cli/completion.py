"""`eraseblock completion`: the script by which a shell completes commands and options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal

from cyclopts import App

Shell = Literal["bash", "zsh", "fish"]

EXAMPLES = """\
Examples:

    eraseblock completion bash > ~/.local/share/bash-completion/completions/eraseblock
    eraseblock completion zsh > ~/.zfunc/_eraseblock    # a folder of $fpath
    eraseblock completion fish > ~/.config/fish/completions/eraseblock.fish
"""


def command(whole: Callable[[], App]) -> Callable[[Shell], None]:
    """The command, which is about all commands."""

    def completion(shell: Shell, /) -> None:
        """Print the script that lets a shell complete commands and options.

        Args:
            shell: bash, zsh or fish.
        """
        sys.stdout.write(whole().generate_completion(prog_name="eraseblock", shell=shell))

    return completion
