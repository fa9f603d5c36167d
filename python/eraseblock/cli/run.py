"""`eraseblock run`: an experiment file."""

from __future__ import annotations

from pathlib import Path

from eraseblock.cli.options import (
    AsJson,
    Events,
    Fresh,
    Jobs,
    Output,
    Prune,
    Sensitivity,
    Sets,
    Verify,
    check_events,
    check_jobs,
)

EXAMPLES = """\
Examples:

    eraseblock run experiment.toml
    eraseblock run experiment.toml --set seed=7 --verify
    eraseblock run experiment.toml --set 'buffer.size=["1 MiB", "4 MiB"]'
    eraseblock run experiment.toml --events decisions.jsonl.zst
    eraseblock run experiment.toml --json -o out/experiment > records.json
    eraseblock run experiment.toml --sensitivity -o out/experiment
"""


def run(
    experiment: Path,
    /,
    *,
    set_: Sets = None,
    jobs: Jobs = None,
    verify: Verify = False,
    as_json: AsJson = False,
    output: Output = None,
    fresh: Fresh = False,
    prune: Prune = False,
    sensitivity: Sensitivity = False,
    events: Events = None,
) -> int:
    """Run every experiment that a TOML file describes; a list in the place of a value is an axis.

    Args:
        experiment: The TOML file; `eraseblock schema` describes its keys.
    """
    from eraseblock.cli.deliver import Delivery
    from eraseblock.comparison import all_failures
    from eraseblock.experiments import resolve

    delivery = Delivery(as_json=as_json, folder=output, fresh=fresh, prune=prune, sensitivity=sensitivity)
    experiments = resolve(experiment, sets=set_ or [])
    return delivery.run(
        experiments, jobs=check_jobs(jobs), verify=verify, events=check_events(events), judge=all_failures
    )
