"""Traces that came through a pipe: files for a while, which records and commands do not name."""

from __future__ import annotations

# Every command imports this: nothing heavy here, `pathlib` included.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

# What stands for stdin in a call.
DASH = "-"
# Files that stand for stdin and stdout while a command runs, and what messages call them.
_NAMES: dict[str, str] = {}


def stand_for(path: Path, name: str) -> None:
    """From now on this file is called so, which is its own name without the ending."""
    _NAMES[str(path)] = name


def plain(message: str) -> str:
    """A message that speaks of stdin and stdout, not of the files that stand for them."""
    for path, name in _NAMES.items():
        message = message.replace(path, name)
    return message


def from_pipe(path: Path) -> bool:
    """Whether this file lies in no folder of the user's: a pipe, or what stands for one."""
    # Files in memory are the user's, too.
    return str(path) in _NAMES or (path.is_relative_to("/dev") and not path.is_relative_to("/dev/shm"))


def argument(word: str) -> str:
    """A word of a command as it is written: a dash in the place of a file that stands for one."""
    return DASH if word in _NAMES else word


def placed(text: str) -> tuple[str, Path]:
    """A resolved experiment without the folder of such a file, and the folder that its paths start from."""
    import json
    from pathlib import Path

    for path in _NAMES:
        if (found := f'"path":{json.dumps(path, ensure_ascii=False)}') in text:
            return text.replace(found, f'"path":"{Path(path).name}"'), Path(path).parent
    return text, Path()
