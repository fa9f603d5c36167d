"""Simulate what a workload does to a solid-state drive, and compare the designs that could serve it.

Example:
    >>> import eraseblock
    >>> work = {"generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}
    >>> drive = {"preset": "hbm-2010", "precondition": {"state": "empty"}}
    >>> records = eraseblock.run({**drive, "buffer": {"scheme": ["lru", "bplru"]}, "workload": work})
    >>> [record["config"]["buffer"]["scheme"]["kind"] for record in records]
    ['lru', 'bplru']
"""

# Nothing is imported here, not even this name: the command line has to heed Ctrl-C before anything else.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from eraseblock._core import ConfigError, EraseblockError, InputError, SimulationError
    from eraseblock.advice.ask import advise
    from eraseblock.api import RunOptions, compare, run, schema, sensitivity, trace_info, verdict
    from eraseblock.experiments import Experiment, resolve
    from eraseblock.names import registry
    from eraseblock.outputs import save_results
    from eraseblock.results.record import Record
    from eraseblock.results.store import load_results

# Where each name is from; it is imported when it is first asked for.
_HOMES = {
    "ConfigError": "eraseblock._core",
    "EraseblockError": "eraseblock._core",
    "Experiment": "eraseblock.experiments",
    "InputError": "eraseblock._core",
    "Record": "eraseblock.results.record",
    "RunOptions": "eraseblock.api",
    "SimulationError": "eraseblock._core",
    "advise": "eraseblock.advice.ask",
    "compare": "eraseblock.api",
    "load_results": "eraseblock.results.store",
    "registry": "eraseblock.names",
    "resolve": "eraseblock.experiments",
    "run": "eraseblock.api",
    "save_results": "eraseblock.outputs",
    "schema": "eraseblock.api",
    "sensitivity": "eraseblock.api",
    "trace_info": "eraseblock.api",
    "verdict": "eraseblock.api",
}

__all__ = [
    "ConfigError",
    "EraseblockError",
    "Experiment",
    "InputError",
    "Record",
    "RunOptions",
    "SimulationError",
    "advise",
    "compare",
    "load_results",
    "registry",
    "resolve",
    "run",
    "save_results",
    "schema",
    "sensitivity",
    "trace_info",
    "verdict",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """The public name, from where it is defined."""
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
