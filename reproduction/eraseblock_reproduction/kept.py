"""What a folder of results keeps beside its runs: one JSON file, of which each entry has a key."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from eraseblock import InputError
from eraseblock.toolkit import make_folder, replace_file


class Kept:
    """Entries by what they depend on: a list, as JSON. Without a folder they last as long as this does."""

    def __init__(self, folder: Path | None, name: str, *, fresh: bool) -> None:
        self._path = None if folder is None else folder / name
        self._writing = threading.Lock()
        self.known: dict[str, Any] = {}
        if self._path is None or folder is None:
            return
        make_folder(folder)
        if self._path.exists():
            try:
                self.known = json.loads(self._path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise InputError(
                    f"{self._path}: not what this command writes ({error}); "
                    "move it away, or name another folder"
                ) from error
        if not isinstance(self.known, dict) or not all(key.startswith('["') for key in self.known):
            raise InputError(
                f"{self._path}: not what this command writes; move it away, or name another folder"
            )
        if fresh:
            self.known = {}

    def keep(self, key: str, entry: object) -> None:
        """Know one more, and keep all for the next time. Threads may call it at once."""
        with self._writing:
            self.known[key] = entry
            self.write()

    def write(self) -> None:
        """Keep them for the next time."""
        if self._path is not None:
            replace_file(self._path, [json.dumps(self.known).encode()])
