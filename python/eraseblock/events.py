"""Where the logs of the buffers' decisions go: a file for one run, a folder for several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eraseblock import _core
from eraseblock.experiments import Experiment

# Ends of names that say: this is a file.
_OF_FILES = (".jsonl", ".ndjson", ".json", ".gz", ".zst")
# Of the logs in a folder: they are many, and every tool that reads lines of JSON has a way to read them.
_PACKED = ".jsonl.zst"


def logs_of(target: str | Path | None, experiments: Sequence[Experiment]) -> list[Path] | None:
    """One path for each run: `target` itself for a single one, else a name in that folder, which is made."""
    if target is None:
        return None
    path = Path(target)
    if len(experiments) == 1 and not path.is_dir() and not str(target).endswith("/"):
        return [path]
    if path.name.endswith(_OF_FILES) or (path.exists() and not path.is_dir()):
        raise _core.ConfigError(
            f"events: {path} is the name of a file, and there are {len(experiments)} runs; "
            "name a folder, which gets a file for each, or leave one run"
        )
    path.mkdir(parents=True, exist_ok=True)
    digits = len(str(len(experiments)))
    return [
        path / f"{number:0{digits}}-{_label(one)}{_PACKED}" for number, one in enumerate(experiments, start=1)
    ]


def _label(experiment: Experiment) -> str:
    """Scheme, size and FTL, for people; the first line of the log has everything."""
    config = experiment.config
    kinds = [
        part["kind"] if isinstance(part, dict) else part
        for part in (config["buffer"]["scheme"], config["ftl"]["mapping"])
    ]
    return f"{kinds[0]}-{str(config['buffer']['size']).replace(' ', '')}-{kinds[1]}"
