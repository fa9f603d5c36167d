"""Simulate what a workload does to a solid-state drive, and compare the designs that could serve it.

Example:
    >>> import eraseblock
    >>> work = {"generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}
    >>> drive = {"preset": "hbm-2010", "precondition": {"state": "empty"}}
    >>> records = eraseblock.run({**drive, "buffer": {"scheme": ["lru", "bplru"]}, "workload": work})
    >>> [record["config"]["buffer"]["scheme"]["kind"] for record in records]
    ['lru', 'bplru']
"""

from eraseblock._core import ConfigError, EraseblockError, InputError, SimulationError
from eraseblock.api import compare, run, schema, sensitivity, trace_info
from eraseblock.experiments import Experiment, resolve
from eraseblock.names import registry
from eraseblock.results.store import load_results, save_results
from eraseblock.sweep import Record

__all__ = [
    "ConfigError",
    "EraseblockError",
    "Experiment",
    "InputError",
    "Record",
    "SimulationError",
    "compare",
    "load_results",
    "registry",
    "resolve",
    "run",
    "save_results",
    "schema",
    "sensitivity",
    "trace_info",
]
