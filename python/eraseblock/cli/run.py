"""`eraseblock run`: an experiment file."""

from __future__ import annotations

from pathlib import Path

from eraseblock.cli.options import Running, RunOptions

EXAMPLES = """\
Examples:

    eraseblock run experiment.toml
    eraseblock run experiment.toml --set seed=7 --verify
    eraseblock run experiment.toml --set 'buffer.size=["1 MiB", "4 MiB"]'
    eraseblock run experiment.toml --explain
    eraseblock run experiment.toml --events decisions.jsonl.zst
    eraseblock run experiment.toml --json -o out/experiment > records.json
    eraseblock run experiment.toml --sensitivity -o out/experiment
"""


def run(experiment: Path, /, *, options: Running = None) -> int:
    """Run every experiment that a TOML file describes; a list in the place of a value is an axis.

    Args:
        experiment: The TOML file; `eraseblock schema` describes its keys.
    """
    from eraseblock.cli.deliver import deliver
    from eraseblock.experiments import expanded
    from eraseblock.sweeps import all_failures

    options = options or RunOptions()
    return deliver(expanded(experiment, sets=options.set_ or []), options, all_failures)
