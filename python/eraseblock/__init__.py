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
    from eraseblock import trace
    from eraseblock._core import ConfigError, EraseblockError, InputError, Leave, Request, SimulationError
    from eraseblock.advice.ask import advise
    from eraseblock.api import RunOptions, compare, read_records, run, schema, sensitivity, sweep, verdict
    from eraseblock.device import Device
    from eraseblock.experiments import Experiment, resolve
    from eraseblock.names import registry
    from eraseblock.outputs import save_results
    from eraseblock.results.frame import frame
    from eraseblock.results.record import RunRecord as Record
    from eraseblock.results.record import Stats
    from eraseblock.results.records import Results
    from eraseblock.results.store import load_results
    from eraseblock.scheme import Buffer, Shape
    from eraseblock.trace import info as trace_info

    __version__: str

# Where each name is from; it is imported when it is first asked for.
_HOMES = {
    "Buffer": "eraseblock.scheme",
    "ConfigError": "eraseblock._core",
    "Device": "eraseblock.device",
    "EraseblockError": "eraseblock._core",
    "Experiment": "eraseblock.experiments",
    "InputError": "eraseblock._core",
    "Leave": "eraseblock._core",
    "Record": "eraseblock.results.record",
    "Request": "eraseblock._core",
    "Results": "eraseblock.results.records",
    "RunOptions": "eraseblock.api",
    "Shape": "eraseblock.scheme",
    "SimulationError": "eraseblock._core",
    "Stats": "eraseblock.results.record",
    "advise": "eraseblock.advice.ask",
    "compare": "eraseblock.api",
    "frame": "eraseblock.results.frame",
    "load_results": "eraseblock.results.store",
    "read_records": "eraseblock.api",
    "registry": "eraseblock.names",
    "resolve": "eraseblock.experiments",
    "run": "eraseblock.api",
    "save_results": "eraseblock.outputs",
    "schema": "eraseblock.api",
    "sensitivity": "eraseblock.api",
    "sweep": "eraseblock.api",
    "trace_info": "eraseblock.trace",
    "verdict": "eraseblock.api",
}

# What is called otherwise there.
_NAMED = {"trace_info": "info"}
_NAMED = {"Record": "RunRecord", "trace_info": "info"}

__all__ = [
    "Buffer",
    "ConfigError",
    "Device",
    "EraseblockError",
    "Experiment",
    "InputError",
    "Leave",
    "Record",
    "Request",
    "Results",
    "RunOptions",
    "Shape",
    "SimulationError",
    "Stats",
    "advise",
    "compare",
    "frame",
    "load_results",
    "read_records",
    "registry",
    "resolve",
    "run",
    "save_results",
    "schema",
    "sensitivity",
    "sweep",
    "trace",
    "trace_info",
    "verdict",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """The public name, from where it is defined."""
        from importlib import import_module

        if name == "__version__":
            from eraseblock._core import version

            return version()
        if name == "trace":
            return import_module("eraseblock.trace")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), _NAMED.get(name, name))
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
