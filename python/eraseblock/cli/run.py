"""`eraseblock run`: an experiment file."""

from __future__ import annotations

from pathlib import Path

from eraseblock.cli.options import AsJson, Jobs, Output, Sets, Verify, check_jobs

EXAMPLES = """\
Examples:

    eraseblock run experiment.toml
    eraseblock run experiment.toml --set seed=7 --verify
    eraseblock run experiment.toml --set 'buffer.size=["1 MiB", "4 MiB"]'
    eraseblock run experiment.toml --json -o out/experiment > records.json
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
) -> int:
    """Run every experiment that a TOML file describes; a list in the place of a value is an axis.

    Args:
        experiment: The TOML file; `eraseblock schema` describes its keys.
    """
    from eraseblock.cli.deliver import Delivery
    from eraseblock.experiments import resolve

    delivery = Delivery(as_json=as_json, folder=output)
    outcomes = delivery.run(resolve(experiment, sets=set_ or []), jobs=check_jobs(jobs), verify=verify)
    return delivery.finish(outcomes, [outcome for outcome in outcomes if outcome.error is not None])
